"""TVM's quantization options: the effect of each on a small network, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite import relay
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.driver import compile
from tvmlite.relay.ir.nodes import Call
from tvmlite.tvm.relay import quantize as relay_quantize


def network() -> tuple[Any, dict[str, np.ndarray]]:
    """Two convolutions and a dense layer."""
    generator = np.random.default_rng(1)
    shapes = {"w1": (8, 4, 3, 3), "w2": (8, 8, 3, 3), "w3": (3, 8)}
    x = relay.var("x", shape=(1, 4, 8, 8))
    w = {name: relay.var(name, shape=shape) for name, shape in shapes.items()}
    y = relay.nn.relu(relay.nn.conv2d(x, w["w1"], padding=(1, 1)))
    y = relay.nn.relu(relay.nn.conv2d(y, w["w2"], padding=(1, 1)))
    y = relay.nn.dense(relay.reshape(relay.nn.global_avg_pool2d(y), newshape=(1, 8)), w["w3"])
    params = {name: generator.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}
    return relay.Module({"main": relay.Function((x, *w.values()), y)}), params


def data(count: int = 4) -> list[dict[str, np.ndarray]]:
    generator = np.random.default_rng(2)
    return [{"x": generator.normal(0, 1, (1, 4, 8, 8)).astype(np.float32)} for _ in range(count)]


def quantized_layers(mod: Any) -> list[str]:
    """The convolutions and dense layers whose weights are quantized."""
    calls = [node for node in postorder(mod.main.body) if isinstance(node, Call)]
    products = [one for one in calls if one.op in ("nn.conv2d", "nn.dense")]
    return [
        str(one.op)
        for one in products
        if any(isinstance(n, Call) and "quantize" in str(n.op) for n in postorder(one.args[1]))
    ]


def exact(x: np.ndarray) -> np.ndarray:
    """The network in plain numpy."""
    _, params = network()

    def conv(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
        padded = np.pad(values, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return np.maximum(np.einsum("nchwyx,kcyx->nkhw", windows, weight), 0)

    y = conv(conv(x, params["w1"]), params["w2"]).mean(axis=(2, 3))
    return y @ params["w3"].T


@pytest.mark.parametrize("mode", ["kl_divergence", "percentile"])
def test_ranges_are_measured_on_the_dataset(mode: str) -> None:
    mod, params = network()
    with relay_quantize.qconfig(calibrate_mode=mode, skip_conv_layers=[], skip_dense_layer=False):
        made = relay_quantize.quantize(mod, params, dataset=data())

    assert quantized_layers(made) == ["nn.conv2d", "nn.conv2d", "nn.dense"]
    x = data(1)[0]["x"]
    wanted = exact(x)
    np.testing.assert_allclose(compile(made)(x), wanted, atol=0.1 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["nn.conv2d"]),
        ({"skip_conv_layers": [1]}, ["nn.conv2d"]),
        ({"skip_conv_layers": [0, 1], "skip_dense_layer": False}, ["nn.dense"]),
        ({"skip_conv_layers": [7]}, ["nn.conv2d", "nn.conv2d"]),
    ],
)
def test_skipped_layers_stay_float(options: dict[str, Any], expected: list[str]) -> None:
    mod, params = network()
    with relay_quantize.qconfig(calibrate_mode="percentile", **options):
        made = relay_quantize.quantize(mod, params, dataset=data())

    assert quantized_layers(made) == expected


def test_options_that_leave_every_layer_float_give_a_warning() -> None:
    mod, params = network()
    with (
        relay_quantize.qconfig(calibrate_mode="percentile", skip_conv_layers=[0, 1]),
        pytest.warns(UserWarning, match="every layer stays in float32, as skip_conv_layers"),
    ):
        made = relay_quantize.quantize(mod, params, dataset=data())

    x = data(1)[0]["x"]
    np.testing.assert_allclose(compile(made)(x), exact(x), rtol=1e-4, atol=1e-4)


def test_a_float64_dataset_is_converted_to_the_inputs_dtype() -> None:
    mod, params = network()
    wide = [{name: array.astype("float64") for name, array in run.items()} for run in data()]
    with relay_quantize.qconfig(calibrate_mode="percentile"):
        made, other = (relay_quantize.quantize(mod, params, dataset=one) for one in (wide, data()))

    x = data(1)[0]["x"]
    np.testing.assert_array_equal(compile(made)(x), compile(other)(x))


def test_unknown_inputs_in_the_dataset_are_ignored_with_a_warning() -> None:
    mod, params = network()
    more = [{**run, "y": np.zeros(3, np.float32)} for run in data()]

    with relay_quantize.qconfig(calibrate_mode="percentile", skip_conv_layers=[]):
        with pytest.warns(UserWarning, match="dataset has 'y', which the model does not: its inputs are x"):
            made = relay_quantize.quantize(mod, params, dataset=more)
        other = relay_quantize.quantize(mod, params, dataset=data())

    assert str(made) == str(other)


def test_without_a_dataset_ranges_are_computed_in_each_run() -> None:
    mod, params = network()
    with pytest.warns(UserWarning, match="global_scale: one range for all activations is not used"):
        made = relay_quantize.quantize(mod, params)

    x = data(1)[0]["x"] * 5
    wanted = exact(x)
    np.testing.assert_allclose(compile(made)(x), wanted, atol=0.1 * np.abs(wanted).max())


def test_the_innermost_qconfig_applies() -> None:
    with relay_quantize.qconfig(skip_conv_layers=[3]), relay_quantize.qconfig(weight_scale="max"):
        assert relay_quantize.current_qconfig().weight_scale == "max"
        assert relay_quantize.current_qconfig().skip_conv_layers == [0]
    assert relay_quantize.current_qconfig().calibrate_mode == "global_scale"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"nbit_weight": 4}, UnsupportedError, "nbit_weight is 4, expected 8"),
        ({"calibrate_mode": "max"}, UnsupportedError, "calibrate_mode is 'max', expected 'global_scale' or"),
        ({"do_simulation": True}, UnsupportedError, "do_simulation is True, expected False"),
        ({"skip_conv_layers": "0"}, InputError, "skip_conv_layers is '0', expected a list of places"),
    ],
)
def test_unsupported_options_are_errors(options: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        relay_quantize.qconfig(**options)


def test_an_unknown_option_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="there is no option nbit, which changes nothing; there are calib"):
        options = relay_quantize.qconfig(nbit=8, skip_conv_layers=[1])

    assert options.skip_conv_layers == [1]


def test_a_calibrating_mode_needs_a_dataset() -> None:
    mod, params = network()
    with (
        relay_quantize.qconfig(calibrate_mode="kl_divergence"),
        pytest.raises(InputError, match="'kl_divergence' needs dataset="),
    ):
        relay_quantize.quantize(mod, params)
