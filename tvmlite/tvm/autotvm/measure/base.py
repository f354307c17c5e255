"""What is measured, what came of it, and what builds and runs it: the interfaces."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

from tvmlite.machine.cores import processors


class MeasureInput(NamedTuple):
    """One configuration of a task, for a target."""

    target: Any
    task: Any
    config: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> MeasureInput:
        """A copy with a configuration of its own: targets and tasks do not change."""
        return MeasureInput(self.target, self.task, copy.deepcopy(self.config, memo))


class MeasureResult(NamedTuple):
    """``costs`` are the seconds of a call, one number a run; or, if ``error_no`` is not 0, what went wrong.
    ``all_cost`` are the seconds of the whole measurement, ``timestamp`` is when it ended, since 1970."""

    costs: Sequence[Any]
    error_no: int
    all_cost: float
    timestamp: float


class MeasureErrorNo:
    """The errors that AutoTVM numbers."""

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
"""AutoTVM's numbers for what can become of a candidate."""


class Builder:
    """Makes code of configurations, ``n_parallel`` of them in a batch."""

    def __init__(
        self, timeout: float = 10, n_parallel: int | None = None, build_kwargs: dict[str, Any] | None = None
    ) -> None:
        self.timeout = timeout
        self.n_parallel = n_parallel or processors()
        self.user_build_kwargs = build_kwargs or {}
        self.build_kwargs: dict[str, Any] = {}
        self.task: Any = None

    def set_task(self, task: Any, build_kwargs: dict[str, Any] | None = None) -> Any:
        """What is built from now on."""
        self.task = task
        self.build_kwargs = {**(build_kwargs or {}), **self.user_build_kwargs}

    def build(self, measure_inputs: Sequence[MeasureInput]) -> Sequence[Any]:
        """The code of each, or a MeasureResult that says why there is none."""
        raise NotImplementedError


class Runner:
    """Runs what a builder has built, and times it."""

    def __init__(self, timeout: float = 5, n_parallel: int | None = None) -> None:
        self.timeout = timeout
        self.n_parallel = n_parallel or processors()
        self.task: Any = None

    def set_task(self, task: Any) -> Any:
        """What is run from now on."""
        self.task = task

    def get_build_kwargs(self) -> dict[str, Any]:
        """What the builder needs to know of the machine."""
        return {}

    def run(
        self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]
    ) -> list[MeasureResult]:
        """The measurement of each."""
        raise NotImplementedError
