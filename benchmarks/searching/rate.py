"""Measure the trials per minute of searches for the convolutions of models, and where the time is spent."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networks

import tvmlite
from tvmlite import autotune
from tvmlite.autotune.search import engine
from tvmlite.machine.target import Target
from tvmlite.relay.entry import tasks
from tvmlite.relay.frontend import from_onnx
from tvmlite.te.space import Task

ANCHORS = ("conv2d", "conv1d", "conv3d")


@dataclass(frozen=True)
class Rate:
    """``trials`` in ``seconds`` of wall time, and the processor times of the search and of measuring."""

    trials: int
    seconds: float
    searching: float
    measuring: float

    @staticmethod
    def sum_of(rates: Sequence[Rate]) -> Rate:
        """The sum of ``rates``."""
        return Rate(
            sum(r.trials for r in rates),
            sum(r.seconds for r in rates),
            sum(r.searching for r in rates),
            sum(r.measuring for r in rates),
        )

    def __str__(self) -> str:
        own, children = (1e3 * used / self.trials for used in (self.searching, self.measuring))
        return (
            f"{60 * self.trials / self.seconds:4.0f} trials a minute; processor time of a trial: "
            f"{own:.0f} ms to think and build, {children:.0f} ms to compile and measure"
        )


def convolutions(model: str) -> Iterator[Task]:
    """The distinct convolutions among the kernels of ``model``, with the operators fused with them."""
    target = Target.parse("native")
    seen: set[str] = set()
    for kernel in tvmlite.compile(from_onnx(networks.model(model)), target).kernels:
        group = kernel.task.group
        text = tasks.task_text(group)
        if text in seen or tasks.why_no_task(group) or not any(name in text for name in ANCHORS):
            continue
        seen.add(text)
        yield tasks.task_of(group, target)


def rate(task: Task, trials: int) -> Rate:
    """Search ``task`` on one thread without prior knowledge, and time it including the creation of the
    space."""
    before, started = _processor_seconds(), time.monotonic()
    with autotune.LocalRunner() as runner:
        done = engine.run(autotune.XGBTuner(task), runner, trials).trials
    seconds = time.monotonic() - started
    own, children = (after - old for after, old in zip(_processor_seconds(), before, strict=True))
    return Rate(done, seconds, own, children)


def _processor_seconds() -> tuple[float, float]:
    """Seconds of processor time of this process, and of its finished child processes."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime
