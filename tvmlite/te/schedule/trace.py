"""The trace of a schedule: its primitives in order, as the user called them, to be printed and replayed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder, substitute
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import IterVar, Operation, Tensor

if TYPE_CHECKING:
    from tvmlite.te.schedule.schedule import Schedule

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_KEPT: ContextVar[bool] = ContextVar("kept", default=True)

MOST_NESTED = 8
"""How deep lists in arguments of primitives may be nested; none needs more than one."""


@contextmanager
def untraced() -> Iterator[None]:
    """Schedules that are made within the block keep no trace: to write it down takes up to two fifths of the
    time of making one, and who makes hundreds to compare them asks of a few how they were made."""
    token = _KEPT.set(False)
    try:
        yield
    finally:
        _KEPT.reset(token)


@dataclass(frozen=True)
class StageAt:
    """The stage in ``position`` of the schedule's stages, when the primitive was called."""

    position: int
    name: str

    def __str__(self) -> str:
        return f"s[{self.name}]"


@dataclass(frozen=True)
class AxisAt:
    """The loop in ``position``, outermost first, of the stage in position ``stage``."""

    stage: int
    position: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class TensorAt:
    """The result ``value_index`` of the stage in position ``stage``."""

    stage: int
    value_index: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ExprAt:
    """An expression over loops: each of ``variables`` with the position of its stage, and its own among all
    the loops that the stage has and had."""

    expr: e.Expr
    variables: tuple[tuple[e.Var, int, int], ...]

    def __str__(self) -> str:
        return str(self.expr)


@dataclass(frozen=True)
class Step:
    """One call of a primitive of the schedule (``stage`` is None) or of one of its stages.

    Stages, loops and tensors among the arguments are known by their position, so a step applies to every
    schedule that stands as this one stood. ``results`` are the names of what the call gave.
    """

    primitive: str
    stage: StageAt | None
    args: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]
    results: tuple[str, ...]
    span: Span

    def __str__(self) -> str:
        args = [_text(a) for a in self.args] + [f"{name}={_text(a)}" for name, a in self.named]
        call = f"{self.stage or 's'}.{self.primitive}({', '.join(args)})"
        return f"{', '.join(self.results)} = {call}" if self.results else call

    def apply(self, schedule: Schedule) -> None:
        """Call the primitive on ``schedule``, which records it."""
        owner = schedule if self.stage is None else schedule.stages[self.stage.position]
        args = [_resolved(schedule, a) for a in self.args]
        named = {name: _resolved(schedule, a) for name, a in self.named}
        getattr(owner, self.primitive)(*args, **named)


class Trace:
    """The primitives called on ``schedule`` so far; printed, one a line. None if it was made ``untraced``."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.is_kept = _KEPT.get()
        self.steps: list[Step] = []

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: int) -> Step:
        return self.steps[index]

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))


def primitive(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """``method``, of a schedule or a stage, leaves a step in the schedule's trace when it succeeds.

    A primitive that calls others, as ``tile`` calls ``split``, leaves one step; if it fails on its way, it
    leaves those of the others that were done.
    """

    @functools.wraps(method)
    def recorded(*everything: Parameters.args, **named: Parameters.kwargs) -> Result:
        owner: Any = everything[0]
        trace: Trace | None = owner.trace
        if trace is None or not trace.is_kept:
            return _call(method, everything, named)
        schedule = trace.schedule
        stage = None if owner is schedule else _placed(schedule, owner)
        args = tuple(_placed(schedule, a) for a in everything[1:])
        by_name = tuple((name, _placed(schedule, a)) for name, a in named.items())
        before = len(trace.steps)
        result = _call(method, everything, named)
        step = Step(method.__name__, stage, args, by_name, tuple(_names(result)), Span.of_caller())
        trace.steps[before:] = [step]
        return result

    return recorded


def _call(method: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """``method(*args, **named)``; a ScheduleError if it does not take so many, or of these names."""
    try:
        return method(*args, **named)
    except TypeError:
        parameters = inspect.signature(method).parameters.values()
        signature = inspect.Signature([one.replace(annotation=one.empty) for one in parameters])
        try:
            signature.bind(*args, **named)
        except TypeError as error:
            takes = ", ".join(str(one) for one in list(signature.parameters.values())[1:])
            hint = f"it takes ({takes})"
            raise ScheduleError(f"{method.__name__}: {error}", Span.of_caller(), hint) from None
        raise


def _placed(schedule: Schedule, value: Any, depth: int = 0) -> Any:
    """``value`` with the stages, loops and tensors in it replaced by their positions in ``schedule``."""
    if isinstance(value, (list, tuple)):
        if depth == MOST_NESTED:
            raise ScheduleError(
                f"an argument is a list nested more than {MOST_NESTED} deep", Span.of_caller()
            )
        return tuple(_placed(schedule, one, depth + 1) for one in value)
    if isinstance(value, IterVar):
        for number, stage in enumerate(schedule.stages):
            for place, leaf in enumerate(stage.leaf_iter_vars):
                if leaf is value:
                    return AxisAt(number, place, value.var.name)
        return value
    if isinstance(value, (Tensor, Operation)):
        op = value.op if isinstance(value, Tensor) else value
        stage = schedule.stage_map.get(op)
        if stage is None:
            return value
        index = value.value_index if isinstance(value, Tensor) else 0
        return TensorAt(_position(schedule, stage), index, value.name)
    if isinstance(value, e.Expr):
        return _over_loops(schedule, value)
    if any(value is stage for stage in schedule.stages):
        return StageAt(_position(schedule, value), value.name)
    return value


def _over_loops(schedule: Schedule, expr: e.Expr) -> e.Expr | ExprAt:
    """``expr`` with its loops replaced by their positions; itself if it has none."""
    variables = {node for node in postorder(expr) if isinstance(node, e.Var)}
    found = {
        axis.var: (number, place)
        for number, stage in enumerate(schedule.stages)
        for place, axis in enumerate(stage.all_iter_vars)
        if axis.var in variables
    }
    return ExprAt(expr, tuple((var, *where) for var, where in found.items())) if found else expr


def _position(schedule: Schedule, stage: Any) -> int:
    return next(i for i, one in enumerate(schedule.stages) if one is stage)


def _resolved(schedule: Schedule, value: Any) -> Any:
    """What stands at a place in ``schedule``: the opposite of ``_placed``."""
    match value:
        case StageAt(position):
            return schedule.stages[position]
        case AxisAt(stage, position):
            return schedule.stages[stage].leaf_iter_vars[position]
        case TensorAt(stage, index):
            return schedule.stages[stage].op.output(index)
        case ExprAt(expr, variables):
            stages = schedule.stages
            return substitute(expr, {var: stages[s].all_iter_vars[n].var for var, s, n in variables})
        case tuple():
            return tuple(_resolved(schedule, one) for one in value)
        case _:
            return value


def _names(result: Any) -> Iterator[str]:
    """The names of the loops and tensors a primitive gave."""
    if isinstance(result, (list, tuple)):
        for one in result:
            yield from _names(one)
    elif isinstance(result, IterVar):
        yield result.var.name
    elif isinstance(result, (Tensor, Operation)):
        yield result.name


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, (StageAt, AxisAt, TensorAt, ExprAt)):
        return str(value)
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return repr(value)
