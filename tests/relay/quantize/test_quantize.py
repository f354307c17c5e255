"""Quantization as a whole: modes, layers kept in float32, the report, and the text of each error."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from quantizable_networks import conv, images, module_of, relu, residual, weights

import tvmlite
from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Call, Constant, Module, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.verify import verify
from tvmlite.relay.quantize.adjust.equalize_layers import equalize_layers
from tvmlite.relay.quantize.adjust.smooth_outliers import smooth_outliers
from tvmlite.relay.quantize.quantize import quantize
from tvmlite.relay.quantize.run import interpreted, silent

DATA = images()


def snr(module: Module, other: Module) -> float:
    """Return the signal-to-noise ratio of the outputs of ``other`` against ``module`` in dB, interpreted."""
    pairs = [(interpreted(module)(one)[0], interpreted(other)(one)[0]) for one in DATA[:4]]
    signal, noise = (sum(np.sum(np.square(v)) for v in part) for part in (
        [a for a, _ in pairs], [a - b for a, b in pairs]))  # fmt: skip
    return float(10 * np.log10(signal / noise))


@pytest.mark.parametrize("calibration", ["percentile", "min_max", "entropy", "mse"])
def test_a_quantized_module_is_near_the_float_one(calibration: str) -> None:
    module = residual()
    made = quantize(module, DATA, calibration=calibration, compile=interpreted)

    verify(made.module)
    assert snr(module, made.module) > 30
    assert made.report.output_snr == pytest.approx(snr(module, made.module), abs=3)
    assert all(row.precision == "int8" for row in made.report.layers)
    assert made.report.bytes_after < made.report.bytes_before / 2


def test_the_same_data_give_the_same_module() -> None:
    module = residual()
    one, other = (quantize(module, DATA, compile=interpreted).module for _ in range(2))

    assert str(one) == str(other)
    assert alike(one.main, other.main)


def test_a_quantized_module_is_compiled_after_parsing_its_text() -> None:
    made = relay.quantize(residual(), DATA, measure=False)
    again = relay.parse(made.module.astext())

    found = tvmlite.compile(again)(DATA[0]["x"])
    expected = interpreted(made.module)(DATA[0])[0]
    assert np.abs(found - expected).max() <= np.abs(expected).max() * 0.02


def test_batch_norm_is_folded_into_weights_before_quantization() -> None:
    x, ones = var("x", (1, 3, 16, 16)), constant(np.ones(4), "float32")
    norm = make("nn.batch_norm", conv(x, weights(4, 3, 3, 3)), ones, ones, ones, ones)
    made = quantize(module_of(relay.TupleGetItem(norm, 0), x), DATA, compile=interpreted)

    operators = [one.op for one in postorder(made.module.main.body) if isinstance(one, Call)]
    assert operators == ["qnn.quantize", "qnn.dequantize", "qnn.dequantize", "nn.conv2d", "add"]


def test_dynamic_quantization_needs_no_data() -> None:
    module = residual()
    made = quantize(module, mode="dynamic", compile=interpreted)

    assert snr(module, made.module) > 30
    assert {row.op for row in made.report.layers} == {"nn.conv2d"}


def test_layers_below_min_snr_stay_in_float() -> None:
    module = residual()
    noise = {row.name: row.snr for row in quantize(module, DATA, compile=interpreted).report.layers}
    floor = sorted(noise.values())[1]  # type: ignore[type-var]
    made = quantize(module, DATA, min_snr=floor, compile=interpreted)

    (kept,) = [row for row in made.report.layers if row.precision == "float32"]
    assert kept.name == min(noise, key=noise.__getitem__)  # type: ignore[arg-type, return-value]
    assert kept.reason == f"{kept.snr:.1f} dB, the floor is {floor:g}"


def test_layers_stay_in_float_until_the_metric_drop_is_small_enough() -> None:
    module = residual()
    loose = quantize(module, DATA, metric="cosine", max_drop=1, compile=interpreted).report
    drop = (loose.metric_before - loose.metric_after) * 0.7  # type: ignore[operator]
    made = quantize(module, DATA, metric="cosine", max_drop=drop, compile=interpreted)

    report = made.report
    assert report.metric_before == pytest.approx(1.0)
    assert report.metric_before - report.metric_after <= drop  # type: ignore[operator]
    kept = [row for row in report.layers if row.precision == "float32"]
    assert 0 < len(kept) < len(report.layers)
    assert "dB in the outputs by itself; without, the metric falls from 1 to 0.99" in kept[0].reason
    assert report.output_snr > loose.output_snr  # type: ignore[operator]


def test_a_metric_is_called_with_a_function_that_runs_the_model() -> None:
    calls = []

    def metric(run: Any) -> float:
        calls.append(run(DATA[0])[0].shape)
        return 1.0

    made = quantize(residual(), DATA, metric=metric, max_drop=0.01, compile=interpreted)

    assert calls == [(1, 8, 8, 8)] * 2
    assert all(row.precision == "int8" for row in made.report.layers)


def test_layers_are_kept_in_float_by_name_or_operator() -> None:
    made = quantize(residual(), DATA, keep_float=["conv2d_5"], operators=["nn.conv2d"], compile=interpreted)

    assert [(row.name, row.precision) for row in made.report.layers] == [
        ("conv2d_1", "int8"), ("conv2d_5", "float32"), ("conv2d_8", "int8")
    ]  # fmt: skip


def test_bias_correction_halves_the_mean_error() -> None:
    module = residual()

    def mean_error(**options: Any) -> float:
        made = quantize(module, DATA, per_channel=False, compile=interpreted, **options).module
        errors = [interpreted(made)(one)[0] - interpreted(module)(one)[0] for one in DATA]
        return float(np.abs(np.mean(errors, axis=(0, 1, 3, 4))).max())

    assert mean_error(bias_correction=True) < mean_error() / 2


def depthwise() -> Module:
    """Return convolutions, one of them depthwise, whose weights have very different magnitudes."""
    x = var("x", (1, 3, 16, 16))
    sizes = np.logspace(-2, 2, 8).reshape(-1, 1, 1, 1)
    shapes = (8, 3, 1, 1), (8, 1, 3, 3)
    first, second = (constant(weights(*shape).data * sizes, "float32") for shape in shapes)
    last = constant(weights(4, 8, 1, 1).data / (sizes * sizes).reshape(1, 8, 1, 1), "float32")
    y = relu(make("add", conv(x, first), constant(weights(8, 1, 1).data * sizes[..., 0], "float32")))
    z = relu(conv(y, second, groups=8, padding=(1, 1, 1, 1)))
    return module_of(conv(z, last), x)


def test_equalized_layers_give_the_same_results_and_less_noise() -> None:
    module = depthwise()
    equal = equalize_layers(module)

    assert snr(module, equal) > 100
    plain, better = (
        quantize(module, DATA, per_channel=False, equalize=on, compile=interpreted) for on in (False, True)
    )
    assert better.report.output_snr > plain.report.output_snr + 10  # type: ignore[operator]


def test_layers_with_other_readers_are_not_equalized() -> None:
    x = var("x", (1, 3, 16, 16))
    y = conv(x, weights(3, 3, 1, 1))
    module = module_of(make("add", conv(y, weights(3, 3, 1, 1)), y), x)

    assert equalize_layers(module) is module


def transformer() -> Module:
    """Return a layer norm with outliers in one channel, read by two dense layers."""
    x, gamma = var("x", (4, 8)), np.ones(8, np.float32)
    gamma[3] = 60.0
    norm = make("nn.layer_norm", x, constant(gamma), constant(np.zeros(8), "float32"))
    return module_of(
        make("add", make("nn.dense", norm, weights(6, 8)), make("nn.dense", norm, weights(6, 8, seed=8))), x
    )


def test_smoothed_outliers_give_the_same_results_and_less_noise() -> None:
    module, data = transformer(), images(8, (4, 8))
    smooth = smooth_outliers(module, data, 0.5, interpreted, silent)

    exact, other = (np.asarray(interpreted(one)(data[0])[0]) for one in (module, smooth))
    np.testing.assert_allclose(other, exact, rtol=1e-3, atol=1e-3)
    operators = [one.op for one in postorder(smooth.main.body) if isinstance(one, Call)]
    assert "multiply" not in operators  # the layer norm takes the scale
    plain, better = (quantize(module, data, smooth=part, compile=interpreted) for part in (None, 0.5))
    noise = [min(row.snr or 0.0 for row in one.report.layers) for one in (plain, better)]
    assert noise[1] > noise[0] + 3


def test_a_report_is_printed_as_a_table_json_and_a_page() -> None:
    made = quantize(residual(), DATA, keep_float=["conv2d_5"], compile=interpreted)
    report = made.report.with_latency(2e-3, 1e-3)
    assert "float32 time" not in str(report)

    assert "4 of 5 layers in int8" in str(report)
    assert "a run: 2 ms before, 1 ms after, 2×" in str(report)
    assert "conv2d_5 (as asked)" in str(made)
    rows = json.loads(report.json())["layers"]
    assert [row["name"] for row in rows][:2] == ["conv2d_1", "max_pool2d_4"]
    page = made.page("A title & more")
    assert "<title>A title &amp; more</title>" in page
    assert page.count("<rect") == 5
    assert "http" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"calibration": "guess"},
            "calibration is 'guess', expected one of percentile, min_max, entropy, mse",
        ),
        ({"percentile": 12}, "percentile is 12, expected above 50, at most 100"),
        ({"mode": "lazy"}, "mode is 'lazy', expected one of static, dynamic"),
        ({"max_drop": 0.1}, "max_drop is given without a metric"),
        ({"max_drop": "x", "metric": "top1"}, "max_drop is 'x', expected a number"),
        ({"metric": "best"}, "metric is 'best', expected a function, or one of 'top1', 'cosine'"),
        ({"metric": lambda run: "good", "max_drop": 1}, "metric gave 'good', expected a finite number"),
        ({"operators": ["nn.relu"]}, "operators has 'nn.relu'; there are add, concatenate"),
        ({"keep_float": ["nothing"]}, "keep_float has 'nothing', which is no layer"),
        ({"smooth": 2}, "smooth is 2, expected a number between 0 and 1"),
        ({"min_snr": 500}, "every layer stays in float32"),
        ({"measure": "yes"}, "measure is 'yes', expected True, False or None"),
        ({"measure": True}, "measure is True and compile is given"),
        ({"compile_options": 3}, "compile_options is a int, expected options by name"),
        ({"operators": []}, "the module has no layer that can be quantized"),
    ],
)
def test_invalid_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        quantize(residual(), DATA, compile=interpreted, **options)


def test_static_quantization_needs_data() -> None:
    with pytest.raises(InputError, match="data is None, which mode='static' needs"):
        quantize(residual())


def test_a_quantized_module_is_not_quantized_again() -> None:
    made = quantize(residual(), DATA, compile=interpreted).module

    with pytest.raises(InputError, match=r"the module is quantized already: it has qnn\.(de)?quantize"):
        quantize(made, DATA)


def test_a_module_without_products_has_nothing_to_quantize() -> None:
    x = var("x", (1, 3, 16, 16))

    with pytest.raises(InputError, match="the module has no layer that can be quantized"):
        quantize(module_of(make("nn.relu", x), x), DATA)


def test_error_names_the_type_of_an_argument_that_is_not_a_module() -> None:
    with pytest.raises(InputError, match="module is a str, expected a relay module or function"):
        quantize("model.onnx", DATA)  # type: ignore[arg-type]


def test_error_names_the_tensor_with_nan() -> None:
    x = var("x", (1, 3, 16, 16))
    root = make("sqrt", x)

    with pytest.raises(InputError, match="the tensor 'sqrt_1' has NaN or infinity on the calibration data"):
        quantize(module_of(conv(root, weights(2, 3, 1, 1)), x), DATA, compile=interpreted)


def test_quantized_weights_are_int8_constants() -> None:
    made = quantize(residual(), DATA, compile=interpreted).module
    found = [one for one in postorder(made.main.body) if isinstance(one, Constant) and one.size > 8]

    assert {str(one.dtype) for one in found} == {"int8"}
