"""Canonical forms of expressions: sums of products collected, divisions and comparisons decided by range."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, TypeAlias

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder_from
from tvmlite.te import expr as e
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.atoms import Atoms
from tvmlite.te.arith.bounds import Bounds
from tvmlite.te.arith.polynomial import Poly, Sums
from tvmlite.te.arith.vector import Lanes
from tvmlite.te.extensions import extension
from tvmlite.te.loop import ir

if TYPE_CHECKING:
    from tvmlite.te.arith.division import Quotients

Result: TypeAlias = Poly | e.Expr
"""A simplified expression: a polynomial for scalar index arithmetic, else an expression."""

INDEX_DTYPES = ("int32", "int64")

_LEAVES = (e.Const, e.Var, e.SizeVar)
_CONDITIONAL = (e.Cast, e.Select, e.Not, e.Call)

FALSE, TRUE = e.const(False), e.const(True)


class Simplifier:
    """Simplifies expressions given the knowledge in ``bounds``, with memoization.

    Arithmetic of int32 and int64 without memory reads is index arithmetic, and assumed not to overflow. All
    other arithmetic keeps its structure: only its operands are simplified, and constants folded.
    """

    def __init__(self) -> None:
        self.atoms = Atoms()
        self.bounds = Bounds(self.atoms)
        self.rules = Sums()
        """Rules for sums only, until there is a quotient, a minimum or a maximum."""
        self.memo: dict[e.Expr, Result] = {}
        self._reads: dict[e.Expr, bool] = {}
        self._differences: dict[e.Expr, Poly] = {}

    # -- interface

    def simplify(self, root: e.Expr) -> e.Expr:
        """``root`` in canonical form; the same object if it is already canonical."""
        result = self.visit(root)
        expr = result if isinstance(result, e.Expr) else self.atoms.build(result, root.dtype)
        return root if expr is root or same(expr, root) else expr

    def poly(self, value: e.Expr | int) -> Poly:
        """The polynomial of a scalar index expression; an expression that reads memory is an atom."""
        if isinstance(value, int):
            return p.constant(value)
        result = self.visit(value)
        return {(self.atoms.opaque(result),): 1} if isinstance(result, e.Expr) else result

    def difference(self, condition: e.Expr) -> Poly | None:
        """The d such that ``condition``, a simplified ``a < b`` of index arithmetic, means ``d > 0``."""
        return self._differences.get(condition)

    # -- traversal

    def visit(self, root: e.Expr) -> Result:
        """The canonical form of ``root``, memoized: a polynomial for index arithmetic, else an expression."""
        memo = self.memo
        known = memo.get(root)
        if known is not None:
            return known
        if type(root) in _LEAVES:
            memo[root] = result = self._node(root)
            return result
        stack = [root]
        while stack:
            node = stack[-1]
            if node in memo:
                stack.pop()
                continue
            waiting: list[e.Expr] = []
            for child in node.children():
                if child not in memo:
                    if type(child) in _LEAVES:
                        memo[child] = self._node(child)  # type: ignore[arg-type, index]
                    else:
                        waiting.append(child)  # type: ignore[arg-type]
            if waiting:
                stack += waiting[::-1]
            else:
                memo[node] = self._node(node)
                stack.pop()
        return memo[root]

    def expr(self, node: e.Expr) -> e.Expr:
        """The simplified form of a visited child, as an expression."""
        result = self.memo[node]
        if not isinstance(result, e.Expr):
            return self.atoms.build(result, node.dtype)
        return result

    def _node(self, node: e.Expr) -> Result:
        if isinstance(node, e.Const):
            return p.constant(int(node.value)) if node.lanes == 1 and node.dtype in INDEX_DTYPES else node
        if isinstance(node, e.Var):
            if node.lanes > 1 or node.dtype not in INDEX_DTYPES:
                return node
            atom = self.atoms.var(node)
            value = self.bounds.value(atom)
            return {(atom,): 1} if value is None else value
        if node.lanes > 1:
            return Lanes(self).node(node)  # not stored, to avoid a reference cycle
        if isinstance(node, e.Binary):
            a, b = self.memo[node.a], self.memo[node.b]
            if type(a) is dict and type(b) is dict:
                return self.binary(type(node), a, b, node.a.dtype)
            return self._plain_binary(node)
        if isinstance(node, _CONDITIONAL) or (isinstance(node, ir.Load) and node.predicate is not None):
            return extension("conditions").node(self, node)
        return self.opaque(node.map_children(self.expr))

    def opaque(self, expr: e.Expr) -> Result:
        """``expr`` as an atom if it is index arithmetic, else unchanged."""
        if expr.lanes > 1 or expr.dtype not in INDEX_DTYPES or self.reads_memory(expr):
            return expr
        if isinstance(expr, e.Const):
            return p.constant(int(expr.value))
        return {(self.atoms.opaque(expr),): 1}

    def reads_memory(self, root: e.Expr) -> bool:
        """Whether ``root`` contains a load, or an unknown kind of node."""
        known = self._reads
        for node in postorder_from([root], lambda one: [x for x in one.children() if x not in known]):
            inner = any(known[child] for child in node.children() if isinstance(child, e.Expr))
            known[node] = inner or not isinstance(node, _PURE)
        return known[root]

    # -- rules for scalar nodes

    def binary(self, make: type[e.Binary], a: Poly, b: Poly, dtype: str) -> Result:
        """``make(a, b)`` in index arithmetic."""
        rules = self.rules
        if make is e.Add:
            return rules.add(a, b)
        if make is e.Sub:
            return rules.add(a, b, -1)
        if make is e.Mul:
            product = rules.multiply(a, b)
            return product if product is not None else self.opaque_binary(make, a, b, dtype)
        if make is e.FloorDiv:
            return self.quotients.floordiv(a, b, dtype)
        if make is e.FloorMod:
            return self.quotients.floormod(a, b, dtype)
        if make in (e.Min, e.Max):
            return self.quotients.extreme(make is e.Min, [a, b], dtype)
        if make in (e.TruncDiv, e.TruncMod):
            return extension("conditions").truncated(self, make, a, b, dtype)
        if make is e.Less:
            return self.positive(rules.add(b, a, -1), dtype)
        if make is e.LessEqual:
            return self.positive(p.add(rules.add(b, a, -1), p.constant(1)), dtype)
        if make in (e.Equal, e.NotEqual):
            return extension("conditions").equality(self, rules.add(a, b, -1), make is e.Equal, dtype)
        raise AssertionError(f"{make.__name__} of index arithmetic")

    @property
    def quotients(self) -> Quotients:
        """The rules for quotients, minima and maxima, which also normalize sums from now on."""
        if type(self.rules) is Sums:
            self.rules = extension("quotients").Quotients(self.atoms, self.bounds)
        return self.rules  # type: ignore[return-value]

    def opaque_binary(self, make: type[e.Binary], a: Poly, b: Poly, dtype: str) -> Result:
        """``make(a, b)`` as an opaque atom."""
        return self.opaque(make(self.atoms.build(a, dtype), self.atoms.build(b, dtype)))

    def positive(self, d: Poly, dtype: str) -> e.Expr:
        """The condition ``d > 0`` as ``a < b``, decided if possible."""
        low, high = self.bounds.interval(d)
        if low is not None and low > 0:
            return TRUE
        if high is not None and high <= 0:
            return FALSE
        if self.bounds.prove_positive(d):
            return TRUE
        if self.bounds.prove_nonnegative(p.scale(d, -1)):
            return FALSE
        factor = gcd(*(c for m, c in d.items() if m))
        if factor > 1:  # g * x + c > 0 is x + ceil(c / g) > 0
            d = {m: -(-c // factor) for m, c in d.items()}
            d = {m: c for m, c in d.items() if c}
        condition = self.ordered(e.Less, d, dtype)
        self._differences[condition] = d
        return condition

    def ordered(self, make: type[e.Binary], d: Poly, dtype: str) -> e.Expr:
        """``make(a, b)`` with ``b - a = d`` and few minus signs."""
        right = {m: c for m, c in d.items() if c > 0}
        left = {m: -c for m, c in d.items() if c < 0}
        number = d.get((), 0)
        least, greatest = map(int, dtypes.limits(dtype))
        fits = max(least, min(number, greatest))
        if number != fits or number == least:  # if c does not fit, x < c becomes x + (fits - c) < fits
            right[()] = fits
            left = p.add({m: c for m, c in left.items() if m}, p.constant(fits - number))
        if make is not e.Less and p.value_of(left) is not None and right:
            left, right = right, left
        return make(self.atoms.build(left, dtype), self.atoms.build(right, dtype))

    def _plain_binary(self, node: e.Binary) -> Result:
        a, b = self.expr(node.a), self.expr(node.b)
        if isinstance(node, (e.And, e.Or)):
            return extension("conditions").junction(self, type(node), a, b)
        if isinstance(node, e.Compare) and isinstance(a, e.Const) and isinstance(b, e.Const):
            return e.const(_COMPARES[type(node)](a.value, b.value), "bool")
        made = node if a is node.a and b is node.b else type(node)(a, b)
        if isinstance(node, e.Compare) or not dtypes.is_int(node.dtype):
            return made
        folded = e.fold(type(node), a, b)
        return folded if type(folded) is not type(node) else made


_PURE = (e.Const, e.Var, e.Binary, e.Not, e.Select, e.Cast, e.Call, e.Ramp, e.Broadcast)

_COMPARES = {
    e.Less: lambda a, b: a < b,
    e.LessEqual: lambda a, b: a <= b,
    e.Equal: lambda a, b: a == b,
    e.NotEqual: lambda a, b: a != b,
}


def same(left: e.Expr, right: e.Expr) -> bool:
    """Whether two expressions are structurally equal, with the same variables and buffers."""
    stack: list[tuple[e.Expr, e.Expr]] = [(left, right)]
    seen: set[tuple[e.Expr, e.Expr]] = set()
    while stack:
        pair = stack.pop()
        a, b = pair
        if a is b:
            continue
        if type(a) is not type(b) or a.dtype != b.dtype or a.lanes != b.lanes:
            return False
        if isinstance(a, e.Binary):
            if pair not in seen:
                seen.add(pair)
                stack.append((a.b, b.b))  # type: ignore[attr-defined]
                stack.append((a.a, b.a))  # type: ignore[attr-defined]
            continue
        if pair in seen:
            continue
        seen.add(pair)
        if isinstance(a, e.Const):
            x, y = a.value, b.value  # type: ignore[attr-defined]
            if x != y or (x == 0 and repr(x) != repr(y)):
                return False
        elif isinstance(a, ir.Load):
            assert isinstance(b, ir.Load)
            if a.buffer is not b.buffer or len(a.indices) != len(b.indices):
                return False
            if (a.predicate is None) != (b.predicate is None):
                return False
            stack += zip(a.children(), b.children(), strict=True)  # type: ignore[arg-type]
        elif isinstance(a, (e.Call, e.Foreign)):
            assert isinstance(b, (e.Call, e.Foreign))
            if _called(a) != _called(b) or len(a.args) != len(b.args):
                return False
            stack += zip(a.args, b.args, strict=True)
        elif isinstance(a, (e.Not, e.Select, e.Cast, e.Ramp, e.Broadcast)):
            stack += zip(a.children(), b.children(), strict=True)  # type: ignore[arg-type]
        else:
            return False
    return True


def _called(call: e.Call | e.Foreign) -> tuple[str, ...]:
    """The identity of the function called."""
    return (call.name,) if isinstance(call, e.Call) else (call.name, call.kind, call.form)
