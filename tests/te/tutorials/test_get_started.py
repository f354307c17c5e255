"""First steps: add two vectors, then schedule the addition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te


def vectors(n: Any) -> Any:
    A = te.placeholder((n,), name="A")
    B = te.placeholder((n,), name="B")
    return A, B, te.compute(A.shape, lambda i: A[i] + B[i], name="C")


@pytest.mark.slow
def test_a_function_for_any_length(check: Any) -> None:
    A, B, C = vectors(te.var("n"))
    s = te.create_schedule(C.op)
    for n in (0, 1, 1024, 1031):
        a, b = np.random.rand(2, n).astype("f4")
        check(s, [A, B, C], [a, b], a + b)


def test_the_loop_is_split_parallelized_and_vectorized(check: Any) -> None:
    A, B, C = vectors(te.var("n"))
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=64)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    assert "for i.outer in parallel(0, (n + 63) // 64):" in str(tvmlite.lower(s, [A, B, C], simple_mode=True))
    a, b = np.random.rand(2, 1000).astype("f4")
    check(s, [A, B, C], [a, b], a + b)


def test_the_output_can_be_given_and_the_code_read() -> None:
    A, B, C = vectors(16)
    add = tvmlite.build(te.create_schedule(C.op), [A, B, C], name="add")
    a, b = np.random.rand(2, 16).astype("f4")
    c = np.empty(16, "f4")
    add(a, b, c)
    np.testing.assert_array_equal(c, a + b)
    assert "fadd" in add.source("llvm")
    assert "int32_t add(" in add.source("c")
