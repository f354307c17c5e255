"""Reductions: their schedules, rfactor, two axes at once, and user-defined reducers."""

from __future__ import annotations

from typing import Any

import numpy as np

import tvmlite
from tvmlite import te


def row_sums(n: Any, m: Any) -> Any:
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    return A, k, te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")


def test_sum_of_each_row(check: Any) -> None:
    A, _, B = row_sums(te.var("n"), te.var("m"))
    s = te.create_schedule(B.op)
    a = np.random.rand(20, 33).astype("f4")
    check(s, [A, B], [a], a.sum(1))


def test_both_loops_can_be_split(check: Any) -> None:
    A, k, B = row_sums(te.var("n"), te.var("m"))
    s = te.create_schedule(B.op)
    _, ki = s[B].split(k, factor=16)
    _, xi = s[B].split(B.op.axis[0], factor=32)
    s[B].reorder(xi, ki)
    assert str(tvmlite.lower(s, [A, B], simple_mode=True)).count("for ") == 4
    a = np.random.rand(70, 33).astype("f4")
    check(s, [A, B], [a], a.sum(1))


def test_rfactor_computes_partial_sums_first(check: Any) -> None:
    A, k, B = row_sums(te.var("n"), te.var("m"))
    s = te.create_schedule(B.op)
    _, ki = s[B].split(k, factor=16)
    BF = s.rfactor(B, ki)
    xo, xi = s[B].split(B.op.axis[0], factor=32)
    s[B].parallel(xo)
    s[BF].compute_at(s[B], xi)
    a = np.random.rand(70, 33).astype("f4")
    check(s, [A, B], [a], a.sum(1))


def test_a_convolution_reduces_over_two_axes(check: Any) -> None:
    n = te.var("n")
    image, kernel = te.placeholder((n, n), name="image"), te.placeholder((3, 3), name="filter")
    di, dj = te.reduce_axis((0, 3), name="di"), te.reduce_axis((0, 3), name="dj")
    out = te.compute(
        (n - 2, n - 2),
        lambda i, j: te.sum(image[i + di, j + dj] * kernel[di, dj], axis=[di, dj]),
        name="out",
    )
    s = te.create_schedule(out.op)
    x, f = np.random.rand(10, 10).astype("f4"), np.random.rand(3, 3).astype("f4")
    want = sum(x[i : i + 8, j : j + 8] * f[i, j] for i in range(3) for j in range(3))
    check(s, [image, kernel, out], [x, f], want)


def test_a_user_defined_reducer(check: Any) -> None:
    product = te.comm_reducer(lambda x, y: x * y, lambda t: te.const(1, dtype=t), name="product")
    A = te.placeholder((te.var("n"), 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    B = te.compute((A.shape[0],), lambda i: product(A[i, k], axis=k), name="B")
    a = np.random.rand(9, 6).astype("f4")
    check(te.create_schedule(B.op), [A, B], [a], a.prod(1))
