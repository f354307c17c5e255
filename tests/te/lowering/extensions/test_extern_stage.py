"""Extern stages that read or write tensors whose layout a schedule has transformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import ScheduleError
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret

SHAPE = (3, 10)


def chain(body: Callable[[Any, Any, Any], None]) -> Any:
    """``A``; ``B``, twice that; the extern stage ``C``, which reads ``B`` and adds 1."""
    A = te.placeholder(SHAPE, name="A")
    B = te.compute(SHAPE, lambda i, j: A[i, j] * 2, name="B")

    def emit(ins: Any, outs: Any) -> Any:
        ib = te.ir_builder.create()
        body(ib, ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]))
        return ib.get()

    C = te.extern(SHAPE, [B], emit, name="C")
    return te.create_schedule(C.op), A, B, C


def by_axes(ib: Any, x: Any, out: Any) -> None:
    with ib.for_range(0, 3, name="i") as i, ib.for_range(0, 10, name="j") as j:
        out[i, j] = x[i, j] + 1.0


def by_one_index(ib: Any, x: Any, out: Any) -> None:
    with ib.for_range(0, 30, name="i") as i:
        out[i] = x[i] + 1.0


def by_address(ib: Any, x: Any, out: Any) -> None:
    called = te.call_extern("float32", "first", x.access_ptr("r"))
    with ib.for_range(0, 3, name="i") as i, ib.for_range(0, 10, name="j") as j:
        out[i, j] = called


def check(s: Any, A: Any, C: Any) -> None:
    a, got = np.random.rand(*SHAPE).astype("f4"), np.zeros(SHAPE, "f4")
    interpret(te.lower(s, [A, C]), [a, got])
    for one in (got, *(tvmlite.build(s, [A, C], target=t, name="laid")(a) for t in ("native", "c"))):
        np.testing.assert_allclose(one, a * 2 + 1, rtol=1e-6)


@pytest.mark.parametrize(
    "mapping",
    [lambda i, j: [j, i], lambda i, j: [j // 4, i, j % 4], lambda i, j: [i // 2, j // 8, j % 8, i % 2]],
)
@pytest.mark.parametrize("body", [by_axes, by_one_index])
def test_elements_are_found_in_a_transformed_layout(mapping: Any, body: Any) -> None:
    s, A, B, C = chain(body)
    s[B].transform_layout(mapping)
    check(s, A, C)


def test_an_argument_may_have_another_layout() -> None:
    s, A, _, C = chain(by_axes)
    s[A].transform_layout(lambda i, j: [j, i])
    a, got = np.random.rand(*SHAPE).astype("f4"), np.zeros(SHAPE, "f4")
    interpret(te.lower(s, [A, C]), [np.ascontiguousarray(a.T), got])
    np.testing.assert_allclose(got, a * 2 + 1, rtol=1e-6)


def test_a_reduction_in_two_steps_keeps_its_layout() -> None:
    A, k = te.placeholder((7, 6), name="A"), te.reduce_axis((0, 7), name="k")
    B = te.compute((6,), lambda i: te.sum(A[k, i], axis=k), name="B")

    def copied(ins: Any, outs: Any) -> Any:
        ib = te.ir_builder.create()
        x, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 6, name="i") as i:
            out[i] = x[i]
        return ib.get()

    C = te.extern((6,), [B], copied, name="C")
    s = te.create_schedule(C.op)
    s[B].transform_layout(lambda i: [i % 4, i // 4])
    s.rfactor(B, k)
    a, got = np.random.rand(7, 6).astype("f4"), np.zeros(6, "f4")
    interpret(te.lower(s, [A, C]), [a, got])
    np.testing.assert_allclose(got, a.sum(0), rtol=1e-5)


def test_padded_rows_are_read_correctly_by_axes() -> None:
    s, A, B, C = chain(by_axes)
    s[B].storage_align(B.op.axis[0], 16, 3)
    check(s, A, C)


@pytest.mark.parametrize(
    ("primitive", "arrange"),
    [
        ("transform_layout", lambda stage: stage.transform_layout(lambda i, j: [j, i])),
        ("storage_align", lambda stage: stage.storage_align(stage.op.axis[0], 16, 3)),
    ],
)
def test_memory_passed_by_address_must_keep_its_layout(primitive: str, arrange: Any) -> None:
    s, A, B, C = chain(by_address)
    arrange(s[B])
    with pytest.raises(ScheduleError) as caught:
        te.lower(s, [A, C])
    assert f"{primitive}: B must stay as it is, because the extern stage C takes its memory" in str(
        caught.value
    )
    assert f"stage.{primitive}(" in str(caught.value)


def test_a_loop_variable_of_an_extern_stage_may_be_int32() -> None:
    n, i = te.size_var("n"), te.var("i")
    A = te.placeholder((n,), name="A")

    def emit(ins: Any, outs: Any) -> ir.Stmt:
        place = (i.astype("int64"),)
        doubled = ir.Load(ins[0], place) * i.astype("float32")
        return ir.For(i, te.const(1), n - 1, ir.Store(outs[0], place, doubled))

    C = te.extern((n,), [A], emit, name="C")
    s = te.create_schedule(C.op)
    a, got = np.random.rand(7).astype("f4"), np.zeros(7, "f4")
    interpret(te.lower(s, [A, C]), [a, got])
    for one in (got, *(tvmlite.build(s, [A, C], target=t, name="narrow")(a) for t in ("native", "c"))):
        np.testing.assert_allclose(one[1:], a[1:] * np.arange(1, 7, dtype="f4"), rtol=1e-6)
