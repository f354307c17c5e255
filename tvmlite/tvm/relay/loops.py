"""``relay.loops``: loops whose condition and body are given as Python functions."""

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
    """Make a function that maps the initial values of the loop variables to a tuple of their final values. As
    long as ``cond(*values)``, a bool scalar, is true, ``loop_bodies(*values)`` computes the next values.

    ``loop_vars`` are variables or other expressions; the values have their types in every iteration.
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
    first = expr_of("while_loop: the result of cond", cond(*initial))
    again = expr_of("while_loop: the result of cond", cond(*next_states))
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
    """A new variable with the type of ``given`` and, if that is a variable, its name."""
    name = given.name if isinstance(given, Var) else f"arg{index}"
    type_ = given.type_annotation if isinstance(given, Var) else given.checked_type
    if type_ is None:
        raise TypeInferError(
            f"while_loop: loop_vars[{index}], {show(name)}, has no type, expected one", Span.of_caller()
        )
    return Var(name, type_)
