"""Marks become quantized tensors: operators, scales, zero points, and errors within a step."""

from __future__ import annotations

import numpy as np
import pytest
from quantizable_networks import images, module_of, residual

from tvmlite.core.alike import alike
from tvmlite.core.node import postorder
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.quantize.annotate import MARK, quantize_annotate
from tvmlite.relay.quantize.realize import quantize_realize, scale_and_zero, weight_scales


def test_a_mark_becomes_quantize_and_dequantize_with_its_range() -> None:
    x = var("x", (4,))
    before = module_of(make(MARK, x, low=-1.0, high=4.0), x)
    scale, zero = constant(np.float32(5 / 255), "float32"), constant(51, "uint8")
    steps = make("qnn.quantize", x, scale, zero, out_dtype="uint8")

    after = quantize_realize(before)

    assert alike(after, module_of(make("qnn.dequantize", steps, scale, zero), x))


def test_a_marked_constant_becomes_int8_with_a_scale_per_channel() -> None:
    x, w = var("x", (1, 2)), constant([[1.0, -0.5], [0.0, 254.0], [0.0, 0.0]], "float32")
    marked = make(MARK, w, dtype="int8", channel_axis=0)

    after = quantize_realize(module_of(make("nn.dense", x, marked), x))

    found = after.main.body.args[1]  # type: ignore[attr-defined]
    assert found.op == "qnn.dequantize"
    assert found["axis"] == 0
    values, scales, zeros = (one.data for one in found.args)
    np.testing.assert_array_equal(values, np.array([[127, -64], [0, 127], [0, 0]], np.int8))
    np.testing.assert_allclose(scales, [1 / 127, 2.0, 1.0], rtol=1e-6)
    assert not zeros.any()


def test_a_tensor_read_twice_with_one_range_is_quantized_once() -> None:
    x = var("x", (2, 4))
    a, b = (make(MARK, x, layer=name, tensor="x", low=0.0, high=1.0) for name in "ab")

    after = quantize_realize(module_of(make("add", a, b), x))

    assert sum(isinstance(one, Call) and one.op == "qnn.quantize" for one in postorder(after.main.body)) == 1


def test_a_module_without_marks_is_left_unchanged() -> None:
    module = residual()

    assert quantize_realize(module) is module


@pytest.mark.parametrize(
    ("low", "high", "dtype", "zero"),
    [(0.0, 6.0, "uint8", 0), (2.0, 6.0, "uint8", 0), (-6.0, -2.0, "uint8", 255), (0.0, 0.0, "uint8", 0),
     (-3.0, 1.0, "int8", 0)],
)  # fmt: skip
def test_zero_is_exact_and_ends_are_within_a_step(low: float, high: float, dtype: str, zero: int) -> None:
    scale, found = scale_and_zero(low, high, dtype)

    assert found == zero
    least, most = (0, 255) if dtype == "uint8" else (-127, 127)
    assert (least - found) * scale <= min(low, 0.0) + scale
    assert (most - found) * scale >= max(high, 0.0) - scale


def test_without_an_axis_all_channels_share_one_scale() -> None:
    values = np.array([[1.0, -2.0], [0.5, 0.0]], np.float32)

    assert weight_scales(values, None).shape == ()
    assert weight_scales(values, 1) == pytest.approx(np.array([1.0, 2.0]) / 127)


def test_a_mark_without_a_range_uses_the_range_of_each_run() -> None:
    x = var("x", ("n",))
    module = quantize_realize(module_of(make(MARK, x), x))
    rng = np.random.default_rng(0)

    verify(module)
    for size in (0.01, 1.0, 100.0, 0.0):
        data = (rng.standard_normal(50) * size).astype(np.float32)
        step = (data.max() - data.min()) / 255
        found = interpret(module, [data])
        assert np.abs(np.asarray(found) - data).max() <= step * 0.51


def test_quantized_weights_are_within_half_a_step() -> None:
    marked = quantize_annotate(residual())
    before = [
        (one.args[0].data, one["channel_axis"])
        for one in postorder(marked.main.body)
        if isinstance(one, Call) and one.op == MARK and isinstance(one.args[0], Constant)
    ]
    for values, axis in before:
        scales = weight_scales(values, axis).reshape(-1, 1, 1, 1)
        assert np.abs(np.rint(values / scales) * scales - values).max() <= scales.max() * 0.501


def test_a_realized_module_compiles_to_the_interpreters_result() -> None:
    import tvmlite
    from tvmlite.relay.quantize.calibrate import quantize_calibrate

    data = images(4)
    calibrated, _ = quantize_calibrate(quantize_annotate(residual()), data, "min_max")
    module = quantize_realize(calibrated)

    expected = np.asarray(interpret(module, data[0]))
    found = tvmlite.compile(module)(data[0]["x"])
    assert np.abs(found - expected).max() <= np.abs(expected).max() * 0.02
