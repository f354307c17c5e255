"""AutoTVM's templates and tasks, over those of ``te.space``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.te import space
from tvmlite.te.expr import Const
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.tensor.declare import placeholder
from tvmlite.te.tensor.tensor import PlaceholderOp, Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.autotvm import targets
from tvmlite.tvm.autotvm.task.context import ApplyConfig, DispatchContext
from tvmlite.tvm.autotvm.task.flop import FlopCalculationError, compute_flop
from tvmlite.tvm.autotvm.task.space import (
    ConfigEntity,
    ConfigSpace,
    FallbackConfigEntity,
    KernelConfigEntity,
    KernelConfigSpace,
    RuleConfigSpace,
)

TASK_TABLE: dict[str, Callable[..., Any]] = {}
"""Schedule functions by template name."""


def serialize_args(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return a task's arguments as a hashable tuple; tensors become their shapes and dtypes."""
    return tuple(map(_serialized, args))


def _serialized(value: Any) -> Any:
    match value:
        case Tensor():
            return ("TENSOR", tuple(int(extent) for extent in value.shape), value.dtype)  # type: ignore[arg-type]
        case Const():
            return value.value
        case list() | tuple():
            return tuple(map(_serialized, value))
        case None | bool() | int() | float() | str():
            return value
    if hasattr(value, "item"):
        return value.item()
    raise ScheduleError(
        f"a task's argument is a {type(value).__name__}, expected a number, a word or a tensor",
        Span.of_caller(),
    )


def deserialize_args(args: Sequence[Any]) -> list[Any]:
    """Return the arguments that ``serialize_args`` has encoded, with tensors as placeholders."""
    return [placeholder(one[1], one[2]) if _is_tensor(one) else one for one in args]


def _is_tensor(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 3 and one[0] == "TENSOR"


def args_to_workload(args: Sequence[Any], task_name: str | None = None) -> tuple[Any, ...]:
    """Return a template's name and its arguments, the key under which configurations are stored."""
    return (() if task_name is None else (task_name,)) + serialize_args(args)


class Task:
    """A template with arguments. ``create`` returns a task with a ``config_space``, which can be tuned."""

    def __init__(self, name: str, args: Sequence[Any]) -> None:
        self.name = name
        self.args = tuple(args)
        self.kwargs: dict[str, Any] = {}
        self.config_space: Any = None
        self.flop: float | None = None
        self.target: Any = None
        self.target_host: Any = None
        self._core: space.Task | None = None

    @property
    def func(self) -> Callable[..., Any]:
        """The template's function."""
        if self.name not in TASK_TABLE:
            known = ", ".join(sorted(TASK_TABLE)) or "none"
            raise ScheduleError(
                f"there is no template {self.name!r}; there are {known}",
                Span.of_caller(),
                hint="import the module that registers it",
            )
        return TASK_TABLE[self.name]

    @property
    def core(self) -> space.Task:
        """The task for ``tvmlite.autotune``; if the task was read from a log, created on first access."""
        if self._core is None:
            made = create(self.name, self.args, self.target)
            self._core, self.config_space, self.flop = made.core, made.config_space, made.flop
        return self._core

    @property
    def workload(self) -> tuple[Any, ...]:
        """The key of this task."""
        return args_to_workload(self.args, self.name)

    def instantiate(self, config: Any) -> tuple[Schedule, list[Any]]:
        """Return the schedule with its knobs set by ``config``, and the arguments of the function."""
        return self.core.instantiate(self.fitting(config))

    def __reduce__(self) -> Any:
        """Pickle name, arguments and target; the process that unpickles the task must have the template."""
        return _again, (self.name, self.args, None if self.target is None else str(self.target))

    def fitting(self, config: Any) -> Any:
        """Convert ``config`` for this task's template: those of models' kernels take tvmlite's classes."""
        is_own = self.name in TASK_TABLE or not isinstance(config, ConfigEntity)
        return config if is_own else KernelConfigEntity.of(config, config.code_hash)

    def __repr__(self) -> str:
        return (
            f"Task(func_name={self.name}, args={self.args}, kwargs={self.kwargs}, workload={self.workload})"
        )

    @staticmethod
    def of(core: space.Task, target: Any) -> Task:
        """Convert a task of ``te.space`` to AutoTVM's class."""
        made = Task(core.name, core.args)
        made._core, made.flop, made.target = core, core.flop, target
        rules = getattr(core.config_space, "rules", None)
        if rules is not None:
            made.config_space = RuleConfigSpace(rules)
        else:
            made.config_space = KernelConfigSpace()
            made.config_space.space_map = dict(core.config_space.space_map)
        return made


def _again(name: str, args: tuple[Any, ...], target: str | None) -> Task:
    """Restore a pickled task."""
    made = Task(name, args)
    made.target = target
    return made if target is None or name not in TASK_TABLE else create(name, args, target)


def template(task_name: str, func: Callable[..., Any] | None = None) -> Any:
    """Decorator that registers a schedule function. The decorated function takes its configuration from the
    current context (``autotvm.apply_history_best``), or else its defaults."""
    if func is None:
        return functools.partial(template, task_name)
    register_customized_task(task_name, func)

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        config = DispatchContext.current.query(targets.current(), args_to_workload(args, task_name))
        with ApplyConfig(config):
            return func(*args)

    return wrapper


def register_customized_task(name: str, func: Callable[..., Any] | None = None) -> Any:
    """Register a schedule function under ``name`` without changing the function."""
    if func is None:
        return functools.partial(register_customized_task, name)

    def scheduled(*args: Any, config: space.Config, target: Target) -> Any:
        given = deserialize_args(args)
        own = _own(config)
        with ApplyConfig(own), targets.within(_TARGETS.get(target)):
            made = func(*given)
        if own is not config and isinstance(config, space.FallbackConfig):
            config.settings.update(own.settings)  # type: ignore[union-attr]
        return made

    TASK_TABLE[name] = func
    space.template(name, scheduled)
    return func


_TARGETS: dict[Target, Any] = {}
"""The user's targets by machine: templates expect TVM's target objects."""


def _own(config: space.Config) -> Any:
    """Convert ``config`` to the class of this package, whose methods templates use."""
    if isinstance(config, (ConfigSpace, ConfigEntity, FallbackConfigEntity)):
        return config
    if isinstance(config, space.ConfigEntity):
        return ConfigEntity.of(config)
    if isinstance(config, space.FallbackConfig):
        own = FallbackConfigEntity()
        own.settings.update(config.settings)
        return own
    return ConfigSpace()


def create(task_name: str, args: Sequence[Any], target: Any = None, target_host: Any = None) -> Task:
    """Return the task of the template ``task_name`` with ``args``; ``target_host`` has no effect."""
    target = targets.current() if target is None else target
    host = targets.machine(target)
    if hasattr(target, "__enter__"):
        _TARGETS[host] = target
    made = Task(task_name, serialize_args(args))
    made.func  # noqa: B018  an unknown template is an error that names those there are
    found = space.create(task_name, made.args, host, ConfigSpace())
    made._core, made.config_space, made.flop = found, found.config_space, found.flop
    made.target, made.target_host = host if target is None or isinstance(target, str) else target, target_host
    return made


def get_config() -> Any:
    """Return the configuration in force: a config space while knobs are collected, else their settings."""
    return DispatchContext.current.query(targets.current(), None)


__all__ = [
    "FlopCalculationError",
    "PlaceholderOp",
    "Task",
    "args_to_workload",
    "compute_flop",
    "create",
    "get_config",
    "serialize_args",
    "template",
]


__getattr__ = refusing(__name__)
