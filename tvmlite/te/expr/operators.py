"""Python's operators, for everything that represents a value: expressions, axes, partly indexed tensors.

An operator creates a node, and nodes have operators; to avoid the cycle, operators look up their constructor
by its symbol. ``te.expr.constructors``, which imports the nodes, registers the constructors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvmlite.te.expr.nodes import Expr, Value

CONSTRUCTORS: dict[str, Callable[..., Expr]] = {}
"""The constructor for each operator, by its symbol; ``"negative"``, ``"not"`` and ``"cast"`` are unary."""


def _left(symbol: str) -> Callable[[Any, Value], Expr]:
    """The operator ``symbol`` with the value as its left operand."""

    def apply(value: Any, other: Value) -> Expr:
        return CONSTRUCTORS[symbol](value, other)

    return apply


def _right(symbol: str) -> Callable[[Any, Value], Expr]:
    """The operator ``symbol`` with the value as its right operand."""

    def apply(value: Any, other: Value) -> Expr:
        return CONSTRUCTORS[symbol](other, value)

    return apply


class Operators:
    """A value whose operators build new expressions.

    ``==`` builds an ``Equal``, whose truth value is object identity, so that these objects still work as
    dictionary keys and in ``in`` tests. ``<`` and similar build comparisons without a truth value.
    """

    __slots__ = ()

    __add__, __radd__ = _left("+"), _right("+")
    __sub__, __rsub__ = _left("-"), _right("-")
    __mul__, __rmul__ = _left("*"), _right("*")
    __truediv__, __rtruediv__ = _left("/"), _right("/")
    __floordiv__, __rfloordiv__ = _left("//"), _right("//")
    __mod__, __rmod__ = _left("%"), _right("%")
    __and__, __or__, __xor__ = _left("&"), _left("|"), _left("^")
    __lshift__, __rshift__ = _left("<<"), _left(">>")
    __lt__, __le__ = _left("<"), _left("<=")
    __gt__, __ge__ = _right("<"), _right("<=")
    __hash__ = object.__hash__

    def __neg__(self) -> Expr:
        return CONSTRUCTORS["negative"](self)

    def __invert__(self) -> Expr:
        return CONSTRUCTORS["not"](self)

    def __eq__(self, other: Any) -> Any:
        is_value = isinstance(other, (Operators, int, float))
        return CONSTRUCTORS["=="](self, other) if is_value else NotImplemented

    def __ne__(self, other: Any) -> Any:
        is_value = isinstance(other, (Operators, int, float))
        return CONSTRUCTORS["!="](self, other) if is_value else NotImplemented

    def equal(self, other: Value) -> Expr:
        """``==``, under TVM's name."""
        return CONSTRUCTORS["=="](self, other)

    def astype(self, dtype: str) -> Expr:
        """The value converted to ``dtype``; see ``cast``."""
        return CONSTRUCTORS["cast"](dtype, self)
