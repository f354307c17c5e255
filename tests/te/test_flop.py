"""Counting arithmetic: by formulas known from elsewhere."""

from __future__ import annotations

from tvmlite import te
from tvmlite.te.flop import flop_of


def test_a_matrix_product_is_two_operations_a_step() -> None:
    a, b = te.placeholder((12, 8)), te.placeholder((8, 10))
    k = te.reduce_axis((0, 8))
    c = te.compute((12, 10), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k))

    assert flop_of([c.op]) == 2 * 12 * 8 * 10


def test_indices_are_not_counted_and_stages_are_counted_once() -> None:
    a = te.placeholder((100,))
    b = te.compute((50,), lambda i: a[i * 2 + 1] * 3.0)
    c = te.compute((50,), lambda i: te.exp(b[i]) + b[49 - i])

    assert flop_of([c.op]) == 50 * 1 + 50 * 2
