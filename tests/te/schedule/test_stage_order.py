"""Each primitive that orders a stage's work: loops before and after, the meaning kept, its errors."""

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


def sums(n: Any = 16, m: int = 8) -> Any:
    """Row sums, and then one more in each."""
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((n,), lambda i: B[i] + 1.0, name="C")
    return te.create_schedule(C.op), A, B, C


def holds(s: Any, args: Any, run: Any, rows: int = 16, columns: int = 8) -> None:
    a = np.random.rand(rows, columns).astype("f4")
    results = run(s, args, [a], [(rows,)])
    results += [tvmlite.build(s, args, target=t, name="summed")(a) for t in ("native", "c")]
    for result in results:
        np.testing.assert_allclose(result, a.sum(1) + 1, rtol=1e-5)


def test_decompose_reduction_initialises_before_the_loop(loops: Any, run: Any) -> None:
    s, A, B, C = sums()
    outer, _ = s[B].split(B.op.axis[0], factor=4)
    s[B].decompose_reduction(outer)

    assert loops(s, [A, B, C]).split("for i_1")[0].rstrip() == text(
        """
        for i.outer.init in range(0, 4):
            for i.inner.init in range(0, 4):
                B[i.outer.init * 4 + i.inner.init] = 0.0
        for i.outer in range(0, 4):
            for i.inner in range(0, 4):
                for k in range(0, 8):
                    B[i.outer * 4 + i.inner] = B[i.outer * 4 + i.inner] + A[i.outer * 4 + i.inner, k]
        for i in range(0, 16):
            C[i] = B[i] + 1.0
        """
    )
    holds(s, [A, C], run)


def test_decompose_reduction_keeps_guards(run: Any) -> None:
    s, A, B, C = sums(te.var("n"))
    outer, _ = s[B].split(B.op.axis[0], factor=4)
    s[B].decompose_reduction(outer)
    holds(s, [A, C], run, 7)


def test_decompose_reduction_is_outside_the_reduction() -> None:
    s, A, B, C = sums()
    s[B].reorder(B.op.reduce_axis[0], B.op.axis[0])
    with pytest.raises(ScheduleError, match="axis i of stage B is inside k, which reduces already"):
        s[B].decompose_reduction(B.op.axis[0])
    with pytest.raises(ScheduleError, match="axis i of stage C has no loop that reduces inside it"):
        s[C].decompose_reduction(C.op.axis[0])
    s, A, B, C = sums()
    s[B].decompose_reduction(B.op.axis[0])
    s[B].reorder(B.op.reduce_axis[0], B.op.axis[0])
    with pytest.raises(
        ScheduleError, match=r"(?s)axis i of stage B is no loop outside.*decompose_reduction\("
    ):
        te.lower(s, [A, C])


def test_loop_partition_makes_pieces_in_order(loops: Any, run: Any) -> None:
    s, A, B, C = sums()
    s[C].loop_partition(C.op.axis[0], [2, None, 3])
    s[B].compute_at(s[C], C.op.axis[0])

    assert loops(s, [A, C]) == text(
        """
        for i in range(0, 2):
            allocate B[1] float32:
                B[0] = 0.0
                for k in range(0, 8):
                    B[0] = B[0] + A[i, k]
                C[i] = B[0] + 1.0
        for i_1 in range(2, 13):
            allocate B[1] float32:
                B[0] = 0.0
                for k in range(0, 8):
                    B[0] = B[0] + A[i_1, k]
                C[i_1] = B[0] + 1.0
        for i_2 in range(13, 16):
            allocate B[1] float32:
                B[0] = 0.0
                for k in range(0, 8):
                    B[0] = B[0] + A[i_2, k]
                C[i_2] = B[0] + 1.0
        """
    )
    holds(s, [A, C], run)


def test_loop_partition_adds_what_is_left(loops: Any) -> None:
    s, A, _, C = sums()
    s[C].loop_partition(C.op.axis[0], [5])
    assert "for i_1 in range(0, 5):" in loops(s, [A, C])
    assert "for i_2 in range(5, 16):" in loops(s, [A, C])


def test_loop_partition_needs_sizes_that_fit(loops: Any) -> None:
    s, A, _, C = sums()
    for sizes in ([0], [None, None], [], [2.5]):
        with pytest.raises(ScheduleError, match=r"axis i of stage C by .* at most one None"):
            s[C].loop_partition(C.op.axis[0], sizes)
    s[C].loop_partition(C.op.axis[0], [10, 10])
    with pytest.raises(
        ScheduleError, match="axis i of stage C has 16 iterations, expected a constant of at least 20"
    ):
        loops(s, [A, C])


def test_reverse_compute_at_puts_the_epilogue_in_the_producers_tile(loops: Any, run: Any) -> None:
    s, A, B, C = sums()
    outer, _ = s[B].split(B.op.axis[0], factor=4)
    s[B].parallel(outer)
    s[C].reverse_compute_at(s[B], outer)

    assert loops(s, [A, C]) == text(
        """
        for i.outer in parallel(0, 4):
            allocate B[4] float32:
                for i.inner in range(0, 4):
                    B[i.inner] = 0.0
                    for k in range(0, 8):
                        B[i.inner] = B[i.inner] + A[i.outer * 4 + i.inner, k]
                for i.inner_1 in range(0, 4):
                    C[i.outer * 4 + i.inner_1] = B[i.inner_1] + 1.0
        """
    )
    holds(s, [A, C], run)


def test_reverse_compute_at_of_tails_and_unknown_extents(run: Any) -> None:
    for n, rows in ((te.var("n"), 11), (11, 11)):
        s, A, B, C = sums(n)
        outer, _ = s[B].split(B.op.axis[0], factor=4)
        s[C].reverse_compute_at(s[B], outer)
        holds(s, [A, C], run, rows)


def test_reverse_compute_at_of_fused_tiles_and_what_was_computed_there(run: Any) -> None:
    A = te.placeholder((8, 12), name="A")
    k = te.reduce_axis((0, 12), name="k")
    B = te.compute((8, 12), lambda i, j: te.sum(A[i, k] * A[i, j], axis=k), name="B")
    C = te.compute((12, 8), lambda j, i: B[i, j] - 1.0, name="C")
    s = te.create_schedule(C.op)
    AA = s.cache_read(A, "local", [B])
    io, jo, ii, _ = s[B].tile(B.op.axis[0], B.op.axis[1], 4, 3)
    fused = s[B].fuse(io, jo)
    s[B].parallel(fused)
    s[B].unroll(ii)
    s[AA].compute_at(s[B], fused)
    s[C].reverse_compute_at(s[B], fused)
    a = np.random.rand(8, 12).astype("f4")
    want = (a.sum(1)[:, None] * a - 1).T
    assert te.lower(s, [A, C]).body.kind == "parallel"  # type: ignore[attr-defined]
    for result in (*run(s, [A, C], [a], [(12, 8)]), tvmlite.build(s, [A, C])(a)):
        np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-5)


def several_readers(n: int = 12, m: int = 8):
    """A softmax, of which three stages read X: its rows' maxima M, their sums S, and the quotients."""
    A = te.placeholder((n, m), name="A")
    X = te.compute((n, m), lambda i, j: A[i, j] * 0.5, name="X")
    k, r = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, m), name="r")
    M = te.compute((n,), lambda i: te.max(X[i, k], axis=k), name="M")
    S = te.compute((n,), lambda i: te.sum(te.exp(X[i, r] - M[i]), axis=r), name="S")
    D = te.compute((n, m), lambda i, j: te.exp(X[i, j] - M[i]) / S[i], name="D")
    return te.create_schedule(D.op), A, X, M, S, D


def is_softmax(s: te.Schedule, A: te.Tensor, D: te.Tensor, run: Any) -> None:
    shape = tuple(int(extent) for extent in A.shape)  # type: ignore[arg-type]
    a = np.random.default_rng(0).standard_normal(shape).astype("float32")
    high = np.exp(a * 0.5 - np.max(a * 0.5, axis=1, keepdims=True))
    np.testing.assert_allclose(
        run(s, [A, D], [a], [shape])[0], high / high.sum(axis=1, keepdims=True), rtol=1e-5
    )


def test_what_several_stages_in_a_loop_read_is_computed_once_before_the_first(loops: Any, run: Any) -> None:
    s, A, X, M, S, D = several_readers()
    for tensor in (S, M, X):
        s[tensor].compute_at(s[D], D.op.axis[0])

    assert loops(s, [A, D]) == text(
        """
        for i in range(0, 12):
            allocate X[1, 8] float32:
                for j in range(0, 8):
                    X[0, j] = A[i, j] * 0.5
                allocate M[1] float32:
                    M[0] = -inf
                    for k in range(0, 8):
                        M[0] = max(M[0], X[0, k])
                    allocate S[1] float32:
                        S[0] = 0.0
                        for r in range(0, 8):
                            S[0] = S[0] + exp(X[0, r] - M[0])
                        for j_1 in range(0, 8):
                            D[i, j_1] = exp(X[0, j_1] - M[0]) / S[0]
        """
    )
    is_softmax(s, A, D, run)


@pytest.mark.parametrize("n", [12, 13])
@pytest.mark.parametrize("tail", ["guard", "shrink"])
def test_readers_may_stand_at_different_depths_of_the_loop(run: Any, n: int, tail: str) -> None:
    s, A, X, M, S, D = several_readers(n)
    outer, inner = s[D].split(D.op.axis[0], factor=4, tail=tail)
    s[S].compute_at(s[D], inner)
    s[M].compute_at(s[D], outer)
    s[X].compute_at(s[D], outer)
    s[X].vectorize(X.op.axis[1])

    assert str(te.lower(s, [A, D])).count("* 0.5") == (2 if (n, tail) == (13, "shrink") else 1)
    is_softmax(s, A, D, run)


def test_a_reader_outside_the_loop_is_named() -> None:
    s, A, X, _, S, D = several_readers()
    s[X].compute_at(s[D], D.op.axis[0])
    s[S].compute_at(s[D], D.op.axis[0])

    with pytest.raises(
        ScheduleError, match="X is computed at axis i of D, but M, which is outside that loop, reads it too"
    ):
        te.lower(s, [A, D])


@pytest.mark.parametrize("n", [16, 13])
def test_an_epilogue_of_several_stages_shares_the_producers_tile(loops: Any, run: Any, n: int) -> None:
    s, A, B, _ = sums(n)
    C = te.compute((n,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((n,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    outer, _ = s[B].split(B.op.axis[0], factor=4)
    s[C].compute_at(s[D], D.op.axis[0])
    s[D].reverse_compute_at(s[B], outer)

    shown = loops(s, [A, D])
    assert [shown.count(f"{name}[") > 0 for name in "BCD"] == [True] * 3
    assert shown.startswith("for i.outer in range(0, 4):\n    allocate B[4] float32:")
    a = np.random.default_rng(0).standard_normal((n, 8)).astype("float32")
    np.testing.assert_allclose(run(s, [A, D], [a], [(n,)])[0], a.sum(1) * 3, rtol=1e-5, atol=1e-5)


def outputs_of_sums(n: Any = 16):
    """Row sums B that three outputs read: C, D, and E, which reads C too."""
    A = te.placeholder((n, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((n,), lambda i: B[i] + 1.0, name="C")
    D = te.compute((n,), lambda i: B[i] * 2.0, name="D")
    E = te.compute((n,), lambda i: B[i] * C[i], name="E")
    return te.create_schedule([C.op, D.op, E.op]), A, B, C, D, E


def are_outputs_of_sums(s: te.Schedule, args: list[te.Tensor], run: Any, n: int = 16) -> None:
    a = np.random.default_rng(0).standard_normal((n, 8)).astype("float32")
    sums = a.sum(1)
    interpreted = run(s, args, [a], [(n,)] * 3)
    for found in (interpreted, *(tvmlite.build(s, args, target=t)(a) for t in ("native", "c"))):
        for result, expected in zip(found, (sums + 1, sums * 2, sums * (sums + 1)), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_compute_with_puts_outputs_in_one_loop(loops: Any, run: Any) -> None:
    s, A, B, C, D, E = outputs_of_sums()
    i = E.op.axis[0]
    s[C].compute_with(s[E], i)
    s[D].compute_with(s[E], i)
    s[B].compute_at(s[E], i)

    assert loops(s, [A, C, D, E]) == text(
        """
        for i in range(0, 16):
            allocate B[1] float32:
                B[0] = 0.0
                for k in range(0, 8):
                    B[0] = B[0] + A[i, k]
                C[i] = B[0] + 1.0
                D[i] = B[0] * 2.0
                E[i] = B[0] * C[i]
        """
    )
    are_outputs_of_sums(s, [A, C, D, E], run)
    assert "C: output, at E, i" in str(s)
    assert str(s.trace[0]) == "s[C].compute_with(s[E], i)"


@pytest.mark.slow
@pytest.mark.parametrize("n", [16, 13, 3])
@pytest.mark.parametrize("tail", ["guard", "shrink"])
@pytest.mark.parametrize("symbolic", [False, True])
def test_compute_with_of_tiles(run: Any, n: int, tail: str, symbolic: bool) -> None:
    s, A, B, C, D, E = outputs_of_sums(te.var("n") if symbolic else n)
    outer, inner = s[E].split(E.op.axis[0], factor=4, tail=tail)
    s[D].compute_with(s[E], outer)
    s[C].compute_with(s[E], outer)
    s[B].compute_at(s[E], outer)
    s[E].parallel(outer)
    s[E].vectorize(inner)

    are_outputs_of_sums(s, [A, C, D, E], run, n)


def test_outputs_are_computed_with_each_other_in_turn(run: Any) -> None:
    _, A, B, C, D, _ = outputs_of_sums()
    D2 = te.compute((16,), lambda i: B[i] - 1.0, name="D2")
    s = te.create_schedule([C.op, D.op, D2.op])
    outer, _ = s[D2].split(D2.op.axis[0], factor=8)
    s[D].compute_with(s[D2], outer)
    middle, _ = s[D].split(D.op.axis[0], factor=2)
    s[C].compute_with(s[D], middle)
    s[B].compute_at(s[D2], outer)
    a = np.random.default_rng(0).standard_normal((16, 8)).astype("float32")
    found = run(s, [A, C, D, D2], [a], [(16,)] * 3)
    for result, expected in zip(found, (a.sum(1) + 1, a.sum(1) * 2, a.sum(1) - 1), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_compute_with_of_two_axes_that_were_fused(run: Any) -> None:
    A = te.placeholder((6, 8), name="A")
    B = te.compute((6, 8), lambda i, j: A[i, j] * 3.0, name="B")
    C = te.compute((6, 8), lambda i, j: B[i, j] + 1.0, name="C")
    D = te.compute((6, 8), lambda i, j: B[i, j] - C[i, j], name="D")
    s = te.create_schedule([C.op, D.op])
    outer, inner = s[D].split(s[D].fuse(*D.op.axis), factor=16)
    s[C].compute_with(s[D], outer)
    s[B].compute_at(s[D], outer)
    s[D].vectorize(inner)
    a = np.random.default_rng(0).standard_normal((6, 8)).astype("float32")

    for result, expected in zip(
        run(s, [A, C, D], [a], [(6, 8)] * 2), (a * 3 + 1, np.full((6, 8), -1.0)), strict=True
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_compute_with_says_why_it_cannot() -> None:
    s, _, B, C, D, E = outputs_of_sums()
    F = te.compute((8,), lambda i: C[i + 1], name="F")
    G = te.compute((16,), lambda i: C[15 - i], name="G")
    K = te.reduce_axis((0, 16), name="r")
    H = te.compute((16,), lambda i: te.sum(D[K] * i, axis=K), name="H")
    wide = te.create_schedule([C.op, G.op])
    other = te.create_schedule([C.op, F.op])
    whole = te.create_schedule([D.op, H.op])
    whole[H].reorder(K, H.op.axis[0])
    third = te.create_schedule([C.op, G.op, E.op])
    i = E.op.axis[0]
    cases = [
        (lambda: s[B].compute_with(s[E], i), "B and E must be outputs of the schedule"),
        (lambda: s[E].compute_with(s[C], C.op.axis[0]), "E comes after C, which can be computed with it"),
        (lambda: other[C].compute_with(other[F], F.op.axis[0]), r"C is \[16\], F is \[8\]"),
        (lambda: third[C].compute_with(third[E], i), "G reads C too"),
        (lambda: wide[C].compute_with(wide[G], G.op.axis[0]), r"G reads C\[15 - i\], not the element of"),
        (lambda: s[C].compute_with(third[E], i), "is no stage of this schedule"),
        (lambda: s[C].compute_with(E, i), "is no stage of this schedule"),
        (lambda: s[C].compute_with(s[E], D.op.axis[0]), "axis i of stage E is not a loop of that stage"),
    ]
    for act, message in cases:
        with pytest.raises(ScheduleError, match=rf"(?s)compute_with: .*{message}.*test_stage_order.py:\d+"):
            act()
    with pytest.raises(ScheduleError, match="H reads D"):
        whole[D].compute_with(whole[H], H.op.axis[0])


def test_reverse_compute_at_says_why_it_cannot() -> None:
    s, _, B, C = sums()
    with pytest.raises(ScheduleError, match="axis k of stage B is a reduce axis: C cannot be computed in it"):
        s[C].reverse_compute_at(s[B], B.op.reduce_axis[0])
    with pytest.raises(ScheduleError, match="B must be a compute without reduction that reads C"):
        s[B].reverse_compute_at(s[C], C.op.axis[0])
    s[C].split(C.op.axis[0], factor=2)
    with pytest.raises(ScheduleError, match="the loops of C are arranged already"):
        s[C].reverse_compute_at(s[B], B.op.axis[0])

    D = te.compute((15,), lambda i: B[i + 1] + 1.0, name="D")
    s = te.create_schedule(D.op)
    with pytest.raises(ScheduleError, match=r"D reads B\[i \+ 1\], which is not element-wise"):
        s[D].reverse_compute_at(s[B], B.op.axis[0])

    E = te.compute((16,), lambda i: B[i] * 2.0, name="E")
    s = te.create_schedule([C.op, E.op])
    with pytest.raises(ScheduleError, match="E reads B too"):
        s[C].reverse_compute_at(s[B], B.op.axis[0])
    s = te.create_schedule([B.op, C.op])
    with pytest.raises(ScheduleError, match="B is an output, which must be computed completely"):
        s[C].reverse_compute_at(s[B], B.op.axis[0])
    with pytest.raises(ScheduleError, match="'B' is not a stage"):
        s[C].reverse_compute_at("B", B.op.axis[0])  # type: ignore[arg-type]
