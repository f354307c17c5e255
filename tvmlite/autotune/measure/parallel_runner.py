"""Measures several candidates at once, each in a process pinned to its own processors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from tvmlite.autotune.measure.runner import BuildRequest, Candidate, LocalRunner, Outcome
from tvmlite.core.errors import InputError


class ParallelRunner:
    """``jobs`` runners of this machine that measure ``jobs`` candidates at once.

    ``options`` are those of each ``LocalRunner``. Each is pinned to as many of the processors that this
    process may use as its candidates have threads, so that no two share one; an InputError if there are too
    few. They share caches and memory nevertheless: final comparisons are timed by one of them while the
    others wait.
    """

    def __init__(self, jobs: int, **options: Any) -> None:
        self.jobs, self.threads = jobs, options.get("threads", 1)
        self.runners = [LocalRunner(processors=own, **options) for own in processors_of(jobs, self.threads)]
        self._idle: SimpleQueue[LocalRunner] = SimpleQueue()
        for runner in self.runners:
            self._idle.put(runner)

    def prepare(self, task: str, reference: Candidate, seed: int) -> None:
        """See ``Runner``."""
        for runner in self.runners:
            runner.prepare(task, reference, seed)

    def measure(self, task: str, candidate: Candidate) -> Outcome:
        """See ``Runner``; may be called by as many threads at once as there are runners."""
        return self._measured(lambda runner: runner.measure(task, candidate))

    def build_and_measure(self, task: str, request: BuildRequest) -> Outcome:
        """See ``BuildingRunner``; threads as for ``measure``."""
        return self._measured(lambda runner: runner.build_and_measure(task, request))

    def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
        """See ``Runner``."""
        return self.runners[0].compare(task, candidates)

    def interrupt(self) -> None:
        """See ``InterruptibleRunner``."""
        for runner in self.runners:
            runner.interrupt()

    def close(self) -> None:
        """End all workers."""
        for runner in self.runners:
            runner.close()

    def __enter__(self) -> ParallelRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _measured(self, measure: Callable[[LocalRunner], Outcome]) -> Outcome:
        """Return the outcome of a candidate; the other runners do not count as other processes."""
        with self._one() as runner:
            outcome = measure(runner)
        others = (self.jobs - 1) * self.threads / (os.cpu_count() or 1)
        return replace(outcome, busy=max(outcome.busy - others, 0.0))

    @contextmanager
    def _one(self) -> Iterator[LocalRunner]:
        runner = self._idle.get()
        try:
            yield runner
        finally:
            self._idle.put(runner)


def processors_of(jobs: int, threads: int) -> list[tuple[int, ...]]:
    """Choose processors for each of ``jobs`` processes of ``threads`` threads, among those this process may
    use; an InputError if these are too few."""
    if jobs < 1:
        raise InputError(f"jobs is {jobs}, expected at least 1")
    if not hasattr(os, "sched_getaffinity"):
        raise InputError(f"jobs is {jobs}, but this system cannot pin processes to processors")
    allowed = sorted(os.sched_getaffinity(0))
    if jobs * threads > len(allowed):
        raise InputError(
            f"{jobs} jobs of {threads} threads each need {jobs * threads} processors, "
            f"this process may use {len(allowed)}",
            hint=f"--threads 1, or --jobs {max(len(allowed) // threads, 1)}",
        )
    return [tuple(allowed[n * threads : (n + 1) * threads]) for n in range(jobs)]
