"""Operators that slice, split and join: strided_slice, split, concatenate, stack."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, Rounding, choice, operator
from tvmlite.relay.ir.types import (
    Dim,
    Shape,
    TensorType,
    TupleType,
    normal_dim,
    same_dim,
    same_shape,
    show_dim,
    show_shape,
)
from tvmlite.relay.ops.common import axes_of, axis_of, clamp, fault, one_dtype, replaced
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor

_UNBOUNDED = 2**31 - 1
"""Bounds from here on mean "up to the end", whatever the extent of a named dimension is."""


def sliced_axis(begin: Any, end: Any, stride: int, extent: Dim) -> tuple[Dim, Dim]:
    """Return where ``begin:end:stride`` starts on an axis of ``extent``, and its number of elements.

    As in numpy: negative bounds count from the end, bounds out of range are clamped, None is no bound.
    Bounds and ``extent`` may be expressions over dimensions.
    """
    if all(bound is None or isinstance(bound, int) for bound in (begin, end)) and isinstance(extent, int):
        static = range(*slice(begin, end, stride).indices(extent))
        return static.start, len(static)
    low, high = (0, extent) if stride > 0 else (-1, extent - 1)
    start = _bound(low if stride > 0 else high, begin, low, high, extent)
    stop = _bound(high if stride > 0 else low, end, low, high, extent)
    distance = stop - start if stride > 0 else start - stop
    step = abs(stride)
    count = distance if step == 1 else (distance + (step - 1)) // step
    return normal_dim(start), _maximum(normal_dim(count), 0)


def _bound(default: Dim, bound: Any, low: Dim, high: Dim, extent: Dim) -> Dim:
    """Count ``bound`` from the front and clamp it to ``low .. high``; None gives ``default``."""
    if bound is None:
        return default
    if isinstance(bound, int) and abs(bound) >= _UNBOUNDED:
        return high if bound > 0 else low
    if isinstance(bound, int):
        bound = bound if bound >= 0 else bound + extent
    elif not _is_proved(bound >= 0):
        bound = bound + extent if _is_proved(bound < 0) else e.Select(bound < 0, bound + extent, bound)
    return _minimum(_maximum(bound, low), high)


def _is_proved(condition: Any) -> bool:
    return condition if isinstance(condition, bool) else arith.Analyzer().prove(condition)


def _maximum(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    if _is_proved(a >= b):
        return a
    return b if _is_proved(b >= a) else e.Max(*e.match(a, b))


def _minimum(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    if _is_proved(a <= b):
        return a
    return b if _is_proved(b <= a) else e.Min(*e.match(a, b))


def _several(value: Any, count: int | None = None) -> tuple[Any, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return values * count if count is not None and len(values) == 1 else values


def _slice_attrs(call: Call) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Return axes, begins, ends and strides, one of each for each axis that is cut."""
    begin, end = _several(call["begin"]), _several(call["end"])
    strides = _several(1 if call["strides"] is None else call["strides"], len(begin))
    axes = tuple(range(len(begin))) if call["axes"] is None else call["axes"]
    if call["slice_mode"] == "size":
        pairs = zip(begin, end, strict=False)
        end = tuple(None if isinstance(n, int) and n < 0 else first + n for first, n in pairs)
    return axes, begin, end, strides


def _slice_ranges(call: Call, shape: Shape) -> list[tuple[Dim, int, Dim]]:
    """Return start, stride and count for each axis of ``shape``."""
    axes, begin, end, strides = _slice_attrs(call)
    given = _several(call["end"])
    if not len(begin) == len(given) == len(strides) or (call["axes"] is None and len(begin) > len(shape)):
        raise fault(
            call,
            f"data is {show_shape(shape)}, begin is {show_shape(begin)}, end is {show_shape(given)}, "
            f"strides are {show_shape(strides)}, expected one of each an axis",
        )
    if 0 in strides:
        raise fault(call, f"strides are {show_shape(strides)}, expected numbers other than 0")
    axes_of(call, axes, len(shape), "axes")
    if len(axes) != len(begin):
        raise fault(call, f"axes are {show_shape(axes)}, begin is {show_shape(begin)}, expected as many")
    cuts: list[tuple[Dim, int, Dim]] = [(0, 1, extent) for extent in shape]
    for axis, first, last, stride in zip(axes, begin, end, strides, strict=True):
        start, count = sliced_axis(first, last, stride, shape[axis])
        cuts[axis] = (start, stride, count)
    return cuts


def _slice_type(call: Call, data: TensorType) -> TensorType:
    return TensorType(tuple(count for _, _, count in _slice_ranges(call, data.shape)), data.dtype)


def _slice_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    at = [slice(None)] * data.ndim
    for axis, *cut in zip(*_slice_attrs(call), strict=True):
        at[axis] = slice(*cut)
    return data[tuple(at)].copy()


@injective(
    "strided_slice",
    infer=_slice_type,
    reference=_slice_numpy,
    attrs={
        **dict.fromkeys(("begin", "end"), REQUIRED),
        **dict.fromkeys(("strides", "axes")),
        "slice_mode": choice("end", "size"),
    },
    open_attrs=("begin", "end"),
)
def strided_slice(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """``data[begin:end:strides]`` along ``axes`` (the first ones unless given), clamped as in numpy.

    With ``slice_mode`` "size", ``end`` is the number of elements, and a negative one means up to the end.
    """
    cuts = _slice_ranges(call, data.shape)
    return data[tuple(start + index * stride for index, (start, stride, _) in zip(i, cuts, strict=True))]


# --- windows at positions known at run time ---------------------------------------------------------


def _window_type(call: Call, data: TensorType) -> TensorType:
    given = [_several(call[name]) for name in ("begin", "strides", "shape")]
    if any(len(one) != data.ndim for one in given):
        raise fault(
            call,
            f"data is {show_shape(data.shape)}, begin, strides and shape are "
            f"{', '.join(show_shape(one) for one in given)}, expected one of each an axis",
        )
    return TensorType(tuple(normal_dim(n) for n in call["shape"]), data.dtype)


def _window_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    for axis, (first, step, count) in enumerate(
        zip(call["begin"], call["strides"], call["shape"], strict=True)
    ):
        data = data.take(first + np.arange(count) * step, axis, mode="clip") if count else data.take([], axis)
    return data


@injective(
    "strided_window",
    infer=_window_type,
    reference=_window_numpy,
    attrs={"begin": REQUIRED, "strides": REQUIRED, "shape": REQUIRED},
    open_attrs=("begin", "strides", "shape"),
)
def strided_window(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """``shape`` elements of each axis, from ``begin`` on, ``strides`` apart.

    These are numbers and dimensions computed at run time. An index out of range reads the nearest element.
    """
    at = zip(i, call["begin"], call["strides"], data.shape, strict=True)
    return data[tuple(clamp(e.cast("int64", k) * step + first, n) for k, first, step, n in at)]


# --- split ------------------------------------------------------------------------------------------


MAX_PIECES = 2**16
"""The largest number of pieces that a tensor is split into: each is a separate result."""


def _pieces(call: Call, shape: Shape) -> tuple[int, list[tuple[Dim, Dim]]]:
    """Return the axis that is split, and the start and extent of each piece."""
    axis = axis_of(call, call["axis"], len(shape))
    extent, sections = shape[axis], call["indices_or_sections"]
    if isinstance(sections, int):
        if sections > MAX_PIECES:
            raise fault(call, f"indices_or_sections is {sections}, expected at most {MAX_PIECES}")
        if sections < 1 or not same_dim(normal_dim(extent // sections * sections), extent):
            raise fault(
                call,
                f"data is {show_shape(shape)}, whose extent {show_dim(extent)} on axis {axis} "
                f"is not known to split into {sections} equal sections",
            )
        each = normal_dim(extent // sections)
        return axis, [(normal_dim(each * k), each) for k in range(sections)]
    if not isinstance(sections, tuple):
        raise fault(call, f"indices_or_sections is {show_dim(sections)}, expected a number or a tuple")
    return axis, [sliced_axis(a, b, 1, extent) for a, b in pairwise((0, *sections, None))]


def _split_type(call: Call, data: TensorType) -> TupleType:
    axis, pieces = _pieces(call, data.shape)
    return TupleType(tuple(TensorType(replaced(data.shape, axis, n), data.dtype) for _, n in pieces))


def _split_numpy(call: Call, data: np.ndarray) -> tuple[np.ndarray, ...]:
    sections = call["indices_or_sections"]
    parts = np.split(data, sections if isinstance(sections, int) else list(sections), call["axis"])
    return tuple(part.copy() for part in parts)


@operator(
    "split",
    rounding=Rounding.NEVER,
    infer=_split_type,
    reference=_split_numpy,
    fuse=Fuse.INJECTIVE,
    attrs={"indices_or_sections": REQUIRED, "axis": 0},
    open_attrs=("indices_or_sections",),
)
def split(call: Call, data: Tensor) -> list[Tensor]:
    """Split ``data`` along ``axis`` into equal sections, or into the pieces between indices: a tuple."""
    axis, pieces = _pieces(call, data.shape)
    return [_piece(data, axis, start, extent) for start, extent in pieces]


def _piece(data: Tensor, axis: int, start: Dim, extent: Dim) -> Tensor:
    def element(*i: e.Expr) -> e.Expr:
        return data[replaced(i, axis, i[axis] + start)]

    return compute(replaced(data.shape, axis, extent), element, name="split", tag="injective")


# --- concatenate and stack --------------------------------------------------------------------------


def _concatenate_type(call: Call, *types: TensorType) -> TensorType:
    if not types:
        raise fault(call, "nothing to join, expected at least one tensor")
    dtype, axis = one_dtype(call, *types), axis_of(call, call["axis"], types[0].ndim)
    first = types[0].shape
    for other in types[1:]:
        if other.ndim != len(first) or not same_shape(replaced(other.shape, axis), replaced(first, axis)):
            raise fault(call, f"shapes are {_shapes(types)}, expected them to differ on axis {axis} only")
    return TensorType(replaced(first, axis, _total([one.shape[axis] for one in types])), dtype)


def _shapes(types: Sequence[TensorType]) -> str:
    return " and ".join(show_shape(one.shape) for one in types)


def _total(extents: Sequence[Dim]) -> Dim:
    total: Any = 0
    for extent in extents:
        total = extent + total
    return normal_dim(total)


def _concatenate_numpy(call: Call, *arrays: np.ndarray) -> np.ndarray:
    return np.concatenate(arrays, call["axis"])


@injective("concatenate", infer=_concatenate_type, reference=_concatenate_numpy, attrs={"axis": 0})
def concatenate(call: Call, i: Indices, *data: Tensor) -> e.Expr:
    """Concatenate the tensors along ``axis``; their other extents and dtypes must be the same."""
    axis = call["axis"] % data[0].ndim
    starts = [_total([t.shape[axis] for t in data[:k]]) for k in range(len(data))]
    value = data[0][i]
    for tensor, start in zip(data[1:], starts[1:], strict=True):
        shifted = tensor[replaced(i, axis, i[axis] - start)]
        value = e.Call("if_then_else", (i[axis] >= start, shifted, value), value.dtype)
    return value


def _stack_type(call: Call, *types: TensorType) -> TensorType:
    if not types:
        raise fault(call, "nothing to stack, expected at least one tensor")
    dtype, first = one_dtype(call, *types), types[0].shape
    if not all(same_shape(f.shape, first) for f in types):
        raise fault(call, f"shapes are {_shapes(types)}, expected one shape")
    axis = axis_of(call, call["axis"], len(first) + 1)
    return TensorType((*first[:axis], len(types), *first[axis:]), dtype)


def _stack_numpy(call: Call, *arrays: np.ndarray) -> np.ndarray:
    return np.stack(arrays, call["axis"])


@injective("stack", infer=_stack_type, reference=_stack_numpy, attrs={"axis": 0})
def stack(call: Call, i: Indices, *data: Tensor) -> e.Expr:
    """Stack tensors of one shape and dtype along the new ``axis``."""
    axis = call["axis"] % (data[0].ndim + 1)
    at = replaced(i, axis)
    value = data[0][at]
    for position, tensor in enumerate(data[1:], start=1):
        value = e.Call("if_then_else", (i[axis] >= position, tensor[at], value), value.dtype)
    return value
