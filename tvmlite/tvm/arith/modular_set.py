"""Remainders of int expressions: values of the form ``coeff * k + base`` for an int ``k``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import gcd
from typing import Any

from tvmlite.core.node import postorder
from tvmlite.te import expr as e


@dataclass(frozen=True)
class ModularSet:
    """The ints ``coeff * k + base``, with ``base`` in 0 to ``coeff - 1``; only ``base`` if ``coeff`` is 0."""

    coeff: int
    base: int


ANY = ModularSet(1, 0)


def _made(coeff: int, base: int) -> ModularSet:
    return ModularSet(coeff, base % coeff if coeff else base)


@dataclass
class Remainders:
    """The known modular sets of variables; ``nonnegative`` tests whether an expression is at least 0."""

    nonnegative: Callable[[Any], bool]
    variables: dict[e.Var, ModularSet] = field(default_factory=dict)

    def of(self, expr: Any) -> ModularSet:
        """The modular set of ``expr``."""
        root = e.convert(expr)
        known: dict[Any, ModularSet] = {}
        for node in postorder(root):
            if isinstance(node, e.Expr):
                known[node] = self._of(node, known)
        return known[root]

    def _of(self, node: e.Expr, known: dict[Any, ModularSet]) -> ModularSet:
        """The modular set of ``node``, given those of its children in ``known``."""
        match node:
            case e.Const(value):
                return ModularSet(0, int(value))
            case e.Var() as var:
                return self.variables.get(var, ANY)
            case e.Cast(_, value):
                return known[value]
            case e.Add(a, b):
                return _sum(known[a], known[b], 1)
            case e.Sub(a, b):
                return _sum(known[a], known[b], -1)
            case e.Mul(a, b):
                x, y = known[a], known[b]
                coeff = gcd(gcd(x.coeff * y.coeff, x.coeff * y.base), x.base * y.coeff)
                return _made(coeff, x.base * y.base)
            case e.FloorDiv(a, e.Const(by)):
                return _quotient(known[a], int(by), rounds_down=True)
            case e.TruncDiv(a, e.Const(by)):
                return _quotient(known[a], int(by), rounds_down=self.nonnegative(a))
            case e.Call("shift_right", (a, e.Const(by))):
                return _quotient(known[a], 1 << int(by), rounds_down=True)
            case e.FloorMod(a, e.Const(by)) if by > 0:
                return _remainder(known[a], int(by))
            case e.TruncMod(a, e.Const(by)) if by > 0 and (self.nonnegative(a) or known[a].base == 0):
                return _remainder(known[a], int(by))
            case e.Call("bitwise_and", (a, e.Const(ones))) if ones >= 0 and int(ones) & (int(ones) + 1) == 0:
                return _remainder(known[a], int(ones) + 1)
            case e.Min(a, b) | e.Max(a, b) | e.Select(_, a, b) | e.Call("if_then_else", (_, a, b)):
                return _union(known[a], known[b])
            case _:
                return ANY

    def assume(self, condition: e.Expr) -> None:
        """Assume ``condition`` from now on, as far as it is ``x % c == b`` or a conjunction of these."""
        match condition:
            case e.And(a, b):
                self.assume(a)
                self.assume(b)
            case e.Equal(e.FloorMod(e.Var() as var, e.Const(by)), e.Const(base)) | e.Equal(
                e.TruncMod(e.Var() as var, e.Const(by)), e.Const(base)
            ):
                self.variables[var] = _meet(self.variables.get(var, ANY), _made(int(by), int(base)))


def _sum(a: ModularSet, b: ModularSet, sign: int) -> ModularSet:
    return _made(gcd(a.coeff, b.coeff), a.base + sign * b.base)


def _quotient(known: ModularSet, by: int, rounds_down: bool) -> ModularSet:
    exact = by and known.coeff % by == 0 and (rounds_down or known.base == 0)
    return _made(abs(known.coeff // by), known.base // by) if exact else ANY


def _remainder(known: ModularSet, by: int) -> ModularSet:
    return _made(gcd(known.coeff, by), known.base)


def _union(a: ModularSet, b: ModularSet) -> ModularSet:
    coeff = gcd(gcd(a.coeff, b.coeff), a.base - b.base)
    return _made(coeff, a.base)


def _meet(a: ModularSet, b: ModularSet) -> ModularSet:
    """The intersection of ``a`` and ``b``, or ``a`` if it is empty."""
    for base in range(a.base, a.base + max(1, a.coeff) * max(1, b.coeff), max(1, a.coeff)):
        if (base - b.base) % b.coeff == 0 if b.coeff else base == b.base:
            return _made(a.coeff * b.coeff // gcd(a.coeff, b.coeff) if a.coeff and b.coeff else 0, base)
    return a
