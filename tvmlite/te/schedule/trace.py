"""The trace of a schedule: the primitives that the user called, in order, with the state after each."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te.extensions import extension
from tvmlite.te.schedule.stage_base import ScheduleState, StageBase
from tvmlite.te.tensor.tensor import IterVar, Operation

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

MOST_NESTED = 8
"""The deepest nesting of lists in arguments of primitives; none needs more than one level."""


@dataclass(frozen=True, eq=False)
class Step:
    """One call of a primitive, of a schedule or of its stage that was created for ``stage``.

    Stage arguments are kept as their states, lists as tuples. ``state`` is the schedule's after the call.
    """

    primitive: str
    stage: Operation | None
    args: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]
    result: Any
    span: Span
    state: ScheduleState = field(repr=False)

    def uses(self, axis: IterVar) -> bool:
        """Whether ``axis`` is one of the arguments."""
        return any(one is axis for one in (*self.args, *(value for _, value in self.named)))

    @property
    def call(self) -> str:
        """The call, without its result."""
        return extension("schedule_text").call(self)

    def __repr__(self) -> str:
        return extension("schedule_text").step(self)


class Trace(tuple[Step, ...]):
    """The primitives called so far; printed, one a line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def primitive(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Record each successful call of ``method``, of a schedule or a stage, as a step in the schedule's trace.

    A primitive that calls others, as ``tile`` calls ``split``, is one step; if it fails, the calls that
    succeeded are left as steps.
    """

    @functools.wraps(method)
    def recorded(*everything: Parameters.args, **named: Parameters.kwargs) -> Result:
        owner: Any = everything[0]
        stage, schedule = (owner.origin_op, owner.schedule) if isinstance(owner, StageBase) else (None, owner)
        if schedule is None:  # a stage without a schedule
            return _call(method, everything, named)
        if stage is not None and stage not in schedule.state.stages:
            problem = f"{method.__name__}: stage {stage.name} is not in the schedule any more"
            raise ScheduleError(problem, Span.of_caller())
        args = tuple(map(_frozen, everything[1:]))
        by_name = tuple((name, _frozen(value)) for name, value in named.items())
        before = schedule.trace
        result = _call(method, everything, named)
        span = Span.of_caller()
        step = Step(method.__name__, stage, args, by_name, _frozen(result), span, schedule.state)
        schedule.trace = Trace((*before, step))
        return result

    return recorded


def _call(method: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """``method(*args, **named)``; a ScheduleError if the arguments do not fit its signature."""
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


def _frozen(value: Any, depth: int = 0) -> Any:
    """A snapshot of ``value``: stages in it by their states, lists as tuples."""
    if isinstance(value, StageBase):
        return value.state
    if not isinstance(value, (list, tuple)):
        return value
    if depth == MOST_NESTED:
        raise ScheduleError(f"an argument is a list nested more than {MOST_NESTED} deep", Span.of_caller())
    return tuple(_frozen(one, depth + 1) for one in value)
