"""Operators that create tensors: full, zeros, ones, arange, shape_of, shape_value, one_hot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, Rounding, at_least, operator
from tvmlite.relay.ir.types import Dim, Shape, TensorType, normal_dim, show_shape
from tvmlite.relay.ops.common import (
    INTEGERS,
    along_axis,
    axis_of,
    expect,
    fault,
    one_dtype,
    replaced,
    scalar_of,
)
from tvmlite.relay.ops.register import Indices, broadcast, elemwise, injective
from tvmlite.te import expr as e
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor


def _shape_of(call: Call) -> Shape:
    return tuple(normal_dim(extent) for extent in call["shape"])


def _full_type(call: Call, fill_value: TensorType) -> TensorType:
    if fill_value.ndim:
        raise fault(call, f"fill_value has the shape {show_shape(fill_value.shape)}, expected a scalar")
    return TensorType(_shape_of(call), dtypes.check(call["dtype"] or fill_value.dtype))


def _full_numpy(call: Call, fill_value: np.ndarray) -> np.ndarray:
    dtype = call["dtype"] or dtypes.check(fill_value.dtype)
    return np.full(call["shape"], fill_value.astype(dtypes.numpy_of(dtype)))


@elemwise(
    "full",
    rounding=Rounding.ONCE,
    infer=_full_type,
    reference=_full_numpy,
    attrs={"shape": at_least(0, ()), "dtype": None},
    open_attrs=("shape",),
)
def full(call: Call, i: Indices, fill_value: Tensor) -> e.Expr:
    """A tensor of ``shape`` filled with the scalar ``fill_value``, in ``dtype`` if given."""
    dtype = dtypes.check(call["dtype"] or fill_value.dtype)
    return e.cast(dtype, fill_value[()])


def _register_filled(name: str, value: int) -> None:
    def infer(call: Call) -> TensorType:
        return TensorType(_shape_of(call), dtypes.check(call["dtype"]))

    def reference(call: Call) -> np.ndarray:
        return np.full(call["shape"], value, dtypes.numpy_of(call["dtype"]))

    doc = f"A tensor of ``shape``, integers and dimensions, filled with {value}."
    attrs = {"shape": at_least(0), "dtype": "float32"}

    @elemwise(name, infer=infer, reference=reference, attrs=attrs, doc=doc, open_attrs=("shape",))
    def filled(call: Call, i: Indices) -> e.Expr:
        return e.const(value, dtypes.check(call["dtype"]))


_register_filled("zeros", 0)
_register_filled("ones", 1)


def _arange_limits(call: Call) -> tuple[Any, Any, Any]:
    """Return start, stop and step; a start without a stop is the stop."""
    start, stop, step = call["start"], call["stop"], 1 if call["step"] is None else call["step"]
    return (0, start, step) if stop is None else (start, stop, step)


def _arange_length(call: Call) -> Dim:
    start, stop, step = _arange_limits(call)
    if not isinstance(step, (int, float)) or step == 0:
        raise fault(call, f"step is {step}, expected a number other than 0")
    if any(isinstance(value, float) and not math.isfinite(value) for value in (start, stop, step)):
        raise fault(call, f"start, stop and step are {start}, {stop}, {step}, expected finite numbers")
    if isinstance(start, e.Expr) or isinstance(stop, e.Expr):
        if not all(isinstance(v, (int, e.Expr)) for v in (start, stop, step)):
            raise fault(call, f"start, stop and step are {start}, {stop}, {step}, expected whole numbers")
        distance = stop - start if step > 0 else start - stop
        count = (distance + (abs(step) - 1)) // abs(int(step))
        return normal_dim(e.Max(*e.match(count, 0)))
    return max(0, math.ceil((stop - start) / step))


def _arange_type(call: Call) -> TensorType:
    return TensorType((_arange_length(call),), dtypes.check(call["dtype"]))


def _arange_numpy(call: Call) -> np.ndarray:
    start, stop, step = _arange_limits(call)
    count = max(0, math.ceil((stop - start) / step))
    return (start + np.arange(count) * step).astype(dtypes.numpy_of(call["dtype"]))


@injective(
    "arange",
    rounding=Rounding.MANY,
    infer=_arange_type,
    reference=_arange_numpy,
    attrs={"start": 0, "stop": None, "step": None, "dtype": "float32"},
    open_attrs=("start", "stop"),
)
def arange(call: Call, i: Indices) -> e.Expr:
    """``start, start + step, ...`` before ``stop``; start and stop may be dimensions.

    Without ``stop``, ``start`` is the stop, and the first element is 0. The limits are attributes; in TVM
    they may be expressions.

    Elements are computed in int64, or in float64 for a float start or step, and then converted to ``dtype``.
    """
    (start, _, step), dtype = _arange_limits(call), dtypes.check(call["dtype"])
    inner = "float64" if isinstance(start, float) or isinstance(step, float) else "int64"
    value = scalar_of(start, inner) + e.cast(inner, i[0]) * scalar_of(step, inner)
    return e.cast(dtype, value)


# --- shapes as values -------------------------------------------------------------------------------


def vector_of(values: Sequence[Any], dtype: str, name: str) -> Tensor:
    """A vector of ``values``, numbers and dimensions, in ``dtype``."""

    def element(i: e.Expr) -> e.Expr:
        if not values:
            return e.const(0, dtype)
        value = scalar_of(values[0], dtype)
        for position, later in enumerate(values[1:], start=1):
            value = e.Select(i >= position, scalar_of(later, dtype), value)
        return value

    return compute((len(values),), element, name=name, tag="injective")


def _shape_of_type(call: Call, data: TensorType) -> TensorType:
    return TensorType((data.ndim,), dtypes.check(call["dtype"]))


def _shape_of_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.array(data.shape, dtypes.numpy_of(call["dtype"]))


@operator(
    "shape_of", infer=_shape_of_type, reference=_shape_of_numpy, fuse=Fuse.INJECTIVE, attrs={"dtype": "int32"}
)
def shape_of(call: Call, data: Tensor) -> Tensor:
    """The extents of ``data`` as a vector; its elements are not read."""
    return vector_of(data.shape, dtypes.check(call["dtype"]), "shape_of")


def _shape_value_type(call: Call) -> TensorType:
    return TensorType((len(call["values"]),), dtypes.check(call["dtype"]))


def _shape_value_numpy(call: Call) -> np.ndarray:
    return np.array(call["values"], np.int64).astype(dtypes.numpy_of(call["dtype"]))


@operator(
    "shape_value",
    infer=_shape_value_type,
    reference=_shape_value_numpy,
    fuse=Fuse.INJECTIVE,
    attrs={"values": REQUIRED, "dtype": "int64"},
    open_attrs=("values",),
)
def shape_value(call: Call) -> Tensor:
    """A vector of ``values``, numbers and expressions over dimensions."""
    return vector_of(call["values"], dtypes.check(call["dtype"]), "shape_value")


# --- one_hot ----------------------------------------------------------------------------------------


def _one_hot_type(call: Call, indices: TensorType, on_value: TensorType, off_value: TensorType) -> TensorType:
    expect(call, "indices are", indices.dtype, INTEGERS)
    one_dtype(call, on_value, off_value)
    dtype = dtypes.check(call["dtype"] or on_value.dtype)
    if on_value.ndim or off_value.ndim or on_value.dtype != dtype:
        raise fault(
            call, f"on_value and off_value are {on_value} and {off_value}, expected scalars of {dtype}"
        )
    axis = axis_of(call, call["axis"], indices.ndim + 1)
    depth = normal_dim(call["depth"])
    return TensorType((*indices.shape[:axis], depth, *indices.shape[axis:]), dtype)


def _one_hot_numpy(
    call: Call, indices: np.ndarray, on_value: np.ndarray, off_value: np.ndarray
) -> np.ndarray:
    axis, rank = call["axis"], indices.ndim + 1
    hot = np.expand_dims(indices, axis) == along_axis(np.arange(call["depth"]), axis, rank)
    return np.where(hot, on_value, off_value)


@broadcast(
    "one_hot",
    infer=_one_hot_type,
    reference=_one_hot_numpy,
    attrs={"depth": at_least(0), "axis": -1, "dtype": None},
    open_attrs=("depth",),
)
def one_hot(call: Call, i: Indices, indices: Tensor, on_value: Tensor, off_value: Tensor) -> e.Expr:
    """``on_value`` where the index along a new axis is the element, else ``off_value``."""
    axis = call["axis"] % (indices.ndim + 1)
    chosen = indices[replaced(i, axis)]
    return e.Select(e.Equal(*e.match(chosen, i[axis])), on_value[()], off_value[()])
