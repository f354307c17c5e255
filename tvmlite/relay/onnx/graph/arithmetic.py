"""Arithmetic for converters: calls with the span of the node being converted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvmlite.relay.ir.nodes import Expr


class Arithmetic:
    """Element-wise arithmetic of tensors and numbers, at least one a tensor; a number takes its dtype.

    Python's own operators on expressions do not know the node: errors in their calls would have no location
    in the model, and open extents would not be checked at run time (``with_equal_extents``).
    """

    def make(self, name: str, *args: Any, **attrs: Any) -> Expr:
        """Call a Relay operator."""
        raise NotImplementedError

    def add(self, a: Any, b: Any) -> Expr:
        """``a + b``."""
        return self.make("add", a, b)

    def subtract(self, a: Any, b: Any) -> Expr:
        """``a - b``."""
        return self.make("subtract", a, b)

    def multiply(self, a: Any, b: Any) -> Expr:
        """``a * b``."""
        return self.make("multiply", a, b)

    def divide(self, a: Any, b: Any) -> Expr:
        """``a / b``."""
        return self.make("divide", a, b)

    def negative(self, a: Expr) -> Expr:
        """``-a``."""
        return self.make("negative", a)

    def less(self, a: Any, b: Any) -> Expr:
        """``a < b``."""
        return self.make("less", a, b)

    def less_equal(self, a: Any, b: Any) -> Expr:
        """``a <= b``."""
        return self.make("less_equal", a, b)

    def greater(self, a: Any, b: Any) -> Expr:
        """``a > b``."""
        return self.make("greater", a, b)

    def greater_equal(self, a: Any, b: Any) -> Expr:
        """``a >= b``."""
        return self.make("greater_equal", a, b)


@dataclass(frozen=True, eq=False)
class Operand:
    """A tensor of ``node`` in a formula that is shared by several kinds of arithmetic: ``x + y`` is
    ``node.add(x, y)``, where ``y`` may be a number or a tensor."""

    node: Arithmetic
    tensor: Expr

    def _made(self, name: str, other: Any) -> Operand:
        other = other.tensor if isinstance(other, Operand) else other
        return Operand(self.node, self.node.make(name, self.tensor, other))

    def __add__(self, other: Any) -> Operand:
        return self._made("add", other)

    def __sub__(self, other: Any) -> Operand:
        return self._made("subtract", other)

    def __mul__(self, other: Any) -> Operand:
        return self._made("multiply", other)

    def __truediv__(self, other: Any) -> Operand:
        return self._made("divide", other)

    def __lt__(self, other: Any) -> Operand:
        return self._made("less", other)

    def __gt__(self, other: Any) -> Operand:
        return self._made("greater", other)
