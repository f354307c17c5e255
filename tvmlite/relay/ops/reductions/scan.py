"""Cumulative sums and products along an axis: cumsum, cumprod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType, num_elements
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import axis_of, convert_numpy, fault
from tvmlite.relay.ops.register import statement
from tvmlite.relay.ops.shapes.reshape import reshaped
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

ATTRS: dict[str, Any] = {"axis": None, "dtype": None, "exclusive": False, "reverse": False}


def _infer(call: Call, data: TensorType) -> TensorType:
    dtype = dtypes.check(call["dtype"] or data.dtype)
    if dtype == "bool":
        raise fault(call, "the result would be bool, expected a dtype of numbers")
    if call["axis"] is None:
        return TensorType((num_elements(data.shape),), dtype)
    axis_of(call, call["axis"], data.ndim)
    return TensorType(data.shape, dtype)


def _total_dtype(dtype: str) -> str:
    """Return the dtype of a running total: float32 for 16-bit floats, which lose too much."""
    return "float32" if dtypes.is_float(dtype) and dtypes.bits(dtype) == 16 else dtype


def _scan(
    call: Call, data: Tensor, combine: Callable[[e.Expr, e.Expr], e.Expr], start: int, name: str
) -> Tensor:
    """Accumulate along the call's axis, or over the flat data without one."""
    source = reshaped(data, (num_elements(data.shape),), "flatten") if call["axis"] is None else data
    axis = 0 if call["axis"] is None else call["axis"] % data.ndim
    extent, dtype = source.shape[axis], dtypes.check(call["dtype"] or data.dtype)
    kept = _total_dtype(dtype)

    def body(read: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def row(at: Callable[[Any], tuple[Any, ...]]) -> loop.Stmt:
            total = loops.Cell("total", kept)

            def step(k: e.Expr) -> loop.Stmt:
                place = at(loops.index(extent) - 1 - k if call["reverse"] else k)
                add = total.set(combine(total.value, e.cast(kept, loops.load(read, *place))))
                put = loops.store(out, place, total.value)
                return loop.sequence(put, add) if call["exclusive"] else loop.sequence(add, put)

            steps = loops.over(extent, step, "k")
            return loops.allocated(loop.sequence(total.set(e.const(start, kept)), steps), total)

        return loops.rows(source.shape, axis, row)

    return loops.extern(name, [source], [(source.shape, dtype)], body)[0]


def _numpy(ufunc: np.ufunc, start: int) -> Callable[..., np.ndarray]:
    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        dtype = dtypes.check(call["dtype"] or data.dtype)
        axis = 0 if call["axis"] is None else call["axis"] % data.ndim
        source = convert_numpy(data.reshape(-1) if call["axis"] is None else data, _total_dtype(dtype))
        source = np.flip(source, axis) if call["reverse"] else source
        with np.errstate(all="ignore"):
            totals = ufunc.accumulate(source, axis, dtype=source.dtype)
        if call["exclusive"]:
            first = np.full_like(np.take(totals, [0], axis), start) if totals.size else totals
            totals = np.concatenate([first, np.delete(totals, -1, axis)], axis) if totals.size else totals
        totals = np.flip(totals, axis) if call["reverse"] else totals
        return totals.astype(dtypes.numpy_of(dtype))

    return reference


@statement("cumsum", infer=_infer, reference=_numpy(np.add, 0), attrs=ATTRS)
def cumsum(call: Call, data: Tensor) -> Tensor:
    """The sum of the elements up to and including each along ``axis``; of the flat data without ``axis``.

    ``exclusive`` leaves out the element itself, ``reverse`` starts from the end.
    """
    return _scan(call, data, lambda total, x: total + x, 0, "cumsum")


@statement("cumprod", infer=_infer, reference=_numpy(np.multiply, 1), attrs=ATTRS)
def cumprod(call: Call, data: Tensor) -> Tensor:
    """The product of the elements up to and including each along ``axis``; attributes as in ``cumsum``."""
    return _scan(call, data, lambda total, x: total * x, 1, "cumprod")
