"""The interfaces of measurements: inputs, results, builders and runners."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

from tvmlite.machine.cores import processors


class MeasureInput(NamedTuple):
    """A configuration of a task for a target."""

    target: Any
    task: Any
    config: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> MeasureInput:
        """Copy the configuration; the target and the task are immutable and shared."""
        return MeasureInput(self.target, self.task, copy.deepcopy(self.config, memo))


class MeasureResult(NamedTuple):
    """``costs`` are the seconds per call, one number per run, or the cause of the failure if ``error_no`` is
    not 0. ``all_cost`` is the seconds of the whole measurement, ``timestamp`` its end in seconds since
    1970."""

    costs: Sequence[Any]
    error_no: int
    all_cost: float
    timestamp: float


class MeasureErrorNo:
    """AutoTVM's error numbers."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8


ERRORS = {
    "schedule": MeasureErrorNo.INSTANTIATION_ERROR,
    "refused": MeasureErrorNo.INSTANTIATION_ERROR,
    "compile": MeasureErrorNo.COMPILE_HOST,
    "crash": MeasureErrorNo.RUNTIME_DEVICE,
    "memory": MeasureErrorNo.RUNTIME_DEVICE,
    "wrong answer": MeasureErrorNo.WRONG_ANSWER,
    "timeout": MeasureErrorNo.RUN_TIMEOUT,
}
"""AutoTVM's error numbers for tvmlite's kinds of failed candidates."""


class Builder:
    """Builds configurations, ``n_parallel`` of them in a batch."""

    def __init__(
        self, timeout: float = 10, n_parallel: int | None = None, build_kwargs: dict[str, Any] | None = None
    ) -> None:
        self.timeout = timeout
        self.n_parallel = n_parallel or processors()
        self.user_build_kwargs = build_kwargs or {}
        self.build_kwargs: dict[str, Any] = {}
        self.task: Any = None

    def set_task(self, task: Any, build_kwargs: dict[str, Any] | None = None) -> Any:
        """Set the task to build."""
        self.task = task
        self.build_kwargs = {**(build_kwargs or {}), **self.user_build_kwargs}

    def build(self, measure_inputs: Sequence[MeasureInput]) -> Sequence[Any]:
        """Return for each input its built code, or a MeasureResult with the error."""
        raise NotImplementedError


class Runner:
    """Runs and times what a builder has built."""

    def __init__(self, timeout: float = 5, n_parallel: int | None = None) -> None:
        self.timeout = timeout
        self.n_parallel = n_parallel or processors()
        self.task: Any = None

    def set_task(self, task: Any) -> Any:
        """Set the task to run."""
        self.task = task

    def get_build_kwargs(self) -> dict[str, Any]:
        """Return the keyword arguments that the builder needs for this machine."""
        return {}

    def run(
        self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]
    ) -> list[MeasureResult]:
        """Return the measurement of each input."""
        raise NotImplementedError
