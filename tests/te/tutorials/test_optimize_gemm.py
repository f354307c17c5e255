"""A matrix product optimized step by step: blocks, vectors, order, packing, a write cache, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite import te

M, N, K = 64, 96, 80
BLOCK = 32


def matrices() -> Any:
    A, B = te.placeholder((M, K), name="A"), te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), name="k")
    return A, B, k, te.compute((M, N), lambda m, n: te.sum(A[m, k] * B[k, n], axis=k), name="C")


def naive() -> Any:
    A, B, _, C = matrices()
    return te.create_schedule(C.op), [A, B, C]


def blocked(vectors: bool = False, permuted: bool = False) -> Any:
    A, B, k, C = matrices()
    s = te.create_schedule(C.op)
    mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], BLOCK, BLOCK)
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(*((mo, no, ko, mi, ki, ni) if permuted else (mo, no, ko, ki, mi, ni)))
    if vectors:
        s[C].vectorize(ni)
    return s, [A, B, C]


def packed(cached: bool = False, threads: bool = False) -> Any:
    A, B = te.placeholder((M, K), name="A"), te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), name="k")
    panel = te.compute((N // BLOCK, K, BLOCK), lambda no, k, ni: B[k, no * BLOCK + ni], name="panel")
    C = te.compute(
        (M, N),
        lambda m, n: te.sum(A[m, k] * panel[n // BLOCK, k, te.indexmod(n, BLOCK)], axis=k),
        name="C",
    )
    s = te.create_schedule(C.op)
    inner = s.cache_write(C, "global") if cached else C
    mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], BLOCK, BLOCK)
    if cached:
        s[inner].compute_at(s[C], no)
        mi, ni = inner.op.axis
    ko, ki = s[inner].split(inner.op.reduce_axis[0] if cached else k, factor=4)
    s[inner].reorder(*((ko, mi, ki, ni) if cached else (mo, no, ko, mi, ki, ni)))
    s[inner].vectorize(ni)
    if cached:
        s[inner].unroll(ki)
    s[panel].vectorize(panel.op.axis[2])
    if threads:
        s[C].parallel(mo)
        s[panel].parallel(panel.op.axis[0])
    return s, [A, B, C]


@pytest.mark.parametrize(
    "step",
    [
        naive,
        blocked,
        lambda: blocked(vectors=True),
        lambda: blocked(vectors=True, permuted=True),
        packed,
        lambda: packed(cached=True),
        lambda: packed(cached=True, threads=True),
    ],
    ids=["naive", "blocking", "vectors", "permuted", "packing", "write cache", "threads"],
)
def test_every_step_computes_the_product(step: Any, check: Any) -> None:
    s, args = step()
    a, b = np.random.rand(M, K).astype("f4"), np.random.rand(K, N).astype("f4")
    check(s, args, [a, b], a @ b)
