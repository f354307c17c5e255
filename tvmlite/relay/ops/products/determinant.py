"""``linalg.det``: determinants of square matrices."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import expect_extent, fault
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _infer(call: Call, data: TensorType) -> TensorType:
    if data.ndim < 2 or not dtypes.is_float(data.dtype):
        raise fault(call, f"data is {data}, expected matrices of floats")
    expect_extent(call, "the number of columns", data.shape[-1], data.shape[-2])
    return TensorType(data.shape[:-2], data.dtype)


def _numpy(call: Call, data: np.ndarray) -> np.ndarray:
    work = np.float64 if data.dtype == np.float64 else np.float32
    with np.errstate(all="ignore"):
        return np.asarray(np.linalg.det(data.astype(work))).astype(data.dtype)


@statement("linalg.det", infer=_infer, reference=_numpy)
def det(call: Call, data: Tensor) -> Tensor:
    """The determinant of each matrix of the last two axes, by Gaussian elimination with partial pivoting."""
    work = "float64" if data.dtype == "float64" else "float32"
    n, lead = data.shape[-1], data.shape[:-2]

    def body(read: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def matrix(*at: e.Expr) -> loop.Stmt:
            rows, product = loops.buffer("rows", (n, n), work), loops.Cell("product", work)
            copy = loops.nest(
                (n, n), lambda i, j: loops.store(rows, (i, j), loops.load(read, *at, i, j)), name="r"
            )
            steps = loop.sequence(
                product.set(e.const(1, work)),
                copy,
                loops.over(n, lambda k: _eliminate(rows, product, k, n), "k"),
                loops.store(out, at, product.value),
            )
            return loops.allocated(steps, rows, product)

        return loops.nest(lead, matrix, parallel=True)

    return loops.extern("det", [data], [(lead, data.dtype)], body)[0]


def _eliminate(rows: loop.Buffer, product: loops.Cell, k: e.Expr, n: object) -> loop.Stmt:
    """Swap the greatest element of column ``k`` to the diagonal, and clear the column below it."""
    pivot, size = loops.Cell("pivot"), loops.index(n)
    work = rows.dtype
    rest = size - k - 1

    def update_pivot(i: e.Expr) -> loop.Stmt:
        here, best = (e.Call("abs", (loops.load(rows, r, k),), work) for r in (i, pivot.value))
        return loop.If(e.Less(best, here), pivot.set(i))

    def swap(j: e.Expr) -> loop.Stmt:
        held = loops.Cell("held", work)
        return loops.allocated(
            loop.sequence(
                held.set(loops.load(rows, k, j)),
                loops.store(rows, (k, j), loops.load(rows, pivot.value, j)),
                loops.store(rows, (pivot.value, j), held.value),
            ),
            held,
        )

    def clear(i: e.Expr) -> loop.Stmt:
        factor = loops.Cell("factor", work)

        def subtract(j: e.Expr) -> loop.Stmt:
            value = loops.load(rows, i, j) - factor.value * loops.load(rows, k, j)
            return loops.store(rows, (i, j), value)

        ratio = loops.load(rows, i, k) / loops.load(rows, k, k)
        return loops.allocated(
            loop.sequence(factor.set(ratio), loops.over(rest, subtract, "j", k + 1)), factor
        )

    swapped = loop.sequence(loops.over(size, swap, "j"), product.set(-product.value))
    cleared = loop.If(
        e.NotEqual(loops.load(rows, k, k), e.const(0, work)), loops.over(rest, clear, "i", k + 1)
    )
    return loops.allocated(
        loop.sequence(
            pivot.set(k),
            loops.over(rest, update_pivot, "i", k + 1),
            loop.If(e.NotEqual(pivot.value, k), swapped),
            product.set(product.value * loops.load(rows, k, k)),
            cleared,
        ),
        pivot,
    )
