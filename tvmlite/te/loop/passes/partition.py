"""Remove guards from loops: hoist them, turn them into bounds, or split off the iterations that need them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tvmlite.core.node import reachable, substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer, mentions
from tvmlite.te.loop import ir
from tvmlite.te.loop.ir import PREFETCHES
from tvmlite.te.loop.passes.simplify import analyzer_of_function
from tvmlite.te.loop.walk import NOTHING, AnalyzingWalker, is_nothing, loads, with_body

MOST_ADDED = 2000
"""The most stores that splitting may add in one function, those in unrolled loops counted per iteration."""


WHOLE_LANES = 8
"""Vectors of a multiple of this many lanes are split into a few vectors without masks."""


def partition(function: ir.Function, whole_lanes: int = WHOLE_LANES) -> ir.Function:
    """Apply three rewrites to conditions of the form ``a < b`` that are linear in a loop's variable::

        for i in range(0, n):              if p < m:
            if p < m: f(i)         ->          for i in range(0, n): f(i)

        for i in range(0, 16):             for i in range(0, min(m - p, 16)):
            if p + i < m: f(i)     ->          f(i)

        for i in range(0, (n + 15) // 16): for i in range(0, n // 16):
            for j in range(0, 16):             for j in range(0, 16): f(i * 16 + j)
                if i * 16 + j < n: ->      for i in range(n // 16, (n + 15) // 16):
                    f(i * 16 + j)              for j in range(0, n - i * 16): f(i * 16 + j)

    No loop is split for a guard on prefetches (``only_prefetches``).
    A parallel loop is not split: a condition inside it selects a body without guards for full iterations.
    The same is done in any loop for a guard that is not linear in the variable, such as one on ``i % m`` in
    a fused loop. Vectorised and unrolled loops get new bounds only if their extent stays constant; vectors
    keep their masks unless their lanes are a power of two or a multiple of ``whole_lanes``.
    """
    return with_body(function, _Partition(analyzer_of_function(), whole_lanes).stmt(function.body))


@dataclass(frozen=True)
class _Term:
    """A condition ``factor * var + rest > 0`` on a loop's variable. If ``factor`` is 0, it is not linear, and
    ``rest`` mentions the variable."""

    factor: int
    rest: e.Expr

    def begin(self) -> e.Expr:
        """The first iteration for which it holds, as it does for all later ones (``factor`` > 0)."""
        return (0 - self.rest) // self.factor + 1

    def end(self) -> e.Expr:
        """The first iteration for which it fails, as it does for all later ones (``factor`` < 0)."""
        return (self.rest + (-self.factor - 1)) // -self.factor


class _Partition(AnalyzingWalker):
    def __init__(self, analyzer: Analyzer, whole_lanes: int) -> None:
        super().__init__(analyzer)
        self.whole_lanes = whole_lanes
        self.added = 0
        self._guard_operands: dict[ir.Stmt, frozenset[e.Expr]] = {}

    def loop(self, loop: ir.For) -> ir.Stmt:
        if loop.kind not in (ir.SERIAL, ir.PARALLEL):
            return self.whole(loop, [])
        terms = self.terms_of(loop)
        pieces = self.split(loop, terms)
        return self.whole(loop, terms) if pieces is None else pieces

    def whole(self, loop: ir.For, terms: list[_Term]) -> ir.Stmt:
        """``loop`` unsplit; a guard around its whole body is hoisted or made a bound."""
        with self.analyzer.scope():
            self.analyzer.bind(loop.var, loop.min, loop.extent)
            body = self.stmt(self.specialized(loop, terms))
        if is_nothing(body):
            return NOTHING
        if not isinstance(body, ir.If) or body.otherwise is not None:
            return loop if body is loop.body else replace(loop, body=body)
        outside: list[e.Expr] = []
        inside: list[e.Expr] = []
        parts = conjunction(body.condition)
        for part in parts:
            if not loads(part) and not mentions(part, (loop.var,)):
                outside.append(part)
            elif (shorter := self.shortened(loop, part)) is not None:
                loop = shorter
            else:
                inside.append(part)
        if len(inside) == len(parts):
            return loop if body is loop.body else replace(loop, body=body)
        result = replace(loop, body=ir.If(e.all_of(inside), body.then) if inside else body.then)
        return ir.If(e.all_of(outside), result) if outside else result

    def shortened(self, loop: ir.For, condition: e.Expr) -> ir.For | None:
        """``loop`` restricted to the iterations for which ``condition`` holds; None if that is no range."""
        if loads(condition) or not isinstance(condition, e.Less) or not self.analyzer.is_index(condition.a):
            return None
        found = self.analyzer.linear(condition.b - condition.a, loop.var)
        if found is None or found[0] == 0:
            return None
        term = _Term(*found)
        simplify = self.analyzer.simplify
        begin, end = loop.min, simplify(loop.min + loop.extent)
        if term.factor > 0:
            begin = simplify(e.Max(begin, term.begin()))
        else:
            end = simplify(e.Min(end, term.end()))
        extent = simplify(end - begin)
        if loop.kind in (ir.VECTORIZE, ir.UNROLL):
            if not isinstance(extent, e.Const):
                return None
            lanes = int(extent.value)
            if loop.kind == ir.VECTORIZE and lanes.bit_count() > 1 and lanes % self.whole_lanes:
                return None  # a masked vector is faster than an odd number of lanes
        return replace(loop, min=begin, extent=extent)

    def branch(self, branch: ir.If) -> ir.Stmt:
        condition = self.analyzer.simplify(branch.condition)
        if isinstance(condition, e.Const):
            taken = branch.then if condition.value else branch.otherwise
            return NOTHING if taken is None else self.stmt(taken)
        then, otherwise = self.sides(branch, condition)
        if otherwise is None and isinstance(then, ir.If) and then.otherwise is None:
            if not loads(then.condition):
                condition, then = self.analyzer.simplify(e.And(condition, then.condition)), then.then
        if condition is branch.condition and then is branch.then and otherwise is branch.otherwise:
            return branch
        return ir.If(condition, then, otherwise)

    # -- splitting

    def split(self, loop: ir.For, terms: list[_Term]) -> ir.Stmt | None:
        """``loop`` split into iterations with and without the guards of ``terms``; None if that gains nothing
        or adds too much code."""
        if not terms:
            return None
        simplify, prove = self.analyzer.simplify, self.analyzer.prove
        begin, end = simplify(loop.min), simplify(loop.min + loop.extent)
        first: e.Expr = begin
        last: e.Expr = end
        for term in terms:
            if term.factor > 0 and not prove(e.LessEqual(limit := simplify(term.begin()), begin)):
                first = simplify(e.Max(first, limit)) if not prove(e.LessEqual(end, limit)) else first
            elif term.factor < 0 and not prove(e.LessEqual(end, limit := simplify(term.end()))):
                last = simplify(e.Min(last, limit)) if not prove(e.LessEqual(limit, begin)) else last
        if first is begin and last is end:
            return None
        if first is not begin and not prove(e.LessEqual(first, end)):
            first = simplify(e.Min(first, end))  # the loop may end before the first full iteration
        last = simplify(e.Max(first, last))
        parts = (first is not begin) + (last is not end)
        cost = parts * weight(loop.body)
        if prove(e.LessEqual(last, first)) or self.added + cost > MOST_ADDED:
            return None
        self.added += cost
        if loop.kind == ir.PARALLEL:
            return self.parallel(loop, begin, first, last, end)
        return ir.sequence(
            self.piece(loop, begin, first), self.piece(loop, first, last), self.piece(loop, last, end)
        )

    def specialized(self, loop: ir.For, terms: list[_Term]) -> ir.Stmt:
        """The body of ``loop``, duplicated under an If where a condition that is not linear in its variable,
        such as one on ``i % m`` of a fused loop, selects iterations that need no guards."""
        wanted: dict[str, e.Expr] = {}
        for term in terms:
            if term.factor == 0:
                condition = self.analyzer.simplify(term.rest > 0)
                wanted[str(condition)] = condition
        if not wanted or self.added + (cost := weight(loop.body)) > MOST_ADDED:
            return loop.body
        full = self.analyzer.simplify(e.all_of(list(wanted.values())))
        if isinstance(full, e.Const):
            return loop.body
        self.added += cost
        return ir.If(full, loop.body, loop.body)

    def piece(self, loop: ir.For, begin: e.Expr, end: e.Expr) -> ir.Stmt:
        extent = self.analyzer.simplify(end - begin)
        if self.analyzer.prove(e.LessEqual(extent, e.const(0, e.INDEX))):
            return NOTHING
        var = e.Var(loop.var.name, loop.var.dtype)
        body = substitute(loop.body, {loop.var: var})
        piece = replace(loop, var=var, min=begin, extent=extent, body=body)
        # with several guards, one may hold for more iterations than the others: the piece after the full
        # iterations can then be split again
        known = isinstance(begin, e.Const) and isinstance(extent, e.Const)
        terms = self.terms_of(piece)
        return (self.split(piece, terms) if known else None) or self.whole(piece, terms)

    def parallel(self, loop: ir.For, begin: e.Expr, first: e.Expr, last: e.Expr, end: e.Expr) -> ir.Stmt:
        conditions = []
        if first is not begin:
            conditions.append(e.LessEqual(first, loop.var))
        if last is not end:
            conditions.append(e.Less(loop.var, last))
        with self.analyzer.scope():
            self.analyzer.bind(loop.var, loop.min, loop.extent)
            full = self.analyzer.simplify(e.all_of(conditions))
            with self.analyzer.constraint(full):
                then = self.stmt(loop.body)
            with self.analyzer.constraint(e.Not(full)):
                otherwise = self.stmt(loop.body)
        return replace(loop, body=ir.If(full, then, None if is_nothing(otherwise) else otherwise))

    def terms_of(self, loop: ir.For) -> list[_Term]:
        """The conditions on the variable of ``loop`` in its guards."""
        if loop.var not in self.guard_operands(loop.body):
            return []
        with self.analyzer.scope():
            self.analyzer.bind(loop.var, loop.min, loop.extent)
            return self.terms(loop.body, loop, [])

    def terms(
        self, stmt: ir.Stmt, loop: ir.For, inner: list[e.Var], is_whole_body: bool = True
    ) -> list[_Term]:
        """The conditions on the variable of ``loop`` under which the guards in ``stmt`` hold in all
        iterations of the ``inner`` loops.

        If ``stmt`` ``is_whole_body``, a guard that mentions no inner loop is left out: it will become a
        bound.
        """
        if not self.guard_operands(stmt):
            return []
        match stmt:
            case ir.If(condition, then, otherwise):
                is_whole_body = is_whole_body and otherwise is None
                found = self.guard_terms(condition, loop.var, inner, is_whole_body)
                found += self.terms(then, loop, inner, is_whole_body)
                return found if otherwise is None else found + self.terms(otherwise, loop, inner, False)
            case ir.Seq(body):
                return [term for one in body for term in self.terms(one, loop, inner, False)]
            case ir.For():
                with self.analyzer.scope():
                    self.analyzer.bind(stmt.var, stmt.min, stmt.extent)
                    return self.terms(stmt.body, loop, [*inner, stmt.var], is_whole_body)
            case ir.Let():
                return self.terms(stmt.body, loop, [*inner, stmt.var], False)
            case ir.Allocate() | ir.View() | ir.While():
                return self.terms(stmt.body, loop, inner, False)
        return []

    def guard_operands(self, stmt: ir.Stmt) -> frozenset[e.Expr]:
        """The subexpressions of guards in ``stmt`` that justify splitting, and of the minima of loops around
        them, to which variables of loops of one iteration are equal. Other variables have no conditions."""
        known = self._guard_operands.get(stmt)
        if known is None:
            parts = [self.guard_operands(one) for one in stmt.children() if isinstance(one, ir.Stmt)]
            if isinstance(stmt, ir.If) and not only_prefetches(stmt):
                parts.append(frozenset(reachable(stmt.condition)))  # type: ignore[arg-type]
            elif isinstance(stmt, ir.For) and any(parts) and not isinstance(stmt.min, e.Const):
                parts.append(frozenset(reachable(stmt.min)))  # type: ignore[arg-type]
            known = self._guard_operands[stmt] = frozenset[e.Expr]().union(*parts)
        return known

    def guard_terms(
        self, condition: e.Expr, var: e.Var, inner: list[e.Var], is_whole_body: bool
    ) -> list[_Term]:
        found = []
        for part in conjunction(self.analyzer.simplify(condition)):
            if not isinstance(part, e.Less) or loads(part) or not mentions(part, (var,)):
                continue
            if (is_whole_body and not mentions(part, inner)) or not self.analyzer.is_index(part.a):
                continue
            least = self.analyzer.lower_bound(part.b - part.a, inner)
            if least is None or self.analyzer.prove(least > 0):
                continue
            parts = self.analyzer.linear(least, var)
            if parts is None:
                found.append(_Term(0, least))
            elif parts[0] != 0:
                found.append(_Term(*parts))
        return found


def only_prefetches(stmt: ir.Stmt) -> bool:
    """Whether ``stmt`` consists of prefetches only.

    Their guard costs one comparison. Splitting a loop nest for it doubles the code, and in the copy without
    the guard LLVM computed a separate address for each scalar of a tile, more than there are registers:
    a 3x3 convolution of 56x56 pixels and 256 channels took a third longer.
    """
    if isinstance(stmt, ir.Evaluate):
        return isinstance(stmt.value, e.Call) and stmt.value.name in PREFETCHES
    inside = [one for one in stmt.children() if isinstance(one, ir.Stmt)]
    return bool(inside) and all(map(only_prefetches, inside))


def conjunction(condition: e.Expr) -> list[e.Expr]:
    """The operands of the conjunction ``condition``."""
    if isinstance(condition, e.And):
        return [*conjunction(condition.a), *conjunction(condition.b)]
    return [condition]


def weight(stmt: ir.Stmt) -> int:
    """The number of innermost statements in ``stmt``, those in unrolled loops counted per iteration."""
    if isinstance(stmt, ir.For):
        iterations = (
            int(stmt.extent.value) if isinstance(stmt.extent, e.Const) and stmt.kind == ir.UNROLL else 1
        )
        return iterations * weight(stmt.body)
    inside = [weight(c) for c in stmt.children() if isinstance(c, ir.Stmt)]
    return sum(inside) if inside else 1
