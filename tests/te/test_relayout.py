"""``cache_write`` and ``rfactor`` of stages whose loops are arranged; groups; pragmas of unrolling."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import ScheduleError


def text(block: str) -> str:
    return textwrap.dedent(block).strip()


def gram(n: Any = 16) -> Any:
    A = te.placeholder((n, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((n, 8), lambda i, j: te.sum(A[i, k] * A[i, j], axis=k), name="B")
    return te.create_schedule(B.op), A, B, k


def holds(s: Any, args: Any, run: Any, given: np.ndarray, want: np.ndarray) -> None:
    results = run(s, args, [given], [want.shape])
    results += [tvmlite.build(s, args, target=t, name="cached")(given) for t in ("native", "c")]
    for result in results:
        np.testing.assert_allclose(result, want, rtol=1e-5)


def test_a_cache_has_an_axis_for_each_loop(loops: Any, run: Any) -> None:
    s, A, B, k = gram()
    _, jo, _, _ = s[B].tile(*B.op.axis, 4, 4)
    _, inner = s[B].split(k, factor=2)
    s[B].unroll(inner)
    cached = s.cache_write(B, "local")
    s[cached].compute_at(s[B], jo)

    assert [a.var.name for a in cached.op.axis] == ["i.outer.c", "j.outer.c", "i.inner.c", "j.inner.c"]
    assert loops(s, [A, B]) == text(
        """
        for i.outer in range(0, 4):
            for j.outer in range(0, 2):
                allocate B.local[1, 1, 4, 4] float32:
                    for i.inner.c in range(0, 4):
                        for j.inner.c in range(0, 4):
                            B.local[0, 0, i.inner.c, j.inner.c] = 0.0
                            for k.outer in range(0, 4):
                                for k.inner in unroll(0, 2):
                                    B.local[0, 0, i.inner.c, j.inner.c] = B.local[0, 0, i.inner.c, j.inner.c] + A[i.outer * 4 + i.inner.c, k.outer * 2 + k.inner] * A[i.outer * 4 + i.inner.c, j.outer * 4 + j.inner.c]
                    for i.inner in range(0, 4):
                        for j.inner in range(0, 4):
                            B[i.outer * 4 + i.inner, j.outer * 4 + j.inner] = B.local[0, 0, i.inner, j.inner]
        """  # noqa: E501
    )
    a = np.random.rand(16, 8).astype("f4")
    holds(s, [A, B], run, a, a.sum(1)[:, None] * a)


@pytest.mark.parametrize("n", [14, te.var("n")])
def test_a_cache_of_tails_reads_nothing_outside(n: Any, run: Any) -> None:
    s, A, B, _ = gram(n)
    s[B].tile(*B.op.axis, 4, 5)
    s.cache_write(B, "global")
    a = np.random.rand(14, 8).astype("f4")
    holds(s, [A, B], run, a, a.sum(1)[:, None] * a)


def test_a_cache_after_fuse_and_reorder(run: Any) -> None:
    s, A, B, k = gram()
    fused = s[B].fuse(*B.op.axis)
    outer, inner = s[B].split(fused, factor=32)
    s[B].reorder(inner, outer, k)
    cached = s.cache_write(B, "global")
    assert [int(n) for n in cached.shape] == [32, 4]
    a = np.random.rand(16, 8).astype("f4")
    holds(s, [A, B], run, a, a.sum(1)[:, None] * a)


def test_what_was_computed_in_a_reducing_loop_goes_along(run: Any) -> None:
    s, A, B, k = gram()
    copy = s.cache_read(A, "local", [B])
    outer, _ = s[B].split(k, factor=4)
    s[copy].compute_at(s[B], outer)
    s.cache_write(B, "local")
    a = np.random.rand(16, 8).astype("f4")
    holds(s, [A, B], run, a, a.sum(1)[:, None] * a)


@pytest.mark.parametrize("split", ["nothing", "elements", "reduction"])
def test_a_reduction_over_part_of_a_row_is_cached(split: str, run: Any) -> None:
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: te.sum(A[(k := te.reduce_axis((0, i), name="k"))], axis=k), name="B")
    s = te.create_schedule(B.op)
    if split != "nothing":
        s[B].split((B.op.axis if split == "elements" else B.op.reduce_axis)[0], 4)
    s.cache_write(B, "local")
    a = np.arange(10, dtype="f4")
    np.testing.assert_array_equal(run(s, [A, B], [a], [(10,)])[0], np.cumsum(a) - a)


def test_a_loop_that_reduces_and_runs_over_elements_cannot_be_cached() -> None:
    s, _, B, k = gram()
    s[B].fuse(B.op.axis[1], k)
    with pytest.raises(
        ScheduleError, match=r"cache_write: axis j\.k\.fused of stage B is fused from a reduce axis"
    ):
        s.cache_write(B, "local")
    with pytest.raises(
        ScheduleError, match=r"rfactor: axis j\.k\.fused of stage B is fused with data axis j"
    ):
        s.rfactor(B, s[B].leaf_iter_vars[1])


def test_rfactor_keeps_the_arrangement(loops: Any, run: Any) -> None:
    A = te.placeholder((8, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    io, _ = s[B].split(B.op.axis[0], factor=2)
    s[B].parallel(io)
    outer, lane = s[B].split(k, factor=16)
    _, four = s[B].split(outer, factor=2)
    s[B].unroll(four)
    partial = s.rfactor(B, lane, 1)
    s[partial].compute_at(s[B], io)
    s[partial].vectorize(partial.op.axis[1])

    assert loops(s, [A, B]) == text(
        """
        for i.outer in parallel(0, 4):
            allocate B.rf[2, 16] float32:
                for i in range(0, 2):
                    for k.inner in vectorize(0, 16):
                        B.rf[i, k.inner] = 0.0
                        for k.outer.outer in range(0, 2):
                            for k.outer.inner in unroll(0, 2):
                                B.rf[i, k.inner] = B.rf[i, k.inner] + A[i.outer * 2 + i, k.outer.outer * 32 + k.outer.inner * 16 + k.inner]
                for i.inner in range(0, 2):
                    B[i.outer * 2 + i.inner] = 0.0
                    for k.inner.v in range(0, 16):
                        B[i.outer * 2 + i.inner] = B[i.outer * 2 + i.inner] + B.rf[i.inner, k.inner.v]
        """  # noqa: E501
    )
    a = np.random.rand(8, 64).astype("f4")
    holds(s, [A, B], run, a, a.sum(1))


def test_rfactor_of_one_axis_keeps_the_loops_of_another(run: Any) -> None:
    A = te.placeholder((6, 8, 10), name="A")
    i, j = te.reduce_axis((0, 8), name="i"), te.reduce_axis((0, 10), name="j")
    B = te.compute((6,), lambda n: te.sum(A[n, i, j], axis=[i, j]), name="B")
    s = te.create_schedule(B.op)
    copy = s.cache_read(A, "local", [B])
    outer, inner = s[B].split(j, factor=4)
    s[B].reorder(outer, i, inner)
    s[copy].compute_at(s[B], outer)
    partial = s.rfactor(B, i)
    assert [a.var.name for a in s[partial].leaf_iter_vars] == ["i", "n", "j.outer", "j.inner"]
    a = np.random.rand(6, 8, 10).astype("f4")
    holds(s, [A, B], run, a, a.sum((1, 2)))


def test_a_group_moves_together(loops: Any) -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    D = te.compute((8,), lambda i: C[i] * 3.0, name="D")
    s = te.create_schedule(D.op)
    group = s.create_group(C, A)
    assert [stage.name for stage in group.stages] == ["B", "C"]
    group.compute_at(s[D], D.op.axis[0])
    assert loops(s, [A, D]) == text(
        """
        for i in range(0, 8):
            allocate B[1] float32:
                B[0] = A[i] * 2.0
                allocate C[1] float32:
                    C[0] = B[0] + 1.0
                    D[i] = C[0] * 3.0
        """
    )
    group.compute_root()
    assert loops(s, [A, D]).count("for ") == 3
    assert [stage.name for stage in s.create_group(C, B).stages] == ["C"]
    assert [stage.name for stage in s.create_group(C, B, include_inputs=True).stages] == ["B", "C"]
    with pytest.raises(ScheduleError, match="create_group: D is no input of C"):
        s.create_group(C, D)


def test_auto_unroll_writes_out_small_inner_loops() -> None:
    A = te.placeholder((16, 2, 4), name="A")
    C = te.compute((16, 2, 4), lambda i, j, k: A[i, j, k] + 1.0, name="C")
    for most, stores in ((3, 1), (4, 4), (7, 4), (8, 8)):
        s = te.create_schedule(C.op)
        s[C].pragma(C.op.axis[0], "auto_unroll_max_step", most)
        legal = tvmlite.build(s, [A, C], name="unrolled").source("legal")
        assert legal.count("C[") == stores
    s[C].pragma(C.op.axis[0], "unroll_explicit", False)
    s[C].unroll(C.op.axis[2])
    assert tvmlite.build(s, [A, C], name="unrolled").source("legal").count("C[") == 1
    with pytest.raises(ScheduleError, match=r"axis i of stage C has auto_unroll_max_step 'all'"):
        s[C].pragma(C.op.axis[0], "auto_unroll_max_step", "all")


def test_a_group_moves_as_a_whole_or_not_at_all() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((4,), lambda i: B[i] + 1.0, name="C")
    D = te.compute((4,), lambda i: B[i] * 3.0, name="D")
    s = te.create_schedule([C.op, D.op])
    group = s.create_group([C, B], A)
    before = str(s)
    with pytest.raises(ScheduleError, match="compute_at: C is an output of the schedule"):
        group.compute_at(s[D], D.op.axis[0])
    assert str(s) == before
