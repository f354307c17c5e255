"""Each primitive of one stage: loops before and after, and the errors of illegal uses."""

from __future__ import annotations

import re
import textwrap

import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError


def text(block: str) -> str:
    return textwrap.dedent(block).strip()


def one_loop(n):
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[i] + 1.0, name="C")
    return te.create_schedule(C.op), A, C


def two_loops(n=6, m=8):
    A = te.placeholder((n, m), name="A")
    C = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="C")
    return te.create_schedule(C.op), A, C


def row_sums(n=4, m=8):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), A, B


def chain(n=16):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((n,), lambda i: B[i] + 1.0, name="C")
    return te.create_schedule(C.op), A, B, C


def test_split_by_a_factor_that_divides(loops) -> None:
    s, A, C = one_loop(16)
    outer, inner = s[C].split(C.op.axis[0], factor=4)

    assert (outer.var.name, inner.var.name) == ("i.outer", "i.inner")
    assert loops(s, [A, C]) == text(
        """
        for i.outer in range(0, 4):
            for i.inner in range(0, 4):
                C[i.outer * 4 + i.inner] = A[i.outer * 4 + i.inner] + 1.0
        """
    )


def test_split_by_a_factor_that_leaves_a_tail_adds_a_guard(loops) -> None:
    s, A, C = one_loop(18)
    s[C].split(C.op.axis[0], factor=4)

    assert loops(s, [A, C]) == text(
        """
        for i.outer in range(0, 5):
            for i.inner in range(0, 4):
                if i.outer * 4 + i.inner < 18:
                    C[i.outer * 4 + i.inner] = A[i.outer * 4 + i.inner] + 1.0
        """
    )


def test_split_into_a_number_of_parts(loops) -> None:
    s, A, C = one_loop(16)
    s[C].split(C.op.axis[0], nparts=2)

    assert loops(s, [A, C]).startswith("for i.outer in range(0, 2):\n    for i.inner in range(0, 8):\n")


def test_a_factor_greater_than_the_extent_shrinks_to_it(loops) -> None:
    s, A, C = one_loop(3)
    s[C].split(C.op.axis[0], factor=8)

    assert loops(s, [A, C]) == "for i.inner in range(0, 3):\n    C[i.inner] = A[i.inner] + 1.0"


def test_split_of_a_symbolic_extent_guards_the_tail(loops) -> None:
    s, A, C = one_loop(te.var("n"))
    s[C].split(C.op.axis[0], factor=4)

    assert loops(s, [A, C]) == text(
        """
        for i.outer in range(0, (n + 3) // 4):
            for i.inner in range(0, 4):
                if i.outer * 4 + i.inner < n:
                    C[i.outer * 4 + i.inner] = A[i.outer * 4 + i.inner] + 1.0
        """
    )


def test_a_symbolic_extent_that_is_a_multiple_needs_no_guard(loops) -> None:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    C = te.compute((n * 4,), lambda i: A[i // 4, i % 4] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=4)

    assert loops(s, [A, C]) == text(
        """
        for i.outer in range(0, n):
            for i.inner in range(0, 4):
                C[i.outer * 4 + i.inner] = A[i.outer, i.inner] + 1.0
        """
    )


def test_fuse(loops) -> None:
    s, A, C = two_loops(6, 8)
    fused = s[C].fuse(*C.op.axis)

    assert fused.var.name == "i.j.fused"
    assert loops(s, [A, C]) == text(
        """
        for i.j.fused in range(0, 48):
            C[i.j.fused // 8, i.j.fused % 8] = A[i.j.fused // 8, i.j.fused % 8] + 1.0
        """
    )


def test_fuse_of_three_and_of_none(loops) -> None:
    A = te.placeholder((2, 3, 4), name="A")
    C = te.compute((2, 3, 4), lambda i, j, k: A[i, j, k] + 1.0, name="C")
    s = te.create_schedule(C.op)
    assert s[C].fuse(*C.op.axis).var.name == "i.j.fused.k.fused"
    assert loops(s, [A, C]).startswith("for i.j.fused.k.fused in range(0, 24):\n")

    scalar = te.compute((), lambda: A[0, 0, 0] + 1.0, name="D")
    s = te.create_schedule(scalar.op)
    s[scalar].fuse()
    assert loops(s, [A, scalar]) == "D[] = A[0, 0, 0] + 1.0"


def test_tile(loops) -> None:
    s, A, C = two_loops(6, 8)
    s[C].tile(*C.op.axis, 3, 4)

    assert loops(s, [A, C]) == text(
        """
        for i.outer in range(0, 2):
            for j.outer in range(0, 2):
                for i.inner in range(0, 3):
                    for j.inner in range(0, 4):
                        C[i.outer * 3 + i.inner, j.outer * 4 + j.inner] = """
        """A[i.outer * 3 + i.inner, j.outer * 4 + j.inner] + 1.0
        """
    )


def test_reorder(loops) -> None:
    s, A, C = two_loops()
    s[C].reorder(*reversed(C.op.axis))

    assert loops(s, [A, C]) == text(
        """
        for j in range(0, 8):
            for i in range(0, 6):
                C[i, j] = A[i, j] + 1.0
        """
    )


def test_vectorize_unroll_and_parallel_name_the_kind_of_loop(loops) -> None:
    A = te.placeholder((4, 2, 8), name="A")
    C = te.compute((4, 2, 8), lambda i, j, k: A[i, j, k] + 1.0, name="C")
    s = te.create_schedule(C.op)
    i, j, k = C.op.axis
    s[C].parallel(i)
    s[C].unroll(j)
    s[C].vectorize(k)

    assert loops(s, [A, C]) == text(
        """
        for i in parallel(0, 4):
            for j in unroll(0, 2):
                for k in vectorize(0, 8):
                    C[i, j, k] = A[i, j, k] + 1.0
        """
    )


def test_pragma_is_kept_on_its_loop(loops) -> None:
    s, A, C = one_loop(16)
    s[C].pragma(C.op.axis[0], "auto_unroll_max_step", 16)

    assert loops(s, [A, C]).startswith("for i in range(0, 16, auto_unroll_max_step=16):")


def test_compute_at(loops) -> None:
    s, A, B, C = chain(16)
    outer, _ = s[C].split(C.op.axis[0], factor=4)
    s[B].compute_at(s[C], outer)

    assert loops(s, [A, C]) == text(
        """
        for i.outer in range(0, 4):
            allocate B[4] float32:
                for i in range(0, 4):
                    B[i] = A[i.outer * 4 + i] * 2.0
                for i.inner in range(0, 4):
                    C[i.outer * 4 + i.inner] = B[i.inner] + 1.0
        """
    )


def test_compute_root_undoes_compute_at(loops) -> None:
    s, A, B, C = chain(16)
    before = loops(s, [A, C])
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].compute_root()

    assert (
        before
        == loops(s, [A, C])
        == text(
            """
        allocate B[16] float32:
            for i in range(0, 16):
                B[i] = A[i] * 2.0
            for i_1 in range(0, 16):
                C[i_1] = B[i_1] + 1.0
        """
        )
    )


def test_compute_inline(loops) -> None:
    s, A, B, C = chain(16)
    s[B].compute_inline()

    assert loops(s, [A, C]) == "for i in range(0, 16):\n    C[i] = A[i] * 2.0 + 1.0"


def test_an_attach_point_that_is_split_later_moves_to_the_inner_loop(loops) -> None:
    s, A, B, C = chain(16)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].split(C.op.axis[0], factor=4)

    assert loops(s, [A, C]) == text(
        """
        for i.outer in range(0, 4):
            for i.inner in range(0, 4):
                allocate B[1] float32:
                    B[0] = A[i.outer * 4 + i.inner] * 2.0
                    C[i.outer * 4 + i.inner] = B[0] + 1.0
        """
    )


def test_the_init_is_just_outside_the_outermost_reduce_loop(loops) -> None:
    s, A, B = row_sums()
    (k,) = B.op.reduce_axis
    ko, ki = s[B].split(k, factor=4)
    s[B].reorder(ko, B.op.axis[0], ki)

    assert loops(s, [A, B]) == text(
        """
        for i.init in range(0, 4):
            B[i.init] = 0.0
        for k.outer in range(0, 2):
            for i in range(0, 4):
                for k.inner in range(0, 4):
                    B[i] = B[i] + A[i, k.outer * 4 + k.inner]
        """
    )


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda s, C: s.split(s.op.axis[0]), "split: axis i of stage C needs either factor= or nparts="),
        (
            lambda s, C: s.split(s.op.axis[0], factor=0),
            "split: axis i of stage C by factor 0: expected an int of at least 1",
        ),
        (
            lambda s, C: s.split(s.op.axis[0], nparts=2.5),
            "split: axis i of stage C by nparts 2.5: expected an int of at least 1",
        ),
        (lambda s, C: s.split("i", factor=2), "split: 'i' given, expected an axis"),
        (
            lambda s, C: (s.split(s.op.axis[0], 2), s.split(s.op.axis[0], 2)),
            "split: axis i of stage C is no loop any more: it was split into i.outer and i.inner",
        ),
        (
            lambda s, C: (s.fuse(*s.op.axis), s.unroll(s.op.axis[1])),
            "unroll: axis j of stage C is no loop any more: it was fused into i.j.fused",
        ),
        (
            lambda s, C: s.reorder(te.reduce_axis((0, 4), name="q")),
            "reorder: axis q of stage C is not a loop of that stage, whose loops are: i, j",
        ),
        (
            lambda s, C: s.reorder(s.op.axis[0], s.op.axis[0]),
            "reorder: axis i of stage C is given twice",
        ),
        (
            lambda s, C: (s.split(s.op.axis[0], 2), s.fuse(s.leaf_iter_vars[0], s.op.axis[1])),
            "fuse: axis j of stage C is not next to i.outer: only neighbouring loops fuse",
        ),
        (lambda s, C: s.compute_inline(), "compute_inline: C is an output of the schedule"),
    ],
)
def test_illegal_use_names_primitive_axis_and_line(act, message) -> None:
    s, _, C = two_loops()

    with pytest.raises(ScheduleError, match=re.escape(message) + r"\n  at .*test_stage\.py:\d+"):
        act(s[C], C)


@pytest.mark.parametrize("primitive", ["vectorize", "parallel"])
def test_a_reduce_axis_cannot_be_vectorized_or_parallelized(primitive) -> None:
    s, _, B = row_sums()

    with pytest.raises(ScheduleError) as error:
        getattr(s[B], primitive)(B.op.reduce_axis[0])

    assert f"{primitive}: axis k of stage B is a reduce axis, expected a data axis" in str(error.value)
    assert "hint: s.rfactor makes a data axis of a reduce axis" in str(error.value)


def test_a_reduction_cannot_be_inlined() -> None:
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((4,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)

    with pytest.raises(ScheduleError, match="compute_inline: stage B is a reduction over k, which cannot be"):
        s[B].compute_inline()


def test_compute_at_needs_a_consumer_and_one_of_its_loops() -> None:
    s, A, B, C = chain()
    D = te.compute((16,), lambda i: A[i] - 1.0, name="D")
    both = te.create_schedule([C.op, D.op])

    with pytest.raises(
        ScheduleError, match="compute_at: stage D does not read B, so B cannot be computed at "
    ):
        both[B].compute_at(both[D], D.op.axis[0])
    with pytest.raises(ScheduleError, match="compute_at: axis i of stage C is not a loop of that stage"):
        s[B].compute_at(s[C], B.op.axis[0])
    with pytest.raises(ScheduleError, match="compute_at: stage B cannot be in its own loop"):
        s[B].compute_at(s[B], B.op.axis[0])
    with pytest.raises(ScheduleError, match="compute_at: A is a placeholder"):
        s[A].compute_at(s[C], C.op.axis[0])
    with pytest.raises(ScheduleError, match="compute_at: C is an output of the schedule"):
        s[C].compute_at(s[B], B.op.axis[0])
    with pytest.raises(ScheduleError, match="is not a stage"):
        s[B].compute_at(C, C.op.axis[0])
