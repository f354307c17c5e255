"""Marks on the variables and constants that a TVM program creates; only ``tvmlite.tvm`` reads them.

Expressions of marked values have TVM's text, dtypes and operators. Expressions made with ``tvmlite.te`` alone
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
    """The dtype of a vector's elements, which also equals the dtype of the vector (``int8x2``)."""

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
        """The vector's dtype if a user's program asks, the elements' dtype if tvmlite does."""
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
    """Mark the node ``value``, in place, as created by a TVM program; a vector also gets its VectorDtype."""
    object.__setattr__(value, _MARK, True)
    return as_vector(value)


def as_vector(value: Value) -> Value:
    """Make the dtype of ``value`` a VectorDtype, in place, if ``value`` is a vector."""
    lanes = getattr(value, "lanes", 1)
    if lanes > 1 and not isinstance(value.dtype, VectorDtype):  # type: ignore[attr-defined]
        object.__setattr__(value, "dtype", VectorDtype(value.dtype, lanes))  # type: ignore[attr-defined]
    return value


def with_marked_constants(value: Value) -> Value:
    """Mark the constants in ``value``, if it is a node: comparing them with numbers then gives a truth value,
    as in TVM."""
    for node in postorder(value) if isinstance(value, Node) else ():
        if isinstance(node, e.Const):
            mark(node)
    return value


def is_marked(value: Any) -> bool:
    """Whether ``value`` contains a marked variable or, if it has no variables, a marked constant."""
    if not isinstance(value, Node):
        return False
    leaves = [node for node in postorder(value) if isinstance(node, (e.Var, e.Const))]
    variables = [node for node in leaves if isinstance(node, e.Var)]
    return any(_MARK in node.__dict__ for node in variables or leaves)


def is_own(frame: FrameType) -> bool:
    """Whether ``frame`` executes code of tvmlite, which sees values as ``tvmlite.te`` defines them."""
    return frame.f_globals.get("__name__", "").split(".")[0] == "tvmlite"


def is_marked_itself(value: Any) -> bool:
    """Whether ``value`` itself carries the mark. The operators of a marked constant give constants."""
    return _MARK in getattr(value, "__dict__", ())
