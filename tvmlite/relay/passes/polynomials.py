"""Formulas as polynomials, independent of the order of factors and of how products are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.passes.patterns import is_close, scalar_of

Polynomial: TypeAlias = "dict[tuple[int, ...], float]"
"""Coefficients by the exponents of the atoms: ``x / 2 + x y`` in x, y is ``{(1, 0): 0.5, (1, 1): 1}``."""

MAX_DEPTH = 8
"""The maximum depth of operators in a formula."""

MAX_EXPONENT = 8
"""The highest exponent that is supported."""


def polynomial(expr: Expr, atoms: Sequence[Expr], depth: int = MAX_DEPTH) -> Polynomial | None:
    """``expr`` as a polynomial in ``atoms``; None if it is not one, or is too deep."""
    if expr in atoms:
        return {tuple(int(atom is expr) for atom in atoms): 1.0}
    number = scalar_of(expr)
    if number is not None:
        return {(0,) * len(atoms): number}
    if depth == 0 or not isinstance(expr, Call):
        return None
    if expr.op == "power":
        base, exponent = polynomial(expr.args[0], atoms, depth - 1), scalar_of(expr.args[1])
        whole = exponent is not None and exponent in range(1, MAX_EXPONENT + 1)
        return _power(base, int(exponent), len(atoms)) if base is not None and whole and exponent else None
    if expr.op == "negative":
        return _scaled(polynomial(expr.args[0], atoms, depth - 1), -1.0)
    if expr.op not in ("add", "subtract", "multiply", "divide"):
        return None
    left, right = (polynomial(arg, atoms, depth - 1) for arg in expr.args)
    if left is None or right is None:
        return None
    match expr.op:
        case "add":
            return _sum(left, right)
        case "subtract":
            return _sum(left, _scaled(right, -1.0) or {})
        case "multiply":
            return _product(left, right)
    constant = right.get((0,) * len(atoms), 0.0)
    return _scaled(left, 1 / constant) if len(right) == 1 and constant else None


def _sum(left: Polynomial, right: Polynomial) -> Polynomial:
    return {key: left.get(key, 0.0) + right.get(key, 0.0) for key in {**left, **right}}


def _product(left: Polynomial, right: Polynomial) -> Polynomial | None:
    made: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            key = tuple(i + j for i, j in zip(a, b, strict=True))
            if max(key, default=0) > MAX_EXPONENT:
                return None
            made[key] = made.get(key, 0.0) + x * y
    return made


def _scaled(terms: Polynomial | None, factor: float) -> Polynomial | None:
    return None if terms is None else {key: value * factor for key, value in terms.items()}


def _power(base: Polynomial, exponent: int, atoms: int) -> Polynomial | None:
    made: Polynomial | None = {(0,) * atoms: 1.0}
    for _ in range(exponent):
        made = None if made is None else _product(made, base)
    return made


def same_polynomial(given: Polynomial | None, expected: Polynomial) -> bool:
    """Whether two polynomials have the same terms with nearly equal coefficients."""
    if given is None:
        return False
    terms = {key: value for key, value in given.items() if abs(value) > 1e-12}
    return terms.keys() == expected.keys() and all(is_close(terms[key], expected[key]) for key in expected)
