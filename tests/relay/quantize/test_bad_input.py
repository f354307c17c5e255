"""Invalid arguments, weights and data are named; numbers near the limits of float32 are quantized."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quantizable_networks import conv, images, module_of, relu, residual, weights

import tvmlite
from tvmlite.core.errors import InputError
from tvmlite.relay.ir.nodes import Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.quantize.quantize import quantize
from tvmlite.relay.quantize.run import interpreted

ROWS = [np.random.default_rng(k).standard_normal((4, 8)).astype(np.float32) for k in range(8)]


def dense(weight: np.ndarray | None = None) -> Module:
    x = var("x", (4, 8))
    values = np.random.default_rng(9).standard_normal((5, 8)) if weight is None else weight
    return module_of(make("nn.dense", x, constant(values, "float32")), x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_examples": 0}, "min_examples is 0, expected 1 or more"),
        ({"min_examples": "x"}, "min_examples is 'x', expected 1 or more"),
        ({"operators": "nn.dense"}, "operators is a str, expected a list of names"),
        ({"operators": 5}, "operators is a int, expected a list of names"),
        ({"keep_float": "dense_1"}, "keep_float is a str, expected a list of names"),
        ({"keep_float": [3]}, "keep_float has 3, expected names"),
        ({"min_snr": float("nan")}, "min_snr is nan, expected a number"),
        ({"max_drop": float("nan"), "metric": "top1"}, "max_drop is nan, expected a number"),
        ({"max_drop": -0.5, "metric": "top1"}, r"max_drop is -0\.5, expected 0 or more"),
        ({"percentile": "x"}, "percentile is 'x', expected above 50, at most 100"),
        ({"calibration": []}, r"calibration is .*, expected one of percentile"),
        ({"mode": []}, "mode is .*, expected one of static"),
        ({"per_channel": "no"}, "per_channel is 'no', expected True or False"),
        ({"attention": 1}, "attention is 1, expected True or False"),
        ({"compile": 3}, "compile is a int, expected a function"),
        ({"progress": 3}, "progress is a int, expected a function"),
    ],
)
def test_invalid_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        quantize(dense(), ROWS, **{"measure": False, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compile_options": {"speed": 1}}, "compile_options: there is no option speed; there are opt_level"),
        ({"compile_options": {"records": None}}, "compile_options has records"),
        ({"records": 5}, "records: 5 given, expected records or a file of them"),
        ({"records": "no/such/folder.jsonl"}, "records: there is no folder no/such"),
    ],
)
def test_invalid_options_for_measuring_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        quantize(dense(), ROWS, **options)


def test_invalid_lines_of_records_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("garbage\n")

    with pytest.warns(UserWarning, match=r"1 lines are not records; line 1: not JSON"):
        quantize(dense(), ROWS, records=path)


def test_error_for_a_module_without_main() -> None:
    with pytest.raises(InputError, match="the module has no function main"):
        quantize(Module({"other": dense().main}), ROWS)


@pytest.mark.parametrize("mode", ["static", "dynamic", "bfloat16"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_error_for_non_finite_weights_names_their_layer(mode: str, value: float) -> None:
    weight = np.ones((5, 8))
    weight[2, 3] = value

    with pytest.raises(InputError, match="the weights of 'dense_1' have NaN or infinity"):
        quantize(dense(weight), ROWS, mode=mode, measure=False)


@pytest.mark.parametrize("size", [0.0, 1e-44, 1e-38, 1e37])
def test_weights_of_any_magnitude_have_usable_scales(size: float) -> None:
    """Weights with subnormal scales become 0, as processors may flush such scales to 0."""
    weight = np.random.default_rng(0).standard_normal((5, 8)) * size
    made = quantize(dense(weight), ROWS, measure=False)
    found = tvmlite.compile(made.module)(ROWS[0])
    exact = ROWS[0].astype(np.float64) @ weight.astype(np.float32).T.astype(np.float64)

    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, exact, atol=max(0.02 * np.abs(exact).max(), 2e-36))


@pytest.mark.parametrize("size", [1e-42, 1e-20, 1e20])
def test_data_of_any_magnitude_have_usable_ranges(size: float) -> None:
    data = [(one * np.float64(size)).astype(np.float32) for one in ROWS]
    made = quantize(dense(), data, measure=False)
    found = tvmlite.compile(made.module)(data[0])
    exact = tvmlite.compile(dense())(data[0])

    np.testing.assert_allclose(found, exact, atol=max(0.02 * np.abs(exact).max(), 1e-36))


def test_histograms_of_the_largest_floats_are_finite() -> None:
    data = [np.clip(one, -3, 3) * np.float32(1.1e38) for one in ROWS]
    made = quantize(dense(), data, measure=False)

    (row,) = made.report.layers
    assert row.low is not None
    assert row.high is not None
    assert -3.4e38 < row.low < -1e38 < 1e38 < row.high < 3.4e38


def test_layers_that_overflow_float16_stay_in_float() -> None:
    made = quantize(dense(), [one * np.float32(1e6) for one in ROWS], mode="float16", measure=False)

    (row,) = made.report.layers
    assert (row.precision, row.reason) == ("float32", "what it computes is not finite in float16")
    assert made.compile_options == {}


def test_errors_raised_by_a_metric_are_passed_on() -> None:
    def metric(run: Any) -> float:
        raise LookupError("no labels")

    with pytest.raises(LookupError, match="no labels"):
        quantize(residual(), images(), metric=metric, max_drop=0.1, compile=interpreted)


def test_weight_only_layers_are_not_quantized_again() -> None:
    once = quantize(dense(), mode="weight_only")

    with pytest.raises(InputError, match="the module has no layer that can be quantized"):
        quantize(once.module, mode="weight_only", bits=8)


@pytest.mark.parametrize("group", [6, 8, 32])
def test_the_last_group_of_a_row_may_be_shorter(group: int) -> None:
    made = quantize(dense(), mode="weight_only", group=group)
    found, exact = (tvmlite.compile(one)(ROWS[0]) for one in (made.module, dense()))

    assert 0 < np.abs(found - exact).max() < 0.2 * np.abs(exact).max()


def test_multiplications_by_channel_scales_are_not_layers() -> None:
    """Rounding before the multiplication would use the step of the largest channel."""
    x = var("x", (1, 3, 16, 16))
    first = relu(conv(x, weights(8, 3, 3, 3)))
    scaled = make("multiply", first, constant(np.logspace(-2, 2, 8).reshape(8, 1, 1), "float32"))
    both = make("concatenate", make_tuple(first, scaled), axis=1)
    made = quantize(module_of(conv(both, weights(4, 16, 1, 1)), x), images(), compile=interpreted)

    assert {row.op for row in made.report.layers} == {"nn.conv2d", "concatenate"}


def make_tuple(*fields: Any) -> Any:
    return tvmlite.relay.Tuple(fields)
