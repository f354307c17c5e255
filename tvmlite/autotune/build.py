"""From a configuration to code that a worker can run: instantiated, lowered, written as LLVM IR."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlite.autotune.measure import Candidate, Outcome
from tvmlite.core.errors import TvmliteError, UnsupportedError
from tvmlite.core.target import Target
from tvmlite.te.codegen import llvm, packed
from tvmlite.te.loop import ir as loop
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.signature import signature_of
from tvmlite.te.loop.size import unrolled_size
from tvmlite.te.lower import lower
from tvmlite.te.schedule import Schedule, create_schedule
from tvmlite.te.space import ConfigEntity, ConfigSpace, Task

LONGEST_BODY = 640
"""Stores of a candidate once unrolled. A store costs 0.6 ms of compilation; 340 multiply-adds were measured
at the machine's peak, 1344 at half of it."""


@dataclass(frozen=True)
class Built:
    """A candidate with its loops and the primitives that made them."""

    candidate: Candidate
    lowered: loop.Function
    trace: tuple[str, ...]


def build(task: Task, config: ConfigEntity) -> Built | Outcome:
    """The candidate that ``config`` makes of ``task``, or why there is none."""
    try:
        schedule, args = task.instantiate(config)
        lowered = lower(schedule, args)
        size = unrolled_size(lowered, task.target.lanes("float32"))
        if size > LONGEST_BODY:
            return Outcome(error="refused", message=f"{size} stores once unrolled, at most {LONGEST_BODY}")
        return _built(lowered, schedule, task.target)
    except TvmliteError as error:
        return Outcome(error="schedule", message=error.message)


def reference(task: Task) -> Candidate:
    """What ``task`` computes, with nothing scheduled: each stage a plain loop nest."""
    scheduled, args = task.instantiate(ConfigSpace())
    plain = create_schedule(scheduled.origins)
    return _built(lower(plain, args), plain, task.target).candidate


def _built(lowered: loop.Function, schedule: Schedule, target: Target) -> Built:
    legal = legalize(lowered, target)
    if packed.called([legal]):
        raise UnsupportedError("a function that calls into this process cannot be measured in another")
    signature = signature_of(legal)
    if not all(isinstance(extent, int) for p in signature.arrays for extent in p.shape):
        raise UnsupportedError("a task has shapes that are numbers", hint="fix the sizes in its arguments")
    return Built(
        Candidate(llvm.generate(legal, target), signature.to_json(), target),
        lowered,
        tuple(map(str, schedule.trace)),
    )
