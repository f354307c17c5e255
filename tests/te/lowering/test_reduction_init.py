"""Reductions are initialized before the reducing loops, once for every element."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import te
from tvmlite.core.errors import ScheduleError


def sums(n: Any, m: Any) -> tuple[te.Schedule, te.Tensor, te.Tensor, Any]:
    """Row sums of an ``n`` by ``m`` matrix, with both axes fused."""
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    return s, A, B, s[B].fuse(B.op.axis[0], k)


def test_a_fused_loop_is_preceded_by_an_initialization_loop(loops: Any) -> None:
    s, A, B, _ = sums(4, 3)
    assert loops(s, [A, B]) == textwrap.dedent(
        """\
        for i.init in range(0, 4):
            B[i.init] = 0.0
        for i.k.fused in range(0, 12):
            B[i.k.fused // 3] = B[i.k.fused // 3] + A[i.k.fused // 3, i.k.fused % 3]"""
    )


@pytest.mark.slow
@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize(("rows", "terms"), [(2, 0), (0, 2), (5, 3), (4, 1)])
@pytest.mark.parametrize("fixed", [True, False])
def test_empty_sums_in_a_fused_loop_are_zero(target: str, rows: int, terms: int, fixed: bool) -> None:
    n, m = (rows, terms) if fixed else (te.var("n"), te.var("m"))
    s, A, B, fused = sums(n, m)
    s[B].split(fused, factor=4)
    a = np.random.rand(rows, terms).astype("float32")
    out = np.full(rows, 7, "float32")
    tvmlite.build(s, [A, B], target=target)(a, out)
    np.testing.assert_allclose(out, a.sum(1), rtol=1e-6)


def test_an_initialization_loop_has_the_guards_it_needs(run: Any) -> None:
    """The part of the data axis that is fused with the reduction is a tail."""
    A = te.placeholder((7, 3), name="A")
    k = te.reduce_axis((0, 3), name="k")
    B = te.compute((7,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.axis[0], factor=4)
    s[B].split(s[B].fuse(inner, k), nparts=5)
    a = np.arange(21, dtype="float32").reshape(7, 3)
    (made,) = run(s, [A, B], [a], [(7,)])
    np.testing.assert_array_equal(made, a.sum(1))


def test_an_intrinsic_reset_in_a_fused_loop_is_refused() -> None:
    def adds(n: int) -> te.TensorIntrin:
        x = te.placeholder((n,), name="x")
        k = te.reduce_axis((0, n), name="k")
        y = te.compute((1,), lambda i: te.sum(x[k], axis=k), name="y")

        def statements(ins: Any, outs: Any) -> Any:
            def add(start: bool) -> Any:
                ib = te.ir_builder.create()
                a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
                total = te.const(0.0) if start else b[0]
                for place in range(n):
                    total = total + a[place]
                b[0] = total
                return ib.get()

            ib = te.ir_builder.create()
            ib.buffer_ptr(outs[0])[0] = te.const(0.0)
            return add(True), ib.get(), add(False)

        return te.decl_tensor_intrin(y.op, statements)

    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((4, 1), lambda i, j: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(k, factor=4)
    i, j = s[B].op.axis
    s[B].reorder(i, outer, j, inner)
    s[B].fuse(i, outer)
    s[B].tensorize(j, adds(4))
    with pytest.raises(
        ScheduleError, match=r"(?s)tensorize: axis i.k.outer.fused of B, outside .*test_reduction_init"
    ):
        te.lower(s, [A, B])
