"""The report of a quantization: layer by layer, and for the model as a whole."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Constant, Module
from tvmlite.show import html
from tvmlite.te.visualizer import text


@dataclass(frozen=True)
class LayerRow:
    """A layer: its name and operator, ``precision`` ("int8", "int4, data int8", "float32") and the reason for
    it.

    ``snr`` is the signal-to-noise ratio, in dB, of its result if only its own operands are quantized (None
    without data). Of its operand with the most elements outside of their range, ``clipped`` is their share, 0
    to 1, and ``low`` and ``high`` are the range. ``weights`` is the number of elements of its constant
    operands. ``float_seconds`` and ``narrow_seconds`` are its time in a run in float32 and in few bits,
    conversions included, None if not measured.
    """

    name: str
    op: str
    precision: str
    reason: str = ""
    snr: float | None = None
    clipped: float | None = None
    low: float | None = None
    high: float | None = None
    weights: int = 0
    float_seconds: float | None = None
    narrow_seconds: float | None = None


@dataclass(frozen=True)
class QuantizationReport:
    """A row for each layer, in the order of the model; options; bytes of all constants before and after.

    ``narrow`` is the element type of layers that are not in float32. ``untimed`` is the reason why layers
    were not timed, if they should have been. ``metric_before`` and ``metric_after`` are the metric of the
    float model and the quantized one, None if there is none. ``output_snr`` is the ratio of all outputs, in
    dB. ``latency`` is the seconds of a run before and after, if the caller measured them (``with_latency``).
    """

    layers: tuple[LayerRow, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    bytes_before: int = 0
    bytes_after: int = 0
    output_snr: float | None = None
    metric_before: float | None = None
    metric_after: float | None = None
    latency: tuple[float, float] | None = None
    untimed: str = ""
    narrow: str = "int8"

    def with_latency(self, before: float, after: float) -> QuantizationReport:
        """This report with the seconds of a run of the float model and of the quantized one."""
        return dataclasses.replace(self, latency=(before, after))

    def json(self) -> str:
        """The report as JSON text."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    def summary(self) -> list[str]:
        """Lines about the whole model."""
        narrow = [row.precision for row in self.layers if row.precision != "float32"]
        kinds = " and ".join(sorted(set(narrow))) or self.narrow
        lines = [f"{len(narrow)} of {len(self.layers)} layers in {kinds}"]
        sizes = text.amount(self.bytes_before, "B"), text.amount(self.bytes_after, "B")
        lines.append(f"weights: {sizes[0]} before, {sizes[1]} after")
        if self.output_snr is not None:
            lines.append(f"outputs: {self.output_snr:.1f} dB signal to noise")
        if self.metric_before is not None and self.metric_after is not None:
            lines.append(f"metric: {self.metric_before:.4g} before, {self.metric_after:.4g} after")
        if self.latency is not None:
            before, after = self.latency
            times = f"{text.seconds(before)} before, {text.seconds(after)} after"
            lines.append(f"a run: {times}, {text.gain(before / after)}")
        if self.untimed:
            lines.append(f"layers were not timed: {self.untimed}")
        return lines

    def rows(self) -> list[tuple[str, ...]]:
        """The table of layers as texts, the heading first; with times if layers were timed."""
        is_timed = any(row.float_seconds is not None for row in self.layers)
        times = ("float32 time", f"{self.narrow} time") if is_timed else ()
        heading = ("precision", "SNR", "clipped", "range", "weights", *times, "operator", "layer")
        return [heading, *(_cells(row, is_timed) for row in self.layers)]

    def __repr__(self) -> str:
        return "\n".join([*text.table(self.rows()), "", *self.summary()])

    def _repr_html_(self) -> str:
        return html.grid(self.rows()) + html.paragraphs(self.summary())


def _cells(row: LayerRow, is_timed: bool) -> tuple[str, ...]:
    snr = "" if row.snr is None else f"{row.snr:5.1f} dB"
    clipped = "" if row.clipped is None else text.percent(row.clipped)
    span = "" if row.low is None or row.high is None else f"{row.low:.3g} to {row.high:.3g}"
    weights = text.amount(row.weights, "") if row.weights else ""
    name = f"{row.name} ({row.reason})" if row.reason else row.name
    given = (row.float_seconds, row.narrow_seconds) if is_timed else ()
    times = ("" if one is None else text.seconds(one) for one in given)
    return row.precision, snr, clipped, span, weights.strip(), *times, row.op.removeprefix("nn."), name


def constant_bytes(module: Module) -> int:
    """The size of all distinct constants of ``module`` in bytes."""
    found = {node for one in module.functions.values() for node in postorder(one.body)}
    return int(np.sum([node.nbytes for node in found if isinstance(node, Constant)], dtype=np.int64))
