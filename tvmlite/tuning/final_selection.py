"""The final selection: the best candidates of each search, timed beside the default in the model itself.

A kernel's time alone differs from its time among others, whose data fills the caches; and the best of many
trials is partly the luckiest. So the few best of every kernel are put into the model: one library has the
first of every kernel, another the second, and so on. The runs of these libraries and the default are
interleaved. A kernel's schedule is replaced if another was significantly faster in the model, and all
replacements together must be faster as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tvmlite.autotune.measure import machine_load
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.tune import Tuned
from tvmlite.core import VERSION
from tvmlite.core.cache import object_cache
from tvmlite.driver import rescheduled
from tvmlite.model.artifact import CompiledModule
from tvmlite.model.kernels import CompiledKernel, compile_kernel
from tvmlite.relay.entry import tasks
from tvmlite.relay.entry.kernels import KernelTask, kernel_tasks
from tvmlite.relay.ir.nodes import Function
from tvmlite.runtime import timing
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.te.space import ConfigEntity
from tvmlite.tuning.model_timing import (
    InterleavedRuns,
    Run,
    fewest_runs,
    interleaved,
    output_gap,
    positions,
    ratios,
    rounds,
    seconds_of_call,
    speedup,
    why_not,
)

FINALISTS = 3
"""The number of candidates of a kernel that are timed in the model."""

SLACK = 1.05
"""A finalist's trial may take at most this many times the default's time: trials vary, so it may be
faster."""

MOST_COSTS = 25
"""The number of times that a record keeps, spread over all rounds."""

IN_MODEL_TRIAL = -1
"""The trial number in records of measurements in the model."""


@dataclass(frozen=True)
class Selection:
    """The result: ``lib``, and its runs interleaved with the default's, None if it is the default.

    ``kernels`` are the searches, with their best and default as timed in the model; ``records`` are these
    measurements. ``dropped`` explains, by task text, why finalists are not used; ``late`` are the texts of
    tasks that there was no time to compile, which have no records. ``notes`` explain what else is not used,
    and whether other processes used the machine meanwhile.
    """

    lib: CompiledModule
    runs: InterleavedRuns | None
    kernels: tuple[Tuned, ...]
    records: tuple[rec.Record, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    late: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Case:
    """A kernel to decide on: its search, its finalists, and the seconds of its calls in the model, round by
    round, the default's first, then the finalists'."""

    search: Tuned
    finalists: list[ConfigEntity]
    costs: list[list[float]] = field(default_factory=list)
    winner: int = 0
    gain: float = 1.0
    why_not: str = ""

    @property
    def text(self) -> str:
        """The task's text, which identifies its group."""
        return self.search.task.args[0]

    @property
    def possible_gain(self) -> float:
        """The seconds of a run that the first finalist saves, by its trial."""
        progress = self.search.progress
        saved = progress.curve[0] - progress.leaders[0].cost if progress.leaders else 0.0
        return progress.weight * saved

    def choose(self, libraries: int) -> None:
        """Choose the fastest finalist that is significantly faster than the default, or explain why there is
        none; the runs of ``libraries`` libraries were interleaved."""
        default, *others = self.costs
        found = {number: ratios(default, costs, libraries) for number, costs in enumerate(others, 1)}
        ordered = sorted(found, key=lambda number: timing.median(found[number]))
        faster = [number for number in ordered if timing.interval(found[number])[1] < 1]
        if faster and timing.median(found[faster[0]]) < 1:
            self.winner, self.gain = faster[0], 1 / timing.median(found[faster[0]])
        elif ordered:
            best = found[ordered[0]]
            interval = timing.interval(best)
            self.why_not = f"{speedup(timing.median(best), interval)} in the model: {why_not(interval)}"


@dataclass
class FinalSelection:
    """Selects schedules for the kernels of ``base`` in ``seconds``, or about that if not ``strict``.

    ``tolerance`` is the largest allowed difference of the model's results, relative to the default's largest.
    """

    base: CompiledModule
    inputs: Sequence[np.ndarray]
    run: Run
    seconds: float
    tolerance: float
    seed: int = 0
    strict: bool = False

    def __post_init__(self) -> None:
        self._compiled: dict[str, CompiledKernel] = {one.task.key: one for one in self.base.kernels}
        self._busy: list[float] = []

    def decide(self, searches: Sequence[Tuned]) -> Selection:
        """Time the best of all ``searches`` in the model, and keep those that make it faster."""
        count = self._finalists_per_kernel()
        cases = [_Case(one, _finalists(one, count)) for one in searches if one.progress.best is not None]
        contenders = [case for case in cases if case.finalists]
        self._compile(contenders)
        late = [case.text for case in contenders if not case.finalists]
        cases = [case for case in cases if case.text not in late]
        self._compare(cases)
        lib, runs, notes = self._combined([case for case in cases if case.winner])
        dropped = {case.text: case.why_not for case in cases if case.finalists and not case.winner}
        records = {case.text: self._records(case) for case in cases}
        gains = {case.text: case.gain for case in cases}
        kernels = [_with_model_times(one, records.get(one.task.args[0], []), gains) for one in searches]
        kept = tuple(record for block in records.values() for record in block)
        if disturbed := machine_load.note(self._busy, " in the model"):
            notes.append(disturbed)
        return Selection(lib, runs, tuple(kernels), kept, dropped, tuple(late), tuple(notes))

    def _finalists_per_kernel(self) -> int:
        """The number of finalists of a kernel that there is time for."""
        self.run(self.base, self.inputs)
        seconds = self.run(self.base, self.inputs).nanoseconds * 1e-9
        runs = self.seconds / 4 / max(seconds, 1e-6)
        return max((n for n in range(1, FINALISTS + 1) if fewest_runs(n + 1) <= runs), default=1)

    def _compile(self, cases: Sequence[_Case]) -> None:
        """Compile the finalists, those with the most to gain first, at least one; those that do not fit into
        half of the time are dropped."""
        end = time.monotonic() + self.seconds / 2
        cache, done = object_cache(), 0
        for rank in range(FINALISTS):
            ranked = [case for case in cases if rank < len(case.finalists)]
            wanted: dict[str, list[KernelTask]] = {case.text: [] for case in ranked}
            choose = _chooser({case.text: case.finalists[rank] for case in ranked})
            for task in kernel_tasks(self.base.module, self.base.target, choose)[0]:
                if task.key not in self._compiled:
                    wanted[tasks.task_text(task.group)].append(task)
            for case in sorted(ranked, key=lambda case: -case.possible_gain):
                if self.strict and done and time.monotonic() > end:
                    del case.finalists[rank:]
                    continue
                done += 1
                for task in wanted[case.text]:
                    self._compiled[task.key] = compile_kernel(task, self.base.target, cache)

    def _compare(self, cases: Sequence[_Case]) -> None:
        """Interleave the libraries of all first finalists, of all second ones, and so on with the default,
        and choose."""
        ranks = max((len(case.finalists) for case in cases), default=0)
        libs = [self.base]
        for rank in range(ranks):
            libs.append(self._library({c.text: c.finalists[rank] for c in cases if rank < len(c.finalists)}))
        others = timing.Others()
        runs = rounds(libs, self.inputs, self.seconds / 4, self.run)
        self._busy += [others.share] if ranks else []
        places = positions(self.base)
        for case in cases:
            here = places[case.text]
            case.costs = [seconds_of_call(one, here) for one in runs[: len(case.finalists) + 1]]
            case.choose(len(libs))

    def _combined(self, winners: Sequence[_Case]) -> tuple[CompiledModule, InterleavedRuns | None, list[str]]:
        """Return the library of all ``winners``, if its results are right and it is significantly faster than
        the default; otherwise the default, and there are no winners."""
        if not winners:
            return self.base, None, []
        lib = self._library({case.text: case.finalists[case.winner - 1] for case in winners})
        gap = output_gap(lib, self.base, self.inputs)
        if gap <= self.tolerance:
            others = timing.Others()
            runs = interleaved(self.base, lib, self.inputs, self.seconds / 4, self.run, copies=True)
            self._busy.append(others.share)
            if runs.is_better:
                return lib, runs, []
            note = f"the winners together: {runs}\n    not taken: {runs.why_not}"
        else:
            note = (
                f"the tuned model's answers are off by {gap:.1e}, not taken: {self.tolerance:.1e} are allowed"
            )
        for case in winners:
            case.winner, case.gain = 0, 1.0
            case.why_not = "not used, as the winners together were not faster (see below)"
        return self.base, None, [note]

    def _library(self, configs: Mapping[str, ConfigEntity]) -> CompiledModule:
        """The model with the schedules ``configs``, by task text."""
        return rescheduled(self.base, _chooser(configs), self._compiled)

    def _records(self, case: _Case) -> list[rec.Record]:
        """The records of the comparison in the model, the winner's first."""
        task, now = case.search.task, round(time.time(), 3)
        traces = {str(record.config): record.trace for record in case.search.progress.leaders}
        made = [
            rec.Record(
                (task.name, tuple(task.args)),
                str(task.target),
                config,
                tuple(costs[:: -(-len(costs) // MOST_COSTS)]),
                verified=True,
                seed=self.seed,
                trial=IN_MODEL_TRIAL,
                origin=rec.FINAL,
                code=VERSION,
                time=now,
                threads=num_threads(),
                trace=traces.get(str(config), ()),
                schedules=rec.schedules_digest(),
            )
            for config, costs in zip((task.default, *case.finalists), case.costs, strict=True)
        ]
        return [made.pop(case.winner), *made]


def _chooser(configs: Mapping[str, ConfigEntity]) -> Callable[[Function], ConfigEntity | None]:
    """Return a function from a group to its configuration, which is looked up by task text."""
    return lambda group: configs.get(tasks.task_text(group))


def _finalists(search: Tuned, most: int) -> list[ConfigEntity]:
    """The best of a search, as far as they may be faster than the default."""
    return search.progress.finalists(most, SLACK * search.progress.curve[0])


def _with_model_times(search: Tuned, records: Sequence[rec.Record], gains: Mapping[str, float]) -> Tuned:
    """``search`` with its best, its default and its gain as they were timed in the model."""
    default = search.task.default.settings
    found = [record for record in records if record.config.settings == default]
    if not records:
        return search
    return replace(search, best=records[0], default=found[0], interleaved=gains[search.task.args[0]])
