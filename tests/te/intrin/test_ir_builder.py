"""Extern stages: hand-written loop nests, their position in a schedule, their errors."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import ScheduleError, TensorExpressionError


def text(block: str) -> str:
    return textwrap.dedent(block).strip()


def running_sum(ins, outs):
    ib = te.ir_builder.create()
    source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    total = ib.allocate("float32", (1,), name="total")
    total[0] = 0.0
    with ib.for_range(0, ins[0].shape[0], name="i") as i:
        total[0] = total[0] + source[i]
        with ib.if_scope(i % 2 == 0):
            target[i] = total[0]
        with ib.else_scope():
            target[i] = -total[0]
    return ib.get()


def test_an_extern_stage_may_be_between_compute_stages(loops, run) -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    S = te.extern((n,), [B], running_sum, name="S")
    C = te.compute((n,), lambda i: S[i] + 1.0, name="C")
    s = te.create_schedule(C.op)

    assert loops(s, [A, C]) == text(
        """
        allocate B[n] float32:
            for i in range(0, n):
                B[i] = A[i] * 2.0
            allocate S[n] float32:
                allocate total[1] float32:
                    total[0] = 0.0
                    for i_1 in range(0, n):
                        total[0] = total[0] + B[i_1]
                        if i_1 % 2 == 0:
                            S[i_1] = total[0]
                        else:
                            S[i_1] = total[0] * -1.0
                for i_2 in range(0, n):
                    C[i_2] = S[i_2] + 1.0
        """
    )
    a = np.arange(7, dtype="float32")
    want = np.cumsum(a * 2) * np.where(np.arange(7) % 2, -1, 1) + 1
    np.testing.assert_array_equal(run(s, [A, C], [a], [(7,)])[0], want)


def test_insertion_sort_with_a_while_loop(run) -> None:
    def insertion_sort(ins, outs):
        ib = te.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        rows, columns = ins[0].shape
        with ib.for_range(0, rows, name="r", kind="parallel") as r:
            place = ib.allocate("int64", (1,), name="place")
            with ib.for_range(0, columns, name="c") as c:
                place[0] = c
                one = ib.let("one", source[r, c])
                before = te.max(place[0] - 1, 0)
                with ib.while_loop(te.all(place[0] > 0, target[r, before] > one)):
                    target[r, place[0]] = target[r, before]
                    place[0] = place[0] - 1
                target[r, place[0]] = one
        return ib.get()

    A = te.placeholder((3, 8), name="A")
    S = te.extern((3, 8), [A], insertion_sort, name="S")
    a = np.random.default_rng(0).standard_normal((3, 8)).astype("float32")

    got = run(te.create_schedule(S.op), [A, S], [a], [(3, 8)])[0]
    np.testing.assert_array_equal(got, np.sort(a, axis=1))


def test_several_outputs_with_own_dtypes_and_a_flat_index(run) -> None:
    def split(ins, outs):
        ib = te.ir_builder.create()
        source, whole, rest = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), ib.buffer_ptr(outs[1])
        with ib.for_range(0, 6, name="i") as i:
            whole[i] = source[i]
            rest[i // 3, i % 3] = source[i] - te.floor(source[i])
        return ib.get()

    A = te.placeholder((2, 3), name="A")
    whole, rest = te.extern([(2, 3), (2, 3)], [A], split, dtype=["int32", "float32"], name="T")
    a = np.array([[0.5, 1.25, 2.0], [3.75, 4.5, 5.0]], "float32")

    assert (whole.dtype, rest.dtype, whole.shape) == ("int32", "float32", (2, 3))
    got = run(te.create_schedule(whole.op), [A, whole, rest], [a], [(2, 3), (2, 3)])
    np.testing.assert_array_equal(got[0], a.astype("int32"))
    np.testing.assert_array_equal(got[1], a % 1)


def test_a_let_of_an_int_keeps_its_dtype(loops, run) -> None:
    def count(ins, outs):
        ib = te.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, name="i") as i:
            target[i] = 0
        with ib.for_range(0, n * 2, name="i") as i:
            place = ib.let("place", source[i] % 4)
            target[place] = target[place] + 1
        return ib.get()

    n = te.var("n")
    A = te.placeholder((n, 2), "int32", name="A")
    S = te.extern((4,), [A], count, name="S")
    s = te.create_schedule(S.op)
    a = np.array([[1, 2], [2, 7], [6, 5]], "int32")

    assert "place = A[i_1 // 2, i_1 % 2] % 4" in loops(s, [A, S])
    np.testing.assert_array_equal(run(s, [A, S], [a], [(4,)])[0], np.bincount(a.ravel() % 4, minlength=4))


def test_an_extern_stage_may_be_computed_in_a_loop_of_its_consumer(run) -> None:
    A = te.placeholder((4,), name="A")
    S = te.extern((4,), [A], running_sum, name="S")
    C = te.compute((2, 4), lambda i, j: S[j] + i, name="C")
    s = te.create_schedule(C.op)
    s[S].compute_at(s[C], C.op.axis[0])
    a = np.arange(4, dtype="float32")

    want = (np.cumsum(a) * [1, -1, 1, -1])[None] + np.arange(2)[:, None]
    np.testing.assert_array_equal(run(s, [A, C], [a], [(2, 4)])[0], want)


def test_stages_read_by_an_extern_stage_cannot_be_inlined() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    S = te.extern((4,), [B], running_sum, name="S")
    s = te.create_schedule(S.op)
    s[B].compute_inline()

    with pytest.raises(
        ScheduleError, match="compute_inline: B is read by the extern stage S, which needs it as"
    ):
        te.lower(s, [A, S])
    T = te.compute((4,), lambda i: S[i] + 1.0, name="T")
    with pytest.raises(ScheduleError, match="compute_inline: stage S has no formula to inline"):
        te.create_schedule(T.op)[S].compute_inline()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda ib, a, o: a[0, 0], "buffer 'A' has 1 axes, indexed with 2"),
        (lambda ib, a, o: a[0.5], "A: an index or extent is float32, expected an int"),
        (lambda ib, a, o: ib.else_scope().__enter__(), "else_scope: no if_scope stands just before it"),
        (lambda ib, a, o: ib.if_scope(a[0]).__enter__(), "if_scope: the condition is float32, expected bool"),
        (
            lambda ib, a, o: ib.for_range(0, 4, kind="sideways").__enter__(),
            "for_range: unknown kind of loop 'sideways'",
        ),
        (
            lambda ib, a, o: (ib.for_range(0, 4).__enter__(), ib.get()),
            r"ir_builder: get\(\) inside an open scope",
        ),
        (lambda ib, a, o: None, "extern 'S': the function gave None, expected a statement"),
    ],
)
def test_errors_in_a_loop_nest_are_named_with_their_line(body, message) -> None:
    def fcompute(ins, outs):
        ib = te.ir_builder.create()
        body(ib, ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]))

    A = te.placeholder((4,), name="A")
    with pytest.raises(TensorExpressionError, match=message + r"\n  at .*test_ir_builder\.py:\d+"):
        te.extern((4,), [A], fcompute, name="S")


def test_an_ambiguous_dtype_must_be_given() -> None:
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), "int32", name="B")

    with pytest.raises(
        TensorExpressionError, match="extern 'S': its inputs have dtypes float32, int32; give dtype="
    ):
        te.extern((4,), [A, B], running_sum, name="S")
    with pytest.raises(TensorExpressionError, match="extern 'S': 1 shapes, but 2 dtypes"):
        te.extern((4,), [A], running_sum, name="S", dtype=["int32", "int32"])
