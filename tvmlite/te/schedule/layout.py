"""``transform_layout``: store the elements of a stage's buffer in another order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.extensions import extend
from tvmlite.te.schedule.relations import Number, ceil_div
from tvmlite.te.schedule.stage_base import StageBase
from tvmlite.te.schedule.trace import primitive
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.extern import ExternOp
from tvmlite.te.tensor.tensor import IterVar

if TYPE_CHECKING:
    from tvmlite.te.schedule.stage import Stage


@dataclass(frozen=True)
class Digit:
    """``axis // step % base`` of the element's index; ``base`` is None for the most significant digit."""

    axis: int
    step: int
    base: int | None


@dataclass(frozen=True)
class IndexMap:
    """The new position of an element: its new indices are these digits of its old ones, in this order."""

    digits: tuple[Digit, ...]

    def indices(self, old: Sequence[Number]) -> tuple[Number, ...]:
        """The new indices of the element at ``old``."""
        made: list[Number] = []
        for digit in self.digits:
            value = old[digit.axis] if digit.step == 1 else old[digit.axis] // digit.step
            made.append(value if digit.base is None else value % digit.base)
        return tuple(made)

    def shape(self, old: Sequence[Number]) -> tuple[Number, ...]:
        """The shape that holds all elements of an array of shape ``old``."""
        return tuple(ceil_div(old[d.axis], d.step) if d.base is None else d.base for d in self.digits)


class LayoutPrimitive(StageBase):
    """The layout primitive of ``Stage``."""

    @primitive
    def transform_layout(self, mapping: Callable[..., Any]) -> list[IterVar]:
        """Store the stage's buffer in the layout of ``mapping``, which returns the new indices of an element.
        The loops that write it change to one for each new axis, and are returned; its readers do not change.

        ::

            for i in range(64):         -->    for i.outer in range(4):
                for j in range(8):                 for j in range(8):
                    B[i, j] = A[i, j]                  for i.inner in range(16):
                                                           B[i.outer, j, i.inner] = A[...]
                                               # s[B].transform_layout(lambda i, j: [i // 16, j, i % 16])

        Each new index is an axis, its quotient by a constant, or the remainder of one; together they must
        identify each element. Where a constant does not divide an extent, the buffer has padding, which is
        never read. The stage's loops must not have been transformed before.
        """
        op = self.op
        span = Span.of_caller()
        if isinstance(op, ExternOp):
            raise ScheduleError(f"transform_layout: {op.name} is an extern stage, its loops are fixed", span)
        if self.layout is not None:
            raise ScheduleError(
                f"transform_layout: the layout of stage {op.name} was transformed before", span
            )
        if self.relations or self.leaf_iter_vars != self.all_iter_vars:
            raise ScheduleError(
                f"transform_layout: the loops of stage {op.name} are arranged already",
                span,
                hint="call transform_layout first, then arrange the loops it gives",
            )
        found = _index_map(mapping, op.output_shape(0), op.name, span)
        self.change(layout=found)
        return _loops(self, found) if isinstance(op, t.ComputeOp) else []


def _index_map(mapping: Callable[..., Any], extents: t.Shape, name: str, span: Span) -> IndexMap:
    rank = len(extents)
    arguments.function("transform_layout: mapping", mapping, ScheduleError)
    try:
        parameters = inspect.signature(mapping).parameters
    except ValueError as error:  # a type such as int has no signature
        raise ScheduleError(f"transform_layout: mapping: {error}", span) from None
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    count = len(parameters)
    if not variadic and count != rank:
        raise ScheduleError(f"transform_layout: {name} has {rank} axes, the function takes {count}", span)
    variables = [e.Var(f"i{k}") for k in range(rank)]
    made = mapping(*variables)
    given = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    digits = tuple(
        _without_redundant_base(
            _digit(e.scalar("transform_layout: a new index", one), variables, name, span), extents
        )
        for one in given
    )
    for axis in range(rank):
        _check_digits([d for d in digits if d.axis == axis], axis, name, span)
    return IndexMap(digits)


def _digit(index: e.Expr, variables: Sequence[e.Var], name: str, span: Span) -> Digit:
    """Parse ``v``, ``v // a``, ``v % b``, ``v // a % b`` or ``v % b // a``."""
    step, base, rest = 1, None, index
    while not isinstance(rest, e.Var):
        match rest:
            case e.FloorMod(a, e.Const(value)) if value > 0 and base is None and value % step == 0:
                rest, base = a, int(value) // step
            case e.FloorDiv(a, e.Const(value)) if value > 0:
                rest, step = a, step * int(value)
            case _:
                raise ScheduleError(
                    f"transform_layout: the index {index} of {name} is not an axis, its quotient by a "
                    "constant, or the remainder of that",
                    span,
                )
    return Digit(next(n for n, v in enumerate(variables) if v is rest), step, base)


def _without_redundant_base(digit: Digit, extents: t.Shape) -> Digit:
    """``digit`` without its base, if no quotient reaches the base, so that the remainder changes nothing."""
    extent = extents[digit.axis]
    is_redundant = digit.base is not None and isinstance(extent, int) and digit.step * digit.base >= extent
    return Digit(digit.axis, digit.step, None) if is_redundant else digit


def _check_digits(digits: list[Digit], axis: int, name: str, span: Span) -> None:
    """Check that the digits of one axis cover all of it, exactly once."""
    step = 1
    ordered = sorted(digits, key=lambda d: d.step)
    for number, digit in enumerate(ordered):
        last = number == len(ordered) - 1
        if digit.step != step or (digit.base is None) != last:
            break
        step *= digit.base or 1
    else:
        if ordered:
            return
    raise ScheduleError(
        f"transform_layout: the new indices of {name} do not map axis {axis} one to one",
        span,
    )


def _loops(stage: StageBase, found: IndexMap) -> list[IterVar]:
    """Split and reorder the stage's loops to match the buffer, and return them; reductions stay inside."""
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    owner: Stage = stage  # type: ignore[assignment]
    loops: dict[Digit, IterVar] = {}
    for axis, loop in enumerate(op.axis):
        rest = loop
        for digit in sorted((d for d in found.digits if d.axis == axis), key=lambda d: d.step):
            if digit.base is None:
                loops[digit] = rest
            else:
                rest, loops[digit] = owner.split(rest, factor=digit.base)
    owner.reorder(*(loops[digit] for digit in found.digits))
    return [loops[digit] for digit in found.digits]


extend(StageBase, LayoutPrimitive)
