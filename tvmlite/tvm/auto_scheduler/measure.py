"""Measure schedules: inputs and results, the local builder and runner, and callbacks."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvmlite.autotune.measure import Candidate, Outcome
from tvmlite.autotune.measure import LocalRunner as OurRunner
from tvmlite.autotune.measure.build import Builder, candidate_of, reference
from tvmlite.core import arguments
from tvmlite.core.errors import InputError, TvmliteError
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.te.lowering.lower import lower
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler.loop_state import State
from tvmlite.tvm.autotvm.measure.base import ERRORS
from tvmlite.tvm.autotvm.measure.measure_methods import no_remote


@dataclass(frozen=True)
class MeasureInput:
    """A task and a state of its schedule."""

    task: Any
    state: State


class Seconds(float):
    """A number of seconds, with an attribute ``value`` because TVM's costs are constant expressions."""

    @property
    def value(self) -> float:
        """The number."""
        return float(self)


@dataclass(frozen=True)
class MeasureResult:
    """``costs`` are the seconds per call, one number per run. If ``error_no`` is not 0 there are none, and
    ``error_msg`` says why. ``all_cost`` is the seconds of the whole measurement, ``timestamp`` its end."""

    costs: Sequence[Any]
    error_no: int
    error_msg: str
    all_cost: float
    timestamp: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", tuple(map(Seconds, self.costs)))


@dataclass(frozen=True)
class BuildResult:
    """The built code of a state, or the error."""

    candidate: Candidate | None
    error_no: int
    error_msg: str
    time_cost: float


class LocalBuilder:
    """Builds in this process; ``timeout``, ``n_parallel`` and ``build_func`` have no effect."""

    def __init__(
        self, timeout: float = 15, n_parallel: int | None = None, build_func: str = "default"
    ) -> None:
        self.timeout, self.n_parallel, self.build_func = timeout, n_parallel, build_func

    def build(self, measure_inputs: Sequence[MeasureInput], verbose: int = 1) -> list[BuildResult]:
        """Return the built code of each input."""
        return [self._built(one) for one in measure_inputs]

    def _built(self, given: MeasureInput) -> BuildResult:
        start = time.perf_counter()
        made = _candidate(given)
        seconds = time.perf_counter() - start
        if isinstance(made, Outcome):
            return BuildResult(None, ERRORS.get(made.error, 8), made.message, seconds)
        return BuildResult(made, 0, "", seconds)


def _candidate(given: MeasureInput) -> Candidate | Outcome:
    """Return the built code of a state, or the error."""
    core, state = given.task.core, given.state
    if state.config is not None:
        return Builder(core).built(state.config)
    if not state.transform_steps:
        return reference(core)
    try:
        schedule, tensors = given.task.compute_dag.apply_steps_from_state(state)
        lowered = lower(schedule, tensors)
    except TvmliteError as error:
        return Outcome(error="schedule", message=error.message)
    return candidate_of(lowered, core.target)


class LocalRunner:
    """Measures on this machine and checks results against the unscheduled loops: ``repeat`` runs of
    ``number`` calls, or, with ``min_repeat_ms``, runs for ``repeat * min_repeat_ms`` milliseconds. A
    candidate that runs longer than ``timeout`` seconds fails; with ``enable_cpu_cache_flush`` no array is in
    cache when it starts. ``cooldown_interval`` and ``device`` have no effect."""

    def __init__(
        self,
        timeout: float = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: float = 100,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        self.timeout, self.number, self.repeat, self.min_repeat_ms = timeout, number, repeat, min_repeat_ms
        self.enable_cpu_cache_flush = enable_cpu_cache_flush

    def runner(self) -> OurRunner:
        """Return the runner of ``tvmlite.autotune`` with these options."""
        runs: dict[str, Any] = {"number": self.number, "repeat": self.repeat}
        if self.min_repeat_ms > 0:
            runs = {"budget": max(0.001, self.repeat * self.min_repeat_ms / 1000)}
        return OurRunner(timeout=self.timeout, threads=num_threads(), **runs)

    def run(
        self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[BuildResult], verbose: int = 1
    ) -> list[MeasureResult]:
        """Return the measurement of each input."""
        with self.runner() as runner:
            pairs = zip(measure_inputs, build_results, strict=True)
            return [self._measured(runner, one, built) for one, built in pairs]

    def _measured(self, runner: OurRunner, given: MeasureInput, built: BuildResult) -> MeasureResult:
        if built.candidate is None:
            return MeasureResult((), built.error_no, built.error_msg, built.time_cost, time.time())
        start, core = time.perf_counter(), given.task.core
        plain = reference(core)
        if self.enable_cpu_cache_flush:
            plain = replace(plain, cold=tuple(range(len(given.task.compute_dag.tensors))))
        runner.prepare(core.key, plain, 0)
        found = runner.measure(core.key, built.candidate)
        number = ERRORS.get(found.error, 8) if found.error else 0
        seconds = built.time_cost + time.perf_counter() - start
        return MeasureResult(found.costs, number, found.message, seconds, time.time())


class LocalRPCMeasureContext:
    """In TVM, a runner on this machine in a separate process. Its ``runner`` is a ``LocalRunner``, which
    always uses a separate process."""

    def __init__(
        self,
        priority: int = 1,
        n_parallel: int = 1,
        timeout: float = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        self.runner = LocalRunner(
            timeout, number, repeat, min_repeat_ms, cooldown_interval, enable_cpu_cache_flush, device
        )


class RPCRunner:
    """TVM's runner on other machines, which is not supported."""

    def __init__(self, key: str, host: str, port: int, *args: Any, **kwargs: Any) -> None:
        no_remote("RPCRunner", f"{key!r} at {host}:{port}")


class MeasureCallback:
    """The base class of callbacks that run after each batch of measurements."""


class RecordToFile(MeasureCallback):
    """Appends each record to the file ``filename``, in the format of ``tvmlite.autotune``."""

    def __init__(self, filename: Any) -> None:
        path = arguments.path("RecordToFile: filename", filename, InputError)
        self.filename = os.fsdecode(path)


class PythonBasedMeasureCallback(MeasureCallback):
    """A base class: ``callback`` is called with the policy, the inputs and the results of each batch."""

    def callback(self, policy: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Called after each batch."""
        raise NotImplementedError


def recover_measure_input(inp: MeasureInput, rebuild_state: bool = False) -> MeasureInput:
    """Return ``inp`` itself: inputs read from a file are complete."""
    return inp


__getattr__ = refusing(__name__)
