"""Templates in two parts, a compute function and a schedule function registered under one name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te.tensor.tensor import PlaceholderOp, Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.autotvm.task.context import DispatchContext
from tvmlite.tvm.autotvm.task.task import args_to_workload, register_customized_task

_COMPUTES: dict[str, Callable[..., Any]] = {}
_SCHEDULES: dict[str, Callable[..., Any]] = {}
_WORKLOADS: dict[Any, Any] = {}
"""The workload of each operation that a registered function has computed."""


def register_topi_compute(task_name: str, func: Callable[..., Any] | None = None) -> Any:
    """Register the compute function ``func(cfg, *args)``. The decorated function is called without ``cfg``,
    which comes from the current context."""
    if func is None:
        return functools.partial(register_topi_compute, task_name)
    _COMPUTES[task_name] = func
    _register(task_name)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        workload = args_to_workload(args, task_name)
        made = func(DispatchContext.current.query(targets.current(), workload), *args, **kwargs)
        outputs = made if isinstance(made, (list, tuple)) else [made]
        _WORKLOADS.update((one.op, workload) for one in outputs)
        return made

    return wrapper


def register_topi_schedule(task_name: str, func: Callable[..., Any] | None = None) -> Any:
    """Register ``func(cfg, outs)``, which schedules the outputs of the compute function of the same name. The
    decorated function is called without ``cfg``."""
    if func is None:
        return functools.partial(register_topi_schedule, task_name)
    _SCHEDULES[task_name] = func
    _register(task_name)

    @functools.wraps(func)
    def wrapper(outs: Any, *args: Any, **kwargs: Any) -> Any:
        workload = get_workload(outs, task_name)
        return func(DispatchContext.current.query(targets.current(), workload), outs, *args, **kwargs)

    return wrapper


def get_workload(outs: Any, task_name: str | None = None) -> Any:
    """Return the workload for which one of ``outs``, or a tensor they depend on, was computed; a
    ScheduleError if there is none."""
    reached = [one.op for one in (outs if isinstance(outs, (list, tuple)) else [outs])]
    for op in reached:
        if op in _WORKLOADS and task_name in (None, _WORKLOADS[op][0]):
            return _WORKLOADS[op]
        reached += [one.op for one in op.inputs if one.op not in reached]
    raise ScheduleError(
        f"nothing that is scheduled was computed by the registered function of {task_name!r}",
        Span.of_caller(),
    )


def _register(name: str) -> None:
    """Register both parts as one template as soon as both are known."""
    if name not in _COMPUTES or name not in _SCHEDULES:
        return

    def whole(*args: Any) -> tuple[Any, list[Tensor]]:
        cfg = DispatchContext.current.query(targets.current(), args_to_workload(args, name))
        made = _COMPUTES[name](cfg, *args)
        outputs = list(made) if isinstance(made, (list, tuple)) else [made]
        return _SCHEDULES[name](cfg, outputs), [*_inputs(outputs), *outputs]

    register_customized_task(name, whole)


def _inputs(outputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the placeholders that ``outputs`` depend on, in the order of the traversal."""
    reached = list(outputs)
    for tensor in reached:
        reached += [one for one in tensor.op.inputs if one not in reached]
    return [one for one in reached if isinstance(one.op, PlaceholderOp)]


__getattr__ = refusing(__name__)
