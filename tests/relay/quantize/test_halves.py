"""Quantization to 16 bits: noise, layers kept in float32, compilation of the result, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from quantizable_networks import module_of, relu, weights

import tvmlite
from tvmlite.core.errors import InputError
from tvmlite.relay.ir.nodes import Module, constant, var
from tvmlite.relay.ir.op import make

DATA = [{"x": np.random.default_rng(k).standard_normal((4, 16)).astype(np.float32)} for k in range(8)]


def chain() -> Module:
    """Return two dense layers of different shapes, and a third with the shapes of the second."""
    x = var("x", (4, 16))
    y = relu(make("nn.dense", x, weights(32, 16)))
    for seed in (1, 2):
        y = relu(make("nn.dense", y, weights(32, 32, seed=seed)))
    return module_of(y, x)


def rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """Return float32 ``values`` rounded to ``bits`` fraction bits, ties to even."""
    mantissa, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.rint(mantissa * 2 ** (bits + 1)) / 2 ** (bits + 1), exponent)


@pytest.mark.parametrize(("dtype", "bits"), [("bfloat16", 7), ("float16", 10)])
def test_noise_of_a_layer_comes_from_its_rounded_operands(dtype: str, bits: int) -> None:
    made = tvmlite.quantize(chain(), DATA, mode=dtype, measure=False)
    weight = weights(32, 16).data
    signal = noise = 0.0
    for one in DATA:
        exact = one["x"].astype(np.float64) @ weight.T
        error = rounded(one["x"], bits) @ rounded(weight, bits).T - exact
        signal, noise = signal + float(np.sum(exact**2)), noise + float(np.sum(error**2))

    row = made.report.layers[0]
    assert (row.name, row.precision, row.weights) == ("dense_1", dtype, 512)
    assert row.snr == pytest.approx(10 * np.log10(signal / noise), abs=0.1)
    assert made.report.bytes_after == pytest.approx(made.report.bytes_before / 2)
    assert f"3 of 3 layers in {dtype}" in str(made.report)


def test_the_result_compiles_with_the_returned_options() -> None:
    made = tvmlite.quantize(chain(), DATA, mode="bfloat16", measure=False)
    lib = tvmlite.compile(made.module, **made.compile_options)

    assert made.compile_options == {"precision": "bfloat16"}
    x = DATA[0]["x"]
    plain = tvmlite.compile(chain(), precision="bfloat16")
    np.testing.assert_array_equal(lib(x), plain(x))


def test_keeping_a_layer_in_float_keeps_equal_layers() -> None:
    made = tvmlite.quantize(chain(), DATA, mode="bfloat16", measure=False, keep_float=["dense_3"])

    reasons = [(row.precision, row.reason) for row in made.report.layers]
    assert reasons == [
        ("bfloat16", ""),
        ("float32", "as asked"),
        ("float32", "equal to a layer that stays in float32"),
    ]
    lib = tvmlite.compile(made.module, **made.compile_options)
    taken = {one.taken: one.places for one in lib.report.decisions if one.kind == "precision"}
    assert taken == {"bfloat16": 1, "float32": 2}


def test_layers_below_min_snr_stay_in_float() -> None:
    noise = [row.snr for row in tvmlite.quantize(chain(), DATA, mode="bfloat16", measure=False).report.layers]
    floor = max(noise) + 1  # type: ignore[type-var, operator]
    made = tvmlite.quantize(chain(), DATA, mode="bfloat16", measure=False, min_snr=floor)

    assert made.compile_options == {}
    assert {row.precision for row in made.report.layers} == {"float32"}
    assert f"the floor is {floor:g}" in made.report.layers[0].reason


def test_data_are_optional() -> None:
    made = tvmlite.quantize(chain(), mode="float16", measure=False)

    assert [row.snr for row in made.report.layers] == [None] * 3
    assert made.report.output_snr is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"calibration": "min_max"},
            "mode='bfloat16' takes no calibration: each operand is rounded by itself",
        ),
        ({"smooth": 0.5}, "mode='bfloat16' takes no smooth"),
        ({"max_drop": 0.1, "metric": "top1"}, "mode='bfloat16' takes no max_drop"),
        ({"operators": ["nn.dense"]}, "mode='bfloat16' takes no operators"),
        ({"compile_options": {"precision": "float16"}}, "mode='bfloat16' takes no precision"),
        ({"keep_float": ["dense_9"]}, "keep_float has 'dense_9', which is no layer"),
        ({"min_snr": "x"}, "min_snr is 'x', expected a number"),
        ({"bits": 4}, "bits is 4, expected 8"),
    ],
)
def test_invalid_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tvmlite.quantize(chain(), DATA, mode="bfloat16", **options)


def test_min_snr_needs_data() -> None:
    with pytest.raises(InputError, match="data is None, which min_snr needs"):
        tvmlite.quantize(chain(), mode="bfloat16", min_snr=50)


def test_a_module_without_products_is_refused() -> None:
    x = var("x", (4, 16))
    module = module_of(make("add", x, constant(1.0, "float32")), x)

    with pytest.raises(InputError, match="the module has no layer that can be computed in bfloat16"):
        tvmlite.quantize(module, DATA, mode="bfloat16")
