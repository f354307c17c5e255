"""Stages computed by Python, by C, and by hand-written loops, among ordinary stages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.te.tensor import registry


@pytest.fixture(autouse=True)
def _own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_functions", {})


def test_a_python_function_multiplies_and_a_compute_adds(check: Any) -> None:
    @te.register_func("tutorial.matmul")
    def matmul(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        np.matmul(a, b, out=c)

    n, l, m = te.var("n"), te.var("l"), te.var("m")  # noqa: E741
    bias = te.var("bias", dtype="float32")
    A, B = te.placeholder((n, l), name="A"), te.placeholder((l, m), name="B")
    C = te.extern((n, m), [A, B], lambda ins, outs: te.call_packed("tutorial.matmul", *ins, *outs), name="C")
    D = te.compute(C.shape, lambda i, j: C[i, j] + bias, name="D")
    s = te.create_schedule(D.op)
    s[D].vectorize(s[D].split(D.op.axis[1], factor=8)[1])
    a, b = np.random.rand(7, 5).astype("f4"), np.random.rand(5, 9).astype("f4")
    check(s, [A, B, bias, D], [a, b, 2.5], a @ b + 2.5)


def test_a_c_function_fills_a_row(check: Any) -> None:
    A = te.placeholder((6, 8), name="A")

    def copy_rows(ins: Any, outs: Any) -> Any:
        ib = te.ir_builder.create()
        with ib.for_range(0, 6, name="row") as row:
            to = outs[0].access_ptr("w", offset=(5 - row) * 8)
            source = ins[0].access_ptr("r", offset=row * 8)
            ib.emit(te.call_extern("uint64", "memcpy", to, source, te.const(32, "uint64")))
        return ib.get()

    B = te.extern((6, 8), [A], copy_rows, name="B")
    C = te.compute((6, 8), lambda i, j: B[i, j] * 2.0, name="C")
    a = np.random.rand(6, 8).astype("f4")
    check(te.create_schedule(C.op), [A, C], [a], a[::-1] * 2)


def test_hand_written_loops(check: Any) -> None:
    A = te.placeholder((te.var("n"),), name="A")

    def prefix(ins: Any, outs: Any) -> Any:
        ib = te.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        total = ib.allocate("float32", 1, name="total")
        total[0] = 0.0
        with ib.for_range(0, A.shape[0], name="i") as i:
            total[0] = total[0] + source[i]
            target[i] = total[0]
        return ib.get()

    B = te.extern(A.shape, [A], prefix, name="B")
    a = np.random.rand(30).astype("f4")
    check(te.create_schedule(B.op), [A, B], [a], np.cumsum(a))
