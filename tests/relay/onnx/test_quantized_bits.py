"""Quantized operators and the operators between them are bit-exact with unoptimized ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper
from onnx.helper import (
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
    np_dtype_to_tensor_dtype,
)

import tvmlite
from tvmlite.relay.frontend import from_onnx

LEVELS = pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
FLOAT = TensorProto.FLOAT


def model_of(
    nodes: Sequence[NodeProto],
    weights: dict[str, Any],
    inputs: dict[str, np.ndarray],
    outputs: dict[str, Any],
) -> ModelProto:
    graph = make_graph(
        nodes,
        "quantised",
        [make_tensor_value_info(n, np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in inputs.items()],
        [make_tensor_value_info(name, dtype, None) for name, dtype in outputs.items()],
        [numpy_helper.from_array(np.asarray(x), name) for name, x in weights.items()],
    )
    return make_model(graph, opset_imports=[make_opsetid("", 13)], ir_version=8)


def check(
    nodes: Sequence[NodeProto],
    weights: dict[str, Any],
    inputs: dict[str, np.ndarray],
    outputs: dict[str, Any],
    **options: Any,
) -> None:
    """Check that the outputs equal ONNX Runtime's bit for bit."""
    model = model_of(nodes, weights, inputs, outputs)
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, ["CPUExecutionProvider"])
    wanted = session.run(None, inputs)
    made = tvmlite.compile(from_onnx(model), **options)(*inputs.values())
    for name, got, expected in zip(outputs, made if len(wanted) > 1 else [made], wanted, strict=True):
        np.testing.assert_array_equal(got, expected, name)


def floats(source: np.random.Generator, *shape: int) -> np.ndarray:
    return source.standard_normal(shape).astype(np.float32)


def scales(source: np.random.Generator, *shape: int) -> np.ndarray:
    return (source.random(shape) * 0.02 + 0.001).astype(np.float32)


def whole(source: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return source.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def convolutions(
    source: np.random.Generator, layers: int, channels: int, rank: int, after: Sequence[str]
) -> tuple[list[NodeProto], dict[str, Any], str]:
    """Return layers as dynamic quantizers write them: integer products with scales, bias, activation."""
    weights: dict[str, Any] = {"six": np.float32(6), "three": np.float32(3), "zero": np.float32(0)}
    nodes, data, ones = [], "x", (1,) * rank
    for n in range(layers):
        weights[f"w{n}"] = whole(source, "int8", channels, channels, *(3,) * rank)
        weights[f"scale{n}"] = scales(source, 1, channels, *ones)
        weights[f"bias{n}"] = floats(source, 1, channels, *ones)
        nodes += [
            make_node("DynamicQuantizeLinear", [data], [f"q{n}", f"s{n}", f"z{n}"]),
            make_node("ConvInteger", [f"q{n}", f"w{n}", f"z{n}"], [f"sum{n}"], pads=[1] * (2 * rank)),
            make_node("Cast", [f"sum{n}"], [f"real{n}"], to=FLOAT),
            make_node("Mul", [f"s{n}", f"scale{n}"], [f"both{n}"]),
            make_node("Mul", [f"real{n}", f"both{n}"], [f"scaled{n}"]),
            make_node("Add", [f"scaled{n}", f"bias{n}"], [f"biased{n}"]),
            *activation(after[n % len(after)], f"biased{n}", f"y{n}", data if n else ""),
        ]
        data = f"y{n}"
    return nodes, weights, data


def activation(kind: str, data: str, result: str, before: str) -> list[NodeProto]:
    if kind == "Residual" and before:
        return [make_node("Add", [data, before], [result])]
    if kind == "HardSwish":  # as exporters wrote it before the operator existed
        return [
            make_node("Add", [data, "three"], [f"{result}.a"]),
            make_node("Clip", [f"{result}.a", "zero", "six"], [f"{result}.b"]),
            make_node("Mul", [data, f"{result}.b"], [f"{result}.c"]),
            make_node("Div", [f"{result}.c", "six"], [result]),
        ]
    return [make_node("LeakyRelu" if kind == "LeakyRelu" else "Relu", [data], [result])]


@pytest.mark.slow
@LEVELS
@pytest.mark.parametrize(
    ("channels", "size"),
    [(8, (9, 11)), (16, (16, 16)), (5, (37,)), (32, (64,))],
    ids=["2d", "2d16", "1d", "1d32"],
)
def test_dynamically_quantized_convolutions(channels: int, size: tuple[int, ...], opt_level: int) -> None:
    source = np.random.default_rng(channels)
    after = ["Relu", "HardSwish", "Residual", "LeakyRelu"]
    nodes, weights, last = convolutions(source, 5, channels, len(size), after)

    check(nodes, weights, {"x": floats(source, 2, channels, *size)}, {last: FLOAT}, opt_level=opt_level)


def test_generated_c_is_bit_exact() -> None:
    source = np.random.default_rng(1)
    nodes, weights, last = convolutions(source, 2, 8, 1, ["HardSwish", "Residual"])

    check(nodes, weights, {"x": floats(source, 1, 8, 21)}, {last: FLOAT}, target="c")


@pytest.mark.slow
@LEVELS
@pytest.mark.parametrize("rows", [1, 7, 33])
def test_dynamically_quantized_matrix_products(rows: int, opt_level: int) -> None:
    source = np.random.default_rng(rows)
    nodes, weights, data = [], {}, "x"
    for n, (k, m) in enumerate([(48, 64), (64, 31), (31, 10)]):
        weights |= {f"w{n}": whole(source, "int8", k, m), f"wz{n}": whole(source, "int8", m)}
        weights |= {f"ws{n}": scales(source, m), f"b{n}": floats(source, m)}
        nodes += [
            make_node("DynamicQuantizeLinear", [data], [f"q{n}", f"s{n}", f"z{n}"]),
            make_node("MatMulInteger", [f"q{n}", f"w{n}", f"z{n}", f"wz{n}"], [f"sum{n}"]),
            make_node("Cast", [f"sum{n}"], [f"real{n}"], to=FLOAT),
            make_node("Mul", [f"s{n}", f"ws{n}"], [f"both{n}"]),
            make_node("Mul", [f"real{n}", f"both{n}"], [f"scaled{n}"]),
            make_node("Add", [f"b{n}", f"scaled{n}"], [f"biased{n}"]),
            make_node("Relu", [f"biased{n}"], [f"y{n}"]),
        ]
        data = f"y{n}"

    check(nodes, weights, {"x": floats(source, rows, 48)}, {data: FLOAT}, opt_level=opt_level)


@LEVELS
@pytest.mark.parametrize("depthwise", [False, True])
def test_statically_quantized_convolutions(depthwise: bool, opt_level: int) -> None:
    source = np.random.default_rng(2)
    nodes, weights, data = [], {}, "x"
    for n in range(3):
        weights |= {
            f"w{n}": whole(source, "int8", 16, 1 if depthwise else 16, 3, 3),
            f"ws{n}": scales(source, 16),
        }
        weights |= {f"wz{n}": np.zeros(16, "int8"), f"b{n}": source.integers(-500, 500, 16).astype("int32")}
        weights |= {f"s{n}": scales(source)[()], f"z{n}": whole(source, "uint8")}
        weights |= {f"ys{n}": np.float32(0.2 + n), f"yz{n}": whole(source, "uint8")}
        names = [data, f"s{n}", f"z{n}", f"w{n}", f"ws{n}", f"wz{n}", f"ys{n}", f"yz{n}", f"b{n}"]
        groups = 16 if depthwise else 1
        nodes.append(make_node("QLinearConv", names, [f"y{n}"], pads=[1] * 4, group=groups))
        data = f"y{n}"

    check(
        nodes,
        weights,
        {"x": whole(source, "uint8", 1, 16, 13, 15)},
        {data: TensorProto.UINT8},
        opt_level=opt_level,
    )


@LEVELS
def test_quantized_matrix_product_with_scales_per_column(opt_level: int) -> None:
    source = np.random.default_rng(3)
    weights = {"s": scales(source)[()], "z": whole(source, "uint8"), "w": whole(source, "int8", 64, 48)}
    weights |= {
        "ws": scales(source, 48),
        "wz": np.zeros(48, "int8"),
        "ys": np.float32(0.3),
        "yz": np.uint8(99),
    }
    node = make_node("QLinearMatMul", ["x", "s", "z", "w", "ws", "wz", "ys", "yz"], ["y"])

    check(
        [node], weights, {"x": whole(source, "uint8", 33, 64)}, {"y": TensorProto.UINT8}, opt_level=opt_level
    )


@LEVELS
def test_arithmetic_between_dequantization_and_quantization(opt_level: int) -> None:
    source = np.random.default_rng(4)
    weights = {
        "s": scales(source, 64),
        "z": whole(source, "uint8", 64),
        "ys": np.float32(0.05),
        "yz": np.int8(3),
    }
    weights |= {"m": floats(source, 64), "b": floats(source, 64), "d": floats(source, 64)}
    nodes = [
        make_node("DequantizeLinear", ["x", "s", "z"], ["real"], axis=1),
        make_node("Mul", ["real", "m"], ["product"]),
        make_node("Add", ["product", "b"], ["sum"]),
        make_node("Div", ["sum", "d"], ["quotient"]),
        make_node("Sub", ["quotient", "product"], ["rest"]),
        make_node("QuantizeLinear", ["rest", "ys", "yz"], ["y"]),
    ]

    outputs = {"y": TensorProto.INT8, "rest": FLOAT}
    check(nodes, weights, {"x": whole(source, "uint8", 50, 64)}, outputs, opt_level=opt_level)


@LEVELS
def test_integer_sums_in_float_are_scaled_after_the_sum(opt_level: int) -> None:
    """As where float convolutions replace integer ones: sums are exact, so the scale must stay outside."""
    source = np.random.default_rng(5)
    weights = {"w": whole(source, "int8", 16, 16, 3, 3).astype(np.float32), "scale": scales(source, 16, 1, 1)}
    weights |= {"b": floats(source, 16, 1, 1)}
    nodes = [
        make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        make_node("Cast", ["q"], ["real"], to=FLOAT),
        make_node("Conv", ["real", "w"], ["sum"]),
        make_node("Mul", ["sum", "scale"], ["scaled"]),
        make_node("Add", ["scaled", "b"], ["biased"]),
        make_node("Relu", ["biased"], ["y"]),
        make_node("DynamicQuantizeLinear", ["y"], ["codes", "step", "zero"]),
    ]

    outputs = {"codes": TensorProto.UINT8, "step": FLOAT, "zero": TensorProto.UINT8}
    check(nodes, weights, {"x": floats(source, 1, 16, 12, 12)}, outputs, opt_level=opt_level)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e6])
@pytest.mark.parametrize("kind", ["both", "positive", "negative", "zero"])
def test_range_chosen_by_dynamic_quantization(kind: str, scale: float) -> None:
    x = floats(np.random.default_rng(6), 37, 101)
    x = {"both": x, "positive": np.abs(x) + 1, "negative": -np.abs(x) - 1, "zero": x * 0}[kind] * np.float32(
        scale
    )
    node = make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])

    check([node], {}, {"x": x}, {"q": TensorProto.UINT8, "s": FLOAT, "z": TensorProto.UINT8})
