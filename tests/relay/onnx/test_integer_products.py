"""MatMulInteger and ConvInteger with constant weights are exact for all sizes, signs and zero points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.helper import (
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
    np_dtype_to_tensor_dtype,
)
from onnx.reference import ReferenceEvaluator

import tvmlite
from tvmlite.machine.target import Target
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.interpret import interpret
from tvmlite.te.codegen import process

SIZES = [(1, 64, 48), (7, 31, 33), (33, 70, 64), (5, 12, 7), (1, 3, 1), (2, 130, 300)]
"""Rows, k and columns: k not a multiple of 4, columns fewer than a vector, and partial blocks."""

TARGETS = [
    "native",
    "llvm -mcpu=x86-64-v2",  # no byte dot product
    "llvm -mcpu=haswell",  # saturating sums of two products
    "llvm -mcpu=skylake-avx512",
    "llvm -mcpu=cascadelake",  # sums of four products
    "c",
]


@pytest.fixture
def target(request: pytest.FixtureRequest) -> str:
    """Return each of TARGETS that this machine can run."""
    refused = process.reason_not_to_run(Target.parse(request.param))
    if refused:
        pytest.skip(refused)
    return request.param


on_every_target = pytest.mark.parametrize("target", TARGETS, indirect=True)


def whole(source: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return source.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def model_of(a: np.ndarray, constants: dict[str, Any], rows: int | str) -> ModelProto:
    names = ["a", *(name if name in constants else "" for name in ("b", "za", "zb"))]
    graph = make_graph(
        [make_node("MatMulInteger", names, ["y"])],
        "product",
        [make_tensor_value_info("a", np_dtype_to_tensor_dtype(a.dtype), (rows, *a.shape[1:]))],
        [make_tensor_value_info("y", TensorProto.INT32, None)],
        [numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items()],
    )
    return make_model(graph, opset_imports=[make_opsetid("", 13)], ir_version=8)


def product(a: np.ndarray, constants: dict[str, Any]) -> np.ndarray:
    left = a.astype(np.int64) - np.asarray(constants.get("za", 0)).astype(np.int64).reshape(-1, 1)
    right = constants["b"].astype(np.int64) - np.asarray(constants.get("zb", 0)).astype(np.int64)
    return left @ right


@pytest.mark.slow
@on_every_target
@pytest.mark.parametrize(("rows", "k", "columns"), SIZES)
def test_products_are_exact_for_every_size(rows: int, k: int, columns: int, target: str) -> None:
    source = np.random.default_rng(k)
    a, b = whole(source, "uint8", rows, k), whole(source, "int8", k, columns)
    constants = {"b": b, "za": whole(source, "uint8"), "zb": whole(source, "int8", columns)}

    lib = tvmlite.compile(from_onnx(model_of(a, constants, rows)), target)

    np.testing.assert_array_equal(lib(a), product(a, constants))


@pytest.mark.parametrize("opt_level", [1, 3])
@pytest.mark.parametrize("zeros", ["", "za", "zb", "za zb"])
@pytest.mark.parametrize("signs", ["uint8 uint8", "uint8 int8", "int8 uint8", "int8 int8"])
def test_products_are_exact_for_every_sign_and_zero_point(signs: str, zeros: str, opt_level: int) -> None:
    source = np.random.default_rng(0)
    left, right = signs.split()
    a, constants = whole(source, left, 6, 21), {"b": whole(source, right, 21, 35)}
    constants |= {name: whole(source, left if name == "za" else right) for name in zeros.split()}
    module = from_onnx(model_of(a, constants, 6))

    np.testing.assert_array_equal(tvmlite.compile(module, opt_level=opt_level)(a), product(a, constants))
    np.testing.assert_array_equal(interpret(module, [a]), product(a, constants))


def test_matrix_products_with_an_open_number_of_rows() -> None:
    source = np.random.default_rng(1)
    constants = {
        "b": whole(source, "int8", 40, 50),
        "za": whole(source, "uint8"),
        "zb": whole(source, "int8"),
    }
    lib = tvmlite.compile(from_onnx(model_of(whole(source, "uint8", 1, 40), constants, "rows")))

    for rows in (1, 2, 15, 70):
        a = whole(source, "uint8", rows, 40)
        np.testing.assert_array_equal(lib(a), product(a, constants))


@pytest.mark.slow
@on_every_target
@pytest.mark.parametrize("a", [127, 128, 255])
@pytest.mark.parametrize("b", [-128, 127])
def test_products_of_extreme_values_are_exact(a: int, b: int, target: str) -> None:
    data, weight = np.full((1, 36), a, "uint8"), np.full((36, 48), b, "int8")

    lib = tvmlite.compile(from_onnx(model_of(data, {"b": weight}, 1)), target)

    np.testing.assert_array_equal(lib(data), np.full((1, 48), 36 * a * b))


def test_zero_points_per_row_and_overflowing_sums() -> None:
    source = np.random.default_rng(2)
    a = np.full((3, 70000), 255, "uint8")
    constants = {"b": np.full((70000, 16), 127, "int8"), "za": whole(source, "uint8", 3)}
    expected = product(a, constants).astype(np.int32)

    np.testing.assert_array_equal(tvmlite.compile(from_onnx(model_of(a, constants, 3)))(a), expected)


def test_vectors_and_batches_times_a_constant() -> None:
    source = np.random.default_rng(3)
    constants = {"b": whole(source, "uint8", 36, 20), "za": np.uint8(9), "zb": whole(source, "uint8", 20)}
    right = constants["b"].astype(int) - constants["zb"].astype(int)
    for shape in [(36,), (2, 3, 36)]:
        a = whole(source, "uint8", *shape)
        lib = tvmlite.compile(from_onnx(model_of(a, constants, shape[0])))
        np.testing.assert_array_equal(lib(a), (a.astype(int) - 9) @ right)


CONVOLUTIONS = [
    # data, weight, attributes
    ((1, 5, 9, 11), (19, 5, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 32, 9, 11), (32, 32, 3, 3), {"pads": [0, 2, 1, 0], "strides": [2, 2]}),
    ((1, 8, 9, 11), (16, 4, 3, 3), {"pads": [1, 1, 1, 1], "group": 2}),
    ((1, 16, 9, 11), (16, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 16}),
    ((1, 24, 7, 5), (17, 24, 1, 1), {}),
    ((1, 3, 12, 8), (16, 3, 2, 4), {"auto_pad": "SAME_UPPER", "dilations": [1, 2]}),
    ((2, 20, 9), (24, 20, 3), {"pads": [2, 2]}),
    ((1, 6, 5, 4, 6), (16, 6, 2, 2, 2), {"pads": [1] * 6}),
]


def convolved(
    data: np.ndarray,
    constants: dict[str, Any],
    attrs: dict[str, Any],
    open_extents: bool = False,
    **options: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Return tvmlite's result and that of ONNX's reference for ConvInteger."""
    names = ["x", *(name if name in constants else "" for name in ("w", "zx", "zw"))]
    extents = [f"d{n}" for n in range(data.ndim - 2)] if open_extents else data.shape[2:]
    kind = np_dtype_to_tensor_dtype(data.dtype)
    graph = make_graph(
        [make_node("ConvInteger", names, ["y"], **attrs)],
        "convolution",
        [make_tensor_value_info("x", kind, (*data.shape[:2], *extents))],
        [make_tensor_value_info("y", TensorProto.INT32, None)],
        [numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items()],
    )
    model = make_model(graph, opset_imports=[make_opsetid("", 13)], ir_version=8)
    return tvmlite.compile(from_onnx(model), **options)(data), _by_floats(data, constants, attrs)


def _by_floats(data: np.ndarray, constants: dict[str, Any], attrs: dict[str, Any]) -> np.ndarray:
    """Return the exact convolution in float64 of the numbers minus their zero points."""
    left = data.astype(np.float64) - float(constants.get("zx", 0))
    zero = np.asarray(constants.get("zw", 0)).astype(np.float64)
    right = constants["w"].astype(np.float64) - zero.reshape(-1, *(1,) * (data.ndim - 1))
    node = make_node("Conv", ["x", "w"], ["y"], **attrs)
    graph = make_graph(
        [node],
        "reals",
        [make_tensor_value_info(n, TensorProto.DOUBLE, x.shape) for n, x in (("x", left), ("w", right))],
        [make_tensor_value_info("y", TensorProto.DOUBLE, None)],
    )
    model = make_model(graph, opset_imports=[make_opsetid("", 13)], ir_version=8)
    return ReferenceEvaluator(model).run(None, {"x": left, "w": right})[0]


@pytest.mark.slow
@on_every_target
@pytest.mark.parametrize(("shape", "weight", "attrs"), CONVOLUTIONS)
def test_convolutions_are_exact(shape: tuple, weight: tuple, attrs: dict, target: str) -> None:
    source = np.random.default_rng(4)
    constants = {"w": whole(source, "int8", *weight), "zx": whole(source, "uint8")}

    made, expected = convolved(whole(source, "uint8", *shape), constants, attrs, target=target)

    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("zeros", ["", "zx", "zx zw"])
@pytest.mark.parametrize("signs", ["uint8 uint8", "uint8 int8", "int8 uint8", "int8 int8"])
def test_convolutions_are_exact_for_all_signs_and_zero_points(signs: str, zeros: str, opt_level: int) -> None:
    source = np.random.default_rng(5)
    left, right = signs.split()
    constants = {"w": whole(source, right, 18, 7, 3, 3)}
    constants |= {n: whole(source, *((left,) if n == "zx" else (right, 18))) for n in zeros.split()}
    attrs = {"pads": [1, 1, 0, 1]}

    made, expected = convolved(whole(source, left, 1, 7, 6, 9), constants, attrs, opt_level=opt_level)

    np.testing.assert_array_equal(made, expected)


def test_convolutions_with_open_extents() -> None:
    source = np.random.default_rng(6)
    constants = {"w": whole(source, "int8", 32, 12, 3, 3), "zx": whole(source, "uint8")}
    for attrs in ({"pads": [1, 1, 1, 1]}, {"auto_pad": "SAME_LOWER", "strides": [2, 2]}):
        data = whole(source, "uint8", 1, 12, 13, 21)
        made, expected = convolved(data, constants, attrs, open_extents=True)
        np.testing.assert_array_equal(made, expected)


def test_grouped_convolution_with_zero_points() -> None:
    source = np.random.default_rng(7)
    constants = {"w": whole(source, "uint8", 16, 4, 3, 3), "zx": whole(source, "uint8"), "zw": np.uint8(7)}

    made, expected = convolved(whole(source, "uint8", 1, 8, 6, 9), constants, {"group": 2})

    np.testing.assert_array_equal(made, expected)
