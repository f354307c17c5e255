"""Further indexing operators of TVM, most of them written as other operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir.attributes import DIMENSIONS, INTEGER, Attribute
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple
from tvmlite.relay.ir.op import REQUIRED, choice, make
from tvmlite.relay.ir.types import TensorType, broadcast_shapes, normal_dim, same_shape, show_shape
from tvmlite.relay.ops.common import INTEGERS, expect, fault, one_dtype
from tvmlite.relay.ops.indexing.index import safe_numpy
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.relay.ops.shapes.slice import sliced_axis
from tvmlite.relay.ops.written_out import cast, reshaped, written_out
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor


def _register_scatter(name: str, reduction: str, doc: str) -> None:
    def rule(call: Call, data: Expr, indices: Expr, updates: Expr) -> Expr:
        return make("scatter_elements", data, indices, updates, axis=call["axis"], reduction=reduction)

    def reference(call: Call, data: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        result, axis = data.copy(), call["axis"] % data.ndim
        for at in np.ndindex(*indices.shape):
            place = indices[at] + (data.shape[axis] if indices[at] < 0 else 0)
            if 0 <= place < data.shape[axis]:
                there = (*at[:axis], place, *at[axis + 1 :])
                result[there] = updates[at] if reduction == "update" else result[there] + updates[at]
        return result

    rule.__doc__ = doc
    written_out(name, reference=reference, attrs={"axis": 0})(rule)


_register_scatter(
    "scatter", "update", "``scatter_elements`` that replaces; the last of repeated indices wins."
)
_register_scatter("scatter_add", "add", "``scatter_elements`` that adds to elements.")


# --- sparse to dense --------------------------------------------------------------------------------


def _dense_numpy(call: Call, indices: np.ndarray, values: np.ndarray, default: np.ndarray) -> np.ndarray:
    result = np.full(call["output_shape"], default.astype(values.dtype))
    places = indices.reshape(-1, result.ndim)
    for place, value in zip(places, np.broadcast_to(values, len(places)), strict=True):
        if all(0 <= k < n for k, n in zip(place, result.shape, strict=True)):
            result[tuple(place)] = value
    return result


@written_out(
    "sparse_to_dense",
    reference=_dense_numpy,
    attrs={"output_shape": Attribute(REQUIRED, lambda _: DIMENSIONS)},
    open_attrs=("output_shape",),
    parameters=("sparse_indices", "output_shape", "sparse_values", "default_value"),
)
def sparse_to_dense(call: Call, sparse_indices: Expr, sparse_values: Expr, default_value: Expr) -> Expr:
    """A tensor of ``output_shape``: ``sparse_values`` at ``sparse_indices``, else ``default_value``.

    ``sparse_indices`` has one row per value, or is a vector if the tensor has one axis, or one number.
    ``sparse_values`` is a vector, or one value for all.
    """
    where, values = tensor_type_of(sparse_indices), tensor_type_of(sparse_values)
    expect(call, "sparse_indices are", where.dtype, INTEGERS)
    shape = tuple(normal_dim(extent) for extent in call["output_shape"])
    known = where.shape[1] if where.ndim == 2 else 1
    if where.ndim > 2 or not (isinstance(known, int) and known == len(shape)):
        raise fault(
            call,
            f"sparse_indices are {show_shape(where.shape)}, output_shape is {show_shape(shape)}, "
            "expected a row of an index an axis for each value",
        )
    if values.ndim > 1 or tensor_type_of(default_value).ndim:
        raise fault(call, f"sparse_values have {values.ndim} axes, expected at most 1, and a scalar default")
    count = where.shape[0] if where.ndim else 1
    if values.ndim and not same_shape(values.shape, (count,)):
        raise fault(
            call,
            f"sparse_indices are {show_shape(where.shape)}, sparse_values are {show_shape(values.shape)}, "
            "expected a value for each index",
        )
    dense = make("full", default_value, shape=shape, dtype=values.dtype)
    rows = make("transpose", reshaped(sparse_indices, (count, len(shape))))
    updates = sparse_values if values.ndim else make("broadcast_to", sparse_values, shape=(count,))
    return make("scatter_nd", dense, rows, updates)


# --- indices of each axis ---------------------------------------------------------------------------


def _advanced_numpy(call: Call, data: np.ndarray, *indices: np.ndarray) -> np.ndarray:
    places = [safe_numpy(one, n) for one, n in zip(indices, data.shape, strict=False)]
    return np.array(data[tuple(places)])


@written_out("adv_index", reference=_advanced_numpy)
def adv_index(call: Call, *inputs: Expr) -> Expr:
    """``data[i, j, ...]``, where ``data`` is the first tensor and the others are indices of its first axes.

    The indices are broadcast together.
    """
    if len(inputs) < 2:
        raise fault(call, f"{len(inputs)} tensors are given, expected data and at least one of indices")
    data, *indices = inputs
    types = [tensor_type_of(one) for one in indices]
    if len(types) > tensor_type_of(data).ndim:
        raise fault(call, f"{len(types)} indices, data is {show_shape(tensor_type_of(data).shape)}")
    for one in types:
        expect(call, "indices are", one.dtype, INTEGERS)
    shape = types[0].shape
    for one in types[1:]:
        shape = broadcast_shapes(shape, one.shape, str(call.op), call.span)
    wide = [
        cast(one, "int64") if one_type.dtype != types[0].dtype else one
        for one, one_type in zip(indices, types, strict=True)
    ]
    if len({tensor_type_of(one).dtype for one in wide}) > 1:
        wide = [cast(one, "int64") for one in indices]
    spread = [
        one if same_shape(tensor_type_of(one).shape, shape) else make("broadcast_to", one, shape=shape)
        for one in wide
    ]
    return make("gather_nd", data, make("stack", Tuple(tuple(spread)), axis=0))


def _inverse_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    result = np.zeros_like(data)
    result[data] = np.arange(len(data), dtype=data.dtype)
    return result


@written_out("invert_permutation", reference=_inverse_numpy)
def invert_permutation(call: Call, data: Expr) -> Expr:
    """The position of each of ``0, 1, ...`` in ``data``, a vector that is a permutation of them."""
    type_ = tensor_type_of(data)
    expect(call, "data is", type_.dtype, INTEGERS)
    if type_.ndim != 1:
        raise fault(call, f"data is {show_shape(type_.shape)}, expected a vector")
    places = make("arange", start=0, stop=type_.shape[0], step=1, dtype=type_.dtype)
    empty = make("zeros", shape=type_.shape, dtype=type_.dtype)
    return make("scatter_elements", empty, data, places, axis=0)


# --- meshgrid ---------------------------------------------------------------------------------------


def _mesh_numpy(call: Call, *data: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(one.copy() for one in np.meshgrid(*data, indexing=call["indexing"]))


@written_out("meshgrid", reference=_mesh_numpy, attrs={"indexing": choice("ij", "xy")})
def meshgrid(call: Call, *data: Expr) -> Expr:
    """Broadcast each vector to the grid of all, which has an axis for each; "xy" swaps the first two axes."""
    types = [tensor_type_of(one) for one in data]
    if not types or any(one.ndim > 1 for one in types):
        shapes = ", ".join(show_shape(one.shape) for one in types) or "none"
        raise fault(call, f"shapes are {shapes}, expected at least one vector, and vectors or scalars")
    one_dtype(call, *types)
    extents = [one.shape[0] if one.shape else 1 for one in types]
    order = list(range(len(types)))
    if call["indexing"] == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = tuple(extents[k] for k in order)
    made = []
    for position, one in enumerate(data):
        own = tuple(extents[k] if k == position else 1 for k in order)
        made.append(make("broadcast_to", reshaped(one, own), shape=shape))
    return Tuple(tuple(made))


# --- strided_set ------------------------------------------------------------------------------------


def _slice_ranges(call: Call, shape: Any) -> list[tuple[Any, int, Any]]:
    begin, end, strides = (call[key] for key in ("begin", "end", "strides"))
    begin, end = (one if isinstance(one, tuple) else (one,) for one in (begin, end))
    strides = (1,) * len(begin) if strides is None else strides if isinstance(strides, tuple) else (strides,)
    strides = strides * len(begin) if len(strides) == 1 else strides
    if not len(begin) == len(end) == len(strides) <= len(shape) or 0 in strides:
        raise fault(
            call,
            f"data is {show_shape(shape)}, begin is {show_shape(begin)}, end is {show_shape(end)}, strides "
            f"are {show_shape(strides)}, expected one of each an axis, and no stride of 0",
        )
    cuts: list[tuple[Any, int, Any]] = [(0, 1, extent) for extent in shape]
    for axis, (first, last, stride) in enumerate(zip(begin, end, strides, strict=True)):
        start, count = sliced_axis(first, last, stride, shape[axis])
        cuts[axis] = (start, stride, count)
    return cuts


def _set_type(call: Call, data: TensorType, v: TensorType) -> TensorType:
    one_dtype(call, data, v)
    wanted = tuple(count for _, _, count in _slice_ranges(call, data.shape))
    if not same_shape(v.shape, wanted):
        raise fault(
            call, f"v is {show_shape(v.shape)}, the slice is {show_shape(wanted)}, expected one shape"
        )
    return data


def _set_numpy(call: Call, data: np.ndarray, v: np.ndarray) -> np.ndarray:
    result = data.copy()
    strides = call["strides"] or (1,)
    strides = strides * len(call["begin"]) if len(strides) == 1 else strides
    result[tuple(map(slice, call["begin"], call["end"], strides))] = v
    return result


@injective(
    "strided_set",
    fills=True,
    infer=_set_type,
    reference=_set_numpy,
    attrs={"begin": REQUIRED, "end": REQUIRED, "strides": None},
    open_attrs=("begin", "end"),
)
def strided_set(call: Call, i: Indices, data: Tensor, v: Tensor) -> e.Expr:
    """``data`` after ``data[begin:end:strides] = v``. TVM's bounds are tensors, these are attributes."""
    at, inside = [], []
    for index, (start, stride, count), extent in zip(
        i, _slice_ranges(call, data.shape), data.shape, strict=True
    ):
        whole = stride == 1 and isinstance(start, int) and start == 0 and same_shape((count,), (extent,))
        if whole:
            at.append(index)
            continue
        place = index - start if stride > 0 else start - index
        step = abs(stride)
        at.append(place // step if step > 1 else place)
        inside.append(place >= 0)
        inside.append(e.Less(*e.match(at[-1], count)))
        if step > 1:
            inside.append(e.Equal(*e.match(place % step, 0)))
    if not inside:
        return v[tuple(at)]
    return e.Call("if_then_else", (e.all_of(inside), v[tuple(at)], data[i]), data.dtype)


# --- diagonals --------------------------------------------------------------------------------------


def _diagonal_length(call: Call, k: int, shape: Any) -> Any:
    """The length of diagonal ``k`` of a matrix."""
    rows, columns = shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int):
        return min(rows + min(k, 0), columns - max(k, 0))
    return e.Min(*e.match(rows + min(k, 0), columns - max(k, 0)))


def _diagonal_type(call: Call, data: TensorType, diagonal: TensorType) -> TensorType:
    low, high = call["k1"], call["k2"]
    one_dtype(call, data, diagonal)
    if data.ndim < 2 or any(not isinstance(n, int) for n in data.shape[-2:]):
        raise fault(call, f"data is {show_shape(data.shape)}, expected matrices of known extents")
    rows, columns = (int(n) for n in data.shape[-2:])  # type: ignore[arg-type]
    if low > high or not -rows < low or not high < columns:
        raise fault(
            call,
            f"k1 is {low}, k2 is {high}, expected diagonals of a matrix of {rows} rows and {columns} columns",
        )
    longest = max(_diagonal_length(call, k, data.shape) for k in range(low, high + 1))
    wanted = (*data.shape[:-2], *((high - low + 1,) if low < high else ()), longest)
    if not same_shape(diagonal.shape, wanted):
        raise fault(call, f"diagonal is {show_shape(diagonal.shape)}, expected {show_shape(wanted)}")
    return data


def _diagonal_numpy(call: Call, data: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    result, low, high = data.copy(), call["k1"], call["k2"]
    bands = diagonal if low < high else diagonal[..., None, :]
    for k in range(low, high + 1):
        count = _diagonal_length(call, k, data.shape)
        right = call["super_diag_right_align"] if k >= 0 else call["sub_diag_right_align"]
        start = bands.shape[-1] - count if right else 0
        rows = np.arange(count) + max(-k, 0)
        result[..., rows, rows + k] = bands[..., high - k, start : start + count]
    return result


@injective(
    "matrix_set_diag",
    fills=True,
    infer=_diagonal_type,
    reference=_diagonal_numpy,
    attrs={
        "k1": Attribute(0, lambda _: INTEGER),
        "k2": Attribute(0, lambda _: INTEGER),
        "super_diag_right_align": True,
        "sub_diag_right_align": False,
    },
)
def matrix_set_diag(call: Call, i: Indices, data: Tensor, diagonal: Tensor) -> e.Expr:
    """``data`` with its diagonals ``k1`` to ``k2`` replaced: by ``diagonal``, or by its rows, highest first.

    Diagonals shorter than a row are at its left or right: ``super_diag_right_align`` decides for diagonals
    from 0 on, ``sub_diag_right_align`` for those below.
    """
    low, high = call["k1"], call["k2"]
    longest = diagonal.shape[-1]
    *lead, row, column = i
    value = data[i]
    for k in range(low, high + 1):
        right = call["super_diag_right_align"] if k >= 0 else call["sub_diag_right_align"]
        start = longest - _diagonal_length(call, k, data.shape) if right else 0
        place = (row if k >= 0 else column) + start
        band = (high - k,) if low < high else ()
        on = e.Equal(*e.match(column - row, k))
        value = e.Call("if_then_else", (on, diagonal[(*lead, *band, place)], value), data.dtype)
    return value
