"""Splits whose last tiles shrink: loops before and after, the meaning at every extent, what is refused."""

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


def sums(n: Any) -> Any:
    """Row sums, and then one more in each."""
    A = te.placeholder((n, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((n,), lambda i: B[i] + 1.0, name="C")
    return te.create_schedule(C.op), A, B, C


def holds(s: Any, args: Any, run: Any, rows: int) -> None:
    a = np.random.rand(rows, 8).astype("f4")
    results = run(s, args, [a], [(rows,)])
    results += [tvmlite.build(s, args, target=t, name="summed")(a) for t in ("native", "c")]
    for result in results:
        np.testing.assert_allclose(result, a.sum(1) + 1, rtol=1e-5)


@pytest.mark.slow
def test_an_unknown_rest_is_done_in_tiles_that_are_halved(loops: Any, run: Any) -> None:
    s, A, B, C = sums(te.var("n"))
    outer, inner = s[C].split(C.op.axis[0], factor=4, tail="shrink")
    s[C].unroll(inner)
    s[B].compute_at(s[C], outer)

    assert loops(s, [A, C]) == text(
        """
        for i.outer in range(0, n // 4):
            allocate B[4] float32:
                for i in range(0, 4):
                    B[i] = 0.0
                    for k in range(0, 8):
                        B[i] = B[i] + A[i.outer * 4 + i, k]
                for i.inner in unroll(0, 4):
                    C[i.outer * 4 + i.inner] = B[i.inner] + 1.0
        for i.outer_1 in range(0, n // 2 - n // 4 * 2):
            allocate B_1[2] float32:
                for i in range(0, 2):
                    B_1[i] = 0.0
                    for k in range(0, 8):
                        B_1[i] = B_1[i] + A[n // 4 * 4 + i.outer_1 * 2 + i, k]
                for i.inner_1 in unroll(0, 2):
                    C[n // 4 * 4 + i.outer_1 * 2 + i.inner_1] = B_1[i.inner_1] + 1.0
        for i.outer_2 in range(0, n - n // 2 * 2):
            allocate B_2[1] float32:
                B_2[0] = 0.0
                for k in range(0, 8):
                    B_2[0] = B_2[0] + A[n // 2 * 2 + i.outer_2, k]
                C[n // 2 * 2 + i.outer_2] = B_2[0] + 1.0
        """
    )
    for rows in (0, 1, 2, 3, 4, 7, 13):
        holds(s, [A, C], run, rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "ratio", "sizes"),
    [
        (16, 2, [16, 8, 4, 2, 1]),
        (16, 4, [16, 4, 1]),
        (12, 4, [12, 3, 1]),
        (14, 4, [14, 7, 1]),
        (9, 3, [9, 3, 1]),
    ],
)
def test_tiles_are_as_many_times_smaller_as_asked(
    factor: int, ratio: int, sizes: list[int], run: Any
) -> None:
    s, A, _, C = sums(te.var("n"))
    _, inner = s[C].split(C.op.axis[0], factor=factor, tail="shrink", ratio=ratio)
    s[C].unroll(inner)

    printed = str(tvmlite.lower(s, [A, C]))
    assert [size for size in range(2, 17) if f"unroll(0, {size})" in printed] == sorted(sizes)[1:]
    for rows in (0, 1, factor - 1, factor, 3 * factor + 5):
        holds(s, [A, C], run, rows)


def test_a_known_rest_is_one_tile(loops: Any, run: Any) -> None:
    s, A, B, C = sums(11)
    outer, inner = s[C].split(C.op.axis[0], factor=4, tail="shrink")
    s[C].vectorize(inner)
    s[B].compute_at(s[C], outer)

    assert loops(s, [A, C]).splitlines()[8:] == [
        "allocate B_1[3] float32:",
        "    for i in range(0, 3):",
        "        B_1[i] = 0.0",
        "        for k in range(0, 8):",
        "            B_1[i] = B_1[i] + A[i + 8, k]",
        "    for i.inner_1 in vectorize(0, 3):",
        "        C[i.inner_1 + 8] = B_1[i.inner_1] + 1.0",
    ]
    holds(s, [A, C], run, 11)


@pytest.mark.parametrize("rows", [8, 3])
def test_without_a_rest_there_is_one_loop(rows: int, loops: Any, run: Any) -> None:
    shrinking, A, _, C = sums(rows)
    shrinking[C].split(C.op.axis[0], factor=4, tail="shrink")
    guarded, A_, _, C_ = sums(rows)
    guarded[C_].split(C_.op.axis[0], factor=4)

    assert loops(shrinking, [A, C]) == loops(guarded, [A_, C_])
    holds(shrinking, [A, C], run, rows)


@pytest.mark.slow
def test_tiles_shrink_inside_tiles_that_shrink(run: Any) -> None:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((n, m), lambda i, j: B[i, j] + A[i, j], name="C")
    s = te.create_schedule(C.op)
    outer, i = s[C].split(C.op.axis[0], factor=6, tail="shrink")
    along, j = s[C].split(C.op.axis[1], factor=4, tail="shrink")
    s[C].reorder(outer, along, i, j)
    s[C].vectorize(j)
    s[B].compute_at(s[C], along)
    _, within = s[B].split(B.op.axis[1], factor=3, tail="shrink")
    s[B].unroll(within)

    for shape in ((13, 11), (6, 4), (5, 3), (1, 9), (0, 2)):
        a = np.random.rand(*shape).astype("f4")
        results = run(s, [A, C], [a], [shape])
        results += [tvmlite.build(s, [A, C], target=t)(a) for t in ("native", "c")]
        for result in results:
            np.testing.assert_allclose(result, a * 3, rtol=1e-6)


def test_a_reduction_shrinks_and_starts_once(run: Any) -> None:
    s, A, B, C = sums(5)
    s[B].split(B.op.reduce_axis[0], factor=3, tail="shrink")
    outer, _ = s[C].split(C.op.axis[0], factor=2, tail="shrink")
    s[C].parallel(outer)
    holds(s, [A, C], run, 5)


def test_a_fused_loop_shrinks(run: Any) -> None:
    n = te.var("n")
    A = te.placeholder((n, 3), name="A")
    C = te.compute((n, 3), lambda i, j: A[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    _, inner = s[C].split(s[C].fuse(*C.op.axis), factor=8, tail="shrink")
    s[C].vectorize(inner)

    for rows in (1, 3, 5, 9):
        a = np.random.rand(rows, 3).astype("f4")
        for result in [*run(s, [A, C], [a], [(rows, 3)]), tvmlite.build(s, [A, C])(a)]:
            np.testing.assert_allclose(result, a + 1)


def test_a_schedule_is_replayed_with_its_tails(loops: Any) -> None:
    s, A, _, C = sums(te.var("n"))
    s[C].split(C.op.axis[0], factor=4, tail="shrink")

    assert 'tail="shrink"' in str(s.trace) or "tail='shrink'" in str(s.trace)
    assert loops(s.replay(), [A, C]) == loops(s, [A, C])


def test_what_shrinking_tiles_need_is_said() -> None:
    n = te.var("n")
    s, _, _, C = sums(n)
    (i,) = C.op.axis
    with pytest.raises(ScheduleError, match="axis i of stage C with tail 'shift': expected \"guard\" or"):
        s[C].split(i, factor=4, tail="shift")
    for given in ({"nparts": 4}, {"factor": n}):
        with pytest.raises(ScheduleError, match=r'tail="shrink" and .*=\w+: expected an int as factor'):
            s[C].split(i, tail="shrink", **given)
    with pytest.raises(ScheduleError, match="split: ratio: 1 given, expected an int of at least 2"):
        s[C].split(i, factor=4, tail="shrink", ratio=1)


def test_the_loop_over_tiles_that_shrink_must_stay() -> None:
    s, A, _, C = sums(te.var("n"))
    outer, _ = s[C].split(C.op.axis[0], factor=4, tail="shrink")
    s[C].split(outer, factor=2)

    with pytest.raises(
        ScheduleError, match=r"(?s)axis i.outer of stage C must stay a loop.*s\[C\]\.split\(C.op.axis"
    ):
        te.lower(s, [A, C])


def test_the_loops_of_a_tile_must_stay_inside() -> None:
    s, A, _, C = sums(te.var("n"))
    outer, inner = s[C].split(C.op.axis[0], factor=4, tail="shrink")
    s[C].reorder(inner, outer)

    with pytest.raises(ScheduleError, match=r"(?s)axis i.inner of stage C.*is outside i.outer; with tail"):
        te.lower(s, [A, C])


def test_primitives_that_need_one_box_of_iterations_refuse() -> None:
    s, _, B, C = sums(11)
    s[C].split(C.op.axis[0], factor=4, tail="shrink")
    with pytest.raises(ScheduleError, match='cache_write: axis i of stage C is split with tail="shrink"'):
        s.cache_write(C, "local")
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=3, tail="shrink")
    with pytest.raises(ScheduleError, match='rfactor: axis k of stage B is split with tail="shrink"'):
        s.rfactor(B, outer)


def test_a_reduction_starts_for_all_tiles_at_once(loops: Any, run: Any) -> None:
    a = te.placeholder((6, 16), name="A")
    k = te.reduce_axis((0, 16), name="k")
    b = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    i = b.op.axis[0]
    outer, inner = s[b].split(i, factor=4, tail="shrink")
    pairs, one = s[b].split(inner, factor=2)
    s[b].reorder(k, outer, pairs, one)

    assert "for i.init in range(0, 6):\n    B[i.init] = 0.0" in loops(s, [a, b])
    x = np.random.rand(6, 16).astype("f4")
    np.testing.assert_allclose(run(s, [a, b], [x], [(6,)])[0], x.sum(1), rtol=1e-5)


def test_each_of_the_loops_has_the_guards_of_its_tiles(loops: Any, run: Any) -> None:
    a = te.placeholder((13,), name="A")
    b = te.compute((13,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(b.op.axis[0], nparts=4)
    s[b].split(inner, factor=3, tail="shrink")

    assert loops(s, [a, b]).count("if ") == 2
    x = np.random.rand(13).astype("f4")
    np.testing.assert_allclose(run(s, [a, b], [x], [(13,)])[0], x * 2, rtol=1e-6)


def test_what_all_of_the_loops_read_is_there(run: Any) -> None:
    a = te.placeholder((5, 12), name="A")
    b = te.compute((5, 12), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((5, 12), lambda i, j: b[i, j] + 1.0, name="C")
    s = te.create_schedule(c.op)
    place, i = s[c].split(c.op.axis[0], nparts=1)
    _, inner = s[c].split(i, factor=4, tail="shrink")
    s[c].fuse(inner, c.op.axis[1])
    s[b].compute_at(s[c], place)

    x = np.random.rand(5, 12).astype("f4")
    np.testing.assert_allclose(run(s, [a, c], [x], [(5, 12)])[0], x * 2 + 1, rtol=1e-6)


@pytest.mark.parametrize("factor", [8, 16])
def test_what_is_read_by_what_stands_in_all_of_the_loops_is_there(factor: int, run: Any) -> None:
    a = te.placeholder((17, 6), name="A")
    b = te.compute((17, 6), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((17, 6), lambda i, j: b[i, j] + 1.0, name="C")
    d = te.compute((17, 6), lambda i, j: c[i, j] * 3.0, name="D")
    for place in (0, 1, 2):
        s = te.create_schedule(d.op)
        outer, inner = s[d].split(d.op.axis[0], factor=factor, tail="shrink")
        s[c].compute_at(s[d], (outer, inner, d.op.axis[1])[place])
        x = np.random.rand(17, 6).astype("f4")
        np.testing.assert_allclose(run(s, [a, d], [x], [(17, 6)])[0], (x * 2 + 1) * 3, rtol=1e-6)


def test_what_is_inlined_is_known_in_all_of_the_loops() -> None:
    a = te.placeholder((13,), name="A")
    b = te.compute((13,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((13,), lambda i: b[i] + 1.0, name="C")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[0], factor=4, tail="shrink")
    s[c].prefetch(b, outer, 1)
    s[b].compute_inline()

    with pytest.raises(ScheduleError, match="prefetch: stage C does not read B any more"):
        te.lower(s, [a, c])


def test_a_tail_that_is_empty_for_every_size_has_no_loops(loops: Any) -> None:
    n = te.size_var("n")
    A = te.placeholder((n, 2), name="A")
    B = te.compute((n, 2), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    fused = s[B].fuse(*B.op.axis)
    s[B].split(fused, factor=2, tail="shrink")

    assert loops(s, [A, B]) == text(
        """
        for i.j.fused.outer in range(0, n):
            for i.j.fused.inner in range(0, 2):
                B[i.j.fused.outer, i.j.fused.inner] = A[i.j.fused.outer, i.j.fused.inner] + 1.0
        """
    )
