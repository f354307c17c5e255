"""Convolutions of quantized data and weights compute exact integer sums, with any padding."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.machine.target import Target
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.techniques.narrow_products.integer_products import integer_products

QUADS = Target.parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
rng = np.random.default_rng(0)
WEIGHT = rng.integers(-127, 128, (24, 6, 3, 3)).astype("int8")
SCALES = rng.uniform(0.001, 0.01, 24).astype("float32")
STEP = np.float32(0.02)


def dequantized(codes: Expr, scale: object, zero: object, axis: int = -1) -> Expr:
    return make("qnn.dequantize", codes, constant(scale, "float32"), constant(zero, "int32"), axis=axis)


def convolution(
    data: Expr, zero: int, weight: np.ndarray = WEIGHT, padding: int = 1, **attrs: object
) -> Expr:
    weights = dequantized(constant(weight), SCALES[: len(weight)], np.zeros(len(weight)), axis=0)
    four = (padding,) * 4
    return make("nn.conv2d", dequantized(data, STEP, zero), weights, padding=four, **attrs)


def module(data: Var, body: Expr) -> Module:
    return Module({"main": Function((data,), body)})


def convolutions(after: Module) -> list[Call]:
    return [one for one in postorder(after.main.body) if isinstance(one, Call) and one.op == "nn.conv2d"]


def exact(codes: np.ndarray, zero: int, padding: int, stride: int = 1) -> np.ndarray:
    """The integer sums times both scales in float64, written plainly."""
    wide = np.pad(codes.astype(np.int64) - zero, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    high, width = ((n - 3) // stride + 1 for n in wide.shape[2:])
    sums = np.zeros((len(codes), len(WEIGHT), high, width))
    for y in range(high):
        for x in range(width):
            window = wide[:, :, y * stride : y * stride + 3, x * stride : x * stride + 3]
            sums[:, :, y, x] = np.einsum("nihw,oihw->no", window, WEIGHT.astype(np.int64))
    return sums * (SCALES.astype(np.float64) * STEP)[:, None, None]


@pytest.mark.parametrize(
    ("dtype", "zero", "padding", "stride"),
    [("uint8", 0, 1, 1), ("uint8", 117, 1, 2), ("int8", 0, 1, 1), ("int8", -3, 0, 1), ("int8", 5, 1, 2)],
)
def test_sums_are_computed_in_integers(dtype: str, zero: int, padding: int, stride: int) -> None:
    data = var("q", (2, 6, 9, 8), dtype)
    limits = np.iinfo(dtype)
    codes = rng.integers(limits.min, limits.max + 1, (2, 6, 9, 8)).astype(dtype)

    after = integer_products(QUADS)(
        module(data, convolution(data, zero, padding=padding, strides=(stride, stride)))
    )

    (made,) = convolutions(after)
    assert made["out_dtype"] == "int32"
    expected = exact(codes, zero, padding, stride)
    np.testing.assert_allclose(interpret(after, [codes]), expected, rtol=4 * 2.0**-24)
    np.testing.assert_allclose(compile(after)(codes), expected, rtol=4 * 2.0**-24)


def test_padding_stays_if_the_zero_point_is_0() -> None:
    data = var("q", (1, 6, 8, 8), "uint8")
    (made,) = convolutions(integer_products(QUADS)(module(data, convolution(data, 0))))

    assert made.args[0] is data
    assert made["padding"] == (1, 1, 1, 1)


def test_borders_are_padded_with_the_zero_point() -> None:
    data = var("q", (1, 6, 8, 8), "uint8")
    (made,) = convolutions(integer_products(QUADS)(module(data, convolution(data, 117))))

    pad = made.args[0]
    assert isinstance(pad, Call)
    assert (pad.op, pad["pad_value"], made["padding"]) == ("nn.pad", 117.0, (0, 0, 0, 0))


def test_a_bias_with_the_scale_of_the_sums_is_added_in_integers() -> None:
    data = var("q", (1, 6, 8, 8), "uint8")
    codes = rng.integers(-9999, 9999, 24).astype("int32")
    bias = make("expand_dims", dequantized(constant(codes), SCALES * STEP, 0, axis=0), axis=1, num_newaxis=2)

    after = integer_products(QUADS)(module(data, make("add", convolution(data, 5), bias)))

    scaled = after.main.body
    assert isinstance(scaled, Call)
    assert scaled.op == "multiply"
    sums = scaled.args[0].args[0]  # type: ignore[attr-defined]
    assert sums.op == "add"
    assert isinstance(sums.args[1], Constant)
    expected = codes - 5 * WEIGHT.astype(np.int64).sum((1, 2, 3))
    np.testing.assert_array_equal(sums.args[1].data.reshape(-1), expected)


def test_a_bias_with_another_scale_is_added_in_floats() -> None:
    data = var("q", (1, 6, 8, 8), "uint8")
    bias = dequantized(constant(np.ones(24, "int32")), SCALES, 0, axis=0)
    after = integer_products(QUADS)(module(data, make("nn.bias_add", convolution(data, 5), bias, axis=1)))

    assert isinstance(after.main.body, Call)
    assert after.main.body.op == "nn.bias_add"


def test_float_convolutions_are_unchanged() -> None:
    data = var("x", (1, 6, 8, 8), "float32")
    before = module(data, make("nn.conv2d", data, constant(WEIGHT.astype("float32"))))

    assert integer_products(QUADS)(before) is before


def test_targets_without_byte_products_keep_float_convolutions() -> None:
    data = var("q", (1, 6, 8, 8), "uint8")
    before = module(data, convolution(data, 5))

    assert integer_products(Target.parse("c"))(before) is before


def test_results_stay_the_same(assert_same_meaning) -> None:
    data = var("q", (1, 6, 5, 5), "uint8")
    before = module(data, convolution(data, 100))

    assert_same_meaning(before, integer_products(QUADS)(before))


DEPTHWISE = rng.integers(-127, 128, (16, 1, 3, 3)).astype("int8")


@pytest.mark.parametrize(("zero", "stride"), [(0, 1), (90, 1), (0, 2)])
def test_depthwise_sums_are_exact_in_float32(zero: int, stride: int) -> None:
    data = var("q", (1, 16, 9, 9), "uint8")
    weights = dequantized(constant(DEPTHWISE), SCALES[:16], np.zeros(16), axis=0)
    four = {"padding": (1,) * 4, "strides": (stride, stride), "groups": 16}
    made = make("nn.conv2d", dequantized(data, STEP, zero), weights, **four)
    after = integer_products(QUADS)(module(data, made))
    (convolution,) = convolutions(after)
    assert convolution["out_dtype"] == "float32"

    codes = rng.integers(0, 256, (1, 16, 9, 9)).astype("uint8")
    wide = np.pad(codes.astype(np.int64) - zero, ((0, 0), (0, 0), (1, 1), (1, 1)))
    places = range(0, 9, stride)
    sums = [
        [(wide[0, :, y : y + 3, x : x + 3] * DEPTHWISE[:, 0]).sum((1, 2)) for x in places] for y in places
    ]
    scale = (STEP * SCALES[:16]).astype(np.float32)
    expected = np.moveaxis(np.array(sums), -1, 0).astype(np.float32) * scale[:, None, None]
    np.testing.assert_array_equal(interpret(after, [codes])[0], expected)
    np.testing.assert_array_equal(compile(after)(codes)[0], expected)


def test_depthwise_sums_too_large_for_float32_are_unchanged() -> None:
    data = var("q", (1, 2, 40, 40), "uint8")
    wide = dequantized(constant(np.full((2, 1, 21, 21), 127, "int8")), SCALES[:2], np.zeros(2), axis=0)
    before = module(data, make("nn.conv2d", dequantized(data, STEP, 0), wide, groups=2))

    assert integer_products(QUADS)(before) is before


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=haswell", "c"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_few_channels_are_packed_into_one_word(channels: int, target: str) -> None:
    data = var("q", (1, channels, 12, 12), "uint8")
    weight = WEIGHT[:, :channels]
    made = convolution(data, 117, weight, strides=(2, 2))
    after = integer_products(QUADS)(module(data, made))
    (made,) = convolutions(after)
    pad = made.args[0]
    assert isinstance(pad, Call)
    assert pad["pad_width"] == ((0, 0), (0, 0), (1, 0), (1, 0))  # no window reads the last row and column

    codes = rng.integers(0, 256, (1, channels, 12, 12)).astype("uint8")
    wide = np.pad(codes.astype(np.int64) - 117, ((0, 0), (0, 0), (1, 1), (1, 1)))
    places = range(0, 12, 2)
    sums = [
        [np.einsum("ihw,oihw->o", wide[0, :, y : y + 3, x : x + 3], weight.astype(np.int64)) for x in places]
        for y in places
    ]
    expected = np.moveaxis(np.array(sums), -1, 0) * (SCALES.astype(np.float64) * STEP)[:, None, None]
    np.testing.assert_allclose(compile(after, target=target)(codes)[0], expected, rtol=4 * 2.0**-24)


def test_the_four_bytes_of_a_word_are_multiplied_by_one_instruction() -> None:
    text = compile(
        module(data := var("q", (1, 3, 12, 12), "uint8"), convolution(data, 0, WEIGHT[:, :3])),
        target="llvm -mtriple=x86_64-linux-gnu -mcpu=znver4",
    ).source("loops")

    assert "vpdpbusd" in text
    assert "words" in text


@pytest.mark.parametrize("target", ["native", "llvm -mcpu=haswell", "c"])
@pytest.mark.parametrize(
    ("channels", "outputs", "groups", "left"),
    [(32, 32, 2, 2), (32, 64, 4, 4), (32, 32, 8, 2), (12, 32, 4, 1), (24, 16, 2, 1), (16, 32, 16, 2)],
)
def test_narrow_groups_are_merged(channels: int, outputs: int, groups: int, left: int, target: str) -> None:
    """Merged groups have whole vectors of outputs and multiples of four inputs; the sums stay the same."""
    data = var("q", (2, channels, 7, 6), "uint8")
    weight = rng.integers(-127, 128, (outputs, channels // groups, 3, 3)).astype("int8")
    scales = rng.uniform(0.001, 0.01, outputs).astype("float32")
    weights = dequantized(constant(weight), scales, np.zeros(outputs), axis=0)
    made = make("nn.conv2d", dequantized(data, STEP, 117), weights, padding=(1,) * 4, groups=groups)
    after = integer_products(QUADS)(module(data, made))
    (convolution,) = convolutions(after)
    assert (convolution["groups"], convolution["out_dtype"]) == (left, "int32")

    codes = rng.integers(0, 256, (2, channels, 7, 6)).astype("uint8")
    wide = np.pad(codes.astype(np.int64) - 117, ((0, 0), (0, 0), (1, 1), (1, 1)))
    wide = wide.reshape(2, groups, channels // groups, 9, 8)
    parts = weight.astype(np.int64).reshape(groups, outputs // groups, channels // groups, 3, 3)
    sums = np.zeros((2, groups, outputs // groups, 7, 6))
    for y, x in np.ndindex(7, 6):
        sums[..., y, x] = np.einsum("ngihw,goihw->ngo", wide[..., y : y + 3, x : x + 3], parts)
    expected = sums.reshape(2, outputs, 7, 6) * (scales.astype(np.float64) * STEP)[:, None, None]
    np.testing.assert_allclose(compile(after, target=target)(codes), expected, rtol=4 * 2.0**-24)


@pytest.mark.parametrize(
    ("channels", "outputs", "groups", "kernel"),
    [(64, 64, 16, 1), (48, 48, 16, 3), (24, 24, 4, 3), (32, 64, 32, 1)],
)
def test_groups_that_need_too_many_zeros_stay_floats(
    channels: int, outputs: int, groups: int, kernel: int
) -> None:
    data = var("q", (1, channels, 6, 6), "uint8")
    weight = rng.integers(-127, 128, (outputs, channels // groups, kernel, kernel)).astype("int8")
    weights = dequantized(constant(weight), np.float32(0.01), 0)
    before = module(data, make("nn.conv2d", dequantized(data, STEP, 3), weights, groups=groups))

    assert integer_products(QUADS)(before) is before


def test_merged_groups_use_four_byte_products() -> None:
    data = var("q", (1, 64, 12, 12), "uint8")
    weights = dequantized(constant(rng.integers(-9, 9, (64, 4, 3, 3)).astype("int8")), STEP, 0)
    made = make("nn.conv2d", dequantized(data, STEP, 3), weights, padding=(1,) * 4, groups=16)
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4"

    assert "vpdpbusd" in compile(module(data, made), target=target).source("loops")


def test_selecting_elements_is_done_on_codes() -> None:
    """Uses a channel shuffle (reshape, transpose, reshape) and a slice of the rows."""
    data = var("q", (1, 6, 9, 8), "uint8")
    value = make("reshape", dequantized(data, STEP, 117), newshape=(1, 2, 3, 9, 8))
    value = make("reshape", make("transpose", value, axes=(0, 2, 1, 3, 4)), newshape=(1, 6, 9, 8))
    value = make("strided_slice", value, begin=(1,), end=(8,), strides=(1,), axes=(2,))
    weights = dequantized(constant(WEIGHT), SCALES, np.zeros(len(WEIGHT)), axis=0)
    after = integer_products(QUADS)(module(data, make("nn.conv2d", value, weights, padding=(1,) * 4)))
    (made,) = convolutions(after)
    assert made["out_dtype"] == "int32"

    codes = rng.integers(0, 256, (1, 6, 9, 8)).astype("uint8")
    shuffled = codes.reshape(1, 2, 3, 9, 8).transpose(0, 2, 1, 3, 4).reshape(1, 6, 9, 8)[:, :, 1:8]
    expected = exact(shuffled, 117, 1)
    np.testing.assert_allclose(interpret(after, [codes]), expected, rtol=4 * 2.0**-24)
    np.testing.assert_allclose(compile(after)(codes), expected, rtol=4 * 2.0**-24)


def test_an_operator_that_fills_in_elements_stays_in_floats() -> None:
    data = var("q", (1, 6, 9, 8), "uint8")
    value = make("trilu", dequantized(data, STEP, 117), k=0)
    weights = dequantized(constant(WEIGHT), SCALES, np.zeros(len(WEIGHT)), axis=0)
    before = module(data, make("nn.conv2d", value, weights))

    assert integer_products(QUADS)(before) is before


@pytest.mark.parametrize(("groups", "left"), [(8, 2), (32, 32), (2, 2)])
def test_narrow_groups_of_integer_convolutions_are_merged(groups: int, left: int) -> None:
    data = var("q", (1, 32, 7, 6), "uint8")
    weight = rng.integers(-127, 128, (32, 32 // groups, 3, 3)).astype("int8")
    before = module(data, make("nn.conv2d", data, constant(weight), groups=groups, out_dtype="int32"))
    after = integer_products(QUADS)(before)
    (made,) = convolutions(after)
    assert made["groups"] == left
    assert (after is before) == (groups == left)

    codes = rng.integers(0, 256, (1, 32, 7, 6)).astype("uint8")
    expected = interpret(before, [codes])
    np.testing.assert_array_equal(interpret(after, [codes]), expected)
    np.testing.assert_array_equal(compile(after)(codes), expected)
