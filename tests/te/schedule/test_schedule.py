"""Schedules as a whole: stages, caches, rfactor, normalisation, printing."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError


def text(block: str) -> str:
    return textwrap.dedent(block).strip()


def matmul(n: int, m: int, depth: int):
    A = te.placeholder((n, depth), name="A")
    B = te.placeholder((depth, m), name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C, k


def row_sums(n=4, m=30):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), A, B, k


def test_stages_stand_producers_first_each_once() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((4,), lambda i: B[i] * A[i], name="C")
    D = te.compute((4,), lambda i: C[i] - B[i], name="D")
    s = te.create_schedule([D.op, C.op])

    assert [stage.name for stage in s.stages] == ["A", "B", "C", "D"]
    assert [stage.is_output for stage in s.stages] == [False, False, True, True]
    assert s[B] is s[B.op]


def test_a_placeholder_is_no_output() -> None:
    A = te.placeholder((4,), name="A")

    with pytest.raises(ScheduleError, match=r"create_schedule: A is a placeholder.*\n  at .*test_schedule"):
        te.create_schedule(A.op)


def test_a_tensor_of_another_schedule_is_named() -> None:
    s, *_ = row_sums()
    other = te.compute((4,), lambda i: i + 1, name="other")

    with pytest.raises(ScheduleError, match="the schedule has no stage other"):
        s[other]


def test_printing_shows_stages_and_loops() -> None:
    s, _, _, C, k = matmul(16, 16, 16)
    cached = s.cache_write(C, "local")
    *_, inner = s[C].tile(*C.op.axis, 4, 8)
    s[cached].compute_at(s[C], s[C].leaf_iter_vars[1])
    s[C].vectorize(inner)
    s[cached].pragma(k, "unroll_explicit", True)

    assert str(s) == text(
        """
        A: placeholder
        B: placeholder
        C.local: at C, j.outer
            i.c: data
            j.c: data
            k: reduce, unroll_explicit
        C: output
            i.outer: data
            j.outer: data
            i.inner: data
            j.inner: data, vectorize
        """
    )


def test_cache_write_in_a_tile_is_an_accumulator_of_constant_size(loops, run) -> None:
    s, A, B, C, k = matmul(8, 32, 6)
    acc = s.cache_write(C, "local")
    *_, j = s[C].tile(*C.op.axis, 4, 16)
    s[acc].compute_at(s[C], s[C].leaf_iter_vars[1])
    s[acc].reorder(k, *acc.op.axis)
    s[acc].unroll(acc.op.axis[0])
    s[acc].vectorize(acc.op.axis[1])
    s[C].vectorize(j)

    assert loops(s, [A, B, C]) == text(
        """
        for i.outer in range(0, 2):
            for j.outer in range(0, 2):
                allocate C.local[4, 16] float32:
                    for i.c.init in unroll(0, 4):
                        for j.c.init in vectorize(0, 16):
                            C.local[i.c.init, j.c.init] = 0.0
                    for k in range(0, 6):
                        for i.c in unroll(0, 4):
                            for j.c in vectorize(0, 16):
                                C.local[i.c, j.c] = C.local[i.c, j.c] + """
        """A[i.outer * 4 + i.c, k] * B[k, j.outer * 16 + j.c]
                    for i.inner in range(0, 4):
                        for j.inner in vectorize(0, 16):
                            C[i.outer * 4 + i.inner, j.outer * 16 + j.inner] = C.local[i.inner, j.inner]
        """
    )
    a, b = np.random.default_rng(0).standard_normal((2, 8, 32)).astype("float32")
    a, b = a[:, :6].copy(), b[:6].copy()
    np.testing.assert_allclose(run(s, [A, B, C], [a, b], [(8, 32)])[0], a @ b, rtol=1e-5, atol=1e-5)


def test_an_accumulator_tile_is_constant_under_symbolic_extents(loops) -> None:
    n, m = te.var("n"), te.var("m")
    s, A, B, C, _ = matmul(n, m, 6)
    acc = s.cache_write(C, "local")
    s[C].tile(*C.op.axis, 4, 16)
    s[acc].compute_at(s[C], s[C].leaf_iter_vars[1])

    assert "allocate C.local[4, 16] float32:" in loops(s, [A, B, C])


def test_cache_write_of_several_outputs(run) -> None:
    A = te.placeholder((6,), name="A")
    low, high = te.compute((6,), lambda i: (A[i] - 1.0, A[i] + 1.0), name="T")
    s = te.create_schedule(low.op)
    cached = s.cache_write([low, high], "local")
    s[cached[0]].compute_at(s[low], s[low].op.axis[0])
    a = np.arange(6, dtype="float32")

    one, two = run(s, [A, low, high], [a], [(6,), (6,)])
    np.testing.assert_array_equal(one, a - 1)
    np.testing.assert_array_equal(two, a + 1)


def test_cache_read_copies_what_its_readers_need(loops, run) -> None:
    A = te.placeholder((18,), name="A")
    C = te.compute((16,), lambda i: A[i] + A[i + 2], name="C")
    s = te.create_schedule(C.op)
    cached = s.cache_read(A, "local", [C])
    outer, _ = s[C].split(C.op.axis[0], factor=4)
    s[cached].compute_at(s[C], outer)

    assert loops(s, [A, C]) == text(
        """
        for i.outer in range(0, 4):
            allocate A.local[6] float32:
                for ax0 in range(0, 6):
                    A.local[ax0] = A[i.outer * 4 + ax0]
                for i.inner in range(0, 4):
                    C[i.outer * 4 + i.inner] = A.local[i.inner] + A.local[i.inner + 2]
        """
    )
    a = np.arange(18, dtype="float32")
    np.testing.assert_array_equal(run(s, [A, C], [a], [(16,)])[0], a[:16] + a[2:])


def test_only_the_readers_named_read_the_copy(loops) -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((4,), lambda i: A[i] * B[i], name="C")
    s = te.create_schedule(C.op)
    s.cache_read(A, "local", B)

    shown = loops(s, [A, C])
    assert "B[i] = A.local[i] + 1.0" in shown
    assert "C[i_1] = A[i_1] * B[i_1]" in shown


def test_caching_after_caching_follows_the_rewritten_stages(run) -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    local = s.cache_write(B, "local")
    read = s.cache_read(B, "local", [C])
    write = s.cache_write(C, "local")
    outer, _ = s[C].split(C.op.axis[0], factor=4)
    for tensor in (write, read, B, local):
        s[tensor].compute_at(s[C], outer)
    a = np.arange(8, dtype="float32")

    assert [stage.name for stage in s.stages] == ["A", "B.local", "B", "B.d.local", "C.local", "C"]
    np.testing.assert_array_equal(run(s, [A, C], [a], [(8,)])[0], a * 2 + 1)


def test_rfactor(loops, run) -> None:
    s, A, B, k = row_sums(4, 30)
    _, inner = s[B].split(k, factor=8)
    partial = s.rfactor(B, inner)
    s[partial].compute_at(s[B], s[B].op.axis[0])
    s[partial].vectorize(s[partial].op.axis[0])

    assert loops(s, [A, B]) == text(
        """
        for i in range(0, 4):
            allocate B.rf[8, 1] float32:
                for k.inner in vectorize(0, 8):
                    B.rf[k.inner, 0] = 0.0
                    for k.outer in range(0, 4):
                        if k.outer * 8 + k.inner < 30:
                            B.rf[k.inner, 0] = B.rf[k.inner, 0] + A[i, k.outer * 8 + k.inner]
                B[i] = 0.0
                for k.inner.v in range(0, 8):
                    B[i] = B[i] + B.rf[k.inner.v, 0]
        """
    )
    a = np.random.default_rng(0).standard_normal((4, 30)).astype("float32")
    np.testing.assert_allclose(run(s, [A, B], [a], [(4,)])[0], a.sum(1), rtol=1e-5)


@pytest.mark.parametrize("place", [0, 1, -1])
def test_rfactor_of_the_outer_loop_of_a_fused_reduction(run, place) -> None:
    A = te.placeholder((3, 4, 5), name="A")
    k, r = te.reduce_axis((0, 4), name="k"), te.reduce_axis((0, 5), name="r")
    B = te.compute((3,), lambda i: te.max(A[i, k, r], axis=[k, r]), name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(s[B].fuse(k, r), factor=3)
    s.rfactor(B, outer, place)
    a = np.random.default_rng(0).standard_normal((3, 4, 5)).astype("float32")

    np.testing.assert_array_equal(run(s, [A, B], [a], [(3,)])[0], a.max((1, 2)))


def test_rfactor_of_the_only_loop_leaves_nothing_to_reduce_first(run) -> None:
    s, A, B, k = row_sums(2, 5)
    partial = s.rfactor(B, k)
    a = np.random.default_rng(0).standard_normal((2, 5)).astype("float32")

    assert partial.op.reduce_axis == ()
    np.testing.assert_allclose(run(s, [A, B], [a], [(2,)])[0], a.sum(1), rtol=1e-5)


def test_normalize_leaves_the_schedule_as_it_was() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((4,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    normal = s.normalize()

    assert [stage.name for stage in normal.stages] == ["A", "C"]
    assert normal[C].op.inputs == (A,)
    assert [stage.name for stage in s.stages] == ["A", "B", "C"]
    assert s[C].op is C.op


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda s, A, B, C: s.cache_read(A, "local", [C]),
            "cache_read: stage C does not read A",
        ),
        (
            lambda s, A, B, C: (s[C].transform_layout(lambda *i: i[::-1]), s.cache_write(C, "local")),
            "cache_write: transform_layout was already applied to stage C",
        ),
        (lambda s, A, B, C: s.cache_write(A, "local"), "cache_write: stage A is not a compute"),
        (
            lambda s, A, B, C: s.rfactor(B, B.op.axis[0]),
            "rfactor: axis i of stage B is a data axis, expected a reduce axis",
        ),
        (
            lambda s, A, B, C: s.rfactor(B, B.op.reduce_axis[0], 2),
            "rfactor: factor_axis is 2, expected one of 0 to 1",
        ),
        (
            lambda s, A, B, C: s.rfactor(B, s[B].fuse(B.op.axis[0], B.op.reduce_axis[0])),
            "rfactor: axis i.k.fused of stage B is fused with data axis i",
        ),
        (
            lambda s, A, B, C: s.rfactor(B, C.op.axis[0]),
            "rfactor: axis i of stage B is not a loop of that stage, whose loops are: i, k",
        ),
    ],
)
def test_illegal_use_names_primitive_and_line(act, message) -> None:
    _, A, B, _ = row_sums()
    C = te.compute((4,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)

    with pytest.raises(ScheduleError, match=re.escape(message) + r"\n  at .*test_schedule\.py:\d+"):
        act(s, A, B, C)


def test_outputs_of_one_operation_are_cached_together() -> None:
    A = te.placeholder((6,), name="A")
    low, _ = te.compute((6,), lambda i: (A[i] - 1.0, A[i] + 1.0), name="T")
    s = te.create_schedule(low.op)

    with pytest.raises(ScheduleError, match="cache_write: T has 2 outputs: cache_write needs all of them"):
        s.cache_write(low, "local")


def test_an_attach_point_that_is_gone_is_named_with_its_line() -> None:
    A = te.placeholder((6, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    X = te.compute((6, 8), lambda i, j: A[i, j] * 2.0, name="X")
    B = te.compute((6,), lambda i: te.sum(X[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[X].compute_at(s[B], k)
    _, inner = s[B].split(k, factor=4)
    s.rfactor(B, inner)

    with pytest.raises(
        ScheduleError, match=r"compute_at: axis k is not a loop of stage B.rf any more.*\n  at .*te"
    ):
        te.lower(s, [A, B])
