"""Rounding of values known to fit into int32."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.relay.ir.nodes import Call, Expr, Function, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.techniques.narrow_products.known_range import known_range

QUADS = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
SHAPE = (4, 64)
sums, codes, floats = (var(kind, SHAPE, kind) for kind in ("int32", "uint8", "float32"))
image = var("image", (1, 4, 8, 8), "uint8")


def quantized(data: Expr, scale: float = 1.0) -> Call:
    made = make("qnn.quantize", data, constant(scale, "float32"), constant(3, "int32"), out_dtype="uint8")
    assert isinstance(made, Call)
    return made


def scaled(factor: object, data: Expr = sums) -> Expr:
    return make("multiply", make("cast", data, dtype="float32"), constant(np.array(factor), "float32"))


def dequantized(scale: float = 0.5) -> Expr:
    return make("qnn.dequantize", codes, constant(scale, "float32"), constant(7, "int32"))


def is_known(body: Expr) -> bool:
    made = known_range(QUADS)(Module({"main": Function((sums, codes, floats, image), body)})).main.body
    assert isinstance(made, Call)
    assert made["fits_int32"] or made is body
    return made["fits_int32"]


@pytest.mark.parametrize(
    "data",
    [
        scaled(0.999),
        scaled(np.linspace(-0.9, 0.9, 64)),
        make("nn.relu", make("add", scaled(0.5), dequantized())),
        make("clip", make("round", scaled(0.5)), a_min=-9.0, a_max=9.0),
        make("reshape", make("subtract", dequantized(), constant(1e6, "float32")), newshape=(-1,)),
    ],
)
def test_scaled_sums_and_dequantized_values_are_known_to_fit(data: Expr) -> None:
    assert is_known(quantized(data))


@pytest.mark.parametrize(
    "data",
    [
        floats,
        scaled(1.0),
        scaled(np.array([np.nan] + [0.5] * 63)),
        make("add", scaled(0.5), scaled(0.5)),
        make("clip", floats, a_min=-9.0, a_max=9.0),
        make("sigmoid", scaled(0.5)),
    ],
)
def test_other_values_are_not_known_to_fit(data: Expr) -> None:
    assert not is_known(quantized(data))


@pytest.mark.parametrize(("scale", "fits"), [(1.0, True), (1e4, False)])
def test_the_range_of_a_byte_convolution_follows_from_the_size_of_its_weight(
    scale: float, fits: bool
) -> None:
    kernel = constant(np.full((8, 4, 3, 3), -128), "int8")
    made = make("nn.conv2d", image, kernel, out_dtype="float32")

    assert is_known(quantized(make("multiply", made, constant(scale, "float32")))) is fits


def test_a_scale_below_1_enlarges_the_range() -> None:
    assert is_known(quantized(scaled(0.01), 0.02))
    assert not is_known(quantized(scaled(0.01), 0.005))


def test_extreme_sums_saturate() -> None:
    given = np.array([-(2**31), 2**31 - 1, 600, -600, 0, 505, 507, 2**30] * 32, "int32").reshape(SHAPE)
    lib = compile(Module.from_expr(Function((sums,), quantized(scaled(0.5)))))

    wanted = np.clip(np.rint(given.astype(np.float64) * 0.5) + 3, 0, 255).astype("uint8")
    np.testing.assert_array_equal(lib(given), wanted)
