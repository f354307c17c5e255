"""Select the layers that stay in float32 by measurement: those with too much noise or loss of accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.nodes import Module
from tvmlite.relay.quantize.data import Run
from tvmlite.relay.quantize.noise import Metric, Noise, output_noise, switchable, with_float_layers
from tvmlite.relay.quantize.run import Compile, Progress, Runner

MOST_RUNS = 4
"""The maximum number of runs on which the effect of each single layer on the outputs is measured."""


@dataclass(frozen=True)
class Selection:
    """The layers ``kept`` in float32, each with the reason, and the metric of the float model and of the
    quantized one, None without a metric."""

    kept: Mapping[str, str]
    before: float | None = None
    after: float | None = None


def below_floor(noise: Mapping[str, Noise], min_snr: float) -> dict[str, str]:
    """The layers with a signal-to-noise ratio below ``min_snr`` dB, each with the reason in words."""
    return {
        name: f"{one.snr:.1f} dB, the floor is {min_snr:g}"
        for name, one in noise.items()
        if one.snr < min_snr
    }


def within_drop(
    module: Module,
    runs: Sequence[Run],
    metric: Metric,
    max_drop: float,
    compile: Compile,
    progress: Progress,
) -> Selection:
    """Keep as few layers of a calibrated ``module`` in float32 as keep ``metric`` within ``max_drop`` of
    float32.

    Layers are ordered by the noise in the outputs if only that layer is quantized, measured on the first
    ``MOST_RUNS`` of ``runs``. Those with the most noise stay in float32; their number is found by bisection,
    with the metric measured for each number that is tried.
    """
    module, layers = switchable(module)
    progress("compiling", 0, 0)
    run = compile(module)

    def measured(kept: frozenset[str]) -> float:
        return measured_metric(metric, with_float_layers(run, layers, kept))

    before, after = measured(frozenset(layers)), measured(frozenset())
    if before - after <= max_drop:
        return Selection({}, before, after)
    effects = _single_layer_noise(run, layers, runs[:MOST_RUNS], progress)
    noisiest = sorted(layers, key=lambda name: effects[name])
    values = {0: after}
    enough, too_few = len(layers), 0
    while enough - too_few > 1:
        number = (enough + too_few) // 2
        progress("layers in float32", number, len(layers))
        values[number] = measured(frozenset(noisiest[:number]))
        if before - values[number] <= max_drop:
            enough = number
        else:
            too_few = number
    reason = f"without, the metric falls from {before:.4g} to {values[too_few]:.4g}"
    kept = {name: f"{effects[name]:.1f} dB in the outputs by itself; {reason}" for name in noisiest[:enough]}
    return Selection(kept, before, values.get(enough, before))


def measured_metric(metric: Metric, run: Runner) -> float:
    """The ``metric`` of a model that ``run`` runs; an InputError if it is not a finite number."""
    value = metric(run)
    if not isinstance(value, (int, float, np.floating)) or not np.isfinite(value):
        raise InputError(f"quantize: metric gave {show(value)}, expected a finite number")
    return float(value)


def _single_layer_noise(
    run: Runner, layers: Sequence[str], runs: Sequence[Run], progress: Progress
) -> dict[str, float]:
    """The signal-to-noise ratio of the outputs, in dB, with each of ``layers`` quantized alone."""
    exact = [list(with_float_layers(run, layers, frozenset(layers))(inputs)) for inputs in runs]
    effects = {}
    for number, name in enumerate(layers):
        progress("effect of layers", number, len(layers))
        results = iter(exact)
        alone = with_float_layers(run, layers, frozenset(layers) - {name})
        effects[name] = output_noise(lambda _, results=results: next(results), alone, runs)
    return effects


def same_top(exact: Runner, runs: Sequence[Run]) -> Metric:
    """The share of rows (last axis) of the first output whose maximum is at the same position as before."""
    expected = [np.argmax(exact(inputs)[0], axis=-1) for inputs in runs]

    def metric(run: Runner) -> float:
        same = [
            np.argmax(run(inputs)[0], axis=-1) == wanted
            for inputs, wanted in zip(runs, expected, strict=True)
        ]
        return float(np.mean(np.concatenate([one.reshape(-1) for one in same])))

    return metric


def cosine(exact: Runner, runs: Sequence[Run]) -> Metric:
    """The mean cosine of the angle between the rows of the first output and those of the float model."""
    expected = [np.asarray(exact(inputs)[0], np.float64) for inputs in runs]

    def metric(run: Runner) -> float:
        found = []
        for inputs, wanted in zip(runs, expected, strict=True):
            given = np.asarray(run(inputs)[0], np.float64)
            lengths = np.linalg.norm(given, axis=-1) * np.linalg.norm(wanted, axis=-1)
            found.append(np.sum(given * wanted, axis=-1).reshape(-1) / np.maximum(lengths, 1e-30).reshape(-1))
        return float(np.mean(np.concatenate(found)))

    return metric


METRICS = {"top1": same_top, "cosine": cosine}
"""Metrics that need no labels: the similarity of the outputs to those of the float model."""
