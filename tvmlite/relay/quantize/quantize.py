"""Quantization of a whole module after training: annotate, calibrate, realize, and what was measured."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.provided import provided
from tvmlite.relay.ir.attributes import describe, is_number, show
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Function, Module
from tvmlite.relay.quantize.adjust.correct_bias import correct_bias
from tvmlite.relay.quantize.adjust.equalize_layers import equalize_layers
from tvmlite.relay.quantize.adjust.smooth_outliers import smooth_outliers
from tvmlite.relay.quantize.annotate import quantize_annotate
from tvmlite.relay.quantize.calibrate import Range, fill, observe, ranges_of
from tvmlite.relay.quantize.data import LEAST_EXAMPLES, Run, calibration_runs
from tvmlite.relay.quantize.layers import OPERATORS, PRODUCTS, names_of
from tvmlite.relay.quantize.noise import Metric, Noise, layers_of, marks_read, measure_noise, output_noise
from tvmlite.relay.quantize.prepare import prepare
from tvmlite.relay.quantize.ranges import METHODS, PERCENTILE
from tvmlite.relay.quantize.realize import quantize_realize
from tvmlite.relay.quantize.report.page import page
from tvmlite.relay.quantize.report.report import LayerRow, QuantizationReport, constant_bytes
from tvmlite.relay.quantize.run import Compile, Progress, compiled, silent
from tvmlite.relay.quantize.select import METRICS, Selection, below_floor, measured_metric, within_drop
from tvmlite.relay.quantize.speed import (
    FASTER_LAYERS,
    Measure,
    Plan,
    Speed,
    key_of,
    with_conversion_spans,
    with_spans,
)
from tvmlite.relay.quantize.weight_only import GROUP_QUANTIZED, weight_only

MODES = ("static", "dynamic", "weight_only")


@dataclass(frozen=True)
class QuantizedModule:
    """``module``, quantized, to be compiled as any other, and the ``report`` of what was done.

    ``records`` hold what was decided by measurement: given again, they give the same module.
    """

    module: Module
    report: QuantizationReport
    records: tuple[Any, ...] = ()

    def page(self, title: str = "Quantization") -> str:
        """The report as an HTML page, one file that loads nothing."""
        return page(self.report, title)

    def __str__(self) -> str:
        return str(self.report)


@dataclass(frozen=True)
class _Options:
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

    def shown(self) -> dict[str, str]:
        """The settings in words."""
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


def quantize(
    module: Module | Function,
    data: Any = None,
    *,
    calibration: str = "mse",
    percentile: float = PERCENTILE,
    per_channel: bool = True,
    mode: str = "static",
    bits: int = 8,
    group: int = 32,
    max_drop: float | None = None,
    metric: Metric | str | None = None,
    min_snr: float | None = None,
    smooth: float | None = None,
    equalize: bool = False,
    bias_correction: bool = False,
    attention: bool = False,
    operators: Collection[str] = OPERATORS,
    keep_float: Iterable[str] = (),
    min_examples: int = LEAST_EXAMPLES,
    measure: bool | None = None,
    records: Any = None,
    compile_options: Mapping[str, Any] | None = None,
    compile: Compile | None = None,
    progress: Progress = silent,
) -> QuantizedModule:
    """``module`` with its products, and what lies between them, in 8 bits where that is faster.

    The result is a float module in which tensors are rounded to steps: ``qnn.dequantize(qnn.quantize(x))``
    around unchanged operators. Compiling it makes integer kernels of that. Activations are uint8 with one
    range a tensor, weights int8 with a scale for each output channel (for all with ``per_channel=False``).

    ``data`` are typical inputs, on which ranges are measured (see ``calibration_runs``); nothing is random.
    ``calibration`` chooses ranges: "mse", "percentile" (of ``percentile``), "min_max" or "entropy"
    (``relay.quantize.ranges``). With ``mode="dynamic"`` ranges are computed in each run, from the data there;
    then only products are quantized, and ``data`` may be left out. With ``mode="weight_only"`` weights of
    dense layers alone are, in ``bits`` (4 or 8) with a scale for each ``group`` of consecutive elements
    (``relay.quantize.weight_only``); that takes no data, and no other argument.

    ``smooth``, 0 to 1, moves outliers of channels into weights (``smooth_outliers``; 0.5 is usual for
    transformers); ``equalize`` makes weights of convolutions in a row alike (``equalize_layers``);
    ``bias_correction`` takes away what rounding adds in the mean (``correct_bias``). ``attention`` quantizes
    the two products of attention as well, which then is not one kernel.

    Layers stay in float32 if they are in ``keep_float``, not of ``operators``, have a signal-to-noise ratio
    below ``min_snr`` (in dB), or if the ``metric`` would else fall by more than ``max_drop``. ``metric(run)``
    says how good a model is, where ``run(inputs by name)`` gives its outputs; "top1" and "cosine" compare
    outputs on ``data`` with those in float32. The report names each layer, its precision and why.

    Layers stay in float32 as well if they are slower in 8 bits, conversions included: the compiled model is
    timed kernel by kernel, in float32 and in 8 bits, in interleaved runs on the first of ``data``, and again
    with those layers in float32; a run is never slower than in float32. What was decided is appended to
    ``records``, a file, as ``tvmlite.tune``'s records are, or is in the result's ``records``. With records of
    an equal model on the same machine nothing is timed: the same data and records give the same module.
    ``measure=False`` times nothing, and quantizes all layers; ``measure=True`` makes an InputError of what
    cannot be timed, which by default the report mentions. ``compile_options`` are those of
    ``tvmlite.compile`` that the model is to be compiled with.

    ``compile`` makes of a module what runs it; by default it is compiled for this machine. Layers are timed
    with the default only.
    """
    if isinstance(module, Function):
        module = Module({"main": module})
    if not isinstance(module, Module):
        raise InputError(f"quantize: module is {describe(module)}, expected a relay module or function")
    if mode == "weight_only":
        measured = {"max_drop": max_drop, "metric": metric, "min_snr": min_snr, "smooth": smooth}
        measured |= {"equalize": equalize, "bias_correction": bias_correction, "attention": attention}
        measured |= {"keep_float": keep_float, "measure": measure, "records": records}
        for name, value in measured.items():
            if value not in (None, False, (), []):
                raise InputError(
                    f"quantize: mode='weight_only' takes no {name}: nothing but weights is rounded"
                )
        return _weights_alone(module, data, bits, group)
    if bits != 8:
        raise InputError(
            f"quantize: bits is {show(bits)}, expected 8", hint='mode="weight_only" takes 4 as well'
        )
    options = _checked(
        _Options(
            calibration, percentile, per_channel, mode, frozenset(operators), frozenset(keep_float), smooth,
            equalize, bias_correction, attention, max_drop, min_snr, measure, records, compile_options or {},
        ),
        data, metric,
    )  # fmt: skip
    exact = prepare(module, attention)
    runs = [] if data is None else calibration_runs(exact, data, min_examples)
    if compile is not None and measure:
        raise InputError(
            "quantize: measure is True and compile is given", hint="what that gives has no kernels"
        )
    if compile is not None:
        options = replace(options, measure=False)
    return _Quantization(exact, runs, options, metric, compile or compiled, progress).run(module)


def _weights_alone(module: Module, data: Any, bits: int, group: int) -> QuantizedModule:
    """``weight_only`` with a report: which layers have weights in few bits, and what bytes that spares."""
    if data is not None:
        raise InputError("quantize: mode='weight_only' takes no data: nothing is measured")
    made = weight_only(module, bits, group)
    names = names_of(made.main.body)
    rows = tuple(
        LayerRow(name, str(call.op), f"int{bits}", weights=_stored(call.args[1]) * 8 // bits)
        for call, name in names.items()
        if isinstance(call, Call) and call.op == GROUP_QUANTIZED
    )
    if not rows:
        raise InputError(
            "quantize: the module has no layer that can be quantized",
            hint="with mode='weight_only', dense layers of float32 with constant weights can",
        )
    options = {"mode": "weight_only", "bits": str(bits), "group": str(group)}
    report = QuantizationReport(rows, options, constant_bytes(module), constant_bytes(made))
    return QuantizedModule(made, report)


def _stored(weight: Expr) -> int:
    assert isinstance(weight, Constant)
    return weight.size


def _checked(options: _Options, data: Any, metric: Metric | str | None) -> _Options:
    """``options``, or an InputError that names the one at fault."""
    if options.calibration not in METHODS:
        raise InputError(
            f"quantize: calibration is {show(options.calibration)}, expected one of {', '.join(METHODS)}"
        )
    if options.mode not in MODES:
        raise InputError(f"quantize: mode is {show(options.mode)}, expected one of {', '.join(MODES)}")
    for name in ("max_drop", "min_snr"):
        value = getattr(options, name)
        if value is not None and not is_number(value):
            raise InputError(f"quantize: {name} is {show(value)}, expected a number")
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
        return replace(options, operators=options.operators & frozenset(PRODUCTS))
    return options


@dataclass
class _Quantization:
    """One call of ``quantize`` on the prepared module ``exact``."""

    exact: Module
    runs: Sequence[Run]
    options: _Options
    metric: Metric | str | None
    compile: Compile
    progress: Progress

    def run(self, given: Module) -> QuantizedModule:
        """The quantized module and its report; ``given`` is the module as the caller has it."""
        options, base = self.options, self.exact
        base = equalize_layers(base) if options.equalize else base
        if options.smooth is not None:
            base = smooth_outliers(base, self.runs, options.smooth, self.compile, self.progress)
        whole = quantize_annotate(base, (), options.operators, options.per_channel)
        layers = layers_of(whole)
        if not layers:
            raise InputError(
                "quantize: the module has no layer that can be quantized",
                hint=f"products of float32 with constant weights can: {', '.join(PRODUCTS)}",
            )
        for name in sorted(options.keep_float - layers.keys()):
            raise InputError(
                f"quantize: keep_float has {name!r}, which is no layer",
                hint=f"there are {', '.join(map(repr, list(layers)[:8]))}{', ...' * (len(layers) > 8)}",
            )
        ranges: dict[str, Range] = {}
        kept = dict.fromkeys(options.keep_float, "as asked")
        noise: dict[str, Noise] = {}
        if options.mode == "static":
            histograms = observe(
                whole, self.runs, options.calibration != "min_max", self.compile, self.progress
            )
            ranges = ranges_of(whole, histograms, options.calibration, options.percentile)
            whole, _ = fill(whole, ranges)
        if self.runs:
            noise = measure_noise(whole, self.runs, self.compile, self.progress)
        if options.min_snr is not None:
            kept.update({k: v for k, v in below_floor(noise, options.min_snr).items() if k not in kept})
        marked = self._marked(base, kept, ranges, noise)
        selection = self._within_drop(marked)
        if selection.kept:
            kept.update(selection.kept)
            marked = self._marked(base, kept, ranges, noise)
        if not layers_of(marked):
            raise InputError(
                "quantize: every layer stays in float32",
                hint="give a lower min_snr, a larger max_drop, more data, or another calibration",
            )
        speed = self._speed(base, kept, ranges, noise)
        if speed.kept:
            kept.update(speed.kept)
            marked = self._marked(base, kept, ranges, noise)
        final = layers_of(marked)
        made = replace(quantize_realize(marked), output_names=given.output_names, attrs=given.attrs)
        made = made if final else given
        for name in layers.keys() - final.keys() - kept.keys():
            kept[name] = "nothing around it is in bytes"
        rows = tuple(_row(name, call, kept, noise, ranges, speed) for name, call in layers.items())
        report = QuantizationReport(
            rows,
            options.shown(),
            constant_bytes(self.exact),
            constant_bytes(made),
            self._output_noise(made),
            selection.before,
            self._metric_after(selection, speed, made),
            speed.latency,
            speed.unknown,
        )
        return QuantizedModule(made, report, speed.records)

    def _speed(
        self, base: Module, kept: Mapping[str, str], ranges: Mapping[str, Range], noise: Mapping[str, Noise]
    ) -> Speed:
        """Which of the layers that are not ``kept`` are faster in float32."""
        options = self.options
        if options.measure is False:
            return Speed()
        base = with_spans(base)
        unfilled = quantize_annotate(base, kept.keys(), options.operators, options.per_channel)

        def narrow(more: frozenset[str]) -> Module:
            marked = self._marked(base, {**kept, **dict.fromkeys(more, "")}, ranges, noise)
            return quantize_realize(with_conversion_spans(marked))

        plan = Plan(
            base,
            tuple(layers_of(unfilled)),
            "int8",
            key_of(unfilled, options.mode, sorted(options.compile_options.items())),
            narrow,
            next(iter(self.runs), None),
            self.exact if options.equalize or options.smooth is not None else None,
        )
        find: Measure = provided(FASTER_LAYERS)
        return find(plan, options.records, options.compile_options, self.progress, options.measure is True)

    def _metric_after(self, selection: Selection, speed: Speed, made: Module) -> float | None:
        """The metric of what was made, which has more layers in float32 than those that were selected for
        it."""
        if selection.after is None or not speed.kept:
            return selection.after
        return measured_metric(self._metric(), self.compile(made))

    def _metric(self) -> Metric:
        metric = self.metric
        assert metric is not None
        return METRICS[metric](self.compile(self.exact), self.runs) if isinstance(metric, str) else metric

    def _marked(
        self, base: Module, kept: Mapping[str, str], ranges: Mapping[str, Range], noise: Mapping[str, Noise]
    ) -> Module:
        """``base`` with marks and their ranges, and biases corrected."""
        options = self.options
        module = quantize_annotate(base, kept.keys(), options.operators, options.per_channel)
        if options.mode == "static":
            module, _ = fill(module, ranges)
        return correct_bias(module, noise) if options.bias_correction else module

    def _within_drop(self, marked: Module) -> Selection:
        options = self.options
        if self.metric is None or not layers_of(marked):
            return Selection({})
        limit = float("inf") if options.max_drop is None else options.max_drop
        return within_drop(marked, self.runs, self._metric(), limit, self.compile, self.progress)

    def _output_noise(self, made: Module) -> float | None:
        if not self.runs:
            return None
        self.progress("noise of the outputs", 0, len(self.runs))
        return output_noise(self.compile(self.exact), self.compile(made), self.runs)


def _row(
    name: str,
    call: Call,
    kept: Mapping[str, str],
    noise: Mapping[str, Noise],
    ranges: Mapping[str, Range],
    speed: Speed,
) -> LayerRow:
    marks = marks_read(call)
    weights = sum(mark.args[0].size for mark in marks if isinstance(mark.args[0], Constant))
    found = [ranges[mark["tensor"]] for mark in marks if mark["tensor"] in ranges]
    widest = max(found, key=lambda one: one.clipped, default=None)
    time = speed.times.get(name)
    return LayerRow(
        name,
        str(call.op),
        "float32" if name in kept else "int8",
        kept.get(name, speed.remarks.get(name, "")),
        noise[name].snr if name in noise else None,
        None if widest is None else widest.clipped,
        None if widest is None else min(widest.low, 0.0),
        None if widest is None else max(widest.high, 0.0),
        weights,
        None if time is None else time.exact,
        None if time is None else time.narrow,
    )
