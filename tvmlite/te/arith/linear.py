"""Expressions as linear functions of a variable, and their lower bounds without variables."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.te import expr as e
from tvmlite.te.arith import polynomial as p
from tvmlite.te.arith.analyzer import mentions
from tvmlite.te.arith.proofs import substitute_least
from tvmlite.te.arith.simplify import Simplifier


def linear(core: Simplifier, expr: e.Expr, var: e.Var) -> tuple[int, e.Expr] | None:
    """``(c, rest)`` with ``expr = c * var + rest``, ``rest`` without ``var``; None if not linear."""
    atom = core.atoms.var(var)
    parts = p.split(core.poly(expr), atom)
    if parts is None:
        return None
    factor = p.value_of(parts[0])
    if factor is None or any(atom in core.atoms[a].needs for m in parts[1] for a in m):
        return None
    if any(_hidden(core, a, var) for m in parts[1] for a in m):
        return None
    return factor, core.atoms.build(parts[1], expr.dtype)


def _hidden(core: Simplifier, atom: int, var: e.Var) -> bool:
    """Whether an opaque atom contains ``var``."""
    row = core.atoms[atom]
    inside = [core.atoms[a].expr for a in row.needs] + [row.expr]
    return any(x is not None and not isinstance(x, e.Var) and mentions(x, (var,)) for x in inside)


def lower_bound(core: Simplifier, expr: e.Expr, variables: Sequence[e.Var]) -> e.Expr | None:
    """A lower bound of ``expr`` without ``variables``, inner ones last; None if none is found."""
    poly = core.poly(expr)
    for var in reversed(variables):
        poly = substitute_least(core.bounds, poly, core.atoms.var(var))
        if poly is None:
            return None
    result = core.atoms.build(poly, expr.dtype)
    return None if mentions(result, variables) else result
