"""``nn.max_pool_indices``: the index of the greatest element of each window of a pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import loops, windows
from tvmlite.relay.ops.common import fault, product_of
from tvmlite.relay.ops.convolutions.pool import pool_attrs, pooled_extents
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _infer(call: Call, data: TensorType) -> TensorType:
    rank = data.ndim - 2
    if rank not in (1, 2, 3):
        raise fault(call, f"data has {data.ndim} axes, expected 3 to 5")
    shape = pooled_extents(call, data.shape[2:], rank)
    windows.check_extents(call, shape, data)
    return TensorType((*data.shape[:2], *shape), "int64")


def _flat_index(call: Call, at: Any, sizes: Any) -> Any:
    """The flat index of ``at`` in a plane, row-major, or column-major with ``column_major``."""
    pairs = list(zip(at, sizes, strict=True))
    number: Any = 0
    for place, size in reversed(pairs) if call["column_major"] else pairs:
        number = number * size + place
    return number


def _numpy(call: Call, data: np.ndarray) -> np.ndarray:
    rank, sizes = data.ndim - 2, data.shape[2:]
    shape = windows.as_ints(pooled_extents(call, sizes, rank))
    geometry = windows.geometry(call, "pool_size", rank)
    best = np.zeros((*data.shape[:2], *shape), data.dtype)
    found = np.full(best.shape, -1, np.int64)
    for tap, _ in geometry.taps():
        places = geometry.positions(np.indices(shape), tap)
        at = [y - b for y, b in zip(places, geometry.begins, strict=True)]
        inside = np.logical_and.reduce([(y >= 0) & (y < n) for y, n in zip(at, sizes, strict=True)])
        safe = [np.clip(y, 0, n - 1) for y, n in zip(at, sizes, strict=True)]
        value = data[(slice(None), slice(None), *safe)]
        replaces = inside & ((found < 0) | ((best == best) & ~(value <= best)))
        best, found = (
            np.where(replaces, value, best),
            np.where(replaces, _flat_index(call, safe, sizes), found),
        )
    planes = np.arange(data.shape[0] * data.shape[1]).reshape(*data.shape[:2], *(1,) * rank)
    return found + planes * int(np.prod(sizes, dtype=np.int64))


@statement(
    "nn.max_pool_indices",
    rounding=Rounding.ONCE,
    infer=_infer,
    reference=_numpy,
    attrs={
        **{k: v for k, v in pool_attrs(1, mean=False).items() if "layout" not in k},
        "column_major": False,
    },
)
def max_pool_indices(call: Call, data: Tensor) -> Tensor:
    """The flat index in ``data`` (int64) of the first greatest element of each window.

    NaN is the greatest. With ``column_major``, each plane is numbered column by column.
    """
    rank, sizes = data.ndim - 2, data.shape[2:]
    shape = (*data.shape[:2], *pooled_extents(call, sizes, rank))
    geometry, plane = windows.geometry(call, "pool_size", rank), product_of(sizes)
    strides, dilation, begins = geometry.strides, geometry.dilation, geometry.begins

    def body(read: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def window(*index: e.Expr) -> loop.Stmt:
            n, c, *at = index
            best, found = loops.Cell("best", data.dtype), loops.Cell("found")

            def tap(*k: e.Expr) -> loop.Stmt:
                places = [
                    y * s - b + i * d for y, i, s, d, b in zip(at, k, strides, dilation, begins, strict=True)
                ]
                inside = e.all_of(
                    [
                        e.And(p >= 0, e.Less(*e.match(p, loops.index(size))))
                        for p, size in zip(places, sizes, strict=True)
                    ]
                )
                value = loops.load(read, n, c, *places)
                place = _flat_index(call, places, [loops.index(size) for size in sizes])
                take = loop.sequence(best.set(value), found.set(place))
                return loop.If(inside, loop.If(_replaces_best(value, best.value, found.value), take))

            first = loop.sequence(best.set(e.const(0, data.dtype)), found.set(e.const(-1, loops.INT)))
            number = found.value + (n * loops.index(data.shape[1]) + c) * loops.index(plane)
            steps = loop.sequence(
                first, loops.nest(geometry.kernel, tap, name="k"), loops.store(out, index, number)
            )
            return loops.allocated(steps, best, found)

        return loops.nest(shape, window, parallel=True)

    return loops.extern("max_pool_indices", [data], [(shape, "int64")], body)[0]


def _replaces_best(value: e.Expr, best: e.Expr, found: e.Expr) -> e.Expr:
    """Whether ``value`` is the first element, greater than ``best``, or the first NaN."""
    if not dtypes.is_float(value.dtype):
        return e.Or(found < 0, e.Less(best, value))
    return e.Or(found < 0, e.And(e.Equal(best, best), e.Not(e.LessEqual(value, best))))
