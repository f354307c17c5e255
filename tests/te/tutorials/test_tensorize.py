"""Inner loops replaced by a micro-kernel: products of a matrix and a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te


def micro_kernel(m: int, l: int) -> Any:  # noqa: E741
    """``c[i] += sum(a[k] * b[i, k])``, one row of ``b`` at a time."""
    a, b = te.placeholder((l,), name="a"), te.placeholder((m, l), name="b")
    k = te.reduce_axis((0, l), name="k")
    c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    row = te.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1])
    rows = te.decl_buffer(b.shape, b.dtype, name="B", offset_factor=1, strides=[te.var("s1"), 1])
    out = te.decl_buffer(c.shape, c.dtype, name="C", offset_factor=1, strides=[1])

    def emit(ins: Any, outs: Any) -> Any:
        vector, matrix = ins
        (result,) = outs

        def reset() -> Any:
            ib = te.ir_builder.create()
            ib.emit(result.vstore(0, te.const(0.0).astype(f"float32x{m}")))
            return ib.get()

        def update() -> Any:
            ib = te.ir_builder.create()
            with ib.for_range(0, m, name="i") as i:
                sums = ib.allocate("float32", (8,), name="sums")
                ib.emit(sums.vstore(0, te.const(0.0).astype("float32x8")))
                with ib.for_range(0, l // 8, name="k") as k:
                    product = vector.vload(k * 8, "float32x8") * matrix.vload((i, k * 8), "float32x8")
                    ib.emit(sums.vstore(0, sums.vload(0, "float32x8") + product))
                total = ib.buffer_ptr(result)
                for lane in range(8):
                    total[i] = total[i] + sums[lane]
            return ib.get()

        def body() -> Any:
            ib = te.ir_builder.create()
            ib.emit(reset())
            ib.emit(update())
            return ib.get()

        return body(), reset(), update()

    return te.decl_tensor_intrin(c.op, emit, binds={a: row, b: rows, c: out})


def product(n: int, m: int, l: int) -> Any:  # noqa: E741
    A, B = te.placeholder((n, l), name="A"), te.placeholder((m, l), name="B")
    k = te.reduce_axis((0, l), name="k")
    return A, B, te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")


def test_the_inner_loop_is_replaced_by_the_kernel(check: Any) -> None:
    A, B, C = product(12, 32, 24)
    s = te.create_schedule(C.op)
    x, y = C.op.axis
    yo, yi = s[C].split(y, factor=16)
    s[C].reorder(x, yo, yi, C.op.reduce_axis[0])
    s[C].tensorize(yi, micro_kernel(16, 24))
    a, b = np.random.rand(12, 24).astype("f4"), np.random.rand(32, 24).astype("f4")
    check(s, [A, B, C], [a, b], a @ b.T)


def test_a_split_reduction_resets_and_updates(check: Any) -> None:
    A, B, C = product(12, 32, 48)
    s = te.create_schedule(C.op)
    x, y = C.op.axis
    yo, yi = s[C].split(y, factor=16)
    zo, zi = s[C].split(C.op.reduce_axis[0], factor=16)
    s[C].reorder(x, yo, zo, yi, zi)
    s[C].tensorize(yi, micro_kernel(16, 16))
    a, b = np.random.rand(12, 48).astype("f4"), np.random.rand(32, 48).astype("f4")
    check(s, [A, B, C], [a, b], a @ b.T)
