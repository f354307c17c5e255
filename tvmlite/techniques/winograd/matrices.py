"""The matrices of Winograd's minimal filtering for windows of three, and the rounding errors.

F(m, 3) computes ``m`` neighbouring sums of three products with ``m + 2`` multiplications:
``y = A^T [(G g) * (B^T d)]``. Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks
(CVPR 2016), equations 8 and 9, and section 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from tvmlite.te import expr as e

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]

WINDOW = 3
"""The only extent of windows with matrices."""


@dataclass(frozen=True)
class Filtering:
    """F(``outputs``, 3): ``data`` is B^T, ``weight`` is G and ``result`` is A^T of the source."""

    outputs: int
    data: Matrix
    weight: Matrix
    result: Matrix

    @property
    def extent(self) -> int:
        """The number of inputs, and of products, of a tile along each axis."""
        return self.outputs + WINDOW - 1


def _matrix(*rows: str) -> Matrix:
    return tuple(tuple(Fraction(entry) for entry in row.split()) for row in rows)


FILTERINGS = {
    2: Filtering(
        2,
        data=_matrix("1 0 -1 0", "0 1 1 0", "0 -1 1 0", "0 1 0 -1"),
        weight=_matrix("1 0 0", "1/2 1/2 1/2", "1/2 -1/2 1/2", "0 0 1"),
        result=_matrix("1 1 1 0", "0 1 -1 -1"),
    ),
    4: Filtering(
        4,
        data=_matrix(
            "4 0 -5 0 1 0",
            "0 -4 -4 1 1 0",
            "0 4 -4 -1 1 0",
            "0 -2 -1 2 1 0",
            "0 2 -1 -2 1 0",
            "0 4 0 -5 0 1",
        ),
        weight=_matrix(
            "1/4 0 0",
            "-1/6 -1/6 -1/6",
            "-1/6 1/6 -1/6",
            "1/24 1/12 1/6",
            "1/24 -1/12 1/6",
            "0 0 1",
        ),
        result=_matrix("1 1 1 1 1 0", "0 1 -1 2 -2 0", "0 1 1 4 4 0", "0 1 -1 8 -8 1"),
    ),
}
"""The filterings by the number of outputs along an axis."""

ERRORS = {2: 3.0, 4: 32.0}
"""The largest error of F(m, 3) for one channel, relative to the largest result, in half epsilons; it grows
with the square root of the number of channels. At least 1.5 times the largest measured (1.4 and 20; 16 to
1024 channels; data normal, clipped at zero, positive, or of channels whose scales differ by magnitudes)."""


def stated_error(filtering: Filtering, channels: int, dtype: str) -> float:
    """The largest error of a convolution of ``channels`` by ``filtering``, relative to its largest result."""
    return ERRORS[filtering.outputs] * float(np.finfo(dtype).eps) / 2 * math.sqrt(channels)


def array(matrix: Matrix) -> np.ndarray:
    """``matrix`` in float64."""
    return np.array([[float(entry) for entry in row] for row in matrix])


def product(matrix: Matrix, row: e.Expr, read: Callable[[int], e.Expr]) -> e.Expr:
    """Element ``row`` of the product of ``matrix`` and the vector of ``read(i)``, with one formula per row.

    Rows that differ only in signs share the sums of their even and of their odd terms.
    """
    values = [_row(entries, read) for entries in matrix]
    result = values[-1]
    for index in range(len(values) - 2, -1, -1):
        result = e.Select(e.Equal(*e.match(row, index)), values[index], result)
    return result


def _row(entries: tuple[Fraction, ...], read: Callable[[int], e.Expr]) -> e.Expr:
    """The sum of one row: the even terms plus or minus the odd ones."""
    halves = [
        (sign, total) for start in (0, 1) if (half := _half(entries, read, start)) for sign, total in [half]
    ]
    (first_sign, first), *others = sorted(halves, key=lambda half: -half[0])
    result = first if first_sign > 0 else -first
    for sign, total in others:
        result = result + total if sign > 0 else result - total
    return e.contracted(result)


def _half(
    entries: tuple[Fraction, ...], read: Callable[[int], e.Expr], start: int
) -> tuple[int, e.Expr] | None:
    """Every second term from ``start``: a sign, and a sum whose last term is positive; None if all are 0."""
    terms = [(entry, read(place)) for place, entry in enumerate(entries) if place % 2 == start and entry]
    if not terms:
        return None
    sign = 1 if terms[-1][0] > 0 else -1
    total: e.Expr | None = None
    for entry, value in reversed(terms):
        total = _plus(total, entry * sign, value)
    assert total is not None
    return sign, total


def _plus(total: e.Expr | None, factor: Fraction, value: e.Expr) -> e.Expr:
    term = value if abs(factor) == 1 else value * e.const(float(abs(factor)), value.dtype)
    if total is None:
        return term
    return total + term if factor > 0 else total - term
