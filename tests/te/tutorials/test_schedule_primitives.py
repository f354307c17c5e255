"""The schedule primitives one after the other, each on a small computation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te


def product(m: Any, n: Any) -> Any:
    A, B = te.placeholder((m, n), name="A"), te.placeholder((m, n), name="B")
    return A, B, te.compute((m, n), lambda i, j: A[i, j] * B[i, j], name="C")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arrange",
    [
        lambda s, C: None,
        lambda s, C: s[C].split(C.op.axis[0], factor=32),
        lambda s, C: s[C].split(C.op.axis[0], nparts=32),
        lambda s, C: s[C].tile(C.op.axis[0], C.op.axis[1], x_factor=10, y_factor=5),
        lambda s, C: s[C].fuse(*s[C].tile(*C.op.axis, 10, 5)[2:]),
        lambda s, C: s[C].reorder(*s[C].tile(*C.op.axis, 10, 5)[::-1]),
        lambda s, C: s[C].unroll(s[C].split(C.op.axis[1], factor=4)[1]),
        lambda s, C: s[C].parallel(s[C].fuse(*C.op.axis)),
        lambda s, C: s[C].pragma(C.op.axis[0], "auto_unroll_max_step", 16),
    ],
)
def test_primitives_of_one_stage_keep_the_results(arrange: Any, check: Any) -> None:
    A, B, C = product(te.var("m"), te.var("n"))
    s = te.create_schedule([C.op])
    arrange(s, C)
    a, b = np.random.rand(2, 37, 11).astype("f4")
    check(s, [A, B, C], [a, b], a * b)


def chain() -> Any:
    A = te.placeholder((te.var("m"),), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 1.0, name="B")
    return A, B, te.compute(A.shape, lambda i: B[i] * 2.0, name="C")


@pytest.mark.parametrize(
    ("arrange", "loops"),
    [
        (lambda s, B, C: s[B].compute_at(s[C], C.op.axis[0]), 1),
        (lambda s, B, C: s[B].compute_inline(), 1),
        (lambda s, B, C: (s[B].compute_at(s[C], C.op.axis[0]), s[B].compute_root()), 2),
        (lambda s, B, C: s[C].reverse_compute_at(s[B], B.op.axis[0]), 1),
    ],
)
def test_a_stage_can_be_inlined_or_moved_into_a_loop(arrange: Any, loops: int, check: Any) -> None:
    A, B, C = chain()
    s = te.create_schedule(C.op)
    arrange(s, B, C)
    assert str(tvmlite.lower(s, [A, C], simple_mode=True)).count("for ") == loops
    a = np.random.rand(19).astype("f4")
    check(s, [A, C], [a], (a + 1) * 2)
