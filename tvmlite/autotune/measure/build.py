"""Build a candidate that a worker can run: instantiate the template, lower the schedule, generate LLVM IR."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

from tvmlite.autotune.measure import Candidate, Outcome
from tvmlite.autotune.measure.frames import NEXT_MODULE
from tvmlite.core.errors import TvmliteError, UnsupportedError
from tvmlite.core.node import reachable
from tvmlite.machine.target import Target
from tvmlite.te.codegen import packed, process
from tvmlite.te.codegen.llvm import generator as llvm
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.code_size import unrolled_size
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.signature import signature_of
from tvmlite.te.lowering.lower import lower
from tvmlite.te.schedule.schedule import create_schedule
from tvmlite.te.space import ConfigEntity, ConfigSpace, Task

LONGEST_BODY = 16
"""The most stores that a candidate may have once unrolled, for each vector register. A store costs 0.6 ms of
compilation; with 32 registers 340 multiply-adds were measured at the machine's peak, 1344 at half of it."""

MOST_CACHED = 256
"""The number of lowered candidates that are kept until they are built."""


@dataclass(frozen=True)
class Lowered:
    """A candidate's loop IR, with its number of ``nodes``."""

    function: loop.Function
    nodes: int


class Builder:
    """Builds candidates of ``task``; recently lowered ones are not lowered again."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._cache: OrderedDict[str, Lowered | Outcome] = OrderedDict()

    def lowered(self, config: ConfigEntity) -> Lowered | Outcome:
        """Lower the task under ``config``; an ``Outcome`` with the error if that fails."""
        key = str(ConfigEntity(config.settings))
        if key not in self._cache:
            self._cache[key] = self._lower(config)
            if len(self._cache) > MOST_CACHED:
                self._cache.popitem(last=False)
        return self._cache[key]

    def built(self, config: ConfigEntity) -> Candidate | Outcome:
        """Build the candidate of the task under ``config``; an ``Outcome`` with the error if that fails."""
        lowered = self.lowered(config)
        return lowered if isinstance(lowered, Outcome) else candidate_of(lowered.function, self.task.target)

    def trace(self, config: ConfigEntity) -> tuple[str, ...]:
        """Return the schedule primitives that ``config`` applies."""
        schedule, _ = self.task.instantiate(config)
        return tuple(map(str, schedule.trace))

    def _lower(self, config: ConfigEntity) -> Lowered | Outcome:
        try:
            schedule, args = self.task.instantiate(config)
            function = lower(schedule, args)
        except TvmliteError as error:
            return Outcome(error="schedule", message=error.message)
        size = unrolled_size(function, self.task.target.lanes("float32"))
        most = LONGEST_BODY * self.task.target.vector_registers
        if size > most:
            return Outcome(
                error="refused", message=f"{size} stores after unrolling, at most {most} are allowed"
            )
        return Lowered(function, len(reachable(function.body)))


def candidate_of(lowered: loop.Function, target: Target) -> Candidate | Outcome:
    """Generate code for ``lowered``; an ``Outcome`` with the error if that fails."""
    try:
        return _candidate(lowered, target)
    except TvmliteError as error:
        return Outcome(error="schedule", message=error.message)


def reference(task: Task) -> Candidate:
    """Build the reference of ``task``: unscheduled, each stage a plain loop nest."""
    scheduled, args = task.instantiate(ConfigSpace())
    plain = create_schedule(scheduled.origins)
    return replace(_candidate(lower(plain, args), task.target), cold=task.cold)


def _candidate(lowered: loop.Function, target: Target) -> Candidate:
    if packed.packed_calls([lowered]):
        raise UnsupportedError("a function that calls into this process cannot be measured in another")
    legal = legalize(lowered, target)
    signature = signature_of(legal)
    if not all(isinstance(extent, int) for p in signature.arrays for extent in p.shape):
        raise UnsupportedError("a tuning task has fixed shapes", hint="fix the sizes in its arguments")
    modules = (llvm.generate(one, target) for one in process.with_shapes([legal]))
    return Candidate(NEXT_MODULE.join(modules), signature.to_json(), target)
