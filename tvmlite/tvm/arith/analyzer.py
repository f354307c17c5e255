"""``tvm.arith.Analyzer``: simplifies expressions, and finds their bounds, remainders and sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.core.alike import alike
from tvmlite.core.node import postorder, rewrite
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer as _Known
from tvmlite.te.arith import same
from tvmlite.te.tensor.tensor import Range, Reduce
from tvmlite.tvm.absent import MissingName
from tvmlite.tvm.arith import choices, extremes, rules
from tvmlite.tvm.arith.const_int_bound import Bounds, ConstIntBound
from tvmlite.tvm.arith.folds import folded
from tvmlite.tvm.arith.int_set import IntervalSet, evaluate
from tvmlite.tvm.arith.modular_set import ModularSet, Remainders
from tvmlite.tvm.arith.pattern import DTYPES
from tvmlite.tvm.arith.quotients import reduced
from tvmlite.tvm.marks import mark
from tvmlite.tvm.tir.stmt_functor import substitute
from tvmlite.tvm.written import plain


class Analyzer:
    """Simplifies expressions and proves conditions, using facts about variables (``bind``, ``update``)."""

    def __init__(self) -> None:
        self._known = _Known()
        self._bounds = Bounds()
        self._remainders = Remainders(lambda expr: self._bounds.of(expr)[0] >= 0)
        self._values: dict[Any, Any] = {}
        self._depth = 0

    def simplify(self, expr: Any, steps: int = 2) -> Any:
        """Return an equal expression with the fewest nodes that is found. ``steps`` is ignored."""
        node = self._bound(expr)
        for one in postorder(node):
            for axis in one.axis if isinstance(one, Reduce) else ():
                if isinstance(axis.dom, Range):
                    self._known.bind(axis.var, axis.dom.min, axis.dom.extent)
        truncates = _has(node, e.TruncDiv, e.TruncMod) and not _has(node, e.FloorDiv, e.FloorMod)
        node = self._by_rules(rewrite(node, folded))
        decided = self._known.simplify(node)
        if isinstance(decided, e.Const):
            return mark(decided)
        node = choices.in_branches_of(node, self._in_scope, self._scope)
        forms = [rules.in_form(one) for one in self._forms(node)]
        if truncates:
            forms = [rewrite(one, self._truncated) for one in forms]
            forms.sort(key=lambda one: _has(one, e.FloorDiv, e.FloorMod))
        best = _least(forms)
        return mark(best) if isinstance(best, e.Const) else best

    def _by_rules(self, node: e.Expr) -> e.Expr:
        """``node`` with the rules applied until nothing changes; the same object if no rule applies."""
        simple = self._known.simplify(node)
        for _ in range(_ROUNDS):
            again = self._known.simplify(rules.rewritten(simple, self._known.simplify, self._holds))
            if same(again, simple):
                break
            node = simple = again
        return node

    def _holds(self, condition: e.Expr) -> bool:
        """Whether the ``condition`` of a rule holds, by constant bounds or, if one side is a constant, by
        proof. For two other sides, proofs have been tried already when their expression was simplified."""
        match condition:
            case e.Less(a, b) | e.LessEqual(a, b):
                gap = self._bounds.of(b)[0] - self._bounds.of(a)[1]
                if gap >= (1 if isinstance(condition, e.Less) else 0):
                    return True
                return (isinstance(a, e.Const) or isinstance(b, e.Const)) and self._known.prove(condition)
        return False

    def _truncated(self, node: Any) -> Any:
        """``node``, with a floor division or remainder of nonnegative operands replaced by the truncating
        one, for programs that use no other."""
        kind = {e.FloorDiv: e.TruncDiv, e.FloorMod: e.TruncMod}.get(type(node))
        if kind is None or node.lanes != 1 or not all(map(self._is_positive, node.children())):
            return node
        return kind(node.a, node.b)

    def _is_positive(self, node: Any) -> bool:
        """Whether ``node``, an expression of ints, is known not to be negative."""
        return self._bounds.of(node)[0] >= 0 or self._known.prove(node >= 0)

    def _in_scope(self, node: e.Expr) -> e.Expr:
        """``node``, a branch of a choice, simplified; by ``te.arith`` only if nested too deeply."""
        if self._depth == _DEEPEST:
            return self._known.simplify(node)
        self._depth += 1
        try:
            return plain(self.simplify(node))
        finally:
            self._depth -= 1

    def _forms(self, node: e.Expr) -> Iterator[e.Expr]:
        """Equal forms of ``node``, some of which may be shorter."""
        first = self._known.simplify(node)
        yield first
        without = rewrite(node, reduced)
        others = (without, rewrite(without, _by_quotients), *self._of_parts(node, first))
        for other in dict.fromkeys(others):
            if other is not node:
                yield rewrite(self._known.simplify(other), reduced)
        yield from self._divided(first)
        yield node

    def _of_parts(self, node: e.Expr, first: e.Expr) -> Iterator[e.Expr]:
        """Forms of ``node`` with choices, minima and maxima moved outwards. ``first`` is the simplified
        ``node``."""
        yield rewrite(node, choices.merged)
        conditions = rewrite(first, lambda one: extremes.compared(rules.in_form(one)))
        if conditions is not first:
            known = rewrite(conditions, self._known_condition)
            yield choices.in_branches_of(known, self._known.simplify, self._scope)
        found = extremes.normal(node, self._known.simplify)
        if found is not None:
            yield extremes.made(found)
            gap = extremes.difference(node, self._known.simplify)
            if gap is not None:
                yield gap

    def _known_condition(self, node: Any) -> Any:
        return self._known.simplify(node) if isinstance(node, e.Compare) else node

    rewrite_simplify = canonical_simplify = simplify

    def _divided(self, node: e.Expr) -> Iterator[e.Expr]:
        """Forms of a comparison of ints in which the difference of both sides is divided by one of its
        factors: ``x * 8 + y < 16`` is ``x < 2`` if ``y`` is in 0 to 7."""
        if not isinstance(node, (e.Less, e.LessEqual)) or node.a.dtype not in DTYPES or node.lanes != 1:
            return
        gap = self._known.simplify(node.a - node.b - (0 if isinstance(node, e.Less) else 1))
        for factor in _factors(gap):
            yield self._known.simplify(self._known.simplify(te.floordiv(gap, factor)) < 0)

    def can_prove(self, condition: Any) -> bool:
        """Return whether ``condition`` can be proved."""
        return e.is_const(self.simplify(condition), 1)

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Return whether ``lhs`` and ``rhs`` can be proved to be equal."""
        left, right = plain(self.simplify(lhs)), plain(self.simplify(rhs))
        if alike(left, right) or "bool" in (left.dtype, right.dtype):
            return alike(left, right)
        forms = [extremes.normal(one, self._known.simplify) for one in (left, right)]
        if forms[0] is not None and forms[1] is not None and extremes.same(forms[0], forms[1]):
            return True
        return e.is_const(self.simplify(left - right), 0)

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        """Return constant bounds of ``expr``."""
        return ConstIntBound.of(self._bounds.of(self._bound(expr)))

    def modular_set(self, expr: Any) -> ModularSet:
        """Return ``coeff`` and ``base`` so that ``expr`` is ``coeff * k + base`` for some int ``k``."""
        return self._remainders.of(self._bound(expr))

    def int_set(self, expr: Any, dom_map: Mapping[Any, Any] | None = None) -> IntervalSet:
        """Return an interval with the values of ``expr`` for all values of the variables in ``dom_map``."""
        return evaluate(self._bound(expr), dom_map or {}, self._known)

    def bind(self, var: Any, expr: Any) -> None:
        """Bind ``var`` to the range ``expr`` or to the value ``expr``."""
        var = getattr(var, "var", var)
        arguments.instance("Analyzer.bind: var", var, e.Var, "a te.var")
        if not isinstance(expr, Range):
            self._values[var] = self._bound(expr)
            return
        self._known.bind(var, expr.min, expr.extent)
        low, _ = self._bounds.of(expr.min)
        _, high = self._bounds.of(expr.min + expr.extent - 1)
        self._bounds.update(var, (low, high))

    def update(self, var: Any, info: Any, override: bool = False) -> None:
        """Set the known bounds or remainders of ``var``: ``info`` is a ConstIntBound or a ModularSet.
        Without ``override``, proofs also use the bounds set before."""
        var = getattr(var, "var", var)
        arguments.instance("Analyzer.update: var", var, e.Var, "a te.var")
        if isinstance(info, ModularSet):
            self._remainders.variables[var] = info
            return
        arguments.instance("Analyzer.update: info", info, ConstIntBound, "a ConstIntBound or a ModularSet")
        if override and var in self._bounds.variables:
            self._known = _Known()
        self._bounds.update(var, info.bound)
        for one, (low, high) in self._bounds.variables.items():
            if override or one is var:
                self._learn(one, low, high)

    def _learn(self, var: e.Var, low: float, high: float) -> None:
        if low != float("-inf"):
            self._known.assume(var >= int(low))
        if high != float("inf"):
            self._known.assume(var <= int(high))

    @contextmanager
    def _scope(self, constraint: e.Expr) -> Iterator[None]:
        kept = dict(self._remainders.variables)
        try:
            with self._known.constraint(constraint), self._bounds.scope():
                self._bounds.assume(constraint)
                self._remainders.assume(constraint)
                yield
        finally:
            self._remainders.variables = kept

    def constraint_scope(self, constraint: e.Expr) -> Any:
        """Return a context manager in which the bool ``constraint`` is assumed to hold."""
        given = plain(e.scalar("constraint_scope: constraint", constraint))
        if given.dtype != "bool":
            raise arguments.refused("constraint_scope: constraint", constraint, "a condition")
        return self._scope(given)

    def _bound(self, expr: Any) -> e.Expr:
        """``expr`` with variables replaced by the values they are bound to."""
        node = plain(e.scalar("Analyzer: expr", expr))
        return substitute(node, self._values) if self._values else node

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingName(f"tvm.arith.Analyzer.{name} is not in tvmlite", Span.of_caller(), _HINT)


_ROUNDS = 8
"""The most times that rules are applied to their own results, so that rules that undo each other stop."""

_DEEPEST = 3
"""The depth of nested choices up to which branches are simplified in all ways."""


def _least(forms: Iterable[e.Expr]) -> e.Expr:
    """The first of the forms with the fewest nodes."""
    return min(forms, key=lambda one: sum(1 for _ in postorder(one)))


def _has(node: e.Expr, *kinds: type[e.Expr]) -> bool:
    return any(isinstance(one, kinds) for one in postorder(node))


def _factors(expr: e.Expr) -> list[int]:
    """The absolute values, greater than 1, of constant factors of products in ``expr``."""
    products = [one for one in postorder(expr) if isinstance(one, e.Mul)]
    found = {abs(int(one.b.value)) for one in products if isinstance(one.b, e.Const)}
    return sorted(one for one in found if one > 1)


def _by_quotients(node: Any) -> Any:
    """A remainder written with its quotient, so that terms may cancel; else ``node``."""
    kind = {e.TruncMod: e.TruncDiv, e.FloorMod: e.FloorDiv}.get(type(node))
    if kind is None or node.lanes != 1:
        return node
    return node.a - e.fold(kind, node.a, node.b) * node.b


_HINT = "simplify, can_prove, const_int_bound, modular_set and int_set are available"
