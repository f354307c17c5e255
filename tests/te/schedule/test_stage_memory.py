"""Each primitive that arranges memory: loops before and after, the meaning kept, the errors of its misuse."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import ScheduleError


def text(block: str) -> str:
    return textwrap.dedent(block).strip()


def chain(n: Any = 6, m: int = 40) -> Any:
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((n, m), lambda i, j: B[i, j] + 1.0, name="C")
    return te.create_schedule(C.op), A, B, C


def holds(s: Any, args: Any, run: Callable[..., Any], rows: int = 6, columns: int = 40) -> None:
    """The interpreter and both code generators give ``2 * A + 1``."""
    a = np.random.rand(rows, columns).astype("f4")
    results = run(s, args, [a], [(rows, columns)])
    results += [tvmlite.build(s, args, target=t, name="chained")(a) for t in ("native", "c")]
    for result in results:
        np.testing.assert_allclose(result, a * 2 + 1, rtol=1e-6)


def test_prefetch_asks_for_what_a_later_turn_reads(loops: Any, run: Any) -> None:
    s, A, B, C = chain()
    s[B].compute_inline()
    s[C].prefetch(A, C.op.axis[0], 2)

    assert loops(s, [A, C]) == text(
        """
        for i in range(0, 6):
            for A.line1 in unroll(0, 3):
                prefetch(A[i + 2, A.line1 * 16])
            for j in range(0, 40):
                C[i, j] = A[i, j] * 2.0 + 1.0
        """
    )
    holds(s, [A, C], run)


def test_prefetch_in_the_innermost_loop_is_of_one_line(loops: Any) -> None:
    s, A, B, C = chain()
    outer, _ = s[B].split(B.op.axis[1], factor=16)
    s[B].prefetch(A, outer, 1)
    assert "prefetch(A[i, (j.outer + 1) * 16])" in loops(s, [A, C]).replace(
        "j.outer * 16 + 16", "(j.outer + 1) * 16"
    )


def panels() -> Any:
    """A product of 4 rows, two at a time, with two panels of columns, each read by both pairs of rows."""
    A, W = te.placeholder((4, 8), name="A"), te.placeholder((2, 8, 16), name="W")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((4, 2, 16), lambda i, o, c: te.sum(A[i, k] * W[o, k, c], axis=k), name="C")
    D = te.compute((4, 2, 16), lambda i, o, c: C[i, o, c] + 1.0, name="D")
    s = te.create_schedule(D.op)
    i, o, c = s[D].op.axis
    pair, row = s[D].split(i, factor=2)
    s[D].reorder(o, pair, row, c)
    s[C].compute_at(s[D], pair)
    outer, inner = s[C].split(k, factor=4)
    s[C].reorder(outer, inner, *s[C].op.axis)
    return s, (A, W, C, D), (o, pair, outer)


def test_prefetch_of_short_rows_asks_for_each_line_once(loops: Any) -> None:
    """16 rows of four bytes are one line."""
    W = te.placeholder((8, 5, 32, 4), "int8", name="W")
    o, i = te.reduce_axis((0, 5), "k"), te.reduce_axis((0, 4), "p")
    C = te.compute((8, 32), lambda n, m: te.sum(W[n, o, m, i].astype("int32"), [o, i]), name="C")
    s = te.create_schedule(C.op)
    s[C].reorder(C.op.axis[0], o, C.op.axis[1], i)
    s[C].prefetch(W, o, 1)

    assert "for W.line2 in unroll(0, 2)" in loops(s, [W, C])
    assert "prefetch(W[n, k + 1, W.line2 * 16, 0])" in loops(s, [W, C])


def test_prefetch_is_shared_among_loops_within(loops: Any, run: Any) -> None:
    s, (A, W, C, D), (panel, pair, outer) = panels()
    s[C].prefetch(W, panel, share=[pair, outer])

    assert loops(s, [A, W, D]) == text(
        """
        for o in range(0, 2):
            for i.outer in range(0, 2):
                allocate C[2, 1, 16] float32:
                    for i.init in range(0, 2):
                        for c.init in range(0, 16):
                            C[i.init, 0, c.init] = 0.0
                    for k.outer in range(0, 2):
                        for W.line1 in unroll(0, 2):
                            prefetch_l2(W[o + 1, i.outer * 4 + k.outer * 2 + W.line1, 0])
                        for k.inner in range(0, 4):
                            for i in range(0, 2):
                                for c in range(0, 16):
                                    C[i, 0, c] = C[i, 0, c] + A[i.outer * 2 + i, k.outer * 4 + k.inner] * W[o, k.outer * 4 + k.inner, c]
                    for i.inner in range(0, 2):
                        for c_1 in range(0, 16):
                            D[i.outer * 2 + i.inner, o, c_1] = C[i.inner, 0, c_1] + 1.0
        """  # noqa: E501
    )
    a, w = (np.random.rand(*shape).astype("f4") for shape in ((4, 8), (2, 8, 16)))
    results = run(s, [A, W, D], [a, w], [(4, 2, 16)])
    results += [tvmlite.build(s, [A, W, D], target=t, name="panels")(a, w) for t in ("native", "c")]
    for result in results:
        np.testing.assert_allclose(result, np.einsum("ik,okl->iol", a, w) + 1, rtol=1e-5)


def test_what_is_shared_goes_to_the_second_cache() -> None:
    s, (A, W, C, D), (panel, pair, outer) = panels()
    s[C].prefetch(W, panel, share=[pair, outer])
    code = tvmlite.build(s, [A, W, D], target="llvm -mcpu=znver4", name="panels").source("llvm")
    assert "@llvm.prefetch.p0(ptr" in code
    assert "i32 0, i32 2, i32 1)" in code


def test_a_share_stands_inside_the_loop_that_is_looked_ahead() -> None:
    s, (_, W, C, _), (panel, pair, outer) = panels()
    with pytest.raises(ScheduleError, match=r"axis i.outer of stage C does not have o inside, as share asks"):
        s[C].prefetch(W, pair, share=[panel, outer])
    with pytest.raises(ScheduleError, match=r"prefetch: axis i.outer of stage C is not a loop of that stage"):
        s[C].prefetch(W, panel, share=pair)
    with pytest.raises(ScheduleError, match=r"prefetch: var: a tuple given, expected an axis"):
        s[C].prefetch(W, (panel, pair), share=outer)
    with pytest.raises(ScheduleError, match=r"prefetch: axis .* by offset .*: expected no variable"):
        s[C].prefetch(W, panel, offset=pair.var, share=outer)


def test_what_is_not_read_cannot_be_prefetched() -> None:
    s, A, B, C = chain()
    with pytest.raises(ScheduleError, match=r"prefetch: stage B does not read C"):
        s[B].prefetch(C, B.op.axis[0], 1)
    s[C].prefetch(A, C.op.axis[0], 1)
    with pytest.raises(ScheduleError, match=r"prefetch: stage C does not read A any more"):
        te.lower(s, [A, C])
    s = te.create_schedule(C.op)
    with pytest.raises(ScheduleError, match="axis i of stage C offset is float32, expected an integer"):
        s[C].prefetch(B, C.op.axis[0], 1.5)


def test_storage_align_pads_rows(loops: Any, run: Any) -> None:
    s, A, B, C = chain(6, 64)
    s[B].storage_align(B.op.axis[0], 16, 8)

    assert loops(s, [A, C]).splitlines()[0] == "allocate B[6, 64] float32 strides [72, 1]:"
    holds(s, [A, C], run, 6, 64)


def test_storage_align_needs_an_axis_and_a_buffer_of_our_own(loops: Any) -> None:
    s, A, B, C = chain()
    outer, _ = s[B].split(B.op.axis[0], factor=2)
    with pytest.raises(ScheduleError, match=r"IterVar\(i\.outer, data\) is not one of the axes that B was"):
        s[B].storage_align(outer, 16)
    with pytest.raises(ScheduleError, match="storage_align: factor: 0 given, expected an int of at least 1"):
        s[B].storage_align(B.op.axis[0], 0)
    s[C].storage_align(C.op.axis[0], 16)
    with pytest.raises(ScheduleError, match=r"(?s)storage_align: C is an argument.*s\[C\]\.storage_align"):
        loops(s, [A, C])


def part_of_a_row() -> tuple[te.Schedule, te.Tensor, te.Tensor, te.Tensor]:
    """C reads the last 9 of B's 16 columns, a row at a time."""
    A = te.placeholder((4, 16), name="A")
    B = te.compute((4, 16), lambda i, c: A[i, c] * 2, name="B")
    C = te.compute((4, 9), lambda i, j: B[i, j + 7] + 1, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    return s, A, B, C


def test_align_bounds_computes_whole_groups(loops: Any, run: Any) -> None:
    s, A, B, C = part_of_a_row()
    before = """
        for i in range(0, 4):
            allocate B[1, 9] float32:
                for c in range(0, 9):
                    B[0, c] = A[i, c + 7] * 2.0
                for j in range(0, 9):
                    C[i, j] = B[0, j] + 1.0
        """
    assert loops(s, [A, C]) == text(before)

    s[B].align_bounds(B.op.axis[1], 4)

    assert loops(s, [A, C]) == text(
        """
        for i in range(0, 4):
            allocate B[1, 12] float32:
                for c in range(0, 12):
                    B[0, c] = A[i, c + 4] * 2.0
                for j in range(0, 9):
                    C[i, j] = B[0, j + 3] + 1.0
        """
    )
    a = np.arange(64, dtype="float32").reshape(4, 16)
    results = run(s, [A, C], [a], [(4, 9)])
    results += [tvmlite.build(s, [A, C], target=t, name="part")(a) for t in ("native", "c")]
    for result in results:
        np.testing.assert_array_equal(result, a[:, 7:] * 2 + 1)


def test_align_bounds_takes_all_of_an_axis_where_groups_cannot_be_told(loops: Any) -> None:
    A = te.placeholder((40,), name="A")
    B = te.compute((40,), lambda c: A[c] * 2, name="B")
    C = te.compute((12,), lambda i: B[i * 3] + B[i * 3 + 1], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].align_bounds(B.op.axis[0], 8)

    assert "for c in range(0, 40):" in loops(s, [A, C])


def test_align_bounds_needs_an_axis_of_whole_groups() -> None:
    s, _, B, C = part_of_a_row()
    outer, _ = s[C].split(C.op.axis[0], factor=2)
    with pytest.raises(ScheduleError, match=r"align_bounds: IterVar\(i\.outer, data\) is not one of"):
        s[C].align_bounds(outer, 2)
    with pytest.raises(ScheduleError, match=r"IterVar\(c, data\) does not consist of whole groups of 5"):
        s[B].align_bounds(B.op.axis[1], 5)
    with pytest.raises(ScheduleError, match="factor: 0 given, expected an int of at least 1"):
        s[B].align_bounds(B.op.axis[1], 0)


def test_double_buffer_computes_one_turn_ahead(loops: Any, run: Any) -> None:
    s, A, B, C = chain()
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()

    assert loops(s, [A, C]) == text(
        """
        allocate B[2, 1, 40] float32:
            for j in range(0, 40):
                B[0, 0, j] = A[0, j] * 2.0
            for i in range(0, 6):
                if i < 5:
                    for j in range(0, 40):
                        B[(i + 1) % 2, 0, j] = A[i + 1, j] * 2.0
                for j_1 in range(0, 40):
                    C[i, j_1] = B[i % 2, 0, j_1] + 1.0
        """
    )
    holds(s, [A, C], run)


def test_double_buffer_of_a_loop_of_unknown_extent(run: Any) -> None:
    s, A, B, C = chain(te.var("n"))
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].storage_align(B.op.axis[0], 16, 8)
    s[B].double_buffer()
    for rows in (0, 1, 5):
        holds(s, [A, C], run, rows)


def test_double_buffer_needs_a_serial_loop(loops: Any) -> None:
    s, A, B, C = chain()
    s[B].double_buffer()
    with pytest.raises(ScheduleError, match="double_buffer: B is not computed in a loop of another stage"):
        loops(s, [A, C])
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].parallel(C.op.axis[0])
    with pytest.raises(
        ScheduleError, match="B is computed in the parallel loop i, whose iterations have no order"
    ):
        loops(s, [A, C])
    with pytest.raises(ScheduleError, match="double_buffer: C is an output of the schedule"):
        s[C].double_buffer()


def test_a_store_predicate_keeps_what_was_there(loops: Any, run: Any) -> None:
    A = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(k, factor=2)
    s[B].set_store_predicate(te.all(k % 2 == 0, outer < 2))

    assert loops(s, [A, B]) == text(
        """
        for i in range(0, 4):
            B[i] = 0.0
            for k.outer in range(0, 3):
                for k.inner in range(0, 2):
                    if k.inner == 0 and k.outer < 2:
                        B[i] = B[i] + A[i, k.outer * 2]
        """
    )
    a = np.random.rand(4, 6).astype("f4")
    np.testing.assert_allclose(run(s, [A, B], [a], [(4,)])[0], a[:, :4:2].sum(1), rtol=1e-6)
    with pytest.raises(ScheduleError, match="the predicate of stage B is int32, expected bool"):
        s[B].set_store_predicate(k + 1)


def test_a_store_predicate_needs_a_stage_that_stores_and_axes_it_has(loops: Any) -> None:
    s, A, B, C = chain()
    s[B].set_store_predicate(C.op.axis[0] < 2)
    with pytest.raises(
        ScheduleError, match=r"(?s)axis i of stage B is not one of its axes.*s\[B\]\.set_store"
    ):
        loops(s, [A, C])
    s[B].set_store_predicate(B.op.axis[0] < 2)
    s[B].compute_inline()
    with pytest.raises(
        ScheduleError, match="stage B stores nothing itself, as it was given to compute_inline"
    ):
        loops(s, [A, C])
    with pytest.raises(ScheduleError, match="set_store_predicate: A is not a compute"):
        s[A].set_store_predicate(te.const(True))


def test_what_a_stage_reads_by_way_of_another_is_not_a_turn_ahead_of_it(loops: Any) -> None:
    s, A, B, C = chain()
    D = te.compute(C.shape, lambda *i: C(*i) + 1.0, name="D")
    s = te.create_schedule(D.op)
    first = s.cache_write(B, "local")
    i = D.op.axis[0]
    s[first].compute_at(s[D], i)
    s[C].compute_at(s[D], i)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].double_buffer()
    with pytest.raises(
        ScheduleError, match=r"double_buffer: C cannot be an iteration ahead of B\.local, which it reads"
    ):
        loops(s, [A, D])


def test_transform_layout_moves_elements_and_loops(loops: Any, run: Any) -> None:
    s, A, B, C = chain(6, 40)
    axes = s[B].transform_layout(lambda i, j: [j // 16, i, j % 16])
    s[B].vectorize(axes[2])

    assert [a.var.name for a in axes] == ["j.outer", "i", "j.inner"]
    assert loops(s, [A, C]) == text(
        """
        allocate B[3, 6, 16] float32:
            for j.outer in range(0, 3):
                for i in range(0, 6):
                    for j.inner in vectorize(0, 16):
                        if j.outer * 16 + j.inner < 40:
                            B[j.outer, i, j.inner] = A[i, j.outer * 16 + j.inner] * 2.0
            for i_1 in range(0, 6):
                for j in range(0, 40):
                    C[i_1, j] = B[j // 16, i_1, j % 16] + 1.0
        """
    )
    holds(s, [A, C], run)


def test_an_argument_may_be_laid_out_otherwise(run: Any) -> None:
    s, A, B, C = chain(6, 40)
    s[A].transform_layout(lambda i, j: [i % 6 // 2, j // 10 // 2, i % 2, j % 20 // 4, j % 4])
    s[B].compute_inline()
    a = np.random.rand(6, 40).astype("f4")
    packed = np.ascontiguousarray(a.reshape(3, 2, 2, 5, 4).transpose(0, 2, 1, 3, 4))
    np.testing.assert_allclose(run(s, [A, C], [packed], [(6, 40)])[0], a * 2 + 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        (lambda i, j: [i, j // 16], "do not map axis 1"),
        (lambda i, j: [i, j // 16, j % 8], "do not map axis 1"),
        (lambda i, j: [i, j, j], "do not map axis 1"),
        (lambda i, j: [j], "do not map axis 0"),
        (lambda i, j: [i, i + j], r"the index i0 \+ i1 of B is not an axis"),
        (lambda i: [i], "B has 2 axes, the function takes 1"),
    ],
)
def test_a_layout_must_have_a_place_for_each_element(mapping: Any, reason: str) -> None:
    s, _, B, _ = chain()
    with pytest.raises(ScheduleError, match=rf"transform_layout: .*{reason}"):
        s[B].transform_layout(mapping)


def test_a_layout_is_chosen_before_loops_are_arranged() -> None:
    s, _, B, _ = chain()
    s[B].transform_layout(lambda i, j: [j, i])
    with pytest.raises(ScheduleError, match="the layout of stage B was transformed before"):
        s[B].transform_layout(lambda i, j: [j, i])
    s, _, B, _ = chain()
    s[B].split(B.op.axis[0], factor=2)
    with pytest.raises(ScheduleError, match="the loops of stage B are arranged already"):
        s[B].transform_layout(lambda i, j: [j, i])


def test_an_argument_of_unknown_extent_keeps_its_layout(loops: Any) -> None:
    s, A, _, C = chain(te.var("n"))
    s[A].transform_layout(lambda i, j: [j, i])
    with pytest.raises(ScheduleError, match="transform_layout: A is an argument of unknown extents"):
        loops(s, [A, C])


def test_a_prefetch_where_a_loop_around_is_no_more_is_refused() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((8, 8), lambda i, j: b[i, j] + 1.0, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[c].split(c.op.axis[0], factor=4)

    with pytest.raises(ScheduleError, match="compute_at: axis i of stage C is no loop any more"):
        s[b].prefetch(a, b.op.axis[1], 1)
