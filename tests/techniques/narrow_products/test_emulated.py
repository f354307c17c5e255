"""Byte products by AArch64 instructions in an emulator have the bits of onnxruntime and the interpreter."""

from __future__ import annotations

from pathlib import Path

import emulated
import numpy as np
import onnxruntime
import pytest
from quantizable_networks import conv, images, module_of, relu, weights
from quantized_cases import CASES, Case, Source

from tvmlite import relay
from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.frontend import from_onnx
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Expr, Module, Var, constant, var
from tvmlite.relay.ir.op import make

INSTRUCTION = {"+i8mm": "usdot", "+dotprod": "sdot"}
PRODUCTS = ("ConvInteger", "QLinearConv", "MatMulInteger", "QLinearMatMul", "QGemm")


def expected(case: Case) -> list[np.ndarray]:
    """The result of onnxruntime for ``case`` without graph optimization."""
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        case.model().SerializeToString(), settings, ["CPUExecutionProvider"]
    )
    return session.run(None, {one.name: x for one, x in zip(session.get_inputs(), case.given(), strict=True)})


@pytest.mark.slow
@pytest.mark.parametrize("features", INSTRUCTION)
@pytest.mark.parametrize("op_type", PRODUCTS)
def test_onnx_products_have_the_bits_of_onnxruntime(op_type: str, features: str, tmp_path: Path) -> None:
    emulated.emulator()
    for seed in range(8):
        case = CASES[op_type](Source(seed))
        lib = compile(from_onnx(case.model()), emulated.target(features), name="net")
        wanted = expected(case)
        for got, want in zip(emulated.run(lib, case.given(), wanted, tmp_path), wanted, strict=True):
            np.testing.assert_array_equal(got, want, f"seed {seed}")


def quantized(data: Expr, dtype: str, scale: float = 0.02) -> Expr:
    point = constant(3 if dtype == "uint8" else -125, "int32")
    codes = make("qnn.quantize", data, constant(np.float32(scale)), point, out_dtype=dtype)
    return make("qnn.dequantize", codes, constant(np.float32(scale)), point)


def rounded(*shape: int, seed: int = 3) -> Expr:
    """Weights of int8, including -128, with a scale per output channel."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-128, 128, shape).astype("int8")
    scales = rng.uniform(0.0005, 0.001, shape[0]).astype("float32")
    zeros = constant(np.zeros(shape[0], "int32"))
    return make("qnn.dequantize", constant(codes), constant(scales), zeros, axis=0)


def dense() -> Expr:
    return make("nn.dense", quantized(var("x", (5, 36)), "uint8"), rounded(24, 36))


def convolution(channels: int, window: int, dtype: str, **attrs: object) -> Expr:
    x = var("x", (1, channels, 9, 7))
    weight = rounded(20, channels, window, window)
    return make("nn.conv2d", quantized(x, dtype), weight, padding=(window // 2,) * 4, **attrs)


LAYERS = {
    "dense": dense,
    "conv1x1": lambda: convolution(32, 1, "uint8"),
    "conv3x3": lambda: convolution(16, 3, "uint8"),
    "conv3x3 of int8": lambda: convolution(16, 3, "int8"),
    "conv3x3 of three channels": lambda: convolution(3, 3, "int8", strides=(2, 2)),
    "conv3x3 of odd channels": lambda: convolution(13, 3, "uint8"),
}


def module(body: Expr) -> Module:
    params = [node for node in postorder(body) if isinstance(node, Var)]
    return module_of(body, *params)


@pytest.mark.parametrize("features", INSTRUCTION)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_have_the_bits_of_the_interpreter(name: str, features: str, tmp_path: Path) -> None:
    before = module(quantized(make("nn.relu", LAYERS[name]()), "uint8", 0.05))
    (parameter,) = before.main.params
    x = np.random.default_rng(0).uniform(-1, 4, parameter.type.shape).astype("float32")
    lib = compile(before, emulated.target(features), name="net")
    assert INSTRUCTION[features] in lib.source("asm")

    wanted = interpret(lib.module, [x])
    (made,) = emulated.run(lib, [x], [wanted], tmp_path)

    np.testing.assert_array_equal(made, wanted)
    np.testing.assert_allclose(made, interpret(before, [x]), atol=0.0501)  # one quantization step


def network() -> Module:
    """A stem, pooling, a residual block, one at half resolution, a depthwise layer, and a classifier."""
    x = var("x", (1, 3, 32, 32))
    stem = relu(conv(x, weights(16, 3, 7, 7), padding=(3,) * 4, strides=(2, 2)))
    pooled = make("nn.max_pool2d", stem, pool_size=(3, 3), strides=(2, 2), padding=(1,) * 4)
    first = relu(conv(pooled, weights(16, 16, 3, 3), padding=(1,) * 4))
    joined = relu(make("add", conv(first, weights(16, 16, 3, 3, seed=8), padding=(1,) * 4), pooled))
    down = relu(conv(joined, weights(32, 16, 3, 3), padding=(1,) * 4, strides=(2, 2)))
    beside = conv(joined, weights(32, 16, 1, 1), strides=(2, 2))
    second = relu(make("add", conv(down, weights(32, 32, 3, 3), padding=(1,) * 4), beside))
    own = relu(conv(second, weights(32, 1, 3, 3), padding=(1,) * 4, groups=32))
    flat = make("reshape", make("nn.global_avg_pool2d", own), newshape=(1, 32))
    return module_of(make("nn.dense", flat, weights(10, 32)), x)


@pytest.mark.slow
@pytest.mark.parametrize("features", INSTRUCTION)
def test_a_residual_network_has_the_bits_of_the_interpreter(features: str, tmp_path: Path) -> None:
    data = images(8, (1, 3, 32, 32))
    made = relay.quantize(network(), data, measure=False).module
    lib = compile(made, emulated.target(features), name="net")
    x = data[0]["x"]

    wanted = interpret(lib.module, [x])
    (found,) = emulated.run(lib, [x], [wanted], tmp_path)

    np.testing.assert_array_equal(found, wanted)
    assert lib.source("asm").count(INSTRUCTION[features]) > 50
    near = interpret(made, [x])
    np.testing.assert_allclose(found, near, atol=0.02 * np.abs(near).max())
