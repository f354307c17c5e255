"""Operators that read at indices: take, gather, gather_nd, unravel_index.

Unless stated otherwise, negative indices count from the end, and indices out of range are clamped: no index
reads outside its tensor. A read along an axis of extent 0 gives 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, choice
from tvmlite.relay.ir.types import Dim, TensorType, num_elements, same_dim, show_shape
from tvmlite.relay.ops.common import (
    INTEGERS,
    as_index,
    axis_of,
    clamp,
    expect,
    expect_extent,
    fault,
    normalize_index,
    replaced,
    unless_empty,
)
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.relay.ops.shapes.reshape import reshaped_indices
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor


def safe_index(index: e.Expr, extent: Dim) -> e.Expr:
    """``index`` counted from the end if negative, then clamped to the axis."""
    return clamp(normalize_index(index, extent), extent)


def safe_numpy(indices: np.ndarray, extent: int) -> np.ndarray:
    """``safe_index`` of an array."""
    wide = indices.astype(np.int64)
    return np.clip(np.where(wide < 0, wide + extent, wide), 0, max(extent - 1, 0))


def expect_at_most(call: Call, what: str, given: Dim, limit: Dim) -> None:
    """Raise a type error unless the extent ``given`` is known to be at most ``limit``."""
    fits = given <= limit
    if not (fits if isinstance(fits, bool) else same_dim(given, limit) or arith.Analyzer().prove(fits)):
        raise fault(call, f"{what} is {given}, expected at most {limit}")


# --- take -------------------------------------------------------------------------------------------


def _take_axis(call: Call, rank: int) -> tuple[int, int]:
    axis, batch = axis_of(call, call["axis"], rank), call["batch_dims"]
    if not 0 <= batch <= axis:
        raise fault(call, f"batch_dims is {batch}, axis is {call['axis']}, expected at most the axis")
    return axis, batch


def _take_type(call: Call, data: TensorType, indices: TensorType) -> TensorType:
    expect(call, "indices are", indices.dtype, INTEGERS)
    if call["axis"] is None:
        return TensorType(indices.shape, data.dtype)
    axis, batch = _take_axis(call, data.ndim)
    if batch > indices.ndim:
        raise fault(call, f"batch_dims is {batch}, indices are {show_shape(indices.shape)}")
    for k in range(batch):
        expect_extent(call, f"the indices' extent {k}", indices.shape[k], data.shape[k])
    return TensorType(replaced(data.shape, axis, *indices.shape[batch:]), data.dtype)


def _take_numpy(call: Call, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
    if call["axis"] is None:
        return np.asarray(data.reshape(-1)[_apply_mode(call["mode"], indices, data.size)])
    axis, batch = call["axis"] % data.ndim, call["batch_dims"]
    found = _apply_mode(call["mode"], indices, data.shape[axis])
    rows = np.moveaxis(data, axis, batch)[(*np.indices(indices.shape, sparse=True)[:batch], found)]
    picked, to = range(batch, indices.ndim), range(axis, axis + indices.ndim - batch)
    return np.asarray(np.moveaxis(rows, picked, to))


def _apply_mode(mode: str, indices: np.ndarray, extent: int) -> np.ndarray:
    wide = indices.astype(np.int64)
    if mode == "wrap":
        return wide % max(extent, 1)
    return np.clip(wide, 0, max(extent - 1, 0)) if mode == "clip" else np.where(wide < 0, wide + extent, wide)


@injective(
    "take",
    infer=_take_type,
    reference=_take_numpy,
    attrs={"axis": None, "batch_dims": 0, "mode": choice("clip", "wrap", "fast")},
)
def take(call: Call, i: Indices, data: Tensor, indices: Tensor) -> e.Expr:
    """The slices of ``data`` along ``axis`` at ``indices``; without ``axis``, elements of the flat data.

    The first ``batch_dims`` axes of both are matched. ``mode`` is for indices out of range: "clip" takes the
    nearest (so a negative one is the first), "wrap" is modulo the extent, and "fast" assumes that there are
    none (a negative one counts from the end).
    """
    flat = call["axis"] is None
    axis, batch = (0, 0) if flat else _take_axis(call, data.ndim)
    extent = num_elements(data.shape) if flat else data.shape[axis]
    count = indices.ndim - batch
    index = as_index(indices[(*i[:batch], *i[axis : axis + count])], extent)
    if call["mode"] == "fast":
        index = normalize_index(index, extent)
    else:
        index = index % extent if call["mode"] == "wrap" else clamp(index, extent)
    at: Any = reshaped_indices(data.shape, (extent,), (index,)) if flat else None
    return unless_empty([extent], data[at if flat else (*i[:axis], index, *i[axis + count :])])


# --- gather -----------------------------------------------------------------------------------------


def check_indices(call: Call, data: TensorType, indices: TensorType) -> int:
    """Return the axis of a gather or scatter; check that indices fit into the data on every other axis."""
    expect(call, "indices are", indices.dtype, INTEGERS)
    axis = axis_of(call, call["axis"], data.ndim)
    if indices.ndim != data.ndim:
        raise fault(
            call,
            f"data is {show_shape(data.shape)}, indices are {show_shape(indices.shape)}, "
            "expected as many axes",
        )
    for k in range(data.ndim):
        if k != axis:
            expect_at_most(call, f"the indices' extent {k}", indices.shape[k], data.shape[k])
    return axis


def _gather_type(call: Call, data: TensorType, indices: TensorType) -> TensorType:
    check_indices(call, data, indices)
    return TensorType(indices.shape, data.dtype)


def _gather_numpy(call: Call, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
    axis = call["axis"] % data.ndim
    at = list(np.indices(indices.shape, sparse=True))
    at[axis] = safe_numpy(indices, data.shape[axis])
    return data[tuple(at)]


@injective(
    "gather",
    infer=_gather_type,
    reference=_gather_numpy,
    attrs={"axis": REQUIRED},
    parameters=("data", "axis", "indices"),
)
def gather(call: Call, i: Indices, data: Tensor, indices: Tensor) -> e.Expr:
    """Element ``i`` is ``data`` at ``i`` with the index along ``axis`` replaced by ``indices[i]``."""
    axis = call["axis"] % data.ndim
    extent = data.shape[axis]
    return unless_empty([extent], data[replaced(i, axis, safe_index(indices[i], extent))])


# --- gather_nd --------------------------------------------------------------------------------------


def index_length(call: Call, indices: TensorType, rank: int, batch: int = 0) -> int:
    """Return how many of ``rank`` axes each index has: the extent of the first axis of ``indices``."""
    expect(call, "indices are", indices.dtype, INTEGERS)
    length = indices.shape[0] if indices.ndim else None
    if not isinstance(length, int) or batch + length > rank:
        raise fault(
            call,
            f"indices are {show_shape(indices.shape)}, expected a first axis of at most {rank - batch}, "
            "the axes of the data",
        )
    return length


def _gather_nd_type(call: Call, data: TensorType, indices: TensorType) -> TensorType:
    batch = call["batch_dims"]
    if not 0 <= batch < max(indices.ndim, 1):
        raise fault(call, f"batch_dims is {batch}, indices are {show_shape(indices.shape)}")
    length = index_length(call, indices, data.ndim, batch)
    for k in range(batch):
        expect_extent(call, f"the indices' extent {k + 1}", indices.shape[k + 1], data.shape[k])
    return TensorType((*indices.shape[1:], *data.shape[batch + length :]), data.dtype)


def _gather_nd_numpy(call: Call, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
    batch = call["batch_dims"]
    grid = np.indices(indices.shape[1:], sparse=True)[:batch]
    parts = [safe_numpy(part, data.shape[batch + k]) for k, part in enumerate(indices)]
    return np.array(data[(*grid, *parts)])


@injective(
    "gather_nd",
    infer=_gather_nd_type,
    reference=_gather_nd_numpy,
    attrs={"batch_dims": 0, "index_rank": None},
)
def gather_nd(call: Call, i: Indices, data: Tensor, indices: Tensor) -> e.Expr:
    """The slices of ``data`` at ``indices[:, y...]``; the first ``batch_dims`` axes of both are matched."""
    batch, length, rank = call["batch_dims"], indices.shape[0], indices.ndim - 1
    assert isinstance(length, int)
    extents = data.shape[batch : batch + length]
    parts = [safe_index(indices[(k, *i[:rank])], extent) for k, extent in enumerate(extents)]
    return unless_empty(extents, data[(*i[:batch], *parts, *i[rank:])])


# --- unravel_index ----------------------------------------------------------------------------------


def _unravel_type(call: Call, indices: TensorType, shape: TensorType) -> TensorType:
    expect(call, "indices are", indices.dtype, INTEGERS)
    expect(call, "extents are", shape.dtype, INTEGERS)
    if shape.ndim != 1 or not isinstance(shape.shape[0], int):
        raise fault(call, f"shape is {shape}, expected a vector of known length")
    return TensorType((shape.shape[0], *indices.shape), indices.dtype)


def _unravel_numpy(call: Call, indices: np.ndarray, shape: np.ndarray) -> np.ndarray:
    rest, result = indices.astype(np.int64), np.zeros((len(shape), *indices.shape), indices.dtype)
    for k in reversed(range(len(shape))):
        result[k], rest = rest % shape[k], rest // shape[k]
    return result


@injective("unravel_index", infer=_unravel_type, reference=_unravel_numpy)
def unravel_index(call: Call, i: Indices, indices: Tensor, shape: Tensor) -> e.Expr:
    """The position of each flat index into a tensor of ``shape``, as one row per axis."""
    rank = shape.shape[0]
    assert isinstance(rank, int)
    rest, result = e.cast("int64", indices[i[1:]]), e.const(0, "int64")
    for k in reversed(range(rank)):
        extent = e.cast("int64", shape[k])
        result = e.Select(e.Equal(*e.match(i[0], k)), rest % extent, result)
        rest = rest // extent
    return e.cast(indices.dtype, result)
