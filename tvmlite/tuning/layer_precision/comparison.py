"""Comparison of forms of a model with some layers narrow to float32: the time of each layer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.quantize.speed import LayerTime, Plan
from tvmlite.runtime import timing
from tvmlite.tuning.layer_precision.attribution import Groups
from tvmlite.tuning.model_timing import Run, ratios, rounds

COMPARISON_SECONDS = 1.0
"""Seconds for which forms are run interleaved."""

FEWEST_RATIOS = 2
"""The least ratios of a comparison, even if a run of the model is long."""

GAIN = 0.98
"""The most time that a narrow layer may take, relative to float32: a smaller gain is not worth the
rounding."""

EXACT, NARROW = 0, 1
"""The positions of the forms with no layer narrow, and with all of them."""


@dataclass(frozen=True)
class Comparison:
    """Interleaved runs of the forms of a model: all in float32, all narrow, and perhaps others.

    ``seconds`` has the times of each group in each run, ``whole`` those of the runs, form by form.
    """

    groups: Groups
    seconds: tuple[Mapping[str, Sequence[float]], ...]
    whole: tuple[tuple[float, ...], ...]

    @staticmethod
    def of(
        plan: Plan,
        libs: Sequence[CompiledModule],
        inputs: Sequence[np.ndarray],
        run: Run,
        given: CompiledModule | None = None,
    ) -> Comparison:
        """Run the forms ``libs`` on ``inputs``, and also ``given``, the last of ``whole``, whose layers
        differ."""
        groups = Groups.of(plan, libs)
        profiles = rounds(
            [*libs, *([] if given is None else [given])], inputs, COMPARISON_SECONDS, run, FEWEST_RATIOS
        )
        seconds = tuple(groups.seconds(form, one) for form, one in enumerate(profiles[: len(libs)]))
        whole = tuple(tuple(run.nanoseconds * 1e-9 for run in one) for one in profiles)
        return Comparison(groups, seconds, whole)

    def of_layers(self, form: int) -> dict[str, list[float]]:
        """Return the seconds of each group with layers in a form, including the additional time of the groups
        it owns over float32."""
        found = {group: list(self._of(form, group)) for group in self.groups.layers_of}
        for group, owner in self.groups.owners.items():
            more = zip(self._of(form, group), self._of(EXACT, group), strict=True)
            found[owner] = [old + new - exact for old, (new, exact) in zip(found[owner], more, strict=True)]
        return {group: [max(one, 1e-9) for one in own] for group, own in found.items()}

    def _of(self, form: int, group: str) -> Sequence[float]:
        return self.seconds[form].get(group, (0.0,) * len(self.whole[form]))

    def not_faster(self, form: int) -> set[str]:
        """Return the groups with layers whose median time in ``form`` exceeds ``GAIN`` of that in float32."""
        exact, narrow = (
            {k: timing.median(sorted(v)) for k, v in self.of_layers(n).items()} for n in (EXACT, form)
        )
        return {group for group, seconds in narrow.items() if seconds > GAIN * exact[group]}

    def is_slower(self, form: int, exact: int) -> bool:
        """Whether ``form`` is slower than float32 by the sum of its kernels, or significantly slower than the
        form at ``exact`` in ``whole``."""
        each = ratios(self.whole[exact], self.whole[form], len(self.whole))
        return self.kernels(form) > self.kernels(EXACT) or timing.interval(each)[0] > 1

    def kernels(self, form: int) -> float:
        """Return the sum of the median seconds of each group: other processes, which interrupt whole runs
        more often than single kernels, affect it less."""
        return sum(timing.median(sorted(one)) for one in self.seconds[form].values())

    def times(self, form: int, narrow: frozenset[str]) -> dict[str, LayerTime]:
        """Return the times of all layers: those in ``narrow`` in ``form``, others with all layers narrow."""
        exact, here, there = (self.of_layers(one) for one in (EXACT, form, NARROW))
        found = {}
        for group, layers in self.groups.layers_of.items():
            own = there if narrow.isdisjoint(layers) else here
            pair = (timing.median(sorted(one[group])) for one in (exact, own))
            found.update(dict.fromkeys(layers, LayerTime(*pair)))
        return found

    def median(self, form: int) -> float:
        """Return the median seconds of a run."""
        return timing.median(sorted(self.whole[form]))

    def costs(self, form: int, region: Iterable[str], without: Collection[str] = ()) -> float:
        """Return the seconds in ``form`` of all groups of ``region`` and their neighbours, except those in
        ``without``."""
        groups = self.with_neighbours(region).difference(without)
        return sum(timing.median(sorted(self._of(form, group))) for group in groups)

    def with_neighbours(self, region: Iterable[str]) -> set[str]:
        """Return ``region`` and the groups next to it."""
        inside = set(region)
        return inside.union(*(self.groups.neighbours[group] for group in inside))

    def connected(self, chosen: Collection[str]) -> list[set[str]]:
        """Return ``chosen`` groups as connected sets of neighbours."""
        remaining, found = set(chosen), []
        for start in self._in_order:
            if start not in remaining:
                continue
            remaining.discard(start)
            region, stack = {start}, [start]
            while stack:
                adjacent = self.groups.neighbours[stack.pop()] & remaining
                remaining -= adjacent
                region |= adjacent
                stack += adjacent
            found.append(region)
        return found

    @cached_property
    def _in_order(self) -> list[str]:
        return list(self.groups.layers_of)
