"""Vectors in canonical form: ``Ramp`` where they are linear in the lane, ``Broadcast`` where constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.arith import polynomial as p
from tvmlite.te.loop import ir

if TYPE_CHECKING:
    from tvmlite.te.arith.simplify import Simplifier


class Lanes:
    """Rules of vector nodes; their scalars are simplified by ``scalars``."""

    def __init__(self, scalars: Simplifier) -> None:
        self.scalars = scalars

    def node(self, node: e.Expr) -> e.Expr:
        """A vector node whose children are simplified, in canonical form."""
        get = self.scalars.expr
        if isinstance(node, ir.Load) and node.predicate is None:  # most nodes are, or
            return node.map_children(get)
        if isinstance(node, e.Binary):
            return self._binary(node, get(node.a), get(node.b))
        match node:
            case e.Broadcast(value, lanes):
                return self._broadcast(node, get(value), lanes)
            case e.Ramp(base, stride, lanes):
                if e.is_const(step := get(stride), 0):
                    return self._broadcast(node, get(base), lanes)
                start = get(base)
                return node if start is base and step is stride else e.Ramp(start, step, lanes)
            case e.Cast(dtype, value):
                return self._cast(node, dtype, get(value))
            case e.Not(a):
                return self._not(node, get(a))
            case e.Select(condition, a, b):
                test = get(condition)
                if isinstance(test, e.Const):
                    return get(a if test.value else b)
            case e.Call("if_then_else", (condition, a, b)):
                test = get(condition)
                if isinstance(test, e.Const):
                    return get(a if test.value else b)
            case e.Call("likely", (a,)):
                return get(a)
            case ir.Load(buffer, indices, predicate) if predicate is not None:
                test = get(predicate)
                if isinstance(test, e.Const):
                    loaded = ir.Load(buffer, tuple(map(get, indices)))
                    return loaded if test.value else e.const(0, node.dtype, node.lanes)
        return node.map_children(get)

    def _broadcast(self, node: e.Expr, value: e.Expr, lanes: int) -> e.Expr:
        if isinstance(value, e.Const):
            return e.Const(value.value, value.dtype, lanes)
        return node if isinstance(node, e.Broadcast) and node.value is value else e.Broadcast(value, lanes)

    def linear(self, expr: e.Expr) -> tuple[e.Expr, e.Expr] | None:
        """``(base, stride)`` of a vector that is linear in the lane."""
        match expr:
            case e.Ramp(base, stride):
                return base, stride
            case e.Broadcast(value):
                return value, e.const(0, expr.dtype)
            case e.Const(value, dtype):
                return e.Const(value, dtype), e.const(0, dtype)
        return None

    def _make(self, base: e.Expr, stride: e.Expr, lanes: int) -> e.Expr:
        return e.broadcast(base, lanes) if e.is_const(stride, 0) else e.Ramp(base, stride, lanes)

    def scalar(self, make: type[e.Binary], a: e.Expr, b: e.Expr) -> e.Expr:
        """``make(a, b)`` of simplified scalars, simplified."""
        return self.scalars.simplify(e.fold(make, a, b))

    def _binary(self, node: e.Binary, a: e.Expr, b: e.Expr) -> e.Expr:
        x = self.linear(a)
        y = None if x is None else self.linear(b)
        if x is not None and y is not None:
            if e.is_const(x[1], 0) and e.is_const(y[1], 0):
                return self._broadcast(node, self.scalar(type(node), x[0], y[0]), node.lanes)
            if node.a.dtype in ("int32", "int64"):
                found = self._linear_binary(node, x, y)
                if found is not None:
                    return found
        if isinstance(node, (e.And, e.Or)):
            joined = self.scalars.junction(type(node), a, b)
            return (
                node if isinstance(joined, e.Binary) and joined.a is node.a and joined.b is node.b else joined
            )
        return node if a is node.a and b is node.b else type(node)(a, b)

    def _linear_binary(
        self, node: e.Binary, x: tuple[e.Expr, e.Expr], y: tuple[e.Expr, e.Expr]
    ) -> e.Expr | None:
        make, lanes = type(node), node.lanes
        if make in (e.Add, e.Sub):
            return self._make(self.scalar(make, x[0], y[0]), self.scalar(make, x[1], y[1]), lanes)
        if make is e.Mul:
            for (base, stride), (factor, step) in ((x, y), (y, x)):
                if e.is_const(step, 0):
                    product = self.scalar(e.Mul, base, factor)
                    return self._make(product, self.scalar(e.Mul, stride, factor), lanes)
        if make in (e.FloorDiv, e.FloorMod):
            return self._division(make, x, y, lanes)
        if make in (e.Less, e.LessEqual, e.Min, e.Max):
            return self._comparison(node, x, y)
        return None

    def _division(
        self, make: type[e.Binary], x: tuple[e.Expr, e.Expr], y: tuple[e.Expr, e.Expr], lanes: int
    ) -> e.Expr | None:
        """``ramp(b, s) // d`` and ``% d`` where ``d`` divides ``s``, or no multiple of it is crossed."""
        (base, stride), (divisor, step) = x, y
        if not e.is_const(step, 0) or not isinstance(stride, e.Const):
            return None
        zero = e.const(0, base.dtype)
        whole, rest = self.scalar(e.FloorDiv, base, divisor), self.scalar(e.FloorMod, base, divisor)
        s = int(stride.value)
        if isinstance(divisor, e.Const) and divisor.value and s % int(divisor.value) == 0:
            if make is e.FloorMod:
                return self._make(rest, zero, lanes)
            return self._make(whole, e.const(s // int(divisor.value), base.dtype), lanes)
        first = self.scalars.poly(rest)
        last = p.add(first, p.constant(s * (lanes - 1)))
        end, prove = self.scalars.poly(divisor), self.scalars.bounds.prove_within
        if prove(last, end) and prove(first, end):
            return self._make(whole, zero, lanes) if make is e.FloorDiv else self._make(rest, stride, lanes)
        return None

    def _comparison(
        self, node: e.Binary, x: tuple[e.Expr, e.Expr], y: tuple[e.Expr, e.Expr]
    ) -> e.Expr | None:
        """Decided where the first and the last lane agree."""
        gap = self.scalars.poly(self.scalar(e.Sub, y[0], x[0]))
        slope = self.scalars.poly(self.scalar(e.Sub, y[1], x[1]))
        ends = (gap, p.add(gap, slope, node.lanes - 1))
        prove = self.scalars.bounds.prove_nonnegative
        strict = p.constant(1 if isinstance(node, e.Less) else 0)
        if all(prove(p.add(end, strict, -1)) for end in ends):
            sure = True
        elif all(prove(p.add(p.add(strict, end, -1), p.constant(-1))) for end in ends):
            sure = False
        else:
            return None
        if isinstance(node, e.Compare):
            return e.const(sure, "bool", node.lanes)
        taken = x if sure == isinstance(node, e.Min) else y
        return self._make(*taken, node.lanes)

    def _cast(self, node: e.Expr, dtype: str, value: e.Expr) -> e.Expr:
        parts = self.linear(value)
        if parts is not None and e.is_const(parts[1], 0):
            return self._broadcast(node, self.scalars.simplify(e.cast(dtype, parts[0])), node.lanes)
        if parts is not None and value.dtype in ("int32", "int64") and dtype in ("int32", "int64"):
            base, stride = (self.scalars.simplify(e.cast(dtype, part)) for part in parts)
            return self._make(base, stride, node.lanes)
        assert isinstance(node, e.Cast)
        return node if value is node.value else e.Cast(dtype, value)

    def _not(self, node: e.Expr, a: e.Expr) -> e.Expr:
        match a:
            case e.Const() | e.Not():
                return self.scalars.negate(a)
            case e.Less(x, y) if dtypes.is_int(x.dtype):
                return e.LessEqual(y, x)
            case e.LessEqual(x, y) if dtypes.is_int(x.dtype):
                return e.Less(y, x)
        return node.map_children(self.scalars.expr)
