"""Computations with several outputs: side by side, reduced together, and scheduled."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te


def test_two_outputs_over_the_same_axes(check: Any) -> None:
    m, n = te.var("m"), te.var("n")
    A, B = te.placeholder((m, n), name="A"), te.placeholder((m, n), name="B")
    total, product = te.compute((m, n), lambda i, j: (A[i, j] + 2.0, A[i, j] * B[i, j]), name="both")
    s = te.create_schedule(total.op)
    a, b = np.random.rand(2, 5, 7).astype("f4")
    check(s, [A, B, total, product], [a, b], a + 2, a * b)


def argmax(x: Any, y: Any) -> Any:
    """The one of two (index, value) pairs with the greater value."""
    return te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])


def test_argmax_is_a_reduction_of_pairs(check: Any) -> None:
    m, n = te.var("m"), te.var("n")
    index, value = te.placeholder((m, n), "int32", name="index"), te.placeholder((m, n), name="value")
    reducer = te.comm_reducer(argmax, lambda i, v: (te.const(-1, i), te.min_value(v)), name="argmax")
    k = te.reduce_axis((0, n), name="k")
    place, greatest = te.compute((m,), lambda i: reducer((index[i, k], value[i, k]), axis=k), name="T")
    s = te.create_schedule(place.op)
    outer, _ = s[place].split(place.op.axis[0], factor=4)
    s[place].parallel(outer)
    given = np.random.rand(9, 17).astype("f4")
    indices = np.broadcast_to(np.arange(17, dtype="i4"), given.shape).copy()
    check(s, [index, value, place, greatest], [indices, given], given.argmax(1), given.max(1))


def test_outputs_of_one_stage_are_moved_together(check: Any) -> None:
    A = te.placeholder((6, 8), name="A")
    double, triple = te.compute((6, 8), lambda i, j: (A[i, j] * 2.0, A[i, j] * 3.0), name="parts")
    total = te.compute((6, 8), lambda i, j: double[i, j] + triple[i, j], name="total")
    s = te.create_schedule(total.op)
    s[double].compute_at(s[total], total.op.axis[0])
    a = np.random.rand(6, 8).astype("f4")
    check(s, [A, total], [a], a * 5)
    cached = s.cache_write([double, triple], "local")
    assert [c.name for c in cached] == ["parts.local_0", "parts.local_1"]
    check(s, [A, total], [a], a * 5)
