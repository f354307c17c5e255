"""TVM's ``relay.loops``: loops that are built of Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.types import TensorType
from tvmlite.tvm.relay.expr import Function, TupleGetItem, Var, adopt, expr_of
from tvmlite.tvm.relay.expr import Tuple as RelayTuple

__all__ = ["while_loop"]


def while_loop(
    cond: Callable[..., Any], loop_vars: Sequence[Any], loop_bodies: Callable[..., Sequence[Any]]
) -> Function:
    """A function of the first values of ``loop_vars`` that gives the tuple of the last ones: as long as
    ``cond(*values)``, a bool scalar, holds, ``loop_bodies(*values)`` gives the next.

    The types of ``loop_vars``, variables or other expressions, are those of the values in every iteration.
    """
    given = [expr_of(f"while_loop: loop_vars[{index}]", one) for index, one in enumerate(loop_vars)]
    initial, states = (tuple(_fresh(one, index) for index, one in enumerate(given)) for _ in range(2))
    next_states = tuple(
        expr_of(f"while_loop: loop_bodies gives [{index}]", one)
        for index, one in enumerate(loop_bodies(*states))
    )
    if len(next_states) != len(states):
        raise TypeInferError(
            f"while_loop: loop_bodies gives {len(next_states)} values, expected {len(states)}, "
            "one for each of loop_vars",
            Span.of_caller(),
        )
    first = expr_of("while_loop: what cond gives", cond(*initial))
    again = expr_of("while_loop: what cond gives", cond(*next_states))
    loop = adopt(
        nodes.Loop(
            Var("iteration", TensorType((), "int64")),
            states,
            nodes.UNLIMITED_TRIP_COUNT,
            first,
            initial,
            RelayTuple([again, *next_states]),
            Span.of_caller(),
        )
    )
    return Function(initial, RelayTuple([TupleGetItem(loop, index) for index in range(len(states))]))


def _fresh(given: Any, index: int) -> Var:
    """A variable of the type of ``given``."""
    name = given.name if isinstance(given, Var) else f"arg{index}"
    type_ = given.type_annotation if isinstance(given, Var) else given.checked_type
    if type_ is None:
        raise TypeInferError(
            f"while_loop: loop_vars[{index}], {show(name)}, has no type, expected one", Span.of_caller()
        )
    return Var(name, type_)
