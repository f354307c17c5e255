"""Proves that a loop without a trip count ends: exporters write ``while`` loops that count."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import reachable
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple, Var, without_lets
from tvmlite.relay.ir.types import TensorType

_SCALAR_VIEWS = ("reshape", "expand_dims", "squeeze", "assume_shape", "cast")
"""Operators that keep a scalar's value; a cast does if both types are integers."""


def must_end(index: Var, states: Sequence[Var], body: Expr) -> bool:
    """Whether the condition that ``body`` computes holds only a limited number of times.

    It does if it compares an integer that each iteration increases, or decreases, by a constant with a loop
    invariant.
    """
    _, body = without_lets(body)
    if not isinstance(body, Tuple):
        return False
    return _Steps(index, states, body.fields[1 : 1 + len(states)]).terminates(body.fields[0])


class _Steps:
    """How integers of a loop change from one iteration to the next."""

    def __init__(self, index: Var, states: Sequence[Var], after: Sequence[Expr]) -> None:
        self.index = index
        self.after = dict(zip(states, after, strict=True))

    def terminates(self, condition: Expr) -> bool:
        """Whether ``condition``, a bool, must eventually be false."""
        match _strip(condition):
            case Call(op="logical_and", args=(a, b)):
                return self.terminates(a) or self.terminates(b)
            case Call(op="less" | "less_equal", args=(low, high)):
                return self._converge(low, high)
            case Call(op="greater" | "greater_equal", args=(high, low)):
                return self._converge(low, high)
        return False

    def _converge(self, low: Expr, high: Expr) -> bool:
        """Whether ``low`` and ``high`` approach each other, one of them being a loop invariant."""
        return (self._direction(low) > 0 and self._is_invariant(high)) or (
            self._direction(high) < 0 and self._is_invariant(low)
        )

    def _direction(self, value: Expr) -> int:
        """1 for an integer that grows by a constant each iteration, -1 for one that falls, else 0."""
        value = _strip(value)
        if value is self.index:
            return 1
        if isinstance(value, Var) and value in self.after:
            match _strip(self.after[value]):
                case Call(op="add", args=(a, b)):
                    step = _number(b) if _strip(a) is value else _number(a) if _strip(b) is value else 0
                    return (step > 0) - (step < 0)
                case Call(op="subtract", args=(a, b)) if _strip(a) is value:
                    return (_number(b) < 0) - (_number(b) > 0)
            return 0
        match value:
            case Call(op="add", args=(a, Constant())) | Call(op="subtract", args=(a, Constant())):
                return self._direction(a)
            case Call(op="add", args=(Constant(), b)):
                return self._direction(b)
        return 0

    def _is_invariant(self, value: Expr) -> bool:
        """Whether ``value`` is a loop invariant."""
        return not any(one is self.index or one in self.after for one in reachable(value))


def _strip(value: Expr) -> Expr:
    """``value`` without operators that keep its number."""
    while isinstance(value, Call) and value.op in _SCALAR_VIEWS:
        if value.op == "cast" and not (_is_int(value) and _is_int(value.args[0])):
            break
        value = value.args[0]
    return value


def _is_int(value: Expr) -> bool:
    made = type_of(value)
    return isinstance(made, TensorType) and dtypes.is_int(made.dtype)


def _number(value: Expr) -> int:
    """The value of an integer constant of one element; 0 for anything else."""
    value = _strip(value)
    if isinstance(value, Constant) and value.data.size == 1 and value.data.dtype.kind in "iu":
        return int(value.data.reshape(-1)[0])
    return 0
