"""Tasks with generated schedules: ``SearchTask(func=matmul, args=(512, 512, 512), target="llvm")``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tvmlite.autotune.records import records as rec
from tvmlite.autotune.report import callback
from tvmlite.autotune.search.engine import Callback
from tvmlite.autotune.tune import tune as search_schedules
from tvmlite.core import arguments
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import space
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler import step_log
from tvmlite.tvm.auto_scheduler.compute_dag import ComputeDAG, State
from tvmlite.tvm.auto_scheduler.measure import (
    LocalBuilder,
    LocalRunner,
    MeasureInput,
    MeasureResult,
    PythonBasedMeasureCallback,
    RecordToFile,
)
from tvmlite.tvm.auto_scheduler.records import fastest
from tvmlite.tvm.auto_scheduler.search_policy import SearchPolicy
from tvmlite.tvm.auto_scheduler.steps import replay
from tvmlite.tvm.auto_scheduler.workload_registry import (
    PREFIX,
    checked_key,
    make_workload_key,
    register_workload_tensors,
)
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.autotvm.measure.base import ERRORS
from tvmlite.tvm.target import Target

TASK_INPUT_BUFFER_TABLE: dict[str, Any] = {}
"""In TVM, the user-supplied inputs of tasks; always empty, as inputs are random."""


class NoSchedule(InputError, RuntimeError):
    """A log has no record of a task. It is also a RuntimeError, as in TVM."""


@dataclass
class HardwareParams:
    """TVM's description of a machine. It has no effect: tvmlite derives this information from the target."""

    num_cores: int | None = None
    vector_unit_bytes: int | None = None
    cache_line_bytes: int | None = None
    max_shared_memory_per_block: int | None = None
    max_local_memory_per_block: int | None = None
    max_threads_per_block: int | None = None
    max_vthread_extent: int | None = None
    warp_size: int | None = None
    target: Any = None
    target_host: Any = None


@dataclass
class TuningOptions:
    """At most ``num_measure_trials`` schedules are measured; the search ends early when ``early_stopping`` in
    a row have not improved on the best. ``measure_callbacks`` are called after each batch. ``runner`` is
    ``"local"`` or a ``LocalRunner``."""

    num_measure_trials: int = 0
    early_stopping: int | None = None
    num_measures_per_round: int = 64
    verbose: int = 1
    builder: Any = "local"
    runner: Any = "local"
    measure_callbacks: Sequence[Any] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        arguments.whole("TuningOptions: num_measure_trials", self.num_measure_trials, InputError, least=0)
        for name, kind in (("builder", LocalBuilder), ("runner", LocalRunner)):
            given = getattr(self, name)
            if given == "local":
                setattr(self, name, kind())
            elif not isinstance(given, kind):
                raise InputError(f"TuningOptions: {name} is {given!r}, expected 'local' or a {kind.__name__}")
        for one in self.measure_callbacks or ():
            if not isinstance(one, (RecordToFile, PythonBasedMeasureCallback)):
                raise InputError(
                    f"TuningOptions: measure_callbacks has a {type(one).__name__}, expected RecordToFile, "
                    "or a "
                    "PythonBasedMeasureCallback"
                )
        self.measure_callbacks = tuple(self.measure_callbacks or ())


class SearchTask:
    """A workload for a target: a registered function with arguments, a ``workload_key``, or a
    ``compute_dag``.

    ``core`` is the task for ``tvmlite.autotune``, ``desc`` a readable name.
    """

    def __init__(
        self,
        func: Any = None,
        args: Any = None,
        compute_dag: ComputeDAG | None = None,
        workload_key: str | None = None,
        target: Any = None,
        target_host: Any = None,
        hardware_params: Any = None,
        layout_rewrite_option: Any = None,
        task_inputs: Mapping[str, Any] | Sequence[str] | None = None,
        task_inputs_overwrite: bool = False,
        task_inputs_save_to_file: bool = False,
        desc: str = "",
        core: space.Task | None = None,
    ) -> None:
        if task_inputs:
            raise UnsupportedError(
                f"SearchTask: task_inputs {', '.join(task_inputs)}: inputs are random numbers",
                Span.of_caller(),
            )
        given = target if target is not None else targets.current()
        self.target = Target(given, target_host) if isinstance(given, (str, Mapping)) else given
        self.target_host, self.hardware_params, self.desc = target_host, hardware_params, desc
        self.layout_rewrite_option, self.task_inputs = layout_rewrite_option, ()
        if core is None and func is not None:
            workload_key = make_workload_key(func, tuple(args or ()))
        elif core is None and compute_dag is not None:
            workload_key = register_workload_tensors(
                workload_key or compute_dag.workload_key(), compute_dag.tensors
            )
        elif core is None and workload_key is None:
            raise InputError("SearchTask: func, workload_key or compute_dag must be given")
        if core is None:
            assert workload_key is not None
            name, *given = checked_key(workload_key)
            core = space.create(PREFIX + name, given, targets.machine(self.target))
        self.core = core
        if hardware_params is None:
            self.hardware_params = HardwareParams(core.target.num_cores, core.target.vector_bits // 8)
        self.workload_key = workload_key or json.dumps(
            [core.name.removeprefix(PREFIX), *space.encode_args(core.args)]
        )
        tensors = core.instantiate(core.default)[1]
        self.compute_dag = ComputeDAG(compute_dag.tensors if compute_dag is not None else tensors, core)

    def tune(
        self,
        tuning_options: TuningOptions,
        search_policy: SearchPolicy | None = None,
        adaptive_training: bool = False,
    ) -> None:
        """Search schedules with ``tuning_options``; an ExecutionError if none could be measured."""
        tune_tasks([self], [1.0], tuning_options, search_policy)

    def apply_best(
        self, log_file: Any, include_compatible: bool = False, layout_rewrite_option: Any = None
    ) -> tuple[Schedule, list[Tensor]]:
        """Return the fastest schedule of this task in the file ``log_file``, and the function's arguments."""
        return self.compute_dag.apply_steps_from_state(self._best(log_file))

    def print_best(self, log_file: Any, print_mode: str = "schedule") -> str:
        """Return the primitives of the fastest schedule as Python code."""
        if print_mode != "schedule":
            raise InputError(f"print_best: print_mode is {print_mode!r}, expected 'schedule'")
        return str(self.apply_best(log_file)[0].trace)

    def targets_as_text(self) -> tuple[str, str]:
        """Return the target and its host in the format of a log."""
        host = self.target_host if self.target_host is not None else getattr(self.target, "own_host", None)
        return str(self.core.target if self.target is None else self.target), "" if host is None else str(
            host
        )

    def _best(self, log_file: Any) -> State:
        """Return the fastest state in a log, from a record of a search or of steps."""
        found = fastest(log_file, self.core.target).get(self.core.key)
        by_steps = [
            one
            for one in step_log.read(log_file)
            if one.workload_key == self.workload_key and not one.error_no
        ]
        best = min(by_steps, key=lambda one: median(one.costs), default=None)
        if best is not None and (found is None or median(best.costs) < found.cost):
            return replay(self.compute_dag.get_init_state(), best.steps)
        if found is None:
            raise NoSchedule(f"{log_file} has no measurement of {self.workload_key}")
        return State(found.config, self.core)

    def __repr__(self) -> str:
        return f"SearchTask({self.desc or self.workload_key})"


def tune_tasks(
    tasks: Sequence[SearchTask],
    weights: Sequence[float],
    options: TuningOptions,
    policy: SearchPolicy | None = None,
    trials: int | None = None,
) -> list[Any]:
    """Tune several tasks together; trials go to those with the largest possible gain."""
    trials = options.num_measure_trials if trials is None else trials
    if trials < 1:
        raise InputError(
            "num_measure_trials is 0: nothing is measured", hint="apply_best takes what was measured"
        )
    by_key = {task.core.key: task for task in tasks}
    policy = policy or SearchPolicy(tasks[0])
    preload = [path for path in policy.resumed if Path(path).exists() and Path(path).stat().st_size]
    known = [one for path in preload for one in rec.load(path)]
    with options.runner.runner() as runner:
        return search_schedules(
            [task.core for task in tasks],
            trials=trials,
            weights=weights,
            tuner=policy.tuner,
            seed=getattr(policy, "seed", 0),
            runner=runner,
            early_stopping=options.early_stopping,
            callbacks=[_callback(one, by_key, policy) for one in options.measure_callbacks],
            learn_from=known,
            compare=False,
        )


def _callback(given: Any, tasks: Mapping[str, SearchTask], policy: SearchPolicy) -> Callback:
    """Convert one of TVM's callbacks to one of ``tvmlite.autotune``."""
    if isinstance(given, RecordToFile):
        return callback.log_to_file(given.filename)

    def call(_progress: Any, new: Sequence[rec.Record]) -> None:
        pairs = [measured(tasks[one.task_key], one) for one in new]
        given.callback(policy, [inp for inp, _ in pairs], [res for _, res in pairs])

    return call


def measured(task: SearchTask, record: rec.Record) -> tuple[MeasureInput, MeasureResult]:
    """Convert a record to the input and result that TVM's callbacks receive."""
    number = ERRORS.get(record.error, 8) if record.error else 0
    result = MeasureResult(record.costs, number, record.message, sum(record.costs), record.time)
    return MeasureInput(task, State(record.config, task.core)), result


__getattr__ = refusing(__name__)
