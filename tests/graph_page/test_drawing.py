"""Drawing of a graph: boxes, edges, numbers, and blocks of related operators."""

from __future__ import annotations

import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlite import relay
from tvmlite.core.errors import InputError
from tvmlite.graph_page import Drawing, draw
from tvmlite.relay import passes
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.nodes import Module


def _perceptron() -> Module:
    """Return ``relu(x @ w)`` for n rows, and its sum."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], "product"),
        helper.make_node("Relu", ["m"], ["y"], "bend"),
        helper.make_node("ReduceSum", ["y"], ["total"], "sum", keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])]
    outputs = [onnx.ValueInfoProto(name=name) for name in ("y", "total")]
    weights = [numpy_helper.from_array(np.ones((8, 64), np.float32), "w")]
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    return from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))


def _fused(module: Module) -> Module:
    return passes.pipeline(2).run(module)


def _titles(drawing: Drawing) -> list[str]:
    return [box.title for box in drawing.boxes]


def test_every_operator_input_and_output_has_a_box() -> None:
    drawing = draw(_perceptron())

    kinds = {box.title: box.kind for box in drawing.boxes}
    assert kinds["x"] == "input"
    assert kinds["relu"] == "elementwise"
    assert kinds["sum"] == "reduction"
    assert "contraction" in kinds.values()
    assert _titles(drawing)[-2:] == ["y", "total"]
    relu = drawing.boxes[_titles(drawing).index("relu")]
    assert relu.nodes == ("bend",)
    assert relu.result == "float32 (n, 64)"


@pytest.mark.parametrize("name", ["nn.max_pool2d", "nn.softmax", "nn.global_avg_pool2d"])
def test_reductions_other_than_products_are_drawn_as_reductions(name: str) -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))

    kinds = [box.kind for box in draw(Module.from_expr(relay.make(name, x))).boxes]

    assert kinds == ["input", "reduction", "output"]


def test_edges_have_tensor_types_and_lead_forward() -> None:
    drawing = draw(_perceptron())
    titles = _titles(drawing)

    assert all(source < target for source, target, _ in drawing.edges)
    assert (titles.index("relu"), titles.index("sum"), "float32 (n, 64)") in drawing.edges
    assert (titles.index("relu"), titles.index("y"), "float32 (n, 64)") in drawing.edges


def test_a_group_is_one_box_with_its_operators() -> None:
    drawing = draw(_fused(_perceptron()))

    (group,) = [box for box in drawing.boxes if "nn.relu" in box.operators]
    assert group.kind == "contraction"
    assert len(group.operators) == 2
    assert group.nodes == ("product", "bend")
    assert group.label == "dense+relu product nx64"
    assert (group.title, group.node) == ("dense+relu", "product")
    assert "Primitive=1" in group.text


def test_bytes_and_flops_are_counted_where_sizes_are_known() -> None:
    open_, given = draw(_fused(_perceptron())), draw(_fused(_perceptron()), {"n": 10})
    (without,), (group,) = ([b for b in d.boxes if "nn.relu" in b.operators] for d in (open_, given))

    assert (without.bytes, without.flops) == (None, None)
    assert without.weights == group.weights == 8 * 64 * 4
    assert group.bytes == 10 * 8 * 4 + 8 * 64 * 4 + 10 * 64 * 4
    assert group.flops == 10 * 64 * (8 * 2 + 1)


def test_error_for_an_unknown_dimension_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="no open dimension 'm'; there are n"):
        draw(_perceptron(), {"m": 3})


def test_bytes_of_an_operator_on_a_tuple_are_counted() -> None:
    x, y = relay.var("x", (2, 3)), relay.var("y", (2, 5))
    joined = relay.concatenate(relay.Tuple((x, y)), axis=1)

    drawing = draw(Module.from_expr(relay.Function((x, y), joined)))

    (box,) = [box for box in drawing.boxes if box.operators]
    assert box.bytes == 2 * (2 * 8 * 4)
    assert [(source, target) for source, target, _ in drawing.edges] == [(0, 2), (1, 2), (2, 3)]


def test_times_are_assigned_to_groups_in_call_order() -> None:
    drawing = draw(_fused(_perceptron()), None, [1.5, 2.5])

    assert [box.microseconds for box in drawing.boxes if box.operators] == [1.5, 2.5]


def test_a_residual_network_is_divided_into_its_blocks() -> None:
    x = relay.var("x", (4, 8))
    value = relay.sigmoid(x)
    for _ in range(3):
        value = relay.tanh(relay.add(relay.nn.relu(relay.exp(value)), value))
    drawing = draw(Module.from_expr(relay.Function((x,), value)))

    assert [[drawing.boxes[i].title for i in block] for block in drawing.blocks] == [
        ["exp", "relu", "add"]
    ] * 3


def test_values_used_everywhere_belong_to_no_block() -> None:
    module = from_onnx(models.minilm(layers=6, hidden=24, heads=2))
    drawing = draw(_fused(module), {"batch": 1, "sequence": 8})

    (mask,) = drawing.widely_read - {i for i, box in enumerate(drawing.boxes) if box.kind == "input"}
    assert "where" in drawing.boxes[mask].operators
    assert len(drawing.blocks) >= 12
    assert not {i for block in drawing.blocks for i in block} & drawing.widely_read
