"""All reducers: ``sum`` of ``reduction``, products, minima and maxima."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.tensor.reduction import comm_reducer as comm_reducer
from tvmlite.te.tensor.reduction import sum as sum


def min_value(dtype: str) -> e.Const:
    """The least value, the identity of ``max``; minus infinity for floats (TVM: the least finite value)."""
    dtype = dtypes.check(dtype)
    return e.const(float("-inf") if dtypes.is_float(dtype) else dtypes.limits(dtype)[0], dtype)


def max_value(dtype: str) -> e.Const:
    """The greatest value, the identity of ``min``; infinity for floats (TVM: the greatest finite value)."""
    dtype = dtypes.check(dtype)
    return e.const(float("inf") if dtypes.is_float(dtype) else dtypes.limits(dtype)[1], dtype)


def _one(dtype: str) -> e.Const:
    return e.const(1, dtype)


prod = comm_reducer(lambda x, y: x * y, _one, "prod")
max_reduce = comm_reducer(e.Max, min_value, "max")
min_reduce = comm_reducer(e.Min, max_value, "min")
