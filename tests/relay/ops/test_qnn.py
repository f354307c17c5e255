"""TVM's operators of quantized tensors against integers of Python, compiled at each level; and bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.errors import TvmliteError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Module

HOW = [("native", 0), ("native", 3), ("c", 3)]


def check(body: relay.Expr, inputs: dict[relay.Var, np.ndarray], expected: np.ndarray) -> None:
    """The interpreter's result, and that of each target and level, is ``expected``; also through the text."""
    module = Module.from_expr(relay.Function(list(inputs), body))
    given = list(inputs.values())
    np.testing.assert_array_equal(interpret(module, given), expected)
    for target, level in HOW:
        made = tvmlite.compile(relay.parse(str(module)), target, opt_level=level)(*given)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made, expected, f"{target} {level}")


def var(name: str, array: np.ndarray) -> relay.Var:
    return relay.var(name, shape=array.shape, dtype=array.dtype.name)


def scale(*values: float) -> relay.Expr:
    return relay.const(np.array(values if len(values) > 1 else values[0], np.float32))


def zero(*values: int) -> relay.Expr:
    return relay.const(np.array(values if len(values) > 1 else values[0], np.int32))


def whole(source: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return source.integers(limits.min, limits.max, shape, dtype, endpoint=True)


# The fixed-point form, in Python's integers


def multiplied(value: int, factor: Fraction, upward: bool = True) -> int:
    """``value * factor``, the factor with 31 bits; of two nearest the upper one, or that further from 0."""
    fraction, shift = math.frexp(float(factor))
    multiplier = math.floor(Fraction(fraction) * 2**31 + Fraction(1, 2))
    product = value * multiplier * Fraction(2) ** (shift - 31)
    if upward or product >= 0:
        return math.floor(product + Fraction(1, 2))
    return -math.floor(-product + Fraction(1, 2))


def requantized(value: int, own: float, own_zero: int, out: float, out_zero: int, upward: bool = True) -> int:
    factor = Fraction(float(np.float64(np.float32(own)) / np.float64(np.float32(out))))
    return multiplied(int(value) - own_zero, factor, upward) + out_zero


def clipped(values: Any, dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.clip(np.array(values, object), limits.min, limits.max).astype(dtype)


def each(function: Any, *arrays: np.ndarray) -> np.ndarray:
    """``function`` of the elements, as Python's integers."""
    spread = np.broadcast_arrays(*arrays)
    made = [function(*(int(x) for x in row)) for row in zip(*(x.ravel() for x in spread), strict=True)]
    return np.array(made, object).reshape(spread[0].shape)


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
@pytest.mark.parametrize(("own", "out"), [(0.37, 0.11), (0.5, 4.0), (0.003, 0.9), (7.0, 0.02), (0.25, 0.25)])
def test_requantize_by_integers(own: float, out: float, rounding: str) -> None:
    data = np.r_[np.arange(-40, 40), whole(np.random.default_rng(0), "int16", 200)].astype(np.int32)
    x = var("x", data)
    body = relay.qnn.requantize(
        x, scale(own), zero(3), scale(out), zero(-2), rounding=rounding, compute_dtype="int64"
    )
    upward = rounding == "UPWARD"

    check(body, {x: data}, clipped(each(lambda v: requantized(v, own, 3, out, -2, upward), data), "int8"))


def test_requantize_by_channel_and_with_scales_that_are_inputs() -> None:
    source = np.random.default_rng(1)
    data = source.integers(-(10**6), 10**6, (2, 3, 5)).astype(np.int32)
    scales, x = np.array([0.001, 0.0002, 0.01], np.float32), var("x", data)
    made = [
        [[requantized(v, scales[c], 0, 0.3, 9) for v in data[n, c].tolist()] for c in range(3)]
        for n in range(2)
    ]
    expected = clipped(made, "uint8")
    options = {"axis": 1, "out_dtype": "uint8"}
    check(
        relay.qnn.requantize(x, scale(*scales), zero(0), scale(0.3), zero(9), **options), {x: data}, expected
    )

    s = var("s", scales)
    body = relay.qnn.requantize(x, s, zero(0), scale(0.3), zero(9), **options)
    check(body, {x: data, s: scales}, expected)


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_requantize_by_floats_rounds_halves_as_told(rounding: str) -> None:
    data = np.arange(-9, 10, dtype=np.int32)
    x = var("x", data)
    body = relay.qnn.requantize(
        x, scale(0.5), zero(0), scale(1.0), zero(0), rounding=rounding, compute_dtype="float32"
    )
    up = np.floor(data / 2 + 0.5)
    expected = up if rounding == "UPWARD" else np.sign(data) * np.floor(np.abs(data) / 2 + 0.5)

    check(body, {x: data}, expected.astype(np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("name", ["add", "subtract", "mul"])
def test_arithmetic(name: str, dtype: str) -> None:
    source = np.random.default_rng(2)
    left, right = whole(source, dtype, 4, 30), whole(source, dtype, 30)
    a, b = var("a", left), var("b", right)
    parameters = 0.03, 5, 0.07, 2, 0.09 if name != "mul" else 0.6, 11
    own, own_zero, other, other_zero, out, out_zero = parameters

    def element(p: int, q: int) -> int:
        if name == "mul":
            both = np.float32(own) * np.float32(other)
            return requantized((p - own_zero) * (q - other_zero), both, 0, out, out_zero)
        first, second = (
            requantized(p, own, own_zero, out, out_zero),
            requantized(q, other, other_zero, out, out_zero),
        )
        return first + second - out_zero if name == "add" else first - second + out_zero

    body = getattr(relay.qnn, name)(
        a, b, scale(own), zero(own_zero), scale(other), zero(other_zero), scale(out), zero(out_zero)
    )
    check(body, {a: left, b: right}, clipped(each(element, left, right), dtype))


CONVOLUTIONS = [
    ({"padding": (1, 1)}, 3, 8, 1),
    ({"strides": (2, 2), "padding": (0, 1, 2, 1)}, 5, 20, 1),
    ({"dilation": (2, 1), "groups": 2}, 6, 8, 2),
    ({"padding": (1, 1), "groups": 16}, 16, 16, 16),
]


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("signs", ["uint8 int8", "int8 uint8"])
@pytest.mark.parametrize(("attrs", "before", "after", "groups"), CONVOLUTIONS)
def test_convolution(attrs: Any, before: int, after: int, groups: int, signs: str, constant: bool) -> None:
    source, (own, other) = np.random.default_rng(3), signs.split()
    data, kernel = whole(source, own, 2, before, 9, 7), whole(source, other, after, before // groups, 3, 3)
    x, w = var("x", data), var("w", kernel)
    by_channel = source.integers(0, 9, after).astype(np.int32)
    zeros = zero(7), zero(*by_channel) if groups == 1 else zero(4)
    point = by_channel.reshape(-1, 1, 1, 1) if groups == 1 else 4
    body = relay.qnn.conv2d(
        x, relay.const(kernel) if constant else w, *zeros, scale(0.1), scale(0.2), (3, 3), after, **attrs
    )
    plain = relay.nn.conv2d(x, w, out_dtype="int32", **attrs)
    centred = data.astype(np.int32) - 7, kernel.astype(np.int32) - point
    wide = [relay.var(n, shape=a.shape, dtype="int32") for n, a in zip("xw", centred, strict=True)]
    plain = relay.nn.conv2d(*wide, **attrs)
    expected = interpret(relay.Function(wide, plain), list(centred))

    check(body, {x: data} if constant else {x: data, w: kernel}, expected)


@pytest.mark.parametrize("constant", [True, False])
def test_products_of_matrices(constant: bool) -> None:
    source = np.random.default_rng(4)
    data, weight = whole(source, "int8", 5, 37), whole(source, "uint8", 21, 37)
    x, w = var("x", data), var("w", weight)
    held = relay.const(weight) if constant else w
    body = relay.qnn.dense(x, held, zero(-3), zero(100), scale(0.1), scale(0.2), units=21)
    expected = (data.astype(np.int64) + 3) @ (weight.astype(np.int64) - 100).T
    check(body, {x: data} if constant else {x: data, w: weight}, expected.astype(np.int32))

    data, weight = whole(source, "int8", 2, 5, 37), whole(source, "uint8", 2, 6, 37)
    x, w = var("x", data), var("w", weight)
    body = relay.qnn.batch_matmul(x, w, zero(-3), zero(100), scale(0.1), scale(0.2))
    expected = (data.astype(np.int64) + 3) @ (weight.astype(np.int64) - 100).transpose(0, 2, 1)
    check(body, {x: data, w: weight}, expected.astype(np.int32))


@pytest.mark.parametrize(
    ("layout", "constant"),
    [("NC16n", True), ("NC16n4c", True), ("NC8n", True), ("NC16n", False), ("NC8n", False)],
)
@pytest.mark.parametrize("kernel_zero", [0, 9])
def test_products_by_packed_weights(layout: str, constant: bool, kernel_zero: int) -> None:
    source = np.random.default_rng(3)
    data, weight = whole(source, "uint8", 5, 12), whole(source, "int8", 24, 12)
    block, together = (8, 1) if layout == "NC8n" else (16, 4 if layout.endswith("c") else 1)
    blocks = -(-24 // block)
    filled = np.zeros((blocks * block, 12), "int8")
    filled[:24] = weight
    packed = filled.reshape(blocks, block, 12 // together, together).transpose(0, 2, 1, 3)
    packed = np.ascontiguousarray(packed if together > 1 else packed[..., 0])
    expected = (data.astype(object) - 7) @ (weight.astype(object) - kernel_zero).T
    given = {var("x", data): data} | ({} if constant else {var("w", packed): packed})
    x, *rest = given
    body = relay.qnn.contrib_dense_pack(
        x,
        relay.const(packed) if constant else rest[0],
        zero(7),
        zero(kernel_zero),
        scale(0.1),
        scale(0.1),
        weight_layout=layout,
        units=24,
    )
    check(body, given, expected.astype(np.int32))


def test_a_transposed_convolution() -> None:
    source = np.random.default_rng(5)
    data, kernel = whole(source, "uint8", 1, 3, 5, 4), whole(source, "int8", 3, 6, 3, 3)
    x = var("x", data)
    body = relay.qnn.conv2d_transpose(
        x, relay.const(kernel), zero(9), zero(-2), scale(0.1), scale(0.2), strides=(2, 2)
    )
    expected = np.zeros((1, 6, 11, 9), np.int64)
    for y in range(5):
        for k in range(4):
            part = np.tensordot(data[0, :, y, k].astype(int) - 9, kernel.astype(int) + 2, (0, 0))
            expected[0, :, 2 * y : 2 * y + 3, 2 * k : 2 * k + 3] += part

    check(body, {x: data}, expected.astype(np.int32))


FUNCTIONS = {
    "abs": abs,
    "erf": math.erf,
    "exp": math.exp,
    "hardswish": lambda v: v * min(max(v + 3, 0), 6) / 6,
    "log": lambda v: math.log(v) if v > 0 else -math.inf if v == 0 else math.nan,
    "rsqrt": lambda v: 1 / math.sqrt(v) if v > 0 else math.inf if v == 0 else math.nan,
    "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
    "sqrt": lambda v: math.sqrt(v) if v >= 0 else math.nan,
    "tanh": math.tanh,
}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_by_lookup_table(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    data = np.arange(limits.min, limits.max + 1).astype(dtype).reshape(4, 64)
    x = var("x", data)
    body = getattr(relay.qnn, name)(x, scale(0.031), zero(7), scale(0.017), zero(20))
    module = Module.from_expr(relay.Function([x], body))
    made = interpret(module, [data])

    def element(v: int) -> Any:
        real = FUNCTIONS[name]((v - 7) * float(np.float32(0.031)))
        return 0 if math.isnan(real) else max(min(real / float(np.float32(0.017)) + 20, 1e6), -1e6)

    exact = each(element, data).astype(float)
    near = np.clip(exact, limits.min, limits.max)
    assert np.abs(made - near).max() <= 0.5 + 1e-3
    check(body, {x: data}, made)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_leaky_relu(dtype: str) -> None:
    limits = np.iinfo(dtype)
    data = np.arange(limits.min, limits.max + 1).astype(dtype)
    x = var("x", data)
    body = relay.qnn.leaky_relu(
        x, scale(0.05), zero(10), scale(0.08), zero(-4 if dtype == "int8" else 4), alpha=0.3
    )
    out_zero = -4 if dtype == "int8" else 4

    def element(v: int) -> int:
        moved = requantized(v, 0.05, 10, 0.08, out_zero)
        low = multiplied(moved, Fraction(0.3)) + multiplied(out_zero, Fraction(1 - 0.3))
        return low if v < 10 else moved

    check(body, {x: data}, clipped(each(element, data), dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_concatenation_moves_each_to_the_scale_of_the_result(dtype: str) -> None:
    source = np.random.default_rng(4)
    parts = [whole(source, dtype, 3, width) for width in (4, 1, 5)]
    scales, zeros = (0.37, 0.11, 0.05), (3, -4 if dtype == "int8" else 4, 7)
    expected = np.concatenate(
        [
            clipped(each(lambda x, s=s, z=z: requantized(x, s, z, 0.11, 5), one), dtype)
            for one, s, z in zip(parts, scales, zeros, strict=True)
        ],
        axis=1,
    )
    given = {relay.var(f"x{n}", shape=one.shape, dtype=dtype): one for n, one in enumerate(parts)}
    operands = list(given), list(map(scale, scales)), list(map(zero, zeros))
    check(relay.qnn.concatenate(*operands, scale(0.11), zero(5), axis=1), given, expected)


def test_concatenation_takes_scales_that_are_inputs_and_tuples_of_any_origin() -> None:
    x = np.arange(12, dtype="uint8").reshape(2, 6) * 20
    data, own = var("x", x), relay.var("scale", shape=(), dtype="float32")
    halves = relay.split(data, indices_or_sections=2, axis=1)
    body = relay.qnn.concatenate(halves, [own, scale(0.5)], [zero(0), zero(2)], scale(0.5), zero(2), axis=-1)
    left = clipped(each(lambda v: requantized(v, 0.25, 0, 0.5, 2), x[:, :3]), "uint8")
    check(body, {data: x, own: np.float32(0.25)}, np.concatenate([left, x[:, 3:]], 1))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"scales": [0.1]}, "2 tensors, 1 input_scales and 2 input_zero_points, expected equal numbers"),
        ({"scales": [0.1, -1.0]}, "input_scale 1 is -1.0, expected above 0"),
        ({"zeros": [0, 300]}, "input_zero_point 1 is 300, which is no uint8: expected 0 to 255"),
        ({"scales": 0.1}, r"argument 1 is Tensor\[\(\), float32\], expected a tuple of tensors"),
    ],
)
def test_what_is_wrong_with_a_concatenation_is_said(change: dict[str, Any], text: str) -> None:
    parts = {"scales": [0.1, 0.2], "zeros": [0, 1]} | change
    scales = (
        list(map(scale, parts["scales"])) if isinstance(parts["scales"], list) else scale(parts["scales"])
    )
    data = [relay.var(name, shape=(2, 3), dtype="uint8") for name in "ab"]
    body = relay.qnn.concatenate(data, scales, list(map(zero, parts["zeros"])), scale(0.1), zero(0))
    with pytest.raises(TvmliteError, match=rf"(?s)qnn.concatenate: {text}.*test_qnn.py"):
        tvmlite.compile(relay.Function(data, body))


@pytest.mark.parametrize(
    ("kind", "limits"),
    [("int8", (-128, 127)), ("uint8", (0, 255)), ("int32", (-(2.0**31), 2.0**31)), ("disable", None)],
)
def test_simulated_quantization_gives_codes_as_floats(kind: str, limits: tuple[float, float] | None) -> None:
    x = np.array([[-1e12, -3.3, -0.05], [0.05, 0.15, 40]], np.float32)
    data, scales, zeros = var("x", x), (0.1, 0.1, 0.02), (3, 3, 0)
    steps = np.rint(x / np.float32(scales)) + np.float32(zeros)  # type: ignore[arg-type]
    expected = x if limits is None else np.clip(steps, *np.float32(limits))  # type: ignore[call-overload,arg-type]
    made = relay.qnn.simulated_quantize(data, scale(*scales), zero(*zeros), axis=1, out_dtype=kind)
    check(made, {data: x}, expected.astype(np.float32))

    codes = np.array([[-9, 3, 7], [255, 0, -128]], np.float32)
    data = var("x", codes)
    reals = codes if limits is None else (codes - np.float32(zeros)) * np.float32(scales)  # type: ignore[arg-type]
    made = relay.qnn.simulated_dequantize(data, scale(*scales), zero(*zeros), axis=1, in_dtype=kind)
    check(made, {data: codes}, reals.astype(np.float32))


def test_softmax_is_near_that_of_reals() -> None:
    data = whole(np.random.default_rng(6), "int8", 6, 10)
    x = var("x", data)
    body = relay.qnn.softmax(x, scale(0.02), zero(3), scale(1 / 256), zero(-128))
    made = interpret(relay.Function([x], body), [data])
    powers = np.exp(0.02 * (data.astype(float) - 3))

    assert np.abs((made + 128.0) / 256 - powers / powers.sum(1, keepdims=True)).max() < 0.02
    check(body, {x: data}, made)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_mean_pooling_rounds_towards_zero(layout: str) -> None:
    data = whole(np.random.default_rng(7), "int8", 1, 6, 4, 3)
    x = var("x", data)
    own = scale(0.1), zero(2), scale(0.1), zero(2)
    body = relay.qnn.avg_pool2d(
        x, *own, (2, 2), strides=(2, 2) if layout == "NHWC" else (2, 1), layout=layout
    )
    plain = data if layout == "NCHW" else data.transpose(0, 3, 1, 2)
    right = 2 if layout == "NHWC" else 1
    made = [
        [
            [
                math.trunc(Fraction(int(plain[0, c, y : y + 2, k : k + 2].astype(int).sum()), 4))
                for k in range(0, plain.shape[3] - 1, right)
            ]
            for y in range(0, plain.shape[2] - 1, 2)
        ]
        for c in range(plain.shape[1])
    ]
    expected = np.array([made]).astype(np.int8)

    check(body, {x: data}, expected if layout == "NCHW" else expected.transpose(0, 2, 3, 1))


X = relay.var("x", shape=(2, 3), dtype="int8")
W = relay.const(np.zeros((4, 3), np.int8))
F = relay.var("f", shape=(2,))
ONE, NONE = scale(1.0), zero(0)
BYTE = relay.const(np.int8(0))
OWN = ONE, NONE
REQUANTIZE, DENSE = relay.qnn.requantize, relay.qnn.dense

WRONG: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    (REQUANTIZE, (X, scale(0.0), NONE, *OWN), {}, "input_scale is 0.0, expected above 0"),
    (REQUANTIZE, (X, *OWN, scale(-2), NONE), {}, "output_scale is -2.0, expected above 0"),
    (REQUANTIZE, (X, scale(math.nan), NONE, *OWN), {}, "input_scale is nan, expected above 0"),
    (REQUANTIZE, (X, ONE, zero(200), *OWN), {}, "input_zero_point is 200, which is no int8"),
    (REQUANTIZE, (X, *OWN, ONE, zero(-1)), {"out_dtype": "uint8"}, "which is no uint8: expected 0 to 255"),
    (REQUANTIZE, (X, scale(1, 2), NONE, *OWN), {}, "the extent of input_scale is 2, expected 3"),
    (REQUANTIZE, (X, ONE, BYTE, *OWN), {}, "input_zero_point is int8, expected int32"),
    (REQUANTIZE, (X, NONE, NONE, *OWN), {}, "input_scale is int32, expected float32"),
    (REQUANTIZE, (X, *OWN, *OWN), {"rounding": "DOWN"}, "rounding is 'DOWN', expected"),
    (REQUANTIZE, (X, *OWN, *OWN), {"out_dtype": "float32"}, "out_dtype is float32, expected int8, uint8"),
    (DENSE, (X, W, NONE, NONE, ONE, scale(1, 2)), {}, "the extent of kernel_scale is 2, expected 4"),
    (DENSE, (X, W, NONE, zero(300), ONE, ONE), {}, "kernel_zero_point is 300, which is no int8"),
    (relay.qnn.add, (X, F, *OWN, *OWN, *OWN), {}, "dtypes are int8 and float32, expected one dtype"),
    (relay.qnn.add, (X, relay.var("y", shape=(2, 4), dtype="int8"), *OWN * 3), {}, "do not broadcast"),
    (relay.qnn.tanh, (F, *OWN, *OWN), {}, "data is float32, expected int8 or uint8"),
    (relay.qnn.leaky_relu, (X, *OWN, *OWN), {"alpha": 2.0}, "alpha is 2.0, expected 0 to 1"),
    (relay.qnn.softmax, (X, *OWN, *OWN), {"axis": 2}, "axis is 2, expected one of the 2 axes"),
]


@pytest.mark.parametrize(("function", "args", "attrs", "message"), WRONG)
def test_what_is_wrong_is_said_with_the_operator(
    function: Any, args: tuple[Any, ...], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(TvmliteError, match=rf"(?s)^qnn\.\w+: .*{message}.*test_qnn.py"):
        relay.type_of(function(*args, **attrs))


def test_weights_in_fours_must_be_constant() -> None:
    x, w = relay.var("x", shape=(2, 8), dtype="uint8"), relay.var("w", shape=(1, 2, 16, 4), dtype="int8")
    body = relay.qnn.contrib_dense_pack(
        x, w, zero(0), zero(0), scale(0.1), scale(0.1), weight_layout="NC16n4c", units=16
    )
    with pytest.raises(TvmliteError, match="weight_layout is NC16n4c, expected a constant weight"):
        tvmlite.compile(relay.Function([x, w], body))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"bits": 3}, "bits is 3, expected 4 or 8"),
        ({"block": 8}, r"scale is \(2, 3\), expected \(2, 2\)"),
        ({"dtype": "uint8"}, "zero_point is uint8, expected int8, as the data are"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(change: dict[str, Any], text: str) -> None:
    dtype = change.pop("dtype", "int8")
    data, points = relay.var("x", shape=(2, 12), dtype="int8"), relay.const(np.zeros((2, 3), dtype))
    parts = relay.const(np.ones((2, 3), np.float32)), points
    body = relay.qnn.contrib_dequantize_blocks(data, *parts, **{"axis": 1, "block": 4} | change)
    with pytest.raises(TvmliteError, match=rf"qnn.contrib_dequantize_blocks: {text}"):
        tvmlite.compile(relay.Function([data], body))
