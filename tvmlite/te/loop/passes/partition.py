"""Take guards out of loops: hoisted, made loop bounds, or confined to a loop's first or last iterations."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tvmlite.core.node import reachable, substitute
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer, mentions
from tvmlite.te.loop import ir
from tvmlite.te.loop.ir import PREFETCHES
from tvmlite.te.loop.passes.simplify import analyzer_of_function
from tvmlite.te.loop.walk import NOTHING, Informed, is_nothing, loads, with_body

MOST_ADDED = 2000
"""Stores (those of unrolled loops counted as often as they are written out) that splitting may add."""


WHOLE_LANES = 8
"""Multiples of so many lanes are a few vectors, none of which needs a mask."""


def partition(function: ir.Function, whole_lanes: int = WHOLE_LANES) -> ir.Function:
    """Three rewrites of conditions of the form ``a < b`` that are linear in a loop's variable::

        for i in range(0, n):              if p < m:
            if p < m: f(i)         ->          for i in range(0, n): f(i)

        for i in range(0, 16):             for i in range(0, min(m - p, 16)):
            if p + i < m: f(i)     ->          f(i)

        for i in range(0, (n + 15) // 16): for i in range(0, n // 16):
            for j in range(0, 16):             for j in range(0, 16): f(i * 16 + j)
                if i * 16 + j < n: ->      for i in range(n // 16, (n + 15) // 16):
                    f(i * 16 + j)              for j in range(0, n - i * 16): f(i * 16 + j)

    No loop is split for a guard on data that is asked for ahead (``only_prefetches``).
    A parallel loop is not split: a condition inside distinguishes its full iterations. So it is in any
    loop for a guard that is not linear in the variable, but in ``i % m``, say, of a fused loop. Vectorised
    and unrolled loops get new bounds only if they stay of constant extent; vectors that are neither of a
    power of two nor of a multiple of ``whole_lanes`` keep their masks.
    """
    return with_body(function, _Partition(analyzer_of_function(), whole_lanes).stmt(function.body))


@dataclass(frozen=True)
class _Term:
    """``factor * var + rest > 0`` is what a condition asks of a loop's variable; with ``factor`` 0, it is not
    linear, and ``rest`` mentions the variable."""

    factor: int
    rest: e.Expr

    def begin(self) -> e.Expr:
        """The first iteration it holds for, all later ones included (``factor`` > 0)."""
        return (0 - self.rest) // self.factor + 1

    def end(self) -> e.Expr:
        """The first iteration it fails for, all later ones included (``factor`` < 0)."""
        return (self.rest + (-self.factor - 1)) // -self.factor


class _Partition(Informed):
    def __init__(self, analyzer: Analyzer, whole_lanes: int) -> None:
        super().__init__(analyzer)
        self.whole_lanes = whole_lanes
        self.added = 0
        self._asked_of: dict[ir.Stmt, frozenset[e.Expr]] = {}

    def loop(self, loop: ir.For) -> ir.Stmt:
        if loop.kind not in (ir.SERIAL, ir.PARALLEL):
            return self.whole(loop, [])
        terms = self.terms_of(loop)
        pieces = self.split(loop, terms)
        return self.whole(loop, terms) if pieces is None else pieces

    def whole(self, loop: ir.For, terms: list[_Term]) -> ir.Stmt:
        """``loop`` unsplit, conditions that fill its body taken out; ``terms`` are of its guards."""
        with self.analyzer.scope():
            self.analyzer.bind(loop.var, loop.min, loop.extent)
            body = self.stmt(self.distinguished(loop, terms))
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
        """``loop`` over just those iterations that ``condition`` holds for, if it can be said so."""
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
                return None  # a masked vector does better than odd lanes
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
        """``loop`` as iterations that need no guard and iterations that do, or None if there is nothing to
        gain."""
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

    def distinguished(self, loop: ir.For, terms: list[_Term]) -> ir.Stmt:
        """The body of ``loop``, twice if a condition on its variable that is not linear in it, such as one
        on a part of a fused loop's variable, distinguishes iterations that need no guards."""
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
        # of several guards one may hold further than the others: the piece behind those has iterations
        # without it
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
        """What the guards in ``loop`` ask of its variable."""
        if loop.var not in self.asked_of(loop.body):
            return []
        with self.analyzer.scope():
            self.analyzer.bind(loop.var, loop.min, loop.extent)
            return self.terms(loop.body, loop, [])

    def terms(self, stmt: ir.Stmt, loop: ir.For, inner: list[e.Var], fills: bool = True) -> list[_Term]:
        """What the guards inside ``loop`` ask of its variable to hold in all iterations of the ``inner``
        loops.

        A guard that ``fills`` the body and speaks of no inner loop is left out: it will become a bound.
        """
        if not self.asked_of(stmt):
            return []
        match stmt:
            case ir.If(condition, then, otherwise):
                fills = fills and otherwise is None
                found = self.asked(condition, loop.var, inner, fills)
                found += self.terms(then, loop, inner, fills)
                return found if otherwise is None else found + self.terms(otherwise, loop, inner, False)
            case ir.Seq(body):
                return [term for one in body for term in self.terms(one, loop, inner, False)]
            case ir.For():
                with self.analyzer.scope():
                    self.analyzer.bind(stmt.var, stmt.min, stmt.extent)
                    return self.terms(stmt.body, loop, [*inner, stmt.var], fills)
            case ir.Let():
                return self.terms(stmt.body, loop, [*inner, stmt.var], False)
            case ir.Allocate() | ir.View() | ir.While():
                return self.terms(stmt.body, loop, inner, False)
        return []

    def asked_of(self, stmt: ir.Stmt) -> frozenset[e.Expr]:
        """What the guards in ``stmt`` that are worth iterations of their own are made of, and where loops in
        it begin, as a variable of one iteration stands for that: what is not among it is asked nothing."""
        known = self._asked_of.get(stmt)
        if known is None:
            parts = [self.asked_of(one) for one in stmt.children() if isinstance(one, ir.Stmt)]
            if isinstance(stmt, ir.If) and not only_prefetches(stmt):
                parts.append(frozenset(reachable(stmt.condition)))  # type: ignore[arg-type]
            elif isinstance(stmt, ir.For) and any(parts) and not isinstance(stmt.min, e.Const):
                parts.append(frozenset(reachable(stmt.min)))  # type: ignore[arg-type]
            known = self._asked_of[stmt] = frozenset[e.Expr]().union(*parts)
        return known

    def asked(self, condition: e.Expr, var: e.Var, inner: list[e.Var], fills: bool) -> list[_Term]:
        found = []
        for part in conjunction(self.analyzer.simplify(condition)):
            if not isinstance(part, e.Less) or loads(part) or not mentions(part, (var,)):
                continue
            if (fills and not mentions(part, inner)) or not self.analyzer.is_index(part.a):
                continue
            least = self.analyzer.least(part.b - part.a, inner)
            if least is None or self.analyzer.prove(least > 0):
                continue
            parts = self.analyzer.linear(least, var)
            if parts is None:
                found.append(_Term(0, least))
            elif parts[0] != 0:
                found.append(_Term(*parts))
        return found


def only_prefetches(stmt: ir.Stmt) -> bool:
    """Whether all that ``stmt`` does is to ask for data.

    A guard on that costs a comparison where it stands. A loop nest written out once with it and once without
    is twice the code; and in the one without LLVM gave each of a tile's scalars an address of its own, more
    than there are registers: a 3x3 convolution of 56x56 pixels and 256 channels took a third longer.
    """
    if isinstance(stmt, ir.Evaluate):
        return isinstance(stmt.value, e.Call) and stmt.value.name in PREFETCHES
    inside = [one for one in stmt.children() if isinstance(one, ir.Stmt)]
    return bool(inside) and all(map(only_prefetches, inside))


def conjunction(condition: e.Expr) -> list[e.Expr]:
    """The conditions whose conjunction ``condition`` is."""
    if isinstance(condition, e.And):
        return [*conjunction(condition.a), *conjunction(condition.b)]
    return [condition]


def weight(stmt: ir.Stmt) -> int:
    """The statements ``stmt`` has once unrolled loops are written out."""
    if isinstance(stmt, ir.For):
        iterations = (
            int(stmt.extent.value) if isinstance(stmt.extent, e.Const) and stmt.kind == ir.UNROLL else 1
        )
        return iterations * weight(stmt.body)
    inside = [weight(c) for c in stmt.children() if isinstance(c, ir.Stmt)]
    return sum(inside) if inside else 1
