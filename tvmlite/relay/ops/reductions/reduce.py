"""Reductions over axes: sum, prod, max, min, mean, all, any, argmax, argmin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding
from tvmlite.relay.ir.types import Dim, Shape, TensorType, num_elements, same_dim, show_shape
from tvmlite.relay.ops.common import (
    ANY,
    NUMBERS,
    Dtypes,
    axes_of,
    elementwise,
    expect,
    fault,
    ravelled,
    truncating_divide,
)
from tvmlite.relay.ops.register import reduction
from tvmlite.te import expr as e
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor

AXES: dict[str, Any] = {"axis": None, "keepdims": False, "exclude": False}
"""The attributes of reductions: ``axis`` is one or several, None or () for all; ``exclude`` inverts it."""

_all = reducers.comm_reducer(e.And, lambda dtype: e.const(True), "all")
_any = reducers.comm_reducer(e.Or, lambda dtype: e.const(False), "any")


BOOL: Dtypes = "bool", "bool".__eq__

_reduction = partial(reduction, attrs=AXES)


def reduced_axes(call: Call, rank: int) -> tuple[int, ...]:
    """Return the axes that ``call`` reduces in data with ``rank`` axes."""
    if call["axis"] is None or call["axis"] == ():
        return tuple(range(rank))
    axes = axes_of(call, call["axis"], rank)
    return tuple(k for k in range(rank) if k not in axes) if call.get("exclude") else axes


def reduced_shape(call: Call, shape: Shape) -> Shape:
    """Return the shape of ``call``'s result for data of ``shape``."""
    axes = reduced_axes(call, len(shape))
    kept = [1 if k in axes else extent for k, extent in enumerate(shape)]
    return tuple(extent for k, extent in enumerate(kept) if call["keepdims"] or k not in axes)


def _reduced(wanted: Dtypes) -> Callable[..., TensorType]:
    """Return the type relation of reductions of data with a dtype in ``wanted``."""

    def infer(call: Call, data: TensorType) -> TensorType:
        expect(call, "data is", data.dtype, wanted)
        return TensorType(reduced_shape(call, data.shape), data.dtype)

    return infer


def reduce_tensor(
    call: Call, data: Tensor, reducer: Callable[..., Any], name: str, source: Callable[..., Any] | None = None
) -> Any:
    """Reduce ``data`` with ``reducer`` over the axes that ``call`` names.

    ``source(element, *reduce_indices)`` is the value that is reduced, by default the element.
    """
    axes = reduced_axes(call, data.ndim)
    over = [te.reduce_axis((0, data.shape[k]), name=f"k{k}") for k in axes]
    tag = "comm_reduce" if source is None else "comm_reduce_idx"

    def element(*i: e.Expr) -> Any:
        kept = [index for k, index in enumerate(i) if not (call["keepdims"] and k in axes)]
        reduced = iter(over)
        remaining = iter(kept)
        at = tuple(next(reduced).var if k in axes else next(remaining) for k in range(data.ndim))
        value = data[at]
        made = value if source is None else source(value, *(axis.var for axis in over))
        return reducer(made, axis=over) if over else made

    return compute(reduced_shape(call, data.shape), element, name=name, tag=tag)


def _widened(data: Tensor) -> Tensor:
    """Convert 16-bit floats to float32, so that sums keep their precision; return other data unchanged."""
    if dtypes.is_float(data.dtype) and dtypes.bits(data.dtype) == 16:
        return elementwise(data, lambda x: e.cast("float32", x), "widen")
    return data


def _narrowed(result: Tensor, dtype: str) -> Tensor:
    return result if result.dtype == dtype else elementwise(result, lambda x: e.cast(dtype, x), "narrow")


def _numpy(function: Callable[..., Any], wide: bool = False, **options: Any) -> Callable[..., np.ndarray]:
    """Return ``function`` over the call's axes; ``wide``: floats in float64, integers in their own dtype."""

    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        axes = reduced_axes(call, data.ndim)
        is_float = dtypes.is_float(dtypes.check(data.dtype))
        more = {"dtype": np.float64 if is_float else data.dtype} if wide else options
        with np.errstate(all="ignore"):
            result = np.asarray(function(data, axis=axes, keepdims=bool(call["keepdims"]), **more))
        return result.astype(data.dtype)

    return reference


@_reduction("sum", infer=_reduced(NUMBERS), reference=_numpy(np.sum, wide=True), homogeneous=True)
def sum_(call: Call, data: Tensor) -> Tensor:
    """The sum over ``axis``, in the data's dtype; 16-bit floats are summed in float32."""
    return _narrowed(reduce_tensor(call, _widened(data), reducers.sum, "sum"), data.dtype)


@_reduction("prod", infer=_reduced(NUMBERS), reference=_numpy(np.prod, wide=True))
def prod(call: Call, data: Tensor) -> Tensor:
    """The product over ``axis``, in the data's dtype; 16-bit floats are multiplied in float32."""
    return _narrowed(reduce_tensor(call, _widened(data), reducers.prod, "prod"), data.dtype)


def _extreme_numpy(function: Callable[..., Any], greatest: bool) -> Callable[..., np.ndarray]:
    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        dtype = dtypes.check(data.dtype)
        limit = (reducers.min_value if greatest else reducers.max_value)(dtype).value
        return _numpy(function, initial=np.array(limit, data.dtype))(call, data)

    return reference


@_reduction(
    "max", rounding=Rounding.NEVER, infer=_reduced(ANY), reference=_extreme_numpy(np.max, greatest=True)
)
def max_(call: Call, data: Tensor) -> Tensor:
    """The maximum over ``axis``; NaN if any is NaN; of no elements minus infinity, or the dtype's least."""
    return reduce_tensor(call, data, reducers.max_reduce, "max")


@_reduction(
    "min", rounding=Rounding.NEVER, infer=_reduced(ANY), reference=_extreme_numpy(np.min, greatest=False)
)
def min_(call: Call, data: Tensor) -> Tensor:
    """The minimum over ``axis``; NaN if any is NaN; of no elements infinity, or the dtype's greatest."""
    return reduce_tensor(call, data, reducers.min_reduce, "min")


def _mean_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    axes = reduced_axes(call, data.ndim)
    total = _numpy(np.sum, wide=True)(call, data.astype(np.float64) if data.dtype.kind not in "iu" else data)
    count = int(np.prod([data.shape[k] for k in axes], dtype=np.int64))
    with np.errstate(all="ignore"):
        if data.dtype.kind in "iu":
            return truncating_divide(total, np.array(count).astype(data.dtype))
        return np.asarray(total / np.float64(count)).astype(data.dtype)


@_reduction("mean", infer=_reduced(NUMBERS), reference=_mean_numpy, homogeneous=True)
def mean(call: Call, data: Tensor) -> Tensor:
    """The sum over ``axis`` divided by the count; integers are rounded towards zero."""
    count: Dim = num_elements([data.shape[k] for k in reduced_axes(call, data.ndim)])
    total = reduce_tensor(call, _widened(data), reducers.sum, "mean_sum")

    def quotient(x: e.Expr) -> e.Expr:
        divisor = e.cast(total.dtype, e.convert(count))
        return e.cast(data.dtype, e.Div(x, divisor) if dtypes.is_float(x.dtype) else e.TruncDiv(x, divisor))

    return elementwise(total, quotient, "mean")


@_reduction("all", infer=_reduced(BOOL), reference=_numpy(np.all))
def all_(call: Call, data: Tensor) -> Tensor:
    """Whether all bools over ``axis`` are true."""
    return reduce_tensor(call, data, _all, "all")


@_reduction("any", infer=_reduced(BOOL), reference=_numpy(np.any))
def any_(call: Call, data: Tensor) -> Tensor:
    """Whether any bool over ``axis`` is true."""
    return reduce_tensor(call, data, _any, "any")


# --- the index of the extreme -----------------------------------------------------------------------


def _arg_type(call: Call, data: TensorType) -> TensorType:
    if any(same_dim(data.shape[k], 0) for k in reduced_axes(call, data.ndim)):
        raise fault(call, f"data is {show_shape(data.shape)}: cannot choose from no elements")
    return TensorType(reduced_shape(call, data.shape), "int32")


def _arg_reducer(greatest: bool, last: bool) -> Callable[..., Any]:
    """The reducer of (index, value): the extreme value, NaN first; of equals, the first or last index."""

    def prefers(x: e.Expr, y: e.Expr) -> e.Expr:
        better = e.Less(y, x) if greatest else e.Less(x, y)
        return e.Or(better, e.NotEqual(x, x)) if dtypes.is_float(x.dtype) else better

    def combine(x: tuple[e.Expr, e.Expr], y: tuple[e.Expr, e.Expr]) -> tuple[e.Expr, e.Expr]:
        mine, other = prefers(x[1], y[1]), prefers(y[1], x[1])
        earlier = e.Less(y[0], x[0]) if last else e.Less(x[0], y[0])
        keep = e.Or(e.And(mine, e.Not(other)), e.And(e.Equal(mine, other), earlier))
        return e.Select(keep, x[0], y[0]), e.Select(keep, x[1], y[1])

    def identity(index: str, value: str) -> tuple[e.Expr, e.Expr]:
        worst = reducers.min_value(value) if greatest else reducers.max_value(value)
        return e.const(-1 if last else dtypes.limits(index)[1], index), worst

    return reducers.comm_reducer(combine, identity, "argmax" if greatest else "argmin")


_arg_reducers = {(g, last): _arg_reducer(g, last) for g in (False, True) for last in (False, True)}


def _arg_tensor(call: Call, data: Tensor, greatest: bool, name: str) -> Tensor:
    axes = reduced_axes(call, data.ndim)

    def pair(value: e.Expr, *indices: e.Expr) -> tuple[e.Expr, e.Expr]:
        flat = ravelled(indices, tuple(data.shape[k] for k in axes))
        return e.cast("int32", flat), e.cast("int32", value) if value.dtype == "bool" else value

    reducer = _arg_reducers[greatest, bool(call["select_last_index"])]
    index, _ = reduce_tensor(call, data, reducer, f"{name}_pair", pair)
    return elementwise(index, lambda x: x, name)


def _arg_numpy(greatest: bool) -> Callable[..., np.ndarray]:
    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        axes = reduced_axes(call, data.ndim)
        moved = np.moveaxis(data, axes, range(data.ndim - len(axes), data.ndim))
        flat = moved.reshape(*moved.shape[: data.ndim - len(axes)], -1)
        find = np.argmax if greatest else np.argmin
        if not flat.shape[-1]:
            found = np.zeros(flat.shape[:-1])  # an empty row has no greatest element
        elif call["select_last_index"]:
            found = flat.shape[-1] - 1 - find(flat[..., ::-1], axis=-1)
        else:
            found = find(flat, axis=-1)
        return np.asarray(np.expand_dims(found, axes) if call["keepdims"] else found, np.int32)

    return reference


_position = partial(reduction, infer=_arg_type, attrs={**AXES, "select_last_index": False})


@_position("argmax", reference=_arg_numpy(greatest=True))
def argmax(call: Call, data: Tensor) -> Tensor:
    """The index of the maximum, in row-major order over the reduced axes (int32); NaN is the greatest."""
    return _arg_tensor(call, data, True, "argmax")


@_position("argmin", reference=_arg_numpy(greatest=False))
def argmin(call: Call, data: Tensor) -> Tensor:
    """The index of the minimum, in row-major order over the reduced axes (int32); NaN is the least."""
    return _arg_tensor(call, data, False, "argmin")
