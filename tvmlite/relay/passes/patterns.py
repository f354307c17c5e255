"""For passes that recognise operators written out in smaller ones: scalars, sums, products in any order."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import is_view
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.passes.graph_pass import readers_of, rebuild

Polynomial: TypeAlias = "dict[tuple[int, ...], float]"
"""Coefficients by the exponents of the atoms: ``x / 2 + x y`` of x, y is ``{(1, 0): 0.5, (1, 1): 1}``."""

Readers: TypeAlias = Mapping[Expr, int]

CLOSE = 2e-5
"""How far, relatively, a constant may be from the one that is meant: exporters write few digits."""

DEPTH = 8
"""How many operators deep a formula is searched."""

HIGHEST = 8
"""The highest exponent that is followed."""

WITHOUT_AXES = {"a_min", "a_max", "alpha", "approximate", "conditions", "dtype", "message"}
"""Attributes of element-wise operators that do not speak of axes."""


def rewrite_with_readers(
    body: Expr, rule: Callable[[Expr, Readers], Expr], kept: Container[Expr] = ()
) -> Expr:
    """As ``core.node.rewrite``; the rule also learns how many readers each node has (the body: one more).

    It is not asked about nodes of ``body`` that are ``kept``.
    """
    readers = {node: len(found) for node, found in readers_of(body).items()}

    def replaced(node: Expr, made: Expr) -> Expr:
        readers.setdefault(made, readers[node])
        made = made if node in kept else rule(made, readers)
        readers.setdefault(made, readers[node])
        return made

    return rebuild(body, replaced)


def is_float(expr: Expr) -> bool:
    """Whether ``expr`` is a tensor of floats."""
    return dtypes.is_float(getattr(type_of(expr), "dtype", "bool"))


def scalar_of(expr: Expr) -> float | None:
    """The one number that every element of ``expr`` is, if it is a constant of that kind."""
    if isinstance(expr, Constant) and 0 < expr.size <= 4096 and expr.dtype.kind in "fiu":
        first = expr.data.reshape(-1)[0]
        if expr.size == 1 or bool((expr.data == first).all()):
            return float(first)
    if (
        isinstance(expr, Call)
        and (is_view(expr) or expr.op in ("full", "broadcast_to", "cast"))
        and is_float(expr)
    ):
        return scalar_of(expr.args[0])
    return None


def commuted(expr: Expr, op: str) -> Iterator[tuple[Expr, Expr]]:
    """The two arguments of ``expr``, in both orders, if it is a call of ``op``."""
    if isinstance(expr, Call) and expr.op == op:
        first, second = expr.args
        yield first, second
        yield second, first


def close(value: float | None, expected: float) -> bool:
    """Whether ``value`` is the constant that is meant by ``expected``."""
    return value is not None and abs(value - expected) <= CLOSE * abs(expected)


def through_views(expr: Expr) -> Expr:
    """What ``expr`` shows in another shape."""
    while isinstance(expr, Call) and is_view(expr):
        (expr,) = expr.args
    return expr


def mean_of(expr: Expr, of: str = "mean") -> tuple[Expr, int] | None:
    """``(x, axis)`` if ``expr`` is the mean (``of``: sum, max) of ``x`` along an axis, which is kept."""
    inner = through_views(expr)
    if isinstance(inner, Call) and inner.op == of:
        return _reduced(expr, inner)
    if of == "mean":
        return _sum_by_count(expr)
    return None


def _reduced(expr: Expr, call: Call) -> tuple[Expr, int] | None:
    (x,) = call.args
    type_ = tensor_type_of(x)
    given = call["axis"]
    axes = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(axes) != 1 or axes[0] is None or call["exclude"]:
        return None
    axis = axes[0] % type_.ndim
    kept = type_.shape[:axis] + (1,) + type_.shape[axis + 1 :]
    wanted = tensor_type_of(x).__class__(kept, type_.dtype)
    return (x, axis) if same_type(type_of(expr), wanted) else None


def _sum_by_count(expr: Expr) -> tuple[Expr, int] | None:
    value, factor = scaled(expr)
    if value is expr:
        return None
    found = mean_of(value, "sum")
    if found is None:
        return None
    extent = tensor_type_of(found[0]).shape[found[1]]
    return found if isinstance(extent, int) and extent and close(factor * extent, 1.0) else None


def scaled(expr: Expr) -> tuple[Expr, float]:
    """``(x, c)`` with ``expr`` = ``x * c``, all scalar factors and divisors taken off."""
    factor = 1.0
    while True:
        for value, other in commuted(expr, "multiply"):
            number = scalar_of(other)
            if number is not None and same_type(type_of(value), type_of(expr)):
                expr, factor = value, factor * number
                break
        else:
            if isinstance(expr, Call) and expr.op == "negative":
                expr, factor = expr.args[0], -factor
            elif isinstance(expr, Call) and expr.op == "divide":
                number = scalar_of(expr.args[1])
                if not number or not same_type(type_of(expr.args[0]), type_of(expr)):
                    return expr, factor
                expr, factor = expr.args[0], factor / number
            else:
                return expr, factor


def polynomial(expr: Expr, atoms: Sequence[Expr], depth: int = DEPTH) -> Polynomial | None:
    """``expr`` as a polynomial in ``atoms``; None if it is none, or is too deep."""
    if expr in atoms:
        return {tuple(int(atom is expr) for atom in atoms): 1.0}
    number = scalar_of(expr)
    if number is not None:
        return {(0,) * len(atoms): number}
    if depth == 0 or not isinstance(expr, Call):
        return None
    if expr.op == "power":
        base, exponent = polynomial(expr.args[0], atoms, depth - 1), scalar_of(expr.args[1])
        whole = exponent is not None and exponent in range(1, HIGHEST + 1)
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
            if max(key, default=0) > HIGHEST:
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
    """Whether two polynomials have the same terms, their coefficients nearly equal."""
    if given is None:
        return False
    terms = {key: value for key, value in given.items() if abs(value) > 1e-12}
    return terms.keys() == expected.keys() and all(close(terms[key], expected[key]) for key in expected)


def is_vector_along(shape: Sequence[object], rank: int, axis: int) -> bool:
    """Whether a tensor of ``shape``, broadcast to ``rank``, varies along ``axis`` at most, and may there."""
    padded = [1] * (rank - len(shape)) + list(shape)
    return len(padded) == rank and all(is_one(extent) for k, extent in enumerate(padded) if k != axis)  # type: ignore[arg-type]


def ones_like(extent: object, dtype: str) -> Constant | None:
    """A vector of ``extent`` ones, if that is a number."""
    return Constant(np.ones(extent, dtypes.numpy_of(dtype))) if isinstance(extent, int) else None
