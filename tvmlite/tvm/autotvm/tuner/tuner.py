"""The base class of tuners: the loop of proposing, measuring and learning, with AutoTVM's interface."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.tvm.autotvm.env import GLOBAL_SCOPE
from tvmlite.tvm.autotvm.measure.base import MeasureInput, MeasureResult
from tvmlite.tvm.autotvm.measure.measure import create_measure_batch
from tvmlite.tvm.autotvm.utils import format_si_prefix

logger = logging.getLogger("autotvm")

MOST_ERRORS = 150
"""After more than this many failures in a row a tuner warns and logs each trial."""

Callback = Callable[[Any, Sequence[MeasureInput], Sequence[MeasureResult]], object]


class Tuner:
    """Proposes configurations of a task and learns from their measurements.

    ``best_config`` and ``best_measure_pair`` are the fastest so far, ``best_flops`` its operations per second
    and ``best_iter`` its trial; ``ttl`` is the maximum number of remaining trials.
    """

    def __init__(self, task: Any, **kwargs: Any) -> None:
        self.param = kwargs
        self.recorder = None
        self.task = task
        self.space = task.config_space
        self.reset()
        self.best_iter = 0
        self.error_ct_threshold = MOST_ERRORS
        self.ttl: float | None = None
        self.n_trial: int | None = None
        self.early_stopping: float | None = None

    def has_next(self) -> bool:
        """Whether there are configurations that have not been proposed yet."""
        raise NotImplementedError

    def next_batch(self, batch_size: int) -> list[Any]:
        """At most ``batch_size`` configurations to measure next."""
        raise NotImplementedError

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Learn from measurements."""

    def load_history(self, data_set: Any, min_seed_records: int = 500) -> None:
        """Learn from earlier measurements, if there are at least ``min_seed_records`` of them."""
        raise NotImplementedError

    def reset(self) -> None:
        """Reset the best configuration and its measurement."""
        self.best_config: Any = None
        self.best_flops: float = 0
        self.best_measure_pair: tuple[MeasureInput, MeasureResult] | None = None

    def tune(
        self,
        n_trial: int,
        measure_option: dict[str, Any],
        early_stopping: int | None = None,
        callbacks: Sequence[Callback] = (),
        si_prefix: str = "G",
    ) -> None:
        """Try at most ``n_trial`` configurations, built and run by ``measure_option`` (from
        ``autotvm.measure_option``).

        Ends early when ``early_stopping`` trials in a row have not improved on the best. After each batch
        every callback is called with this tuner, the inputs and the results; ``si_prefix`` is the unit of the
        log's FLOPS.
        """
        if not isinstance(measure_option, dict) or {"builder", "runner"} - measure_option.keys():
            raise arguments.refused(
                "tune: measure_option", measure_option, "autotvm.measure_option(...)", InputError
            )
        self.n_trial = arguments.whole("tune: n_trial", n_trial, InputError, least=1)
        self.early_stopping = early_stopping or 1e9
        format_si_prefix(0, si_prefix)
        measure = create_measure_batch(self.task, measure_option)
        level, was_tuning = logger.level, GLOBAL_SCOPE.in_tuning
        GLOBAL_SCOPE.in_tuning = True
        try:
            self._tune(measure, callbacks, si_prefix)
        finally:
            logger.setLevel(level)
            GLOBAL_SCOPE.in_tuning = was_tuning
            close = getattr(measure_option["runner"], "close", None)
            if close is not None:
                close()

    def _tune(self, measure: Any, callbacks: Sequence[Callback], si_prefix: str) -> None:
        assert self.n_trial is not None
        assert self.early_stopping is not None
        done = errors = 0
        while done < self.n_trial and self.has_next():
            configs = self.next_batch(min(measure.n_parallel, self.n_trial - done))
            if not configs:
                break
            inputs = [MeasureInput(self.task.target, self.task, config) for config in configs]
            results = measure(inputs)
            for place, (inp, res) in enumerate(zip(inputs, results, strict=True)):
                errors = 0 if res.error_no == 0 else errors + 1
                self._count(done + place, inp, res, si_prefix)
            done += len(results)
            self.ttl = min(self.early_stopping + self.best_iter, self.n_trial) - done
            self.update(inputs, results)
            for callback in callbacks:
                callback(self, inputs, results)
            if done >= self.best_iter + self.early_stopping:
                logger.debug("Early stopped. Best iter: %d.", self.best_iter)
                break
            if errors > self.error_ct_threshold:
                logger.warning("more than %d failures in a row; the last: %s", errors - 1, results[-1].costs)
                logger.setLevel(logging.DEBUG)

    def _count(self, trial: int, inp: MeasureInput, res: MeasureResult, si_prefix: str) -> None:
        """Update the best configuration if ``inp`` is faster, and log the trial."""
        flops = flops_of(inp, res)
        if flops > self.best_flops:
            self.best_flops, self.best_config, self.best_iter = flops, inp.config, trial
            self.best_measure_pair = inp, res
        shown = format_si_prefix(flops, si_prefix), format_si_prefix(self.best_flops, si_prefix)
        logger.debug(
            "No: %d\t%sFLOPS: %.2f/%.2f\tresult: %s\t%s", trial + 1, si_prefix, *shown, res, inp.config
        )


def flops_of(inp: MeasureInput, res: MeasureResult) -> float:
    """Return the operations per second of a measurement; 0 if it failed."""
    mean = float(np.mean(res.costs)) if res.error_no == 0 else 0.0
    if mean <= 0:
        return 0.0
    return (inp.task.flop or inp.task.core.flop) / mean  # core of a task read from a log is created here
