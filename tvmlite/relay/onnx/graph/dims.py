"""Arithmetic on dimensions: ints, or exact expressions over named dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tvmlite.relay.ir.types import Dim
from tvmlite.te import arith
from tvmlite.te import expr as e

LARGEST_DENOMINATOR = 2**20


@dataclass(frozen=True, eq=False)
class Ratio:
    """The exact fraction ``num / den``: the value at import of a float computed from dimensions."""

    num: Dim
    den: int


class Unknown(Exception):
    """A value that is not known at import; never leaves this package."""


def simplify(value: Any) -> Any:
    """Return the simplest form of ``value``; a constant expression becomes an int."""
    if not isinstance(value, e.Expr):
        return value
    value = arith.simplify(value)
    return int(value.value) if isinstance(value, e.Const) and value.dtype != "bool" else value


def equal(a: Any, b: Any) -> bool:
    """Whether two extents are certainly equal."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return a is b or arith.equal(a, b)


def same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two shapes are certainly equal."""
    return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))


def differ(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two shapes are certainly different: in rank, or in two numbers."""
    return len(a) != len(b) or any(
        isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(a, b, strict=True)
    )


def whole(value: Any) -> Dim | None:
    """Return ``value`` as an int or an integer expression; None if it is neither."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, e.Expr) and value.dtype != "bool":
        return value
    return None


def proves(condition: Any) -> bool | None:
    """Return True or False if ``condition`` is certain, else None."""
    if isinstance(condition, bool):
        return condition
    made = arith.simplify(condition)
    if isinstance(made, e.Const):
        return bool(made.value)
    analyzer = arith.Analyzer()
    if analyzer.prove(condition):
        return True
    if analyzer.prove(e.Not(condition)):
        return False
    return None


def non_negative(value: Dim) -> bool:
    """Whether ``value`` is certainly at least 0."""
    if isinstance(value, int):
        return value >= 0
    return bool(arith.Analyzer().prove(value >= 0))


def trunc_div(a: Dim, b: Dim) -> Dim:
    """C's division, which is ONNX's ``Div`` of integers."""
    if isinstance(b, int) and b == 0:
        raise Unknown
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if non_negative(a) and non_negative(b):
        return simplify(a // b)
    return e.TruncDiv(e.convert(a, "int64"), e.convert(b, "int64"))


def ceil_div(a: Dim, b: int) -> Dim:
    """Divide by a positive number and round up."""
    return simplify((a + (b - 1)) // b)


def minimum(a: Dim, b: Dim) -> Dim:
    """Return the smaller of two dimensions: an int if both are, else a simplified int64 expression."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return simplify(e.Min(e.convert(a, "int64"), e.convert(b, "int64")))


def maximum(a: Dim, b: Dim) -> Dim:
    """Return the greater of two dimensions: an int if both are, else a simplified int64 expression."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return simplify(e.Max(e.convert(a, "int64"), e.convert(b, "int64")))


def quotient(numerators: Sequence[Dim], denominators: Sequence[Dim]) -> Dim | None:
    """Return the product of ``numerators`` over that of ``denominators``, after cancelling common factors.

    None if a division of numbers leaves a remainder.
    """
    top, over = _factors(numerators)
    bottom, under = _factors(denominators)
    for factor in list(bottom):
        for other in top:
            if equal(factor, other):
                top.remove(other)
                bottom.remove(factor)
                break
    if under == 0:
        return None
    common = math.gcd(over, under)
    over, under = over // common, under // common
    if not top and not bottom:
        return over if under == 1 else None
    product = simplify(math.prod(top, start=over))
    divisor = simplify(math.prod(bottom, start=under))
    return product if isinstance(divisor, int) and divisor == 1 else simplify(product // divisor)


def _factors(values: Sequence[Dim]) -> tuple[list[e.Expr], int]:
    """The symbolic factors, and the product of the numbers."""
    symbols: list[e.Expr] = []
    number = 1
    stack: list[Any] = list(reversed(values))
    while stack:
        value = stack.pop()
        if isinstance(value, e.Const):
            value = int(value.value)
        if isinstance(value, int):
            number *= value
        elif isinstance(value, e.Mul):
            stack += [value.b, value.a]
        else:
            symbols.append(value)
    return symbols, number


def ratio(value: Any) -> Ratio:
    """Return ``value`` as an exact fraction; Unknown if it is not one with a small denominator."""
    if isinstance(value, Ratio):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Unknown
        exact = Fraction(value)
        if exact.denominator > LARGEST_DENOMINATOR:
            raise Unknown
        return Ratio(exact.numerator, exact.denominator)
    number = whole(value)
    if number is None:
        raise Unknown
    return Ratio(number, 1)


def reduced(num: Dim, den: int) -> Any:
    """Return ``num / den`` as a plain value if possible, else a Ratio."""
    if den < 0:
        num, den = -num, -den
    if isinstance(num, int):
        return num / den
    num = simplify(num)
    if isinstance(num, int):
        return num / den
    symbols, number = _factors([num])
    common = math.gcd(number, den)
    if common > 1:
        num, den = simplify(math.prod(symbols, start=number // common)), den // common
    return num if den == 1 else Ratio(num, den)
