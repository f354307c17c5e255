"""Python's operators, of all that stands for a value: expressions, axes, tensors with some of their indices.

What an operator makes is a node, and nodes have operators: so these only look up, by their symbol, what makes
it. ``te.expr.constructors``, which knows the nodes, enters itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvmlite.te.expr.nodes import Expr, Value

CONSTRUCTORS: dict[str, Callable[..., Expr]] = {}
"""What makes the expression of an operator, by its symbol; ``"negative"``, ``"not"`` and ``"cast"`` take one
value."""


class Operators:
    """A value: operators build new expressions of it.

    ``==`` builds an ``Equal``; its truth value is object identity, so that what has operators still works
    as keys and in ``in`` tests. ``<`` and similar build comparisons that have no truth value.
    """

    __slots__ = ()

    def astype(self, dtype: str) -> Expr:
        """This value converted to ``dtype``; see ``cast``."""
        return CONSTRUCTORS["cast"](dtype, self)

    def __add__(self, other: Value) -> Expr:
        return CONSTRUCTORS["+"](self, other)

    def __radd__(self, other: Value) -> Expr:
        return CONSTRUCTORS["+"](other, self)

    def __sub__(self, other: Value) -> Expr:
        return CONSTRUCTORS["-"](self, other)

    def __rsub__(self, other: Value) -> Expr:
        return CONSTRUCTORS["-"](other, self)

    def __mul__(self, other: Value) -> Expr:
        return CONSTRUCTORS["*"](self, other)

    def __rmul__(self, other: Value) -> Expr:
        return CONSTRUCTORS["*"](other, self)

    def __truediv__(self, other: Value) -> Expr:
        return CONSTRUCTORS["/"](self, other)

    def __rtruediv__(self, other: Value) -> Expr:
        return CONSTRUCTORS["/"](other, self)

    def __floordiv__(self, other: Value) -> Expr:
        return CONSTRUCTORS["//"](self, other)

    def __rfloordiv__(self, other: Value) -> Expr:
        return CONSTRUCTORS["//"](other, self)

    def __mod__(self, other: Value) -> Expr:
        return CONSTRUCTORS["%"](self, other)

    def __rmod__(self, other: Value) -> Expr:
        return CONSTRUCTORS["%"](other, self)

    def __neg__(self) -> Expr:
        return CONSTRUCTORS["negative"](self)

    def __lt__(self, other: Value) -> Expr:
        return CONSTRUCTORS["<"](self, other)

    def __le__(self, other: Value) -> Expr:
        return CONSTRUCTORS["<="](self, other)

    def __gt__(self, other: Value) -> Expr:
        return CONSTRUCTORS["<"](other, self)

    def __ge__(self, other: Value) -> Expr:
        return CONSTRUCTORS["<="](other, self)

    def __eq__(self, other: Any) -> Any:
        return (
            CONSTRUCTORS["=="](self, other) if isinstance(other, (Operators, int, float)) else NotImplemented
        )

    def __ne__(self, other: Any) -> Any:
        return (
            CONSTRUCTORS["!="](self, other) if isinstance(other, (Operators, int, float)) else NotImplemented
        )

    def equal(self, other: Value) -> Expr:
        """``==`` by TVM's name."""
        return CONSTRUCTORS["=="](self, other)

    __hash__ = object.__hash__

    def __and__(self, other: Value) -> Expr:
        return CONSTRUCTORS["&"](self, other)

    def __or__(self, other: Value) -> Expr:
        return CONSTRUCTORS["|"](self, other)

    def __xor__(self, other: Value) -> Expr:
        return CONSTRUCTORS["^"](self, other)

    def __lshift__(self, other: Value) -> Expr:
        return CONSTRUCTORS["<<"](self, other)

    def __rshift__(self, other: Value) -> Expr:
        return CONSTRUCTORS[">>"](self, other)

    def __invert__(self) -> Expr:
        return CONSTRUCTORS["not"](self)
