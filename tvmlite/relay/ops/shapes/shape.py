"""Operators that move axes: expand_dims, squeeze, transpose, reverse, broadcast_to, tile, repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Rounding, at_least
from tvmlite.relay.ir.types import Shape, TensorType, broadcast_shapes, normal_dim, same_shape, show_shape
from tvmlite.relay.ops.common import (
    ANY,
    axes_of,
    axis_of,
    broadcast_indices,
    data_type,
    fault,
    is_one,
    numpy_reference,
    replaced,
)
from tvmlite.relay.ops.register import Indices, broadcast, injective
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor

MAX_AXES = 64
"""The largest number of axes of numpy's arrays."""


def _expand_type(call: Call, data: TensorType) -> TensorType:
    count = call["num_newaxis"]
    if not 0 <= count <= MAX_AXES:
        raise fault(call, f"num_newaxis is {count}, expected 0 to {MAX_AXES}")
    axis = axis_of(call, call["axis"], data.ndim + 1)
    return TensorType((*data.shape[:axis], *(1,) * count, *data.shape[axis:]), data.dtype)


def _expand_numpy(data: np.ndarray, axis: int, count: int) -> np.ndarray:
    axis %= data.ndim + 1
    return data.reshape((*data.shape[:axis], *(1,) * count, *data.shape[axis:]))


@injective(
    "expand_dims",
    infer=_expand_type,
    reference=numpy_reference(_expand_numpy, "axis", "num_newaxis"),
    attrs={"axis": REQUIRED, "num_newaxis": 1},
    view=True,
)
def expand_dims(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Insert ``num_newaxis`` axes of extent 1 before ``axis``; -1 is the position after the last axis."""
    axis = call["axis"] % (data.ndim + 1)
    return data[(*i[:axis], *i[axis + call["num_newaxis"] :])]


def _squeezed(call: Call, shape: Shape) -> tuple[int, ...]:
    """Return the axes that are removed."""
    if call["axis"] is None:
        return tuple(k for k, extent in enumerate(shape) if is_one(extent))
    axes = axes_of(call, call["axis"], len(shape))
    if not all(is_one(shape[k]) for k in axes):
        raise fault(call, f"axis is {call['axis']}, data is {show_shape(shape)}, expected extents of 1")
    return axes


def _squeeze_type(call: Call, data: TensorType) -> TensorType:
    gone = _squeezed(call, data.shape)
    return TensorType(tuple(n for k, n in enumerate(data.shape) if k not in gone), data.dtype)


@injective(
    "squeeze",
    infer=_squeeze_type,
    reference=numpy_reference(np.squeeze, "axis"),
    attrs={"axis": None},
    view=True,
)
def squeeze(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Remove the axes of extent 1 in ``axis``; without it, all that are known to be 1."""
    gone, kept = _squeezed(call, data.shape), iter(i)
    return data[tuple(0 if k in gone else next(kept) for k in range(data.ndim))]


def _permutation(call: Call, rank: int) -> tuple[int, ...]:
    axes = call["axes"]
    if not axes and rank:
        return tuple(reversed(range(rank)))
    order = tuple(axis_of(call, axis, rank, "axes") for axis in axes or ())
    if sorted(order) != list(range(rank)):
        raise fault(call, f"axes are {axes}, expected each of the data's {rank} axes once")
    return order


def _transpose_type(call: Call, data: TensorType) -> TensorType:
    return TensorType(tuple(data.shape[k] for k in _permutation(call, data.ndim)), data.dtype)


def _transpose_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.transpose(data, call["axes"] or None)


@injective("transpose", infer=_transpose_type, reference=_transpose_numpy, attrs={"axes": None})
def transpose(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Axis ``k`` of the result is axis ``axes[k]`` of the data; without ``axes``, their order is reversed."""
    order = _permutation(call, data.ndim)
    return data[tuple(i[order.index(k)] for k in range(data.ndim))]


@injective(
    "reverse",
    infer=data_type(ANY, axis_of),
    reference=numpy_reference(np.flip, "axis"),
    attrs={"axis": REQUIRED},
)
def reverse(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Reverse the order of the elements along ``axis``."""
    axis = call["axis"] % data.ndim
    return data[replaced(i, axis, data.shape[axis] - 1 - i[axis])]


def _broadcast_type(call: Call, data: TensorType) -> TensorType:
    shape = tuple(normal_dim(extent) for extent in call["shape"])
    if not same_shape(broadcast_shapes(data.shape, shape, str(call.op), call.span), shape):
        raise fault(
            call, f"data is {show_shape(data.shape)}, which does not broadcast to {show_shape(shape)}"
        )
    return TensorType(shape, data.dtype)


def _broadcast_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.broadcast_to(data, call["shape"]).copy()


@broadcast(
    "broadcast_to",
    rounding=Rounding.NEVER,
    infer=_broadcast_type,
    reference=_broadcast_numpy,
    attrs={"shape": REQUIRED},
    open_attrs=("shape",),
)
def broadcast_to(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Broadcast ``data`` to ``shape``, along new axes and axes of extent 1."""
    return data[broadcast_indices(data.shape, tuple(normal_dim(extent) for extent in call["shape"]), i)]


def _tiled(call: Call, shape: Sequence[Any]) -> tuple[Shape, Shape]:
    """Return shape and repetitions, both with the larger rank of the two."""
    reps = call["reps"] if isinstance(call["reps"], tuple) else (call["reps"],)
    rank = max(len(shape), len(reps))
    return (1,) * (rank - len(shape)) + tuple(shape), (1,) * (rank - len(reps)) + reps


def _tile_type(call: Call, data: TensorType) -> TensorType:
    shape, reps = _tiled(call, data.shape)
    return TensorType(tuple(normal_dim(n * r) for n, r in zip(shape, reps, strict=True)), data.dtype)


@injective(
    "tile",
    infer=_tile_type,
    reference=numpy_reference(np.tile, "reps"),
    attrs={"reps": at_least(0)},
    open_attrs=("reps",),
)
def tile(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Repeat ``data`` as a whole ``reps`` times along each axis, as ``numpy.tile``."""
    shape, reps = _tiled(call, data.shape)
    at = [
        0 if is_one(n) else index if is_one(r) else index % n
        for index, n, r in zip(i, shape, reps, strict=True)
    ]
    return data[tuple(at[len(shape) - data.ndim :])]


def _repeat_type(call: Call, data: TensorType) -> TensorType:
    axis = axis_of(call, call["axis"], data.ndim)
    return TensorType(replaced(data.shape, axis, normal_dim(data.shape[axis] * call["repeats"])), data.dtype)


@injective(
    "repeat",
    infer=_repeat_type,
    reference=numpy_reference(np.repeat, "repeats", "axis"),
    attrs={"repeats": at_least(0), "axis": REQUIRED},
    open_attrs=("repeats",),
)
def repeat(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Repeat each slice along ``axis`` ``repeats`` times in a row, as ``numpy.repeat``."""
    axis = call["axis"] % data.ndim
    return data[replaced(i, axis, i[axis] // call["repeats"])]
