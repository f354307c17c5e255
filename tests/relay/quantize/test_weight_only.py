"""Weight-only quantization: errors of at most half a step, tails, refused and unchanged cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.errors import InputError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Call, Constant, Function, Module, constant
from tvmlite.relay.quantize.weight_only import weight_only


def dense(weight: np.ndarray) -> Module:
    x = relay.var("x", shape=("n", weight.shape[1]))
    return Module({"main": Function((x,), relay.nn.dense(x, constant(weight)))})


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def held(module: Module, depth: int) -> np.ndarray:
    """Return the dequantized weight of a layer."""
    return np.asarray(interpret(module, [np.eye(depth, dtype="float32")])).T


def scales_of(module: Module) -> np.ndarray:
    body = module.main.body
    assert isinstance(body, Call)
    assert isinstance(body.args[2], Constant)
    return body.args[2].data


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("count", "depth", "group"), [(5, 64, 32), (7, 75, 32), (3, 10, 16), (1500, 40, 8)])
def test_elements_are_within_one_step_and_most_within_half(
    count: int, depth: int, group: int, bits: int, symmetric: bool
) -> None:
    weight = normal(count, depth)

    made = weight_only(dense(weight), bits, group, symmetric=symmetric)

    scales = scales_of(made)
    assert (scales.dtype, scales.shape) == (np.float16, (count, -(-depth // group)))
    steps = np.abs(np.repeat(scales.astype("float32"), group, axis=1)[:, :depth])
    assert (np.abs(held(made, depth) - weight) <= steps * 1.01).all()
    assert (np.abs(held(made, depth) - weight) <= steps * 0.51).mean() > 0.95


def test_the_compiled_layer_multiplies_by_its_rounded_weight() -> None:
    module = weight_only(dense(normal(100, 75)), 4, 32)
    data = normal(6, 75, seed=1)

    np.testing.assert_allclose(tvmlite.compile(module)(data), data @ held(module, 75).T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("transposed", [True, False])
def test_matrix_products_are_quantized_too(transposed: bool) -> None:
    weight = normal(6, 32)
    x = relay.var("x", shape=(2, 32))
    matrix = constant(weight if transposed else np.ascontiguousarray(weight.T))
    product = relay.nn.matmul(x, matrix, transpose_b=transposed)

    made = weight_only(Function([x], product), 8, 16)

    data = normal(2, 32, seed=2)
    np.testing.assert_allclose(np.asarray(interpret(made, [data])), data @ weight.T, atol=0.2)
    assert "nn.matmul" not in str(made)


def test_a_weight_shared_by_two_layers_is_stored_once() -> None:
    x, weight = relay.var("x", shape=(2, 32)), constant(normal(32, 32))
    module = weight_only(Function([x], relay.nn.dense(relay.nn.dense(x, weight), weight)))

    outer = module.main.body
    assert isinstance(outer, Call)
    assert isinstance(outer.args[0], Call)
    assert outer.args[1:] == outer.args[0].args[1:]


def test_zeros_stay_zero_and_large_scales_are_float32() -> None:
    assert not held(weight_only(dense(np.zeros((3, 32), "float32"))), 32).any()
    assert scales_of(weight_only(dense(normal(3, 32) * 1e7))).dtype == np.float32


def test_layers_without_a_large_constant_weight_are_left_unchanged() -> None:
    x, y = relay.var("x", shape=(2, 32)), relay.var("y", shape=(4, 32))
    module = Module({"main": Function((x, y), relay.nn.dense(x, y))})

    assert weight_only(module) is module
    small = dense(normal(4, 32))
    assert weight_only(small, least=129) is small


def test_invalid_options_and_weights_are_refused() -> None:
    module = dense(normal(4, 32))
    with pytest.raises(InputError, match="bits is 3, expected 4 or 8"):
        weight_only(module, 3)
    with pytest.raises(InputError, match="group is 5, expected codes of 4 bits that fill whole bytes"):
        weight_only(module, 4, 5)
    with pytest.raises(InputError, match="a str given, expected a relay module or function"):
        weight_only("model")  # type: ignore[arg-type]
    weight = normal(4, 32)
    weight[1, 2] = np.nan
    with pytest.raises(InputError, match=r"a weight of nn\.dense has elements that are not finite"):
        weight_only(dense(weight))


def test_quantize_supports_weight_only_mode() -> None:
    x = relay.var("x", shape=(2, 64))
    weight = np.random.default_rng(0).standard_normal((48, 64)).astype("float32")
    module = relay.Module.from_expr(relay.Function((x,), relay.nn.dense(x, relay.const(weight))))

    made = relay.quantize(module, mode="weight_only", bits=4, group=16)

    assert alike(made.module.main.body, weight_only(module, 4, 16).main.body)
    (row,) = made.report.layers
    assert (row.precision, row.weights) == ("int4", 48 * 64)
    assert "1 of 1 layers in int4" in str(made)
    assert made.report.bytes_after < made.report.bytes_before / 6


def measured(**options: Any) -> Any:
    """Return the report on a product of normal numbers, whose expected noise follows from the rounding."""
    x = relay.var("x", shape=(16, 256))
    module = relay.Module.from_expr(relay.Function((x,), relay.nn.dense(x, relay.const(normal(64, 256)))))
    return relay.quantize(module, normal(16, 256, seed=1), mode="weight_only", **options).report


def test_the_report_has_the_noise_of_weights_and_data() -> None:
    weights, data = measured(bits=8), measured(bits=8, data_bits=8)

    (row,) = data.layers
    assert row.precision == "int8, data int8"
    assert "1 of 1 layers in int8, data int8" in str(data)
    assert data.options["data bits"] == "8"
    assert row.snr == pytest.approx(data.output_snr)
    # a step of m / 127, with m about 2.4 deviations of 32 normal numbers, makes a noise of m / 127 / sqrt(12)
    for report, operands in ((weights, 1), (data, 2)):
        expected = -20 * np.log10(2.4 / 127 / np.sqrt(12)) - 10 * np.log10(operands)
        assert report.layers[0].snr == pytest.approx(expected, abs=0.5)
    assert measured(bits=4, data_bits=8).output_snr == pytest.approx(measured(bits=4).output_snr, abs=0.2)


def test_data_bits_are_added_to_weight_only_layers() -> None:
    floats = dense(normal(4, 64))

    made = weight_only(weight_only(floats, 4), 4, data_bits=8)

    body = made.main.body
    assert isinstance(body, Call)
    assert body["data_bits"] == 8
    assert alike(body, weight_only(floats, 4, data_bits=8).main.body)
    assert weight_only(made, 4, data_bits=8) is made
    assert weight_only(made, 4) is made


def test_invalid_arguments_and_other_modes_are_refused() -> None:
    x = relay.var("x", shape=(2, 64))
    module = relay.Module.from_expr(relay.Function((x,), relay.nn.relu(x)))
    with pytest.raises(
        InputError, match="mode='weight_only' takes no smooth: each weight is rounded by itself"
    ):
        relay.quantize(module, mode="weight_only", smooth=0.5)
    with pytest.raises(InputError, match="no layer that can be quantized"):
        relay.quantize(module, mode="weight_only")
    with pytest.raises(InputError, match="bits is 4, expected 8"):
        relay.quantize(module, mode="dynamic", bits=4)
    with pytest.raises(InputError, match="mode='dynamic' takes no data_bits: it is for mode='weight_only'"):
        relay.quantize(module, mode="dynamic", data_bits=8)
    with pytest.raises(InputError, match=r"data_bits is 4, expected 0 \(data stay floats\), 8 or 16"):
        relay.quantize(module, mode="weight_only", data_bits=4)
