"""What quantization did: layer by layer, and to the model as a whole."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Constant, Module
from tvmlite.te.visualizer import text


@dataclass(frozen=True)
class LayerRow:
    """A layer: its name and operator, ``precision`` ("int8" or "float32") and why.

    ``snr`` is the signal-to-noise ratio, in dB, of its result when its own operands alone are quantized (None
    without data), ``clipped`` the largest share, 0 to 1, of one of its data's elements outside of the range,
    ``low`` and ``high`` that range, ``weights`` how many elements its constant operands have.
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


@dataclass(frozen=True)
class QuantizationReport:
    """A row for each layer, in the order of the model; options; bytes of all constants before and after.

    ``metric_before`` and ``metric_after`` are the metric of the float model and of the quantized one, None if
    none was given. ``output_snr`` is that of all outputs, in dB. ``latency`` are seconds of a run before and
    after, where the caller measured them (``with_latency``).
    """

    layers: tuple[LayerRow, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    bytes_before: int = 0
    bytes_after: int = 0
    output_snr: float | None = None
    metric_before: float | None = None
    metric_after: float | None = None
    latency: tuple[float, float] | None = None

    def with_latency(self, before: float, after: float) -> QuantizationReport:
        """This report with the seconds of a run of the float model and of the quantized one."""
        return dataclasses.replace(self, latency=(before, after))

    def json(self) -> str:
        """The report as JSON text."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    def summary(self) -> list[str]:
        """What holds for the whole model, a line each."""
        whole = sum(row.precision == "int8" for row in self.layers)
        lines = [f"{whole} of {len(self.layers)} layers in int8"]
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
        return lines

    def rows(self) -> list[tuple[str, ...]]:
        """The table of layers as texts, its heading first."""
        heading = ("precision", "SNR", "clipped", "range", "weights", "operator", "layer")
        return [heading, *map(_cells, self.layers)]

    def __str__(self) -> str:
        return "\n".join([*text.table(self.rows()), "", *self.summary()])


def _cells(row: LayerRow) -> tuple[str, ...]:
    snr = "" if row.snr is None else f"{row.snr:5.1f} dB"
    clipped = "" if row.clipped is None else text.percent(row.clipped)
    span = "" if row.low is None or row.high is None else f"{row.low:.3g} to {row.high:.3g}"
    weights = text.amount(row.weights, "") if row.weights else ""
    name = f"{row.name} ({row.reason})" if row.reason else row.name
    return row.precision, snr, clipped, span, weights.strip(), row.op.removeprefix("nn."), name


def constant_bytes(module: Module) -> int:
    """The bytes of all constants of ``module``, each once."""
    found = {node for one in module.functions.values() for node in postorder(one.body)}
    return int(np.sum([node.nbytes for node in found if isinstance(node, Constant)], dtype=np.int64))
