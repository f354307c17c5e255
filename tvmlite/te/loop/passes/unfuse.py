"""Split a fused loop into the loops it was fused from, so that its body has no divisions."""

from __future__ import annotations

from dataclasses import replace

from tvmlite.core.node import postorder, reachable, substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import mentions
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.simplify import analyzer_of_function
from tvmlite.te.loop.walk import AnalyzingWalker, with_body

_DIVISIONS = (e.FloorDiv, e.FloorMod)


def unfuse(function: ir.Function) -> ir.Function:
    """Split a serial loop in two, in the same order, if its variable is divided by a divisor of its extent::

        for f in range(0, 24):                     for f in range(0, 6):
            B[f // 4] += A[f] * W[f % 4]   -->         for f.inner in range(0, 4):
                                                           B[f] += A[f * 4 + f.inner] * W[f.inner]

    and repeatedly, if it is divided by several numbers. A parallel loop is left alone: threads may divide it
    anywhere, and it divides only once per iteration, which contains the rest of the nest.
    """
    if not any(isinstance(node, _DIVISIONS) for node in reachable(function.body)):
        return function
    return with_body(function, _Unfuse(analyzer_of_function()).stmt(function.body))


class _Unfuse(AnalyzingWalker):
    def loop(self, loop: ir.For) -> ir.Stmt:
        if loop.kind == ir.SERIAL and e.is_const(loop.min, 0):
            parts = self.parts(loop)
            if parts is not None:
                return self.loop(self.nest(loop, *parts))
        return super().loop(loop)

    def parts(self, loop: ir.For) -> tuple[e.Expr, e.Expr] | None:
        """The extents of the outer and the inner loop that ``loop`` is split into, or None."""
        simplify, iterations = self.analyzer.simplify, loop.extent
        for inner in _divisors(loop):
            outer = simplify(e.FloorDiv(iterations, inner))
            if e.is_const(inner, 1) or e.is_const(outer, 1) or not self.analyzer.prove(inner >= 1):
                continue
            if self.analyzer.equal(outer * inner, iterations):
                return outer, inner
        return None

    def nest(self, loop: ir.For, outer: e.Expr, inner: e.Expr) -> ir.For:
        """``loop`` as a loop of extent ``outer`` around one of extent ``inner``."""
        slow = e.Var(loop.var.name, loop.var.dtype)
        fast = e.Var(f"{loop.var.name}.inner", loop.var.dtype)
        zero = e.const(0, loop.var.dtype)
        with self.analyzer.scope():
            self.analyzer.bind(slow, 0, outer)
            self.analyzer.bind(fast, 0, inner)
            body = _Simpler(self.analyzer).stmt(substitute(loop.body, {loop.var: slow * inner + fast}))
        return ir.For(slow, zero, outer, replace(loop, var=fast, extent=inner, body=body))


class _Simpler(AnalyzingWalker):
    """Simplifies expressions after the substitution of a variable."""

    def expr(self, expr: e.Expr) -> e.Expr:
        return self.analyzer.simplify(expr)


def _divisors(loop: ir.For) -> list[e.Expr]:
    """The divisors of the variable of ``loop`` in its body, the largest constants first."""
    found: dict[str, e.Expr] = {}
    inside = [node.var for node in postorder(loop.body) if isinstance(node, (ir.For, ir.Let))]
    for node in postorder(loop.body):
        if isinstance(node, _DIVISIONS) and node.a is loop.var and not mentions(node.b, [loop.var, *inside]):
            found[str(node.b)] = node.b
    return sorted(found.values(), key=lambda b: -int(b.value) if isinstance(b, e.Const) else 0)
