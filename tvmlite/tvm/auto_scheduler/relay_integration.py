"""Extract the tasks of a whole model, tune them together, and apply the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm import tuned
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.auto_scheduler import step_log
from tvmlite.tvm.auto_scheduler.records import fastest, several
from tvmlite.tvm.auto_scheduler.search_policy import SearchPolicy, SketchPolicy
from tvmlite.tvm.auto_scheduler.search_task import SearchTask, TuningOptions, tune_tasks
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.autotvm.task.relay_integration import kernel_tasks


def extract_tasks(
    mod: Any,
    params: Mapping[str, Any] | None,
    target: Any,
    target_host: Any = None,
    hardware_params: Any = None,
    include_simple_tasks: bool = False,
    dump_workload_to_dag_log: str | None = None,
    opt_level: int = 3,
    other_targets: Any = None,
) -> tuple[list[SearchTask], list[int]]:
    """Return the tasks of ``mod``, its kernels that have more than one schedule, and how often each is
    called. Kernels without a reduction are left out unless ``include_simple_tasks`` is true."""
    if dump_workload_to_dag_log is not None:
        raise UnsupportedError("extract_tasks: dump_workload_to_dag_log is not supported", Span.of_caller())
    pairs = [
        (SearchTask(core=core, target=target, target_host=target_host, desc=core.label), calls)
        for core, calls in kernel_tasks(mod, params, target)
    ]
    chosen = [pair for pair in pairs if include_simple_tasks or _has_reduction(pair[0])]
    return [task for task, _ in chosen], [calls for _, calls in chosen]


def _has_reduction(task: SearchTask) -> bool:
    return any(getattr(op, "reduce_axis", ()) for op in task.compute_dag.ops)


class TaskScheduler:
    """Tunes ``tasks`` together. Trials go to the task with the largest possible gain, or, with the
    ``strategy`` ``"round-robin"``, to all tasks equally; ``task_weights`` are how often each is called in a
    run. An ``objective_func`` is an error; the other options have no effect."""

    def __init__(
        self,
        tasks: Sequence[SearchTask],
        task_weights: Sequence[float] | None = None,
        objective_func: Callable[..., Any] | None = None,
        strategy: str = "gradient",
        load_model_file: str | None = None,
        load_log_file: str | None = None,
        alpha: float = 0.2,
        beta: float = 2,
        gamma: float = 0.5,
        backward_window_size: int = 3,
        callbacks: Any = None,
    ) -> None:
        if objective_func is not None:
            raise InputError("TaskScheduler: objective_func is not supported: the time of a run is minimized")
        if strategy not in ("gradient", "round-robin"):
            raise InputError(f"TaskScheduler: strategy is {strategy!r}, expected 'gradient' or 'round-robin'")
        self.tasks, self.load_log_file, self.strategy = list(tasks), load_log_file, strategy
        self.task_weights = (
            [1.0] * len(self.tasks) if task_weights is None else [float(w) for w in task_weights]
        )
        self.best_costs = [float("inf")] * len(self.tasks)

    def tune(
        self,
        tune_option: TuningOptions,
        search_policy: Any = "default",
        search_policy_params: Any = None,
        adaptive_training: bool = False,
        per_task_early_stopping: int | None = None,
    ) -> None:
        """Tune with the options ``tune_option``; its ``num_measure_trials`` is the total for all tasks."""
        if isinstance(search_policy, SearchPolicy):
            policy: SearchPolicy | None = search_policy
        elif search_policy in ("default", "sketch.xgb"):
            policy = None
        elif search_policy == "sketch.random":
            policy = SketchPolicy(self.tasks[0])
        else:
            raise InputError(
                f"TaskScheduler: search_policy is {search_policy!r}, expected 'sketch.xgb' or 'sketch.random'"
            )
        if self.strategy == "gradient":
            results = tune_tasks(self.tasks, self.task_weights, tune_option, policy)
        else:
            shares = _shares(tune_option.num_measure_trials, len(self.tasks))
            results = [
                tune_tasks([task], [1.0], tune_option, policy, share)[0] if share else None
                for task, share in zip(self.tasks, shares, strict=True)
            ]
        for number, result in enumerate(results):
            if result is not None and result.best is not None:
                self.best_costs[number] = min(self.best_costs[number], result.best.cost)


def _shares(trials: int, tasks: int) -> list[int]:
    """Divide ``trials`` among ``tasks`` as evenly as possible."""
    return [trials // tasks + (place < trials % tasks) for place in range(tasks)]


class ApplyHistoryBest:
    """Within its ``with`` block ``relay.build`` schedules kernels by the fastest records in ``records``, one
    file or several."""

    def __init__(self, records: Any, n_lines: int | None = None, include_compatible: bool = False) -> None:
        self.records = records

    def __enter__(self) -> ApplyHistoryBest:
        found = fastest(self.records, targets.machine(targets.current())).values()
        for path in several(self.records):
            if not found and any(True for _ in step_log.read(path)):
                raise UnsupportedError(
                    f"{path} is a log of TVM's auto-scheduler: its records are for TVM's kernels",
                    Span.of_caller(),
                    hint="tune again; SearchTask.apply_best takes what it has of a program's own workloads",
                )
        tuned.enter({one.task: (one.config, one.cost) for one in found})
        return self

    def __exit__(self, *_: object) -> None:
        tuned.leave()


class ApplyHistoryBestOrSample(ApplyHistoryBest):
    """Like ``ApplyHistoryBest``: unlike in TVM, kernels that were not measured use their default schedules
    and are not sampled. The other options have no effect."""

    def __init__(
        self,
        records: Any,
        sample_simple_workloads: bool = False,
        cost_model_file: Any = None,
        num_measure: int = -1,
    ) -> None:
        super().__init__([] if records is None else records)


__getattr__ = refusing(__name__)
