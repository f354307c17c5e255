"""The settings of ``quantize``, checked."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.relay.ir.attributes import describe, is_number, show
from tvmlite.relay.passes.precision.to_mixed_precision import DTYPES
from tvmlite.relay.quantize.layers import OPERATORS, PRODUCTS
from tvmlite.relay.quantize.noise import Metric
from tvmlite.relay.quantize.ranges import METHODS
from tvmlite.relay.quantize.recurrent import RECURRENT
from tvmlite.relay.quantize.select import METRICS

MODES = ("static", "dynamic", "weight_only", *DTYPES)
"""Ranges of activations are measured on data ("static") or in each run ("dynamic"); only weights are rounded;
or operands of products are rounded to 16 bits."""


@dataclass(frozen=True)
class Options:
    """The arguments of ``quantize`` that are settings, checked."""

    calibration: str
    percentile: float
    per_channel: bool
    mode: str
    operators: frozenset[str]
    keep_float: frozenset[str]
    smooth: float | None
    equalize: bool
    bias_correction: bool
    attention: bool
    max_drop: float | None
    min_snr: float | None
    measure: bool | None
    records: Any
    compile_options: Mapping[str, Any]

    def as_text(self) -> dict[str, str]:
        """The settings as text, for the report."""
        names = ("mode",) if self.mode == "dynamic" else ("mode", "calibration")
        given = {name: str(getattr(self, name)) for name in names}
        if self.calibration == "percentile" and self.mode == "static":
            given["percentile"] = f"{self.percentile:g}"
        given["weights"] = "per channel" if self.per_channel else "per tensor"
        for name in ("smooth", "equalize", "bias_correction", "attention", "max_drop", "min_snr"):
            value = getattr(self, name)
            if value not in (None, False):
                given[name.replace("_", " ")] = "yes" if value is True else f"{value:g}"
        return given


def refuse(mode: str, why: str, given: Mapping[str, Any]) -> None:
    """Raise an InputError if one of the arguments ``given``, which ``mode`` does not take, is set."""
    for name, value in given.items():
        if value not in (None, False, (), []):
            raise InputError(f"quantize: mode={mode!r} takes no {name}: {why}")


def check_layer_names(keep_float: Collection[str], layers: Collection[str]) -> None:
    """Raise an InputError if a name in ``keep_float`` is not in ``layers``."""
    for name in sorted(set(keep_float).difference(layers)):
        raise InputError(
            f"quantize: keep_float has {name!r}, which is no layer",
            hint=f"there are {', '.join(map(repr, list(layers)[:8]))}{', ...' * (len(layers) > 8)}",
        )


def names_in(what: str, given: Any) -> frozenset[str]:
    """The names in the argument called ``what``; an InputError if it is not a collection of strings."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"quantize: {what} is {describe(given)}, expected a list of names")
    names = list(given)
    for one in names:
        if not isinstance(one, str):
            raise InputError(f"quantize: {what} has {show(one)}, expected names")
    return frozenset(names)


def checked(options: Options, data: Any, metric: Metric | str | None) -> Options:
    """``options``; an InputError names an invalid one."""
    if not isinstance(options.calibration, str) or options.calibration not in METHODS:
        raise InputError(
            f"quantize: calibration is {show(options.calibration)}, expected one of {', '.join(METHODS)}"
        )
    if options.mode not in MODES:
        raise InputError(f"quantize: mode is {show(options.mode)}, expected one of {', '.join(MODES)}")
    for name in ("max_drop", "min_snr"):
        value = getattr(options, name)
        if value is not None and not (is_number(value) and math.isfinite(value)):
            raise InputError(f"quantize: {name} is {show(value)}, expected a number")
    if options.max_drop is not None and options.max_drop < 0:
        raise InputError(f"quantize: max_drop is {show(options.max_drop)}, expected 0 or more")
    if not is_number(options.percentile):
        raise InputError(
            f"quantize: percentile is {show(options.percentile)}, expected above 50, at most 100"
        )
    for name in ("per_channel", "equalize", "bias_correction", "attention"):
        if not isinstance(getattr(options, name), bool):
            raise InputError(f"quantize: {name} is {show(getattr(options, name))}, expected True or False")
    for name in sorted(options.operators - OPERATORS):
        raise InputError(f"quantize: operators has {name!r}; there are {', '.join(sorted(OPERATORS))}")
    if options.measure not in (None, True, False):
        raise InputError(f"quantize: measure is {show(options.measure)}, expected True, False or None")
    if not isinstance(options.compile_options, Mapping):
        raise InputError(
            f"quantize: compile_options is {describe(options.compile_options)}, expected options by name"
        )
    if metric is not None and not callable(metric) and metric not in METRICS:
        expected = ", ".join(map(repr, METRICS))
        raise InputError(f"quantize: metric is {show(metric)}, expected a function, or one of {expected}")
    if (options.max_drop is None) != (metric is None) and options.max_drop is not None:
        raise InputError(
            "quantize: max_drop is given without a metric",
            hint='metric="top1", metric="cosine", or a function from a runner to a number',
        )
    needs = {
        "mode='static'": options.mode == "static",
        "smooth": options.smooth is not None,
        "bias_correction": options.bias_correction,
        "min_snr": options.min_snr is not None,
        "max_drop": options.max_drop is not None,
    }
    if data is None and any(needs.values()):
        name = next(name for name, wanted in needs.items() if wanted)
        raise InputError(
            f"quantize: data is None, which {name} needs",
            hint="some dozen typical inputs: ranges of activations are measured on them",
        )
    if options.mode == "dynamic":
        return replace(options, operators=options.operators & frozenset((*PRODUCTS, *RECURRENT)))
    return replace(options, operators=options.operators - RECURRENT.keys())
