"""Operators with the shape or dtype of another tensor, as in TVM, written with that shape as an attribute."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.attributes import INTEGER, Attribute
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import REQUIRED, make
from tvmlite.relay.ir.types import Shape, num_elements, same_dim, show_shape
from tvmlite.relay.ops.common import axes_of, fault, is_one
from tvmlite.relay.ops.written_out import cast, reshaped, written_out


def _register_filled(name: str, value: int) -> None:
    doc = f"A tensor with the shape and dtype of ``data``, filled with {value}."

    def rule(call: Call, data: Expr) -> Expr:
        type_ = tensor_type_of(data)
        return make(name, shape=type_.shape, dtype=type_.dtype)

    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        return np.full_like(data, value)

    rule.__doc__ = doc
    written_out(f"{name}_like", reference=reference)(rule)


_register_filled("zeros", 0)
_register_filled("ones", 1)


def _full_numpy(call: Call, data: np.ndarray, fill_value: np.ndarray) -> np.ndarray:
    return np.full_like(data, fill_value)


@written_out("full_like", reference=_full_numpy)
def full_like(call: Call, data: Expr, fill_value: Expr) -> Expr:
    """A tensor with the shape and dtype of ``data``, filled with the scalar ``fill_value``."""
    type_ = tensor_type_of(data)
    return make("full", fill_value, shape=type_.shape, dtype=type_.dtype)


def _cast_numpy(call: Call, data: np.ndarray, dtype_like: np.ndarray) -> np.ndarray:
    return data.astype(dtype_like.dtype)


@written_out("cast_like", reference=_cast_numpy)
def cast_like(call: Call, data: Expr, dtype_like: Expr) -> Expr:
    """``data`` converted to the dtype of ``dtype_like``, as by ``cast``."""
    return cast(data, tensor_type_of(dtype_like).dtype)


# --- shapes -----------------------------------------------------------------------------------------


def _axis_range(call: Call, side: str, rank: int) -> tuple[int, int]:
    """Return the axes ``side_begin`` up to ``side_end`` of ``rank``; negative from the end, None the end."""
    begin, end = call[f"{side}_begin"], call[f"{side}_end"]
    first = begin + rank if begin < 0 else begin
    last = rank if end is None else end + rank if end < 0 else end
    if not 0 <= first <= last <= rank:
        raise fault(call, f"{side}_begin is {begin}, {side}_end is {end}, expected a part of {rank} axes")
    return first, last


def _reshape_numpy(call: Call, data: np.ndarray, shape_like: np.ndarray) -> np.ndarray:
    a, b = slice(call["lhs_begin"], call["lhs_end"]), slice(call["rhs_begin"], call["rhs_end"])
    leading, trailing = data.shape[: a.start], data.shape[len(data.shape) if a.stop is None else a.stop :]
    return data.reshape((*leading, *shape_like.shape[b], *trailing))


@written_out(
    "reshape_like",
    reference=_reshape_numpy,
    attrs={
        "lhs_begin": Attribute(0, lambda _: INTEGER),
        "lhs_end": Attribute(None, lambda _: INTEGER),
        "rhs_begin": Attribute(0, lambda _: INTEGER),
        "rhs_end": Attribute(None, lambda _: INTEGER),
    },
)
def reshape_like(call: Call, data: Expr, shape_like: Expr) -> Expr:
    """``data`` with the axes ``lhs_begin`` up to ``lhs_end`` reshaped like axes of ``shape_like``.

    Those are the axes ``rhs_begin`` up to ``rhs_end``.
    """
    shape, other = tensor_type_of(data).shape, tensor_type_of(shape_like).shape
    first, last = _axis_range(call, "lhs", len(shape))
    start, end = _axis_range(call, "rhs", len(other))
    wanted = (*shape[:first], *other[start:end], *shape[last:])
    if not same_dim(num_elements(shape), num_elements(wanted)):
        raise fault(
            call, f"data is {show_shape(shape)}, to be {show_shape(wanted)}, expected as many elements"
        )
    return make("reshape", data, newshape=wanted, allowzero=True)


def _slice_numpy(call: Call, data: np.ndarray, shape_like: np.ndarray) -> np.ndarray:
    axes = call["axes"] or range(shape_like.ndim)
    at = [slice(None)] * data.ndim
    for axis in axes:
        at[axis] = slice(shape_like.shape[axis])
    return data[tuple(at)].copy()


@written_out("slice_like", reference=_slice_numpy, attrs={"axes": None})
def slice_like(call: Call, data: Expr, shape_like: Expr) -> Expr:
    """The first elements of ``data`` along each of ``axes``, as many as ``shape_like`` has there.

    Without ``axes``, along all axes of ``shape_like``.
    """
    shape, other = tensor_type_of(data).shape, tensor_type_of(shape_like).shape
    given = call["axes"] or tuple(range(len(other)))
    axes = axes_of(call, given, len(shape), "axes")
    ends = []
    for axis in axes:
        if axis >= len(other):
            raise fault(call, f"axes are {given}, shape_like is {show_shape(other)}: it has no axis {axis}")
        if isinstance(shape[axis], int) and isinstance(other[axis], int) and other[axis] > shape[axis]:
            raise fault(
                call,
                f"data is {show_shape(shape)}, shape_like is {show_shape(other)}: axis {axis} is shorter",
            )
        ends.append(other[axis])
    if not axes:
        return data
    return make("strided_slice", data, begin=(0,) * len(axes), end=tuple(ends), axes=axes)


def _broadcast_numpy(call: Call, data: np.ndarray, broadcast_type: np.ndarray) -> np.ndarray:
    return np.broadcast_to(data, broadcast_type.shape).copy()


@written_out("broadcast_to_like", reference=_broadcast_numpy)
def broadcast_to_like(call: Call, data: Expr, broadcast_type: Expr) -> Expr:
    """``data`` broadcast to the shape of ``broadcast_type``."""
    return make("broadcast_to", data, shape=tensor_type_of(broadcast_type).shape)


def _collapse_sum(call: Call, data: Expr, target: Shape) -> Expr:
    """Sum ``data`` over the axes along which a tensor of shape ``target`` would be broadcast to it."""
    shape = tensor_type_of(data).shape
    ahead = len(shape) - len(target)
    if ahead < 0:
        raise fault(call, f"data is {show_shape(shape)}, to be {show_shape(target)}, which has more axes")
    axes = list(range(ahead))
    for axis, extent in enumerate(target, start=ahead):
        if is_one(extent) and not is_one(shape[axis]):
            axes.append(axis)
        elif not same_dim(extent, shape[axis]):
            raise fault(
                call,
                f"data is {show_shape(shape)}, to be {show_shape(target)}, which does not broadcast to it",
            )
    if not axes:
        return data
    total = make("sum", data, axis=tuple(axes))
    return reshaped(total, target) if len(axes) > ahead else total


def collapsed_numpy(data: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum ``data`` to ``shape``: the gradient of broadcasting ``shape`` to that of ``data``."""
    ahead = data.ndim - len(shape)
    kept = [k + ahead for k, extent in enumerate(shape) if extent == 1]
    wide = data.astype(np.float64) if dtypes.is_float(dtypes.check(data.dtype)) else data
    summed = wide.sum(axis=tuple(range(ahead)) + tuple(kept), keepdims=True)
    return summed.reshape(shape).astype(data.dtype)


def _collapse_like_numpy(call: Call, data: np.ndarray, collapse_type: np.ndarray) -> np.ndarray:
    return collapsed_numpy(data, collapse_type.shape)


@written_out("collapse_sum_like", reference=_collapse_like_numpy)
def collapse_sum_like(call: Call, data: Expr, collapse_type: Expr) -> Expr:
    """``data`` summed to the shape of ``collapse_type``, which broadcasts to that of ``data``."""
    return _collapse_sum(call, data, tensor_type_of(collapse_type).shape)


def _collapse_to_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return collapsed_numpy(data, call["shape"])


@written_out(
    "collapse_sum_to", reference=_collapse_to_numpy, attrs={"shape": REQUIRED}, open_attrs=("shape",)
)
def collapse_sum_to(call: Call, data: Expr) -> Expr:
    """``data`` summed to ``shape``, which broadcasts to that of ``data``. TVM's shape is a tensor."""
    return _collapse_sum(call, data, call["shape"])


def _flatten_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return data.reshape(data.shape[0], -1)


@written_out("nn.batch_flatten", reference=_flatten_numpy)
def batch_flatten(call: Call, data: Expr) -> Expr:
    """Flatten all axes after the first into one."""
    shape = tensor_type_of(data).shape
    if not shape:
        raise fault(call, "data is a scalar, expected a batch")
    return make("reshape", data, newshape=(shape[0], num_elements(shape[1:])), allowzero=True)


def _reversed_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    wanted = [
        data.shape[k] if extent == 0 else extent
        for k, extent in zip(
            range(data.ndim - len(call["newshape"]), data.ndim), call["newshape"], strict=True
        )
    ]
    return data.reshape(wanted)


@written_out("contrib_reverse_reshape", reference=_reversed_numpy, attrs={"newshape": REQUIRED})
def contrib_reverse_reshape(call: Call, data: Expr) -> Expr:
    """``reshape`` with codes matched from the last axis: 0 copies the extent as far from the end."""
    shape, wanted = tensor_type_of(data).shape, call["newshape"]
    found: list[Any] = []
    for from_end, extent in enumerate(reversed(wanted), start=1):
        if isinstance(extent, int) and extent < -1:
            raise fault(call, f"newshape is {show_shape(wanted)}: {extent} is no extent and no code (0, -1)")
        if not (isinstance(extent, int) and extent == 0):
            found.append(extent)
        elif from_end <= len(shape):
            found.append(shape[-from_end])
        else:
            raise fault(call, f"newshape is {show_shape(wanted)}: data {show_shape(shape)} has no such axis")
    return make("reshape", data, newshape=tuple(reversed(found)))


def _size_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.array(data.size, call["dtype"])


@written_out("ndarray_size", reference=_size_numpy, attrs={"dtype": "int32"})
def ndarray_size(call: Call, data: Expr) -> Expr:
    """The number of elements of ``data``, a scalar."""
    count = num_elements(tensor_type_of(data).shape)
    return reshaped(make("shape_value", values=(count,), dtype=call["dtype"]), ())


# --- annotations for other devices, or for passes of TVM -------------------------------------------


def _same_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return data


def _register_mark(name: str, doc: str, attrs: dict[str, Any]) -> None:
    def rule(call: Call, data: Expr) -> Expr:
        return data

    rule.__doc__ = doc
    written_out(name, reference=_same_numpy, attrs=attrs, any_types=True)(rule)


_register_mark("annotation.stop_fusion", "``data`` unchanged; fusion is not stopped here.", {})
_register_mark("annotation.checkpoint", "``data`` unchanged; only training would recompute what follows.", {})
_register_mark("annotation.compiler_begin", "``data`` unchanged; there is one compiler.", {"compiler": ""})
_register_mark("annotation.compiler_end", "``data`` unchanged; there is one compiler.", {"compiler": ""})
_register_mark("device_copy", "``data``: there is one device.", {})
_register_mark(
    "on_device",
    "``data``: there is one device.",
    {"constrain_result": False, "constrain_body": True},
)


def _hint_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return data


@written_out("annotation.cast_hint", reference=_hint_numpy, attrs={"dtype": "float32"})
def cast_hint(call: Call, data: Expr) -> Expr:
    """``data`` unchanged: a hint of TVM's quantization, which only its passes read."""
    return data
