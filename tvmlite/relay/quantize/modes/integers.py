"""Products and the operators between them in 8 bits: the modes "static" and "dynamic"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.core.provided import provided
from tvmlite.relay.ir.nodes import Call, Constant, Module
from tvmlite.relay.quantize.adjust.correct_bias import correct_bias
from tvmlite.relay.quantize.adjust.equalize_layers import equalize_layers
from tvmlite.relay.quantize.adjust.smooth_outliers import smooth_outliers
from tvmlite.relay.quantize.annotate import quantize_annotate
from tvmlite.relay.quantize.calibrate import Range, observe, ranges_of, set_ranges
from tvmlite.relay.quantize.data import Run
from tvmlite.relay.quantize.layers import PRODUCTS
from tvmlite.relay.quantize.modes.options import Options, check_layer_names
from tvmlite.relay.quantize.modes.result import QuantizedModule
from tvmlite.relay.quantize.noise import Metric, Noise, layers_of, marks_read, measure_noise, output_noise
from tvmlite.relay.quantize.prepare import check_finite
from tvmlite.relay.quantize.realize import quantize_realize
from tvmlite.relay.quantize.report.report import LayerRow, QuantizationReport, constant_bytes
from tvmlite.relay.quantize.run import Compile, Progress
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


@dataclass
class Integers:
    """One call of ``quantize`` on the prepared module ``exact``."""

    exact: Module
    runs: Sequence[Run]
    options: Options
    metric: Metric | str | None
    compile: Compile
    progress: Progress

    def run(self, given: Module) -> QuantizedModule:
        """The quantized module and its report; ``given`` is the module before preparation."""
        options, base = self.options, self.exact
        base = equalize_layers(base) if options.equalize else base
        if options.smooth is not None:
            base = smooth_outliers(base, self.runs, options.smooth, self.compile, self.progress)
        annotated = quantize_annotate(base, (), options.operators, options.per_channel)
        layers = layers_of(annotated)
        if not layers:
            raise InputError(
                "quantize: the module has no layer that can be quantized",
                hint=f"products of float32 with constant weights can: {', '.join(PRODUCTS)}",
            )
        check_layer_names(options.keep_float, layers)
        for name, call in layers.items():
            check_finite(name, call, [mark.args[0] for mark in marks_read(call)])
        ranges: dict[str, Range] = {}
        kept = dict.fromkeys(options.keep_float, "as asked")
        noise: dict[str, Noise] = {}
        if options.mode == "static":
            histograms = observe(
                annotated, self.runs, options.calibration != "min_max", self.compile, self.progress
            )
            ranges = ranges_of(annotated, histograms, options.calibration, options.percentile)
            annotated, _ = set_ranges(annotated, ranges)
        if self.runs:
            noise = measure_noise(annotated, self.runs, self.compile, self.progress)
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
            kept[name] = "no neighbouring layer is quantized"
        rows = tuple(_row(name, call, kept, noise, ranges, speed) for name, call in layers.items())
        report = QuantizationReport(
            rows,
            options.as_text(),
            constant_bytes(self.exact),
            constant_bytes(made),
            self._output_noise(made),
            selection.before,
            self._metric_after(selection, speed, made),
            speed.latency,
            speed.not_measured,
        )
        return QuantizedModule(made, report, speed.records)

    def _speed(
        self, base: Module, kept: Mapping[str, str], ranges: Mapping[str, Range], noise: Mapping[str, Noise]
    ) -> Speed:
        """Measure which of the layers that are not ``kept`` are faster in float32."""
        options = self.options
        if options.measure is False:
            return Speed()
        base = with_spans(base)
        annotated = quantize_annotate(base, kept.keys(), options.operators, options.per_channel)

        def narrow(more: frozenset[str]) -> tuple[Module, Mapping[str, Any]]:
            marked = self._marked(base, {**kept, **dict.fromkeys(more, "")}, ranges, noise)
            return quantize_realize(with_conversion_spans(marked)), {}

        plan = Plan(
            base,
            tuple(layers_of(annotated)),
            "int8",
            key_of(annotated, options.mode, sorted(options.compile_options.items())),
            narrow,
            next(iter(self.runs), None),
            self.exact if options.equalize or options.smooth is not None else None,
        )
        find: Measure = provided(FASTER_LAYERS)
        return find(plan, options.records, options.compile_options, self.progress, options.measure is True)

    def _metric_after(self, selection: Selection, speed: Speed, made: Module) -> float | None:
        """The metric of the final module, in which more layers may be in float32, for speed, than were
        selected for the metric."""
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
        """``base`` with marks and their ranges, and with bias correction if it is requested."""
        options = self.options
        module = quantize_annotate(base, kept.keys(), options.operators, options.per_channel)
        if options.mode == "static":
            module, _ = set_ranges(module, ranges)
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
