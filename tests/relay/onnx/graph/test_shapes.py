"""Shape arithmetic of exported graphs, evaluated at import to numbers or expressions over dimensions."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.types import show_shape
from tvmlite.relay.onnx import from_onnx

FLOAT = TensorProto.FLOAT


class Graph:
    """A graph built node by node; ``run`` compares its result with onnxruntime."""

    def __init__(self, *shape) -> None:
        self.nodes, self.weights = [], []
        self.input = helper.make_tensor_value_info("x", FLOAT, list(shape))

    def op(self, kind, *inputs, **attrs) -> str:
        names = [i if isinstance(i, str) else self.const(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, names, [f"v{len(self.nodes)}"], **attrs))
        return self.nodes[-1].output[0]

    def const(self, value) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.weights)}"))
        return self.weights[-1].name

    def model(self, output, dtype=FLOAT) -> onnx.ModelProto:
        info = helper.make_tensor_value_info(output, dtype, None)
        graph = helper.make_graph(self.nodes, "g", [self.input], [info], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def run(self, output, *shapes, dtype=FLOAT) -> str:
        model = self.model(output, dtype)
        module = from_onnx(model)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        for shape in shapes:
            x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
            (expected,) = session.run(None, {"x": x})
            made = interpret(module, [x])
            assert made.dtype == expected.dtype
            np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)
        return show_shape(type_of(module.main.body).shape)


def test_heads_are_split_by_the_shape_of_the_input() -> None:
    g = Graph("b", "s", 12)
    extents = [
        g.op("Unsqueeze", g.op("Gather", g.op("Shape", "x"), np.array(k)), np.array([0])) for k in (0, 1)
    ]
    shape = g.op("Concat", *extents, np.array([3]), np.array([4]), axis=0)

    assert g.run(g.op("Reshape", "x", shape), (2, 5, 12), (1, 1, 12)) == "(b, s, 3, 4)"


def test_reshape_infers_the_remaining_extent_exactly() -> None:
    g = Graph("b", 6, "w")
    shape = g.op(
        "Concat", g.op("Slice", g.op("Shape", "x"), np.array([0]), np.array([1])), np.array([-1, 3]), axis=0
    )

    assert g.run(g.op("Reshape", "x", shape), (2, 6, 5)) == "(b, w * 2, 3)"


def test_expand_with_a_where_on_its_shape_keeps_the_dimension() -> None:
    g = Graph("b", 1)
    shape = g.op(
        "Concat", g.op("Slice", g.op("Shape", "x"), np.array([0]), np.array([1])), np.array([-1]), axis=0
    )
    ones = g.op("ConstantOfShape", g.op("Shape", shape), value=numpy_helper.from_array(np.ones(1, np.int64)))
    unset = g.op("Equal", shape, g.op("Mul", ones, np.array(-1)))

    assert g.run(g.op("Expand", "x", g.op("Where", unset, ones, shape)), (3, 1)) == "(b, 1)"


@pytest.mark.parametrize(("factor", "size"), [(2.0, "h * 2"), (0.5, "h // 2"), (1.5, "h // 2 + h")])
def test_sizes_computed_in_floats_are_exact(factor, size) -> None:
    g = Graph(1, 1, "h", 4)
    height = g.op("Cast", g.op("Gather", g.op("Shape", "x"), np.array([2])), to=FLOAT)
    height = g.op(
        "Cast", g.op("Floor", g.op("Mul", height, np.array(factor, np.float32))), to=TensorProto.INT64
    )
    sizes = g.op("Concat", np.array([1, 1]), height, np.array([4]), axis=0)
    made = g.op("Resize", "x", "", "", sizes, mode="nearest", coordinate_transformation_mode="asymmetric",
                nearest_mode="floor")  # fmt: skip

    assert g.run(made, (1, 1, 6, 4), (1, 1, 8, 4)) == f"(1, 1, {size}, 4)"


def test_range_and_slice_end_at_a_dimension() -> None:
    g = Graph("n", 3)
    length = g.op("Squeeze", g.op("Slice", g.op("Shape", "x"), np.array([0]), np.array([1])), np.array([0]))
    places = g.op("Range", np.array(0), length, np.array(1))
    table = g.op(
        "Slice", np.arange(40, dtype=np.float32), np.array([0]), g.op("Unsqueeze", length, np.array([0]))
    )

    column = g.op("Add", g.op("Cast", places, to=FLOAT), table)

    assert g.run(g.op("Add", "x", g.op("Unsqueeze", column, np.array([1]))), (4, 3), (1, 3)) == "(n, 3)"


def test_a_shape_used_as_data_becomes_a_tensor() -> None:
    g = Graph("n", 3)

    assert g.run(g.op("Mul", g.op("Shape", "x"), np.array([2, 3])), (4, 3), dtype=TensorProto.INT64) == "(2,)"


def test_integer_division_truncates() -> None:
    g = Graph("n")
    less = g.op("Sub", g.op("Shape", "x"), np.array([5]))

    assert g.run(g.op("Div", less, np.array([2])), (2,), (4,), (9,), dtype=TensorProto.INT64) == "(1,)"


def test_channel_shuffle_with_dynamic_sizes() -> None:
    g = Graph("n", 8, "h", "w")
    four = g.op("Reshape", "x", np.array([0, 2, 4, -1]))
    back = g.op("Reshape", g.op("Transpose", four, perm=[0, 2, 1, 3]), np.array([0, 8, -1]))

    assert g.run(back, (2, 8, 3, 5)) in ("(n, 8, h * w)", "(n, 8, w * h)")


def test_a_size_without_a_symbolic_form_is_computed_at_run_time() -> None:
    g = Graph(1, 1, "h", 4)
    height = g.op("Cast", g.op("Gather", g.op("Shape", "x"), np.array([2])), to=FLOAT)
    height = g.op("Cast", g.op("Floor", g.op("Mul", height, np.array(0.3, np.float32))), to=TensorProto.INT64)
    sizes = g.op("Concat", np.array([1, 1]), height, np.array([4]), axis=0)

    module = from_onnx(g.model(g.op("Resize", "x", "", "", sizes, mode="nearest")))
    got = interpret(module, [np.arange(40, dtype="float32").reshape(1, 1, 10, 4)])

    np.testing.assert_array_equal(got.reshape(-1, 4)[:, 0], [4, 16, 32])


@pytest.mark.parametrize("sizes", [[1, 1, 2], None])
def test_a_shape_is_split_into_its_extents(sizes) -> None:
    """As in TensorFlow's framing of a signal, to replace one axis by two."""
    g = Graph("b", "s", 12, 2)
    parts = [] if sizes is None else [np.array(sizes)]
    g.nodes.append(
        helper.make_node(
            "Split", [g.op("Shape", "x"), *map(g.const, parts)], ["p0", "p1", *["p2"] * bool(parts)]
        )
    )
    shape = ["p0", "p1", np.array([24])] if parts else ["p0", "p1"]
    joined = g.op("Concat", *shape, axis=0)

    wanted = "(b, s, 24)" if parts else "(b, s, 12, 2)"
    assert g.run(g.op("Reshape", "x", joined), (2, 5, 12, 2), (1, 1, 12, 2)) == wanted
