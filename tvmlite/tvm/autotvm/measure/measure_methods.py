"""Build and run candidates on this machine with ``tvmlite.autotune``: in a separate process, with their
results checked against a reference."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from tvmlite.autotune.measure import Candidate, Outcome, ReferenceFailed
from tvmlite.autotune.measure import LocalRunner as OurRunner
from tvmlite.autotune.measure.build import Builder as OurBuilder
from tvmlite.autotune.measure.build import reference
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.runtime.pool.threads import num_threads
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm.measure.base import (
    ERRORS,
    Builder,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    Runner,
)
from tvmlite.tvm.autotvm.task.space import InstantiationError


class BuildResult(NamedTuple):
    """The built code of a configuration: ``candidate`` for the runner of ``tvmlite.autotune``, ``arg_info``
    with the shapes and dtypes of its arguments, ``time_cost`` in seconds. ``filename`` is None: there is no
    file."""

    filename: str | None
    arg_info: tuple[Any, ...]
    error: Exception | None
    time_cost: float
    candidate: Candidate | None = None


class LocalBuilder(Builder):
    """Builds in this process. ``n_parallel`` is the number of configurations in a batch; ``timeout``,
    ``do_fork`` and ``runtime`` have no effect, and a ``build_func`` other than the default is an error."""

    def __init__(
        self,
        timeout: float = 10,
        n_parallel: int | None = None,
        build_kwargs: dict[str, Any] | None = None,
        build_func: Any = "default",
        do_fork: bool = False,
        runtime: Any = None,
    ) -> None:
        super().__init__(timeout, n_parallel, build_kwargs)
        if build_func != "default":
            raise UnsupportedError(
                f"LocalBuilder: build_func is {build_func!r}: candidates are not linked, they run from "
                "memory",
                Span.of_caller(),
                hint='leave it out, or give "default"',
            )
        self.do_fork, self.runtime = do_fork, runtime
        self._builders: dict[Any, OurBuilder] = {}

    def build(self, measure_inputs: Sequence[MeasureInput]) -> list[Any]:
        """See ``Builder``."""
        return [self._built(one) for one in measure_inputs]

    def _built(self, given: MeasureInput) -> BuildResult | MeasureResult:
        start, core = time.perf_counter(), given.task.core
        builder = self._builders.setdefault(core.key, OurBuilder(core))
        given.config.errors.clear()
        made = builder.built(given.task.fitting(given.config))
        seconds = time.perf_counter() - start
        if given.config.errors:
            return _failed("schedule", "; ".join(given.config.errors), seconds)
        if isinstance(made, Outcome):
            return _failed(made.error, made.message, seconds)
        _, tensors = given.task.instantiate(given.config)
        shapes = tuple((tuple(one.shape), one.dtype) for one in tensors)
        return BuildResult(None, shapes, None, seconds, made)


class LocalRunner(Runner):
    """Measures on this machine: ``repeat`` runs of ``number`` calls each, or, if ``min_repeat_ms`` is given,
    runs for ``repeat * min_repeat_ms`` milliseconds. A candidate fails if its results differ from those of
    the unscheduled loops, or if it runs longer than ``timeout`` seconds. With ``enable_cpu_cache_flush`` none
    of its arrays is in cache when it starts. ``cooldown_interval`` has no effect."""

    def __init__(
        self,
        timeout: float = 10,
        number: int = 4,
        repeat: int = 3,
        min_repeat_ms: int = 0,
        cooldown_interval: float = 0.1,
        enable_cpu_cache_flush: bool = False,
        module_loader: Any = None,
    ) -> None:
        super().__init__(timeout, 1)
        if module_loader is not None:
            raise UnsupportedError(
                "LocalRunner: module_loader is given, and there is no remote", Span.of_caller()
            )
        self.number, self.repeat, self.min_repeat_ms = number, repeat, min_repeat_ms
        self.cooldown_interval, self.enable_cpu_cache_flush = cooldown_interval, enable_cpu_cache_flush
        self._runner: OurRunner | None = None

    @property
    def ref_input(self) -> None:
        """In TVM, the arrays to measure with; always None here, as the arrays are random."""

    @ref_input.setter
    def ref_input(self, val: Any) -> None:
        if val is not None:
            raise UnsupportedError(
                "LocalRunner: ref_input is given: candidates are measured with random arrays",
                Span.of_caller(),
                hint="lib.time(...) of a compiled model times given arrays",
            )

    def set_task(self, task: Any) -> Any:
        """See ``Runner``."""
        super().set_task(task)
        self.close()

    def run(
        self, measure_inputs: Sequence[MeasureInput], build_results: Sequence[Any]
    ) -> list[MeasureResult]:
        """See ``Runner``."""
        return [
            built if isinstance(built, MeasureResult) else self._measured(one, built)
            for one, built in zip(measure_inputs, build_results, strict=True)
        ]

    def close(self) -> None:
        """End the process that runs candidates."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def _measured(self, given: MeasureInput, built: BuildResult) -> MeasureResult:
        start, core, runner = time.perf_counter(), given.task.core, self._started()
        plain = reference(core)
        if self.enable_cpu_cache_flush:
            plain = replace(plain, cold=tuple(range(len(built.arg_info))))
        runner.prepare(core.key, plain, 0)
        assert built.candidate is not None
        try:
            outcome = runner.measure(core.key, built.candidate)
        except ReferenceFailed as error:
            outcome = Outcome(error="reference", message=error.message)
        seconds = built.time_cost + time.perf_counter() - start
        if outcome.error:
            return _failed(outcome.error, outcome.message, seconds)
        return MeasureResult(outcome.costs, MeasureErrorNo.NO_ERROR, seconds, time.time())

    def _started(self) -> OurRunner:
        if self._runner is None:
            runs: dict[str, Any] = {"number": self.number, "repeat": self.repeat}
            if self.min_repeat_ms > 0:
                runs = {"budget": max(0.001, self.repeat * self.min_repeat_ms / 1000)}
            self._runner = OurRunner(timeout=self.timeout, threads=num_threads(), **runs)
        return self._runner


class RPCRunner(Runner):
    """TVM's runner on other machines, which is not supported."""

    absent_because = "autotvm.LocalRunner measures on the machine itself"

    def __init__(self, key: str, host: str, port: int, *args: Any, **kwargs: Any) -> None:
        no_remote("RPCRunner", f"{key!r} at {host}:{port}")


def no_remote(name: str, what: str) -> NoReturn:
    """Raise the UnsupportedError of a function that needs another machine."""
    raise UnsupportedError(
        f"{name}: {what}: nothing is measured on other machines",
        Span.of_caller(),
        hint="run the script there with LocalRunner(), and take the log along",
    )


def request_remote(device_key: str, *args: Any, **kwargs: Any) -> NoReturn:
    """TVM's session on another machine, which is not supported."""
    no_remote("request_remote", repr(device_key))


def _failed(error: str, message: str, seconds: float) -> MeasureResult:
    number = ERRORS.get(error, MeasureErrorNo.UNKNOWN_ERROR)
    cause = (
        InstantiationError(message) if number == MeasureErrorNo.INSTANTIATION_ERROR else RuntimeError(message)
    )
    return MeasureResult((cause,), number, seconds, time.time())


__getattr__ = refusing(__name__)
