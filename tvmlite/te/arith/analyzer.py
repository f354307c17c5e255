"""Simplification and proofs given facts about variables: the interface of ``te.arith``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tvmlite.te import expr as e
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.interval import Interval
from tvmlite.te.arith.simplify import INDEX_DTYPES, Simplifier
from tvmlite.te.extensions import extension


class Analyzer:
    """Simplifies and proves, using known ranges of variables and conditions assumed to hold.

    A ``SizeVar`` is at least 0; nothing is known about other variables until they are bound. Index arithmetic
    (int32 and int64 without memory reads) is assumed not to overflow.
    """

    def __init__(self) -> None:
        self._core = Simplifier()
        self._bound: set[e.Var] = set()

    def bind(self, var: e.Var, low: int | e.Expr, extent: int | e.Expr) -> None:
        """Declare that ``var`` is in ``[low, low + extent)``; that range is assumed not to be empty."""
        if var in self._bound:
            self._core.memo = {}
        self._bound.add(var)
        begin, count = self._core.poly(low), self._core.poly(extent)
        self._core.bounds.bind(self._core.atoms.var(var), begin, count)
        if p.value_of(count) is None or p.value_of(count) == 1:
            self._core.memo = {}

    def assume(self, condition: e.Expr) -> None:
        """Assume ``condition``, a bool, from now on, to the end of the current scope."""
        extension("conditions").assume(self._core, condition)

    def scope(self) -> _Scope:
        """A context whose bindings and assumptions are forgotten at its end."""
        return _Scope(self._core)

    @contextmanager
    def constraint(self, condition: e.Expr) -> Iterator[None]:
        """A context in which ``condition`` is assumed to hold."""
        with self.scope():
            self.assume(condition)
            yield

    def simplify(self, expr: e.Expr) -> e.Expr:
        """``expr`` in canonical form; the same object if it is already canonical."""
        return self._core.simplify(expr)

    def prove(self, condition: e.Expr | bool) -> bool:
        """Whether ``condition`` is proved to hold."""
        if isinstance(condition, bool):
            return condition
        return e.is_const(self._core.simplify(condition), 1)

    def interval(self, expr: e.Expr | int) -> Interval:
        """Constant bounds of ``expr``, which is index arithmetic."""
        return self._core.bounds.interval(self._core.poly(expr))

    def is_index(self, expr: e.Expr) -> bool:
        """Whether ``expr`` is index arithmetic: a scalar int32 or int64 without memory reads."""
        return (
            expr.lanes == 1 and expr.dtype in INDEX_DTYPES and not isinstance(self._core.visit(expr), e.Expr)
        )

    def equal(self, a: int | e.Expr, b: int | e.Expr) -> bool:
        """Whether ``a`` and ``b`` are proved to be equal."""
        gap = self._core.rules.add(self._core.poly(a), self._core.poly(b), -1)
        if not gap:
            return True
        bounds = self._core.bounds
        return bounds.prove_nonnegative(gap) and bounds.prove_nonnegative(p.scale(gap, -1))

    def linear(self, expr: e.Expr, var: e.Var) -> tuple[int, e.Expr] | None:
        """``(c, rest)`` with ``expr = c * var + rest``, ``rest`` without ``var``; None if not linear."""
        return extension("linear").linear(self._core, expr, var)

    def lower_bound(self, expr: e.Expr, variables: Sequence[e.Var]) -> e.Expr | None:
        """A lower bound of ``expr`` without ``variables`` (inner ones last), tight if ``expr`` is linear.

        None if none is found.
        """
        return extension("linear").lower_bound(self._core, expr, variables)


class _Scope:
    """The context of ``Analyzer.scope``: a class, as kernels enter hundreds and generators are slower."""

    def __init__(self, core: Simplifier) -> None:
        self.core = core

    def __enter__(self) -> None:
        self.outer = self.core.memo, self.core.bounds.enter()
        self.core.memo = {}

    def __exit__(self, *_: object) -> None:
        self.core.memo, knowledge = self.outer
        self.core.bounds.leave(knowledge)


def mentions(expr: e.Expr, variables: Sequence[e.Var]) -> bool:
    """Whether ``expr`` contains one of ``variables``."""
    if not variables:
        return False
    wanted = frozenset(variables)
    seen: set[e.Expr] = set()
    stack = [expr]
    while stack:
        node = stack.pop()
        if node in wanted:
            return True
        if node not in seen:
            seen.add(node)
            stack += [c for c in node.children() if isinstance(c, e.Expr)]
    return False


def simplify(expr: e.Expr) -> e.Expr:
    """``expr`` in canonical form, knowing only that sizes are not negative."""
    return Analyzer().simplify(expr)


def equal(a: int | e.Expr, b: int | e.Expr) -> bool:
    """Whether ``a`` and ``b`` are proved to be equal for all values of their variables."""
    if a is b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return Analyzer().equal(a, b)
