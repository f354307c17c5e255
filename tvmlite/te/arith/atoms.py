"""The table of atoms, the indeterminates of the polynomials of index arithmetic, each stored once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.polynomial import Poly
from tvmlite.te.loop import ir

VAR, DIV, MOD, MIN, MAX, OPAQUE = "var", "div", "mod", "min", "max", "opaque"

_MAKE: dict[str, type[e.Binary]] = {DIV: e.FloorDiv, MOD: e.FloorMod, MIN: e.Min, MAX: e.Max}


@dataclass(eq=False)
class Atom:
    """An integer that is not a sum or product of others.

    ``args`` are the arguments of a division, remainder, minimum or maximum; ``dtype`` is that of its
    expression ``expr``, which variables and opaque atoms have from the start and others when first needed.
    """

    kind: str
    dtype: str
    args: tuple[Poly, ...] = ()
    expr: e.Expr | None = None
    text: str | None = None
    needs: frozenset[int] = field(default=frozenset())
    """The numbers of all atoms inside the arguments."""


class Atoms:
    """Atoms by number, and the conversion of polynomials back to expressions."""

    def __init__(self) -> None:
        self.rows: list[Atom] = []
        self.may_cancel = False
        """Whether there are remainders, minima or maxima, which may cancel in sums."""
        self._numbers: dict[Any, int] = {}
        self._built: dict[Any, e.Expr] = {}
        self._structure: dict[Any, int] = {}
        self._identity: dict[e.Expr, int] = {}

    def __getitem__(self, number: int) -> Atom:
        return self.rows[number]

    def var(self, var: e.Var) -> int:
        """The number of the atom of a variable."""
        number = self._numbers.get(var)
        return self._new(var, Atom(VAR, var.dtype, (), var, var.name)) if number is None else number

    def opaque(self, expr: e.Expr) -> int:
        """The number of an expression about which only structural equality is known."""
        key = (OPAQUE, self.structure(expr))
        number = self._numbers.get(key)
        return self._new(key, Atom(OPAQUE, expr.dtype, (), expr)) if number is None else number

    def compound(self, kind: str, args: tuple[Poly, ...], dtype: str) -> int:
        """The number of the atom for a division, remainder, minimum or maximum of ``args``."""
        key = (kind, *map(p.key_of, args))
        number = self._numbers.get(key)
        if number is not None:
            return number
        needs: set[int] = set()
        for arg in args:
            for monomial in arg:
                for atom in monomial:
                    needs.add(atom)
                    needs |= self.rows[atom].needs
        self.may_cancel = self.may_cancel or kind != DIV
        return self._new(key, Atom(kind, dtype, args, needs=frozenset(needs)))

    def find(self, kind: str, args: tuple[Poly, ...]) -> int | None:
        """The number of a compound atom, or None if there is no such atom."""
        return self._numbers.get((kind, *map(p.key_of, args)))

    def _new(self, key: Any, atom: Atom) -> int:
        self.rows.append(atom)
        self._numbers[key] = len(self.rows) - 1
        return len(self.rows) - 1

    # -- structural identity of expressions that are not polynomials

    def structure(self, root: e.Expr) -> int:
        """A number that two expressions share if and only if they are structurally equal."""
        stack: list[tuple[e.Expr, bool]] = [(root, False)]
        known = self._identity
        while stack:
            node, ready = stack.pop()
            if node in known:
                continue
            if ready:
                key = _structure_key(node, known)
                known[node] = self._structure.setdefault(key, len(self._structure))
            else:
                stack.append((node, True))
                stack.extend((c, False) for c in node.children() if isinstance(c, e.Expr))
        return known[root]

    # -- texts, by which the terms of a sum are sorted

    def text(self, number: int) -> str:
        """The text of atom ``number``, computed once: terms of a sum are sorted by it."""
        atom = self.rows[number]
        if atom.text is None:
            if atom.args:
                text = f"{atom.kind}({','.join(map(self.poly_text, atom.args))})"
            else:
                text = str(atom.expr) if _is_small(atom.expr) else type(atom.expr).__name__
            atom.text = text[:_LONG]
        return atom.text

    def poly_text(self, poly: Poly) -> str:
        """The text of ``poly``: its terms in canonical order, each as ``coefficient*atom*atom``."""
        return "+".join(
            f"{c}*{'*'.join(names)}" for _, c, names, _ in self._ordered(poly) if isinstance(c, int)
        )

    def _ordered(self, poly: Poly) -> list[tuple[tuple[bool, int, int], int, list[str], tuple[int, ...]]]:
        """Terms as (order, coefficient, names, atoms): positive, high-degree, large coefficients first."""
        rows = []
        for monomial, c in poly.items():
            named = sorted((self.text(a), a) for a in monomial)
            order = (c < 0 or not monomial, -len(monomial), -abs(c))
            rows.append((order, c, [n for n, _ in named], tuple(a for _, a in named)))
        return sorted(rows, key=lambda row: (not row[3], row[0], row[2], row[3]))

    # -- conversion back to expressions

    def build(self, poly: Poly, dtype: str) -> e.Expr:
        """``poly`` as an expression of ``dtype``; equal polynomials give the same object."""
        key = (dtype, p.key_of(poly))
        known = self._built.get(key)
        if known is not None:
            return known
        total: e.Expr | None = None
        terms = self._ordered(poly) if len(poly) > 1 else _single(poly)
        if len(terms) > 1 and terms[0][1] < 0 < terms[-1][1]:  # 3 - x reads better than x * -1 + 3
            terms = [terms[-1], *terms[:-1]]
        for _, coefficient, _, atoms in terms:
            negative = coefficient < 0 and total is not None
            term = self._term(atoms, -coefficient if negative else coefficient, dtype, negative)
            if total is None:
                total = term
            elif negative and atoms:
                total = e.Sub(total, term)
            else:
                total = e.Add(total, term)
        result = total if total is not None else e.const(0, dtype)
        self._built[key] = result
        return result

    def _term(self, atoms: tuple[int, ...], coefficient: int, dtype: str, negative: bool) -> e.Expr:
        if not atoms:  # a sum ends in "+ -1", which is printed as "- 1"
            return e.const(-coefficient if negative else coefficient, dtype)
        product: e.Expr | None = None
        for atom in atoms:
            factor = self.atom_expr(atom, dtype)
            product = factor if product is None else e.Mul(product, factor)
        assert product is not None
        return product if coefficient == 1 else e.Mul(product, e.const(coefficient, dtype))

    def atom_expr(self, number: int, dtype: str) -> e.Expr:
        """The expression of an atom, converted to ``dtype``."""
        atom = self.rows[number]
        if atom.expr is None:
            make = _MAKE[atom.kind]
            parts = [self.build(arg, atom.dtype) for arg in atom.args]
            expr = parts[0]
            for part in parts[1:]:
                expr = make(expr, part)
            atom.expr = expr
        if atom.dtype == dtype:
            return atom.expr
        key = (dtype, number)
        known = self._built.get(key)
        if known is None:
            known = self._built[key] = e.Cast(dtype, atom.expr)
        return known


_LONG = 200
"""The limit on characters of a text, and on nodes of an expression that is printed: both may grow
exponentially with shared subexpressions. Atoms with equal texts are ordered by number."""


def _is_small(root: Any) -> bool:
    size: dict[Any, int] = {}
    for node in postorder(root):
        size[node] = 1 + sum(size[child] for child in node.children())
    return size[root] <= _LONG


def _single(poly: Poly) -> list[tuple[None, int, None, tuple[int, ...]]]:
    return [(None, c, None, m) for m, c in poly.items()]


def _structure_key(node: e.Expr, known: dict[e.Expr, int]) -> Any:
    children = tuple(known[c] for c in node.children() if isinstance(c, e.Expr))
    match node:
        case e.Var():
            return node
        case e.Const(value, dtype, lanes):
            return e.Const, value if isinstance(value, int) else value.hex(), dtype, lanes
        case e.Call(name, _, dtype):
            return e.Call, name, dtype, children
        case ir.Load(buffer, indices, predicate):
            return ir.Load, buffer, len(indices), predicate is None, children
        case _ if type(node) in _PLAIN:
            return type(node), node.dtype, node.lanes, children
        case _:
            return node


_PLAIN = frozenset(
    {
        *(e.Add, e.Sub, e.Mul, e.Div, e.FloorDiv, e.FloorMod, e.TruncDiv, e.TruncMod, e.Min, e.Max),
        *(e.Equal, e.NotEqual, e.Less, e.LessEqual, e.And, e.Or, e.Not, e.Select, e.Cast),
        *(e.ContractedAdd, e.ContractedSub, e.Ramp, e.Broadcast),
    }
)
