"""Vectors in canonical form: ``Ramp`` where they are linear in the lane, ``Broadcast`` where constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlite.te import expr as e
from tvmlite.te.extensions import extension
from tvmlite.te.loop import ir

if TYPE_CHECKING:
    from tvmlite.te.arith.simplify import Simplifier


class Lanes:
    """Rules for vector nodes; ``scalars`` simplifies the scalars in them."""

    def __init__(self, scalars: Simplifier) -> None:
        self.scalars = scalars

    def node(self, node: e.Expr) -> e.Expr:
        """The canonical form of a vector node whose children are simplified."""
        get = self.scalars.expr
        if isinstance(node, ir.Load) and node.predicate is None:  # the most frequent case
            return node.map_children(get)
        if isinstance(node, e.Binary):
            return self._binary(node, get(node.a), get(node.b))
        match node:
            case e.Broadcast(value, lanes):
                return self.broadcast(node, get(value), lanes)
            case e.Ramp(base, stride, lanes):
                if e.is_const(step := get(stride), 0):
                    return self.broadcast(node, get(base), lanes)
                start = get(base)
                return node if start is base and step is stride else e.Ramp(start, step, lanes)
            case e.Cast() | e.Not() | e.Select() | e.Call() | ir.Load():
                return extension("vector_rules").node(self, node)
        return node.map_children(get)

    def broadcast(self, node: e.Expr, value: e.Expr, lanes: int) -> e.Expr:
        """``value`` in all ``lanes``; ``node`` itself if it is that already."""
        if isinstance(value, e.Const):
            return e.Const(value.value, value.dtype, lanes)
        return node if isinstance(node, e.Broadcast) and node.value is value else e.Broadcast(value, lanes)

    def linear(self, expr: e.Expr) -> tuple[e.Expr, e.Expr] | None:
        """``(base, stride)`` of a vector that is linear in the lane, else None."""
        match expr:
            case e.Ramp(base, stride):
                return base, stride
            case e.Broadcast(value):
                return value, e.const(0, expr.dtype)
            case e.Const(value, dtype):
                return e.Const(value, dtype), e.const(0, dtype)
        return None

    def make(self, base: e.Expr, stride: e.Expr, lanes: int) -> e.Expr:
        """The vector ``base + stride * lane``."""
        return e.broadcast(base, lanes) if e.is_const(stride, 0) else e.Ramp(base, stride, lanes)

    def scalar(self, make: type[e.Binary], a: e.Expr, b: e.Expr) -> e.Expr:
        """``make(a, b)`` of simplified scalars, simplified."""
        return self.scalars.simplify(e.fold(make, a, b))

    def _binary(self, node: e.Binary, a: e.Expr, b: e.Expr) -> e.Expr:
        x = self.linear(a)
        y = None if x is None else self.linear(b)
        if x is not None and y is not None:
            if e.is_const(x[1], 0) and e.is_const(y[1], 0):
                return self.broadcast(node, self.scalar(type(node), x[0], y[0]), node.lanes)
            if node.a.dtype in ("int32", "int64"):
                found = self._linear_binary(node, x, y)
                if found is not None:
                    return found
        if isinstance(node, (e.And, e.Or)):
            joined = extension("conditions").junction(self.scalars, type(node), a, b)
            return (
                node if isinstance(joined, e.Binary) and joined.a is node.a and joined.b is node.b else joined
            )
        return node if a is node.a and b is node.b else type(node)(a, b)

    def _linear_binary(
        self, node: e.Binary, x: tuple[e.Expr, e.Expr], y: tuple[e.Expr, e.Expr]
    ) -> e.Expr | None:
        make, lanes = type(node), node.lanes
        if make in (e.Add, e.Sub):
            return self.make(self.scalar(make, x[0], y[0]), self.scalar(make, x[1], y[1]), lanes)
        if make is e.Mul:
            for (base, stride), (factor, step) in ((x, y), (y, x)):
                if e.is_const(step, 0):
                    product = self.scalar(e.Mul, base, factor)
                    return self.make(product, self.scalar(e.Mul, stride, factor), lanes)
        return extension("vector_rules").linear_binary(self, node, x, y)
