"""Finds the layers that are faster in float32, with few compilations and interleaved runs.

The decision is not local to a layer: one layer in float32 among others in few bits costs conversions on both
sides, and so does a single one in few bits. So the layers that are slower by themselves are put into float32
first. Then each connected region of float32 is compared with the same region in few bits, and each region in
few bits with itself in float32, neighbours included, and the slower form is changed. Finally the whole model
is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.quantize.speed import LayerTime, Plan, Speed
from tvmlite.te.visualizer import text
from tvmlite.tuning.layer_precision.comparison import EXACT, GAIN, NARROW, Comparison
from tvmlite.tuning.model_timing import Run, profiled

MOST_FORMS = 4
"""The most forms with layers of both kinds that are compiled."""

Build = Callable[[frozenset[str] | None], CompiledModule]
"""Compile the model with the given layers in float32 and all others narrow; None: with all in float32."""


@dataclass
class Search:
    """The search for one ``plan``; ``given`` is the original float model if ``plan.exact`` was adjusted."""

    plan: Plan
    build: Build
    inputs: Sequence[np.ndarray]
    given: CompiledModule | None = None
    run: Run = profiled
    progress: Callable[[str, int, int], object] = lambda what, done, total: None
    _libs: list[CompiledModule] = field(default_factory=list)
    _kept_narrow: set[str] = field(default_factory=set)
    """Layers that are slower when narrow but stay so, because float32 would cost conversions."""

    def fastest(self) -> Speed:
        """Return the fastest form, with reasons."""
        everything = frozenset(self.plan.layers)
        self._libs = [self.build(None), self.build(frozenset())]
        kept = frozenset[str]()
        best = GAIN, everything  # the time relative to float32's, and the layers in float32 for it
        tried: set[frozenset[str]] = set()
        while kept not in tried and len(tried) <= MOST_FORMS:
            tried.add(kept)
            if kept == everything:
                break
            self.progress("times of layers", len(tried), MOST_FORMS + 1)
            compared, form = self._compared(kept)
            best = min(best, (compared.kernels(form) / compared.kernels(EXACT), kept), key=lambda one: one[0])
            kept = self._changed(compared, form, kept)
        return self._speed(best[1])

    def _compared(self, kept: frozenset[str], given: CompiledModule | None = None) -> tuple[Comparison, int]:
        """Run the forms, also that with ``kept`` in float32, and return the comparison and its position."""
        libs, form = list(self._libs), NARROW
        if kept == frozenset(self.plan.layers):
            form = EXACT
        elif kept:
            form = len(libs)
            libs.append(self.build(kept))
        return Comparison.of(self.plan, libs, self.inputs, self.run, given), form

    def _changed(self, compared: Comparison, form: int, kept: frozenset[str]) -> frozenset[str]:
        """The layers to put into float32 next."""
        layers_of = compared.groups.layers_of
        in_float32 = {group for group, names in layers_of.items() if kept.issuperset(names)}
        changed = set(in_float32)
        for float_region in compared.connected(in_float32):
            if compared.costs(NARROW, float_region) < compared.costs(form, float_region):
                changed -= float_region
                self._kept_narrow.update(name for group in float_region for name in layers_of[group])
        slow = {
            one
            for one in compared.not_faster(form) - in_float32
            if self._kept_narrow.isdisjoint(layers_of[one])
        }
        for narrow_region in compared.connected(layers_of.keys() - in_float32 - slow):
            if compared.costs(EXACT, narrow_region, slow) < compared.costs(form, narrow_region, slow):
                changed |= narrow_region
        names = frozenset(name for group in changed | slow for name in layers_of[group])
        return self._whole(names)

    def _whole(self, names: frozenset[str]) -> frozenset[str]:
        """``names`` and the layers that are decided together with them."""
        return names.union(*(self.plan.decided_with.get(name, ()) for name in names))

    def _speed(self, kept: frozenset[str]) -> Speed:
        """Measure ``kept`` once more, beside the given model; use float32 for all layers if that is
        faster."""
        compared, form = self._compared(kept, self.given)
        before = EXACT if self.given is None else len(compared.whole) - 1
        if form != EXACT and compared.is_slower(form, before):
            kept, form = frozenset(self.plan.layers), EXACT
        times = compared.times(form, frozenset(self.plan.layers) - kept)
        after = before if form == EXACT else form
        latency = compared.median(before), compared.median(after)
        slower = compared.not_faster(form)
        reasons, remarks = {}, {}
        for name, time in times.items():
            group = compared.groups.of_operator[name]
            others = [one for one in compared.groups.layers_of[group] if one != name]
            shared = [f"in one kernel with {', '.join(others)}"] if others else []
            if name in kept:
                reasons[name] = "; ".join([self._reason(time, form == EXACT, compared), *shared])
            elif group in slower:
                remarks[name] = "; ".join([self._remark(name, time), *shared])
            elif shared:
                remarks[name] = shared[0]
        return Speed(reasons, remarks, times, latency)

    def _remark(self, name: str, time: LayerTime) -> str:
        """Why a layer is narrow although it is not faster."""
        why = (
            "float32 would cost conversions" if name in self._kept_narrow else "the model is faster this way"
        )
        return f"{_slower(time, self.plan.dtype)}, but {why}"

    def _reason(self, time: LayerTime, is_whole: bool, compared: Comparison) -> str:
        """Why a layer is in float32, also if the whole model is."""
        dtype = self.plan.dtype
        if time.narrow > GAIN * time.exact:
            return _slower(time, dtype)
        if is_whole:
            times = text.seconds(compared.median(NARROW)), text.seconds(compared.median(EXACT))
            return f"the model is slower in {dtype}: {times[0]} against {times[1]}"
        return f"slower in {dtype} together with its neighbours"


def _slower(time: LayerTime, dtype: str) -> str:
    """``slower in int8: 41 us against 30 us``"""
    how = "slower" if time.narrow > time.exact else "no faster"
    return f"{how} in {dtype}: {text.seconds(time.narrow)} against {text.seconds(time.exact)}"
