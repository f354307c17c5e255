"""Dimensions of different inputs that share a name although they are not equal."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlite.core.errors import InputError
from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx

WEIGHT = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)


def _model(nodes: list[onnx.NodeProto], ids: list[str]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "net",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "width"]),
            helper.make_tensor_value_info("ids", TensorProto.INT64, ids),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(WEIGHT, "weight"), numpy_helper.from_array(np.array([1], np.int64), "axes")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _product_and_counts(ids: list[str]) -> onnx.ModelProto:
    return _model(
        [
            helper.make_node("Relu", ["x"], ["positive"]),
            helper.make_node("MatMul", ["positive", "weight"], ["product"]),
            helper.make_node("Cast", ["ids"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMax", ["numbers"], ["most"], axes=[1], keepdims=1),
            helper.make_node("Add", ["product", "most"], ["y"]),
        ],
        ids,
    )


@pytest.mark.parametrize("width", [3, 16])
def test_a_shared_name_is_kept_by_the_input_with_the_open_dimension(width: int) -> None:
    model = _product_and_counts(["batch", "width"])
    feeds = {
        "x": np.random.default_rng(1).standard_normal((2, 16)).astype(np.float32),
        "ids": np.arange(2 * width).reshape(2, width),
    }

    module = from_onnx(model)

    shapes = {p.name: [str(d) for d in p.type.shape] for p in module.main.params}
    assert shapes == {"x": ["batch", "16"], "ids": ["batch", "width"]}
    want = np.maximum(feeds["x"], 0) @ WEIGHT + feeds["ids"].max(axis=1, keepdims=True)
    np.testing.assert_allclose(compile(module).run(feeds)["y"], want, rtol=1e-5, atol=1e-5)


def test_error_names_the_input_with_the_fixed_dimension() -> None:
    lib = compile(from_onnx(_product_and_counts(["batch", "width"])))

    with pytest.raises(InputError, match=r"input 'x' has shape \(2, 3\), expected float32 \(batch, 16\)"):
        lib(np.zeros((2, 3), np.float32), np.zeros((2, 3), np.int64))


def test_a_dimension_of_a_single_input_stays_open() -> None:
    module = from_onnx(_product_and_counts(["batch", "count"]))

    assert [str(d) for d in module.main.params[0].type.shape] == ["batch", "width"]


def test_a_shape_given_by_the_caller_is_kept() -> None:
    module = from_onnx(_product_and_counts(["batch", "width"]), shape={"x": ("batch", "width")})

    assert [str(d) for d in module.main.params[0].type.shape] == ["batch", "width"]


def test_a_requirement_inside_a_branch_fixes_no_dimension() -> None:
    product = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "weight"], ["product"]),
            helper.make_node("ReduceSum", ["product", "axes"], ["then"], keepdims=0),
        ],
        "product",
        [],
        [helper.make_tensor_value_info("then", TensorProto.FLOAT, ["batch"])],
    )
    total = helper.make_graph(
        [helper.make_node("ReduceSum", ["x", "axes"], ["otherwise"], keepdims=0)],
        "total",
        [],
        [helper.make_tensor_value_info("otherwise", TensorProto.FLOAT, ["batch"])],
    )
    model = _model(
        [
            helper.make_node("ReduceMax", ["ids"], ["most"], keepdims=0),
            helper.make_node("Cast", ["most"], ["condition"], to=TensorProto.BOOL),
            helper.make_node("If", ["condition"], ["y"], then_branch=product, else_branch=total),
        ],
        ["batch", "width"],
    )

    module = from_onnx(model)

    assert [str(d) for d in module.main.params[0].type.shape] == ["batch", "width"]
    ones = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(compile(module)(ones, np.zeros((2, 3), np.int64)), [3, 3])
