"""Which values a program of TVM's made: its variables and constants carry a mark, which nothing else reads.

What is written of marked values has TVM's text, dtypes and operators; expressions of ``tvmlite.te`` alone
keep their own, whether or not this package is imported.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, TypeVar

from tvmlite.core.node import Node, postorder
from tvmlite.te import expr as e

_MARK = "_tvm"
Value = TypeVar("Value")


class VectorDtype(str):
    """The dtype of a vector's elements, which equals the vector's own, ``int8x2``, as well."""

    lanes: int

    def __new__(cls, dtype: str, lanes: int) -> VectorDtype:
        """The dtype of ``lanes`` elements of ``dtype``."""
        made = super().__new__(cls, dtype)
        made.lanes = lanes
        return made

    @property
    def shown(self) -> str:
        """The vector's dtype as TVM writes it."""
        element = str.__str__(self)
        return f"{'uint1' if element == 'bool' else element}x{self.lanes}"

    def __repr__(self) -> str:
        return repr(self.shown)

    def __str__(self) -> str:
        """A program sees the vector's dtype, the compiler the elements'."""
        return str.__str__(self) if is_own(sys._getframe(1)) else self.shown

    def __eq__(self, other: object) -> bool:
        if isinstance(other, VectorDtype):
            return self.shown == other.shown
        return isinstance(other, str) and (str.__eq__(self, other) or self.shown == other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)


def mark(value: Value) -> Value:
    """``value``, a node, marked as one that a program of TVM's made; of a vector, with its dtype."""
    object.__setattr__(value, _MARK, True)
    return as_vector(value)


def as_vector(value: Value) -> Value:
    """``value``, whose dtype shows its lanes, if it is a vector."""
    lanes = getattr(value, "lanes", 1)
    if lanes > 1 and not isinstance(value.dtype, VectorDtype):  # type: ignore[attr-defined]
        object.__setattr__(value, "dtype", VectorDtype(value.dtype, lanes))  # type: ignore[attr-defined]
    return value


def with_marked_constants(value: Value) -> Value:
    """``value``, the constants in which are marked, if it is a node: comparing them with numbers gives a
    truth value then, as in TVM."""
    for node in postorder(value) if isinstance(value, Node) else ():
        if isinstance(node, e.Const):
            mark(node)
    return value


def is_marked(value: Any) -> bool:
    """Whether ``value`` has a marked variable in it, or has no variables and a marked constant."""
    if not isinstance(value, Node):
        return False
    leaves = [node for node in postorder(value) if isinstance(node, (e.Var, e.Const))]
    variables = [node for node in leaves if isinstance(node, e.Var)]
    return any(_MARK in node.__dict__ for node in variables or leaves)


def is_own(frame: FrameType) -> bool:
    """Whether ``frame`` runs code of tvmlite, which sees values as ``tvmlite.te`` has them."""
    return frame.f_globals.get("__name__", "").split(".")[0] == "tvmlite"


def is_marked_itself(value: Any) -> bool:
    """Whether ``value`` itself is marked: of a constant, whose operators then give constants."""
    return _MARK in getattr(value, "__dict__", ())
