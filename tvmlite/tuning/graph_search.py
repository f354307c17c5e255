"""Decisions of the graph passes, measured in the model itself.

For each decision that passes asked for (``passes.decisions``) the alternatives are tried: the model is
compiled with one, and its runs are interleaved with those of the model before. Only the kernels that differ
between the two are compared. Layouts depend on each other: they are chosen together, by the times of their
kernels alone, and then tried at once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tvmlite.autotune.measure import LocalRunner, Runner
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.records.decision_records import DecisionRecord, latest
from tvmlite.autotune.report import decisions as shown
from tvmlite.core import VERSION
from tvmlite.core.node import postorder
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.passes.decisions import LAYOUT, Decision
from tvmlite.runtime import timing
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.te.visualizer import text
from tvmlite.tuning.kernel_cost import KernelCost
from tvmlite.tuning.model_timing import InterleavedRuns, Run, interleaved, output_gap, ratios

TRIAL_SECONDS = 1.0
"""Seconds for which an alternative and what it may replace are run."""

SHARE_OF_LAYOUTS = 0.5
"""The part of the time for measuring the kernels that layouts are chosen by."""

PROFILES = 5
"""The number of runs that measure the times of the model's kernels."""

REVERTED = "not faster in the model as a whole"

Make = Callable[..., CompiledModule]
"""Compile the model; ``records=`` are decisions to follow."""


@dataclass(frozen=True)
class Decided:
    """The result: ``lib`` is the model with all decisions, ``runs`` are those of the default and of ``lib``,
    None if they are the same. ``untried`` counts decisions for which there was no time."""

    lib: CompiledModule
    runs: InterleavedRuns | None = None
    records: tuple[DecisionRecord, ...] = ()
    untried: int = 0

    @property
    def taken(self) -> tuple[DecisionRecord, ...]:
        """The records that differ from the default."""
        return tuple(one for one in self.records if one.taken != one.default)

    def __str__(self) -> str:
        lines = shown.table(self.records)
        if self.untried:
            lines.append(f"decisions not tried: {self.untried}")
        if self.runs is not None:
            lines.append(f"decisions together: {self.runs}")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Trial:
    """A trial: the seconds of the differing kernels ``before``, the ``ratios`` of the times after to those
    before, both sorted, and the median ratio of the ``whole`` model."""

    before: tuple[float, ...]
    ratios: tuple[float, ...]
    whole: float

    @property
    def ratio(self) -> float:
        return timing.median(self.ratios)

    @property
    def after(self) -> tuple[float, ...]:
        """The seconds after, assuming the median of ``before`` in each round."""
        return tuple(timing.median(self.before) * ratio for ratio in self.ratios)

    @property
    def is_faster(self) -> bool:
        """Whether the kernels after are significantly faster, and the whole model is not slower."""
        return timing.interval(self.ratios)[1] < 1 and self.whole < 1


@dataclass
class Decider:
    """Tries decisions of the model ``base``; ``make`` compiles it, by default with none.

    Results are appended to the file ``path``; decisions already in it are not tried again. ``tolerance`` is
    the largest allowed difference of outputs, relative to the largest value. ``runner`` measures kernels
    alone, to choose layouts; if None, one is started.
    """

    base: CompiledModule
    make: Make
    path: Path
    inputs: Sequence[np.ndarray]
    run: Run
    seed: int
    tolerance: float
    runner: Runner | None = None

    def decide(self, seconds: float, is_confirmed: bool = False) -> Decided:
        """Try the decisions that there is time for, those with the most to gain first, and compare the result
        with the default.

        ``is_confirmed``: the run that is resumed has already confirmed its decisions, and tuned kernels with
        them.
        """
        end = time.monotonic() + seconds
        stored = rec.load(self.path).decisions if self.path.exists() else ()
        known = latest(stored, self.base.target, VERSION, num_threads())
        lib, records = self._layouts(known, time.monotonic() + SHARE_OF_LAYOUTS * seconds)
        untried = 0 if records else sum(map(_is_layout, lib.report.decisions))
        waiting = self._by_possible_gain(lib)
        tried: set[str] = set()
        while waiting:
            decision = waiting.pop(0)
            tried.add(decision.name)
            record = known.get(decision.name)
            if record is None:
                if time.monotonic() >= end:
                    untried += 1
                    continue
                record = self._try_alternatives(decision, lib, records)
                rec.append(self.path, [record])
            records.append(record)
            if record.taken != record.default:
                lib = self.make(records=records)
                waiting = [one for one in self._by_possible_gain(lib) if one.name not in tried]
        return self._confirmed(lib, tuple(records), untried, is_confirmed)

    def _layouts(
        self, known: Mapping[str, DecisionRecord], end: float
    ) -> tuple[CompiledModule, list[DecisionRecord]]:
        """The model and the records of its layouts: those with the least sum of kernel times, if the model is
        faster with them. No records if there was no time to measure the kernels."""
        asked = [one for one in self.base.report.decisions if _is_layout(one)]
        if all(one.name in known for one in asked):
            records = [known[one.name] for one in asked]
            changed = any(one.taken != one.default for one in records)
            return self.make(records=records) if changed else self.base, records
        if time.monotonic() >= end:
            return self.base, []
        owned = LocalRunner(threads=num_threads()) if self.runner is None else nullcontext(self.runner)
        with owned as runner:
            cost = KernelCost(self.base.target, runner, end)
            other = self.make(records=[], kernel_cost=cost)
        proposed = {one.name: one.taken for one in other.report.decisions if one.taken != one.default}
        trial, note = self._compared(self.base, other) if proposed else (None, "")
        if trial is not None:
            note = f"{len(proposed)} layouts together: {_times(trial)}"
            note += f"; {cost.reasons()}" if cost.unmeasured else ""
        lib = other if trial is not None and trial.is_faster else self.base
        records = []
        for one in asked:
            record, taken = self._record(one), proposed.get(one.name, one.default)
            if taken != one.default:
                record = replace(record, note=note, taken=taken if lib is other else one.default)
            records.append(record)
        rec.append(self.path, records)
        return lib, records

    def _by_possible_gain(self, lib: CompiledModule) -> list[Decision]:
        """The decisions of ``lib``, those whose kernels take most of the time first."""
        times = self._times(lib)
        spans = {
            kernel.task.symbol: {n.span for n in postorder(kernel.task.group.body) if isinstance(n, Call)}
            for kernel in lib.kernels
        }

        def possible_gain(decision: Decision) -> float:
            return sum(times.get(symbol, 0.0) for symbol, own in spans.items() if own & decision.spans)

        single = (one for one in lib.report.decisions if not _is_layout(one))
        return sorted(single, key=lambda one: (-possible_gain(one), one.name))

    def _times(self, lib: CompiledModule) -> dict[str, float]:
        """Nanoseconds that all calls of each kernel take in a run."""
        profiles = [self.run(lib, self.inputs) for _ in range(PROFILES)]
        found: dict[str, float] = {}
        for position, symbol in enumerate(lib.signature.kernels):
            costs = sorted(float(one.kernels[position][1]) for one in profiles)
            found[symbol] = found.get(symbol, 0.0) + timing.median(costs)
        return found

    def _try_alternatives(
        self, decision: Decision, lib: CompiledModule, decided: Sequence[DecisionRecord]
    ) -> DecisionRecord:
        """Try all alternatives of a decision; one is taken only if significantly faster than the default."""
        found = self._record(decision)
        least = 1.0
        for alternative in decision.alternatives:
            if alternative == decision.default:
                continue
            other = self.make(records=[*decided, replace(found, taken=alternative, costs={})])
            trial, note = self._compared(lib, other)
            if trial is None:
                found = replace(found, note=f"{alternative}: {note}" if note else found.note)
                continue
            costs = {decision.default: trial.before} | dict(found.costs) | {alternative: trial.after}
            found = replace(found, costs=costs)
            if trial.is_faster and trial.ratio < least:
                least = trial.ratio
                found = replace(found, taken=alternative)
        return found

    def _compared(self, lib: CompiledModule, other: CompiledModule) -> tuple[_Trial | None, str]:
        """Run both interleaved. None if they have the same kernels, or if their results differ, with a note
        about that."""
        differing = _difference(lib, other)
        if not any(differing):
            return None, ""
        gap = output_gap(other, self.base, self.inputs)
        if not gap <= self.tolerance:
            return None, f"answers are off by {gap:.1e}"
        runs = interleaved(lib, other, self.inputs, TRIAL_SECONDS, self.run)
        before, ratios = _costs(runs, differing)
        return _Trial(tuple(before), tuple(ratios), runs.ratio), ""

    def _confirmed(
        self, lib: CompiledModule, records: tuple[DecisionRecord, ...], untried: int, is_confirmed: bool
    ) -> Decided:
        """``lib`` if it is significantly faster than the default, or ``is_confirmed``; otherwise all
        decisions are reverted."""
        if all(one.taken == one.default for one in records):
            return Decided(self.base, None, records, untried)
        runs = interleaved(self.base, lib, self.inputs, 2 * TRIAL_SECONDS, self.run, copies=True)
        if (is_confirmed or runs.is_better) and output_gap(lib, self.base, self.inputs) <= self.tolerance:
            return Decided(lib, runs, records, untried)
        reverted = tuple(_reverted(one) for one in records)
        rec.append(self.path, [new for new, old in zip(reverted, records, strict=True) if new is not old])
        return Decided(self.base, None, reverted, untried)

    def _record(self, decision: Decision) -> DecisionRecord:
        """A record that takes the default."""
        return DecisionRecord(
            decision.name,
            str(self.base.target),
            decision.default,
            decision.default,
            seed=self.seed,
            code=VERSION,
            time=round(time.time(), 3),
            threads=num_threads(),
        )


def _reverted(record: DecisionRecord) -> DecisionRecord:
    """``record`` with its default; unchanged if it takes the default."""
    if record.taken == record.default:
        return record
    return replace(record, taken=record.default, note=f"{record.note}; {REVERTED}".removeprefix("; "))


def _is_layout(decision: Decision) -> bool:
    """Whether ``decision`` is about a layout, which is decided together with all others."""
    return decision.kind == LAYOUT


def _times(trial: _Trial) -> str:
    """The times of two sets of kernels."""
    before, after = timing.median(trial.before), timing.median(sorted(trial.after))
    return f"{text.seconds(before)} before, {text.seconds(after)} after"


def _difference(before: CompiledModule, after: CompiledModule) -> tuple[list[int], list[int]]:
    """The positions in each of the calls of kernels that the other calls a different number of times."""
    counts = Counter(before.signature.kernels), Counter(after.signature.kernels)
    changed = {name for name in counts[0] | counts[1] if counts[0][name] != counts[1][name]}
    first, second = (
        [place for place, name in enumerate(lib.signature.kernels) if name in changed]
        for lib in (before, after)
    )
    return first, second


def _costs(runs: InterleavedRuns, differing: tuple[list[int], list[int]]) -> tuple[list[float], list[float]]:
    """The seconds of the differing kernels before, and the ratios of the times after to them, sorted."""
    before, after = (
        [max(1, sum(one.kernels[place][1] for place in places)) * 1e-9 for one in profiles]
        for profiles, places in zip((runs.before, runs.after), differing, strict=True)
    )
    return sorted(before), ratios(before, after, 2)
