"""FakeQuantizationToInteger: results within one quantization step, without floats in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import relay

RNG = np.random.default_rng(0)


def _const(value: Any, dtype: str = "float32") -> Any:
    return relay.const(np.asarray(value, dtype))


def _typed(expr: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(expr))


def _integers(expr: Any, **options: Any) -> Any:
    return relay.transform.FakeQuantizationToInteger(**options)(_typed(expr))


def _names(mod: Any) -> list[str]:
    found: list[str] = []
    relay.analysis.post_order_visit(
        mod["main"], lambda one: found.append(one.op.name) if isinstance(one, relay.Call) else None
    )
    return found


def _run(mod: Any, *arrays: np.ndarray) -> np.ndarray:
    return relay.create_executor("debug", mod=mod).evaluate()(*arrays).numpy()


def _data(
    name: str, shape: tuple[int, ...], scale: Any, zero: int, dtype: str = "int8", axis: int = -1
) -> Any:
    """A dequantized variable, random integers for it, and the real numbers they represent."""
    limits = np.iinfo(dtype)
    array = RNG.integers(limits.min, limits.max + 1, shape, dtype=dtype)
    var = relay.var(name, shape=shape, dtype=dtype)
    real = relay.qnn.op.dequantize(var, _const(scale), _const(zero, "int32"), axis=axis)
    scales = np.asarray(scale, np.float64)
    if scales.ndim:
        scales = scales.reshape([-1 if place == axis % len(shape) else 1 for place in range(len(shape))])
    return real, array, (array.astype(np.float64) - zero) * scales


def _quantize(value: np.ndarray, scale: float, zero: int, dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.clip(np.rint(value / scale) + zero, limits.min, limits.max)


def _check(expr: Any, expected: np.ndarray, *arrays: np.ndarray, scale: float, zero: int, dtype: str) -> Any:
    whole = relay.qnn.op.quantize(expr, _const(scale), _const(zero, "int32"), out_dtype=dtype)
    mod = _integers(whole)
    assert "qnn.dequantize" not in _names(mod)
    made = _run(mod, *arrays)
    assert made.dtype == dtype
    steps = np.abs(made.astype(np.int64) - _quantize(expected, scale, zero, dtype))
    assert steps.max() <= 1
    assert np.unique(made).size > 2  # it is not all at the limits
    return mod


def _convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


@pytest.mark.parametrize("scales", [0.02, np.linspace(0.01, 0.05, 5)])
def test_a_convolution_with_bias_is_computed_in_integers(scales: Any) -> None:
    x, x_data, x_real = _data("x", (1, 3, 8, 8), 0.1, 7, "uint8")
    w, w_data, w_real = _data("w", (5, 3, 3, 3), scales, 0, axis=0)
    bias = np.linspace(-3, 3, 5).astype("float32")
    expected = _convolved(x_real, w_real) + bias.reshape(-1, 1, 1)

    made = _check(
        relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w, kernel_size=(3, 3)), _const(bias))),
        np.maximum(expected, 0), x_data, w_data, scale=0.6, zero=3, dtype="uint8",
    )  # fmt: skip

    assert "qnn.conv2d" in _names(made)
    assert "nn.conv2d" not in _names(made)


def test_a_bias_of_another_scale_is_requantized() -> None:
    x, x_data, x_real = _data("x", (4, 16), 0.1, 0)
    w, w_data, w_real = _data("w", (6, 16), 0.05, 0)
    bias, bias_data, bias_real = _data("b", (6,), 0.5, 0)

    _check(
        relay.nn.bias_add(relay.nn.dense(x, w), bias), x_real @ w_real.T + bias_real,
        x_data, w_data, bias_data, scale=2.0, zero=0, dtype="int8",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "minimum", "maximum"])
@pytest.mark.parametrize("scales", [(0.1, 0.1), (0.1, 0.3)])
def test_operands_of_different_scales_are_combined_in_integers(
    name: str, scales: tuple[float, float]
) -> None:
    x, x_data, x_real = _data("x", (3, 40), scales[0], 4)
    y, y_data, y_real = _data("y", (3, 40), scales[1], -3)
    scale = 4.0 if name == "multiply" else 0.4

    _check(
        getattr(relay, name)(x, y), getattr(np, name)(x_real, y_real),
        x_data, y_data, scale=scale, zero=1, dtype="int8",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "minimum", "maximum"])
def test_a_constant_takes_the_scale_of_the_other_operand(name: str) -> None:
    x, x_data, x_real = _data("x", (3, 40), 0.25, 10)

    _check(
        getattr(relay, name)(x, _const(1.5)), getattr(np, name)(x_real, 1.5),
        x_data, scale=0.5, zero=0, dtype="int8",
    )  # fmt: skip


def test_a_product_has_a_scale_for_each_channel() -> None:
    x, x_data, x_real = _data("x", (2, 3, 10), [0.1, 0.2, 0.3], 2, axis=1)
    y, y_data, y_real = _data("y", (2, 3, 10), 0.5, -2)
    product = relay.qnn.op.quantize(
        relay.nn.bias_add(x * y, _const([1.0, 2.0, 3.0])), _const(8.0), _const(0, "int32")
    )

    mod = _integers(product)

    assert "qnn.requantize" in _names(mod)
    assert "qnn.dequantize" not in _names(mod)
    expected = _quantize(x_real * y_real + np.array([[1.0], [2.0], [3.0]]), 8.0, 0, "int8")
    assert np.abs(_run(mod, x_data, y_data) - expected).max() <= 1


def test_concatenated_fields_are_requantized_to_the_result_scale() -> None:
    parts = [_data(f"x{index}", (2, 9), 0.5 + index, index) for index in range(3)]

    _check(
        relay.concatenate([part[0] for part in parts], axis=1),
        np.concatenate([part[2] for part in parts], 1),
        *(part[1] for part in parts), scale=2.5, zero=-5, dtype="int8",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("apply", "reference"),
    [
        (lambda x: relay.clip(x, -2.0, 3.0), lambda x: np.clip(x, -2, 3)),
        (lambda x: relay.mean(x, axis=[2, 3]), lambda x: x.mean((2, 3))),
        (relay.nn.global_avg_pool2d, lambda x: x.mean((2, 3), keepdims=True)),
        (lambda x: relay.nn.pad(x, [[0, 0], [0, 0], [1, 0], [0, 1]], 1.0),
         lambda x: np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 1)], constant_values=1.0)),
        (lambda x: relay.split(x, 2, axis=1)[1], lambda x: x[:, 2:]),
        (lambda x: relay.max(relay.transpose(x, [0, 2, 3, 1]), axis=1), lambda x: x.max(2).swapaxes(1, 2)),
        (lambda x: relay.topk(x, 2, axis=3, ret_type="values"), lambda x: -np.sort(-x, 3)[..., :2]),
        (lambda x: relay.nn.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
        (relay.tanh, np.tanh),
    ],
)  # fmt: skip
def test_unary_operators_are_computed_in_integers(apply: Any, reference: Any) -> None:
    x, x_data, x_real = _data("x", (2, 4, 5, 6), 0.05, 20)
    expected = reference(x_real)
    scale = float(np.abs(expected).max()) / 100

    _check(apply(x), expected, x_data, scale=scale, zero=0, dtype="int8")


@pytest.mark.parametrize("apply", [relay.nn.relu, lambda x: relay.clip(x, 0.0, 6.0)])
def test_clip_and_relu_use_a_limit_for_each_channel(apply: Any) -> None:
    scales, zeros = _const([1.0, 2.0, 3.0]), _const([96, 114, 128], "int32")
    var = relay.var("x", shape=(2, 3, 7), dtype="uint8")
    x = relay.qnn.op.dequantize(var, scales, zeros, axis=1)
    mod = _integers(relay.qnn.op.quantize(apply(x), scales, zeros, axis=1, out_dtype="uint8"))
    array = RNG.integers(0, 256, (2, 3, 7), dtype="uint8")

    zero = np.array([[96.0], [114.0], [128.0]])
    scale = np.array([[1.0], [2.0], [3.0]])
    real = (array - zero) * scale
    limited = np.maximum(real, 0) if apply is relay.nn.relu else np.clip(real, 0, 6)
    assert "qnn.dequantize" not in _names(mod)
    assert np.array_equal(_run(mod, array), np.clip(np.rint(limited / scale) + zero, 0, 255))


def test_a_zero_point_outside_the_dtype_is_subtracted_first() -> None:
    x, x_data, x_real = _data("x", (4, 16), 0.1, 200)
    w, w_data, w_real = _data("w", (6, 16), np.linspace(0.01, 0.05, 6), 147, axis=0)

    made = _check(relay.nn.dense(x, w), x_real @ w_real.T, x_data, w_data, scale=9.0, zero=-99, dtype="int8")

    assert "nn.dense" in _names(made)


@pytest.mark.parametrize(
    ("apply", "reference"),
    [
        (lambda x: relay.nn.adaptive_avg_pool1d(x, 1), lambda x: x.mean(2, keepdims=True)),
        (relay.nn.adaptive_avg_pool1d, lambda x: x),
        (lambda x: relay.nn.adaptive_avg_pool2d(relay.expand_dims(x, 0), (5, 1)), None),
        (lambda x: relay.image.resize2d(relay.expand_dims(x, 0), (5, 3), method="linear"), None),
        (lambda x: relay.image.resize2d(relay.expand_dims(x, 0), (9, 8), method="nearest_neighbor"), None),
    ],
)
def test_pools_and_resizes_are_computed_in_integers(apply: Any, reference: Any) -> None:
    x, data, real = _data("x", (3, 5, 6), 0.1, 4)
    if reference is None:
        var = relay.var("real", shape=real.shape)
        expected = _run(_typed(apply(var)), real.astype("float32"))
    else:
        expected = reference(real)

    _check(apply(x), expected, data, scale=0.08, zero=-3, dtype="int8")


def test_an_operator_without_a_rule_is_kept() -> None:
    x, _, _ = _data("x", (2, 8), 0.1, 0)
    typed = _typed(relay.qnn.op.quantize(relay.cumsum(x, 1), _const(1.0), _const(0, "int32")))

    made = relay.transform.FakeQuantizationToInteger()(typed)

    assert made["main"] is typed["main"]


def test_hard_fail_names_the_operator_without_a_rule() -> None:
    x, _, _ = _data("x", (2, 8), 0.1, 0)
    expr = relay.qnn.op.quantize(relay.cumsum(x, 1), _const(1.0), _const(0, "int32"))

    with pytest.raises(UnsupportedError, match=r"(?s)cumsum cannot be done in integers.*hard_fail=False"):
        _integers(expr, hard_fail=True)


def test_a_convolution_quantized_twice_is_computed_once() -> None:
    x, _, _ = _data("x", (1, 3, 8, 8), 0.1, 0)
    w, _, _ = _data("w", (4, 3, 3, 3), 0.1, 0)
    convolved = relay.nn.conv2d(x, w, kernel_size=(3, 3))
    both = [relay.qnn.op.quantize(convolved, _const(scale), _const(0, "int32")) for scale in (1.0, 2.0)]

    assert _names(_integers(relay.Tuple(both))).count("qnn.conv2d") == 1


def test_with_use_qat_dequantize_moves_behind_integer_operators() -> None:
    x, x_data, x_real = _data("x", (4, 16), 0.1, 3)
    w, w_data, w_real = _data("w", (6, 16), 0.05, 0)
    expr = relay.exp(relay.nn.dense(x, w) * _const(0.01))

    mod = _integers(expr, use_qat=True)

    assert _names(mod) == ["qnn.dense", "qnn.dequantize", "multiply", "exp"]
    assert np.allclose(_run(mod, x_data, w_data), np.exp(x_real @ w_real.T * 0.01), rtol=1e-4)
    assert "qnn.dense" not in _names(_integers(expr))


def test_softmax_is_computed_in_integers_on_request() -> None:
    x, _, _ = _data("x", (2, 8), 0.1, 0)
    expr = relay.qnn.op.quantize(relay.nn.softmax(x), _const(1 / 256), _const(-128, "int32"))

    assert "nn.softmax" in _names(_integers(expr))
    assert "qnn.softmax" in _names(_integers(expr, optional_qnn_ops=["nn.softmax"]))


@pytest.mark.parametrize(
    ("apply", "whole"),
    [
        (lambda x: relay.minimum(x, _const(-1.0)), False),
        (lambda x: relay.minimum(_const(7.0), x), True),
        (lambda x: relay.maximum(x, _const(6.0)), False),
        (lambda x: relay.maximum(x, _const(-3.0)), True),
        (lambda x: relay.clip(x, -5.0, -1.0), False),
        (lambda x: relay.clip(x, -5.0, 9.0), True),
        (lambda x: relay.nn.pad(x, [[0, 1]], -10.0), False),
        (lambda x: relay.nn.pad(x, [[0, 1]], 2.0), True),
    ],
)
def test_constants_outside_the_quantized_range_keep_floats(apply: Any, whole: bool) -> None:
    x, data, _ = _data("x", (40,), 0.02, 0, "uint8")  # from 0 to 5.1
    expr = relay.qnn.op.quantize(apply(x), _const(0.25), _const(0, "int32"))

    made = _integers(expr)

    assert ("qnn.dequantize" not in _names(made)) == whole
    assert np.abs(_run(made, data).astype(int) - _run(_typed(expr), data)).max() <= 1


@pytest.fixture
def own_rule() -> Any:
    yield relay.op.register_fake_quantization_to_integer
    relay.op.get("cumsum").reset_attr("FTVMFakeQuantizationToInteger")


def test_a_user_defined_rule_is_used(own_rule: Any) -> None:
    @own_rule("cumsum")
    def cumsum(call: Any, types: Any) -> Any:
        given = types[call.args[0]]
        sums = relay.cumsum(call.args[0], axis=call.attrs.axis, dtype="int32")
        return [sums, tvm.ir.TensorAffineType(given.scale, given.zero_point, "int32", given.axis)]

    x, x_data, x_real = _data("x", (3, 6), 0.1, 0)

    made = _check(relay.cumsum(x, 1), np.cumsum(x_real, 1), x_data, scale=0.4, zero=0, dtype="int8")

    assert _names(made) == ["cumsum", "qnn.requantize"]


def test_an_optional_rule_is_used_only_if_named() -> None:
    def cumsum(call: Any, types: Any) -> Any:
        return [call, types[call.args[0]]]

    x, _, _ = _data("x", (3, 6), 0.1, 0)
    expr = relay.qnn.op.quantize(relay.cumsum(x, 1), _const(0.1), _const(0, "int32"))
    relay.op.register_optional_fake_quantization_to_integer("cumsum", cumsum)
    try:
        made, kept = _integers(expr, optional_qnn_ops=["cumsum"]), _integers(expr)
    finally:
        relay.op.get("cumsum").reset_attr("FTVMOptionalFakeQuantizationToInteger")

    assert _names(made) == ["cumsum"]
    assert _names(kept) == ["qnn.dequantize", "cumsum", "qnn.quantize"]


def test_a_rule_may_refuse_a_call(own_rule: Any) -> None:
    @own_rule("cumsum")
    def cumsum(call: Any, types: Any) -> Any:
        raise NotImplementedError

    x, _, _ = _data("x", (3, 6), 0.1, 0)
    expr = relay.qnn.op.quantize(relay.cumsum(x, 1), _const(1.0), _const(0, "int32"))

    assert "qnn.dequantize" in _names(_integers(expr))
    with pytest.raises(UnsupportedError, match="cumsum cannot be done in integers"):
        _integers(expr, hard_fail=True)
