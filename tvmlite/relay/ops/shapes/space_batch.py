"""Space to batch and back, mirror padding, dilation, sliding windows, and a FIFO buffer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlite.relay.ir.attributes import INTEGERS, NUMBER, WIDTHS, Attribute
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple
from tvmlite.relay.ir.op import REQUIRED, choice, make
from tvmlite.relay.ir.types import Dim, TensorType, normal_dim, same_dim, show_dim, show_shape
from tvmlite.relay.ops.common import axis_of, fault, one_dtype, replaced
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.relay.ops.written_out import written_out
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor

_BLOCK = Attribute(REQUIRED, lambda _: INTEGERS)
_PAIRS = Attribute(REQUIRED, lambda _: WIDTHS)


def _block(call: Call, rank: int, pairs: str) -> tuple[int, ...]:
    block = call["block_shape"] if isinstance(call["block_shape"], tuple) else (call["block_shape"],)
    if not 1 <= len(block) < rank or any(b < 1 for b in block):
        raise fault(
            call, f"block_shape is {call['block_shape']}, expected 1 to {rank - 1} numbers of at least 1"
        )
    if len(call[pairs]) != len(block) or any(len(pair) != 2 for pair in call[pairs]):
        raise fault(
            call, f"{pairs} are {call[pairs]}, expected {len(block)} pairs, as block_shape has numbers"
        )
    return block


def _exact_quotient(call: Call, what: str, extent: Dim, by: int) -> Dim:
    if not same_dim(normal_dim(extent // by * by), extent):
        raise fault(call, f"{what} is {show_dim(extent)}, expected a multiple of {by}")
    return normal_dim(extent // by)


def _to_batch_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    block, count = call["block_shape"], len(call["block_shape"])
    widths = [(0, 0), *call["paddings"], *[(0, 0)] * (data.ndim - count - 1)]
    wider = np.pad(data, widths, constant_values=call["pad_value"])
    pieces = [
        wider[(slice(None), *(slice(o, None, b) for o, b in zip(offset, block, strict=True)))]
        for offset in np.ndindex(*block)
    ]
    return np.concatenate(pieces)


@written_out(
    "nn.space_to_batch_nd",
    reference=_to_batch_numpy,
    attrs={"block_shape": _BLOCK, "paddings": _PAIRS, "pad_value": Attribute(0.0, lambda _: NUMBER)},
)
def space_to_batch_nd(call: Call, data: Expr) -> Expr:
    """Pad the axes after the batch, then move blocks of them to the batch: block before batch."""
    shape = tensor_type_of(data).shape
    block = _block(call, len(shape), "paddings")
    count, trailing = len(block), len(shape) - len(block) - 1
    if any(before or after for before, after in call["paddings"]):
        widths = ((0, 0), *call["paddings"], *(((0, 0),) * trailing))
        data = make("nn.pad", data, pad_width=widths, pad_value=call["pad_value"])
        shape = tensor_type_of(data).shape
    pieces = [
        _exact_quotient(call, f"the padded extent {k + 1}", shape[k + 1], b) for k, b in enumerate(block)
    ]
    cut: list[Any] = [shape[0]]
    for piece, b in zip(pieces, block, strict=True):
        cut += [piece, b]
    rest = shape[count + 1 :]
    order = (
        *(2 * k + 2 for k in range(count)), 0, *(2 * k + 1 for k in range(count)),
        *range(2 * count + 1, 2 * count + 1 + trailing),
    )  # fmt: skip
    split = make("reshape", data, newshape=(*cut, *rest), allowzero=True)
    moved = make("transpose", split, axes=order)
    return make("reshape", moved, newshape=(shape[0] * math.prod(block), *pieces, *rest), allowzero=True)


def _from_batch_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    block, count = call["block_shape"], len(call["block_shape"])
    batch = data.shape[0] // math.prod(block)
    sizes = [n * b for n, b in zip(data.shape[1:], block, strict=False)]
    result = np.empty((batch, *sizes, *data.shape[count + 1 :]), data.dtype)
    for piece, offset in enumerate(np.ndindex(*block)):
        at = (slice(None), *(slice(o, None, b) for o, b in zip(offset, block, strict=True)))
        result[at] = data[piece * batch : (piece + 1) * batch]
    crops = tuple(slice(a, n - b) for (a, b), n in zip(call["crops"], sizes, strict=True))
    return result[(slice(None), *crops)].copy()


@written_out(
    "nn.batch_to_space_nd",
    reference=_from_batch_numpy,
    attrs={"block_shape": _BLOCK, "crops": _PAIRS},
)
def batch_to_space_nd(call: Call, data: Expr) -> Expr:
    """Move batches to blocks of the axes that follow, then crop: the inverse of ``nn.space_to_batch_nd``."""
    shape = tensor_type_of(data).shape
    block = _block(call, len(shape), "crops")
    count, trailing = len(block), len(shape) - len(block) - 1
    batch = _exact_quotient(call, "the batch", shape[0], math.prod(block))
    rest = shape[count + 1 :]
    split = make("reshape", data, newshape=(*block, batch, *shape[1:]), allowzero=True)
    order = [count]
    for k in range(count):
        order += [count + 1 + k, k]
    order += range(2 * count + 1, 2 * count + 1 + trailing)
    sizes = [n * b for n, b in zip(shape[1:], block, strict=False)]
    made = make("transpose", split, axes=tuple(order))
    made = make("reshape", made, newshape=(batch, *sizes, *rest), allowzero=True)
    if not any(before or after for before, after in call["crops"]):
        return made
    begin, end = [], []
    for size, (before, after) in zip(sizes, call["crops"], strict=True):
        if before < 0 or after < 0 or (isinstance(size, int) and before + after > size):
            raise fault(call, f"crops are {call['crops']}, expected no more than {show_shape(sizes)}")
        begin.append(before)
        end.append(normal_dim(size - after))
    axes = tuple(range(1, count + 1))
    return make("strided_slice", made, begin=tuple(begin), end=tuple(end), axes=axes)


_MIRRORS = {"SYMMETRIC": "symmetric", "REFLECT": "reflect"}


def _mirror_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    if call["mode"] == "REFLECT":
        return np.pad(data, call["pad_width"], "reflect")
    return np.pad(data, call["pad_width"], "symmetric")


@written_out(
    "nn.mirror_pad",
    reference=_mirror_numpy,
    attrs={"pad_width": REQUIRED, "mode": choice(*_MIRRORS)},
)
def mirror_pad(call: Call, data: Expr) -> Expr:
    """Pad ``data`` by ``pad_width``, a (before, after) for each axis, with its mirror image.

    The mirror image repeats the edge element ("SYMMETRIC") or leaves it out ("REFLECT").
    """
    return make("nn.pad", data, pad_width=call["pad_width"], pad_mode=_MIRRORS[call["mode"]])


# --- dilation ---------------------------------------------------------------------------------------


def _steps(call: Call, rank: int) -> tuple[int, ...]:
    strides = call["strides"] if isinstance(call["strides"], tuple) else (call["strides"],)
    if len(strides) != rank or any(not isinstance(s, int) or s < 1 for s in strides):
        raise fault(call, f"strides are {call['strides']}, expected {rank} numbers of at least 1")
    return strides


def _dilate_type(call: Call, data: TensorType) -> TensorType:
    strides = _steps(call, data.ndim)
    shape = tuple(normal_dim((n - 1) * s + 1) for n, s in zip(data.shape, strides, strict=True))
    return TensorType(shape, data.dtype)


def _dilate_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    shape = [(n - 1) * s + 1 for n, s in zip(data.shape, call["strides"], strict=True)]
    result = np.full(shape, call["dilation_value"]).astype(data.dtype)
    result[tuple(slice(None, None, s) for s in call["strides"])] = data
    return result


@injective(
    "nn.dilate",
    infer=_dilate_type,
    reference=_dilate_numpy,
    fills=True,
    attrs={"strides": REQUIRED, "dilation_value": Attribute(0.0, lambda _: NUMBER)},
)
def dilate(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """``data`` with ``strides[k] - 1`` elements of ``dilation_value`` between neighbours along axis k."""
    strides = _steps(call, data.ndim)
    at = tuple(index // s for index, s in zip(i, strides, strict=True))
    there = [e.Equal(*e.match(index % s, 0)) for index, s in zip(i, strides, strict=True) if s > 1]
    if not there:
        return data[at]
    value = e.const(call["dilation_value"], data.dtype)
    return e.Call("if_then_else", (e.all_of(there), data[at], value), data.dtype)


# --- windows as axes ------------------------------------------------------------------------------------


def _windows(call: Call, shape: Any) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return the first axis that windows slide along, and their extents and strides."""
    axis = axis_of(call, call["axis"], len(shape))
    extents, strides = (
        one if isinstance(one, tuple) else (one,) for one in (call["window_shape"], call["strides"])
    )
    fits = len(extents) == len(strides) and axis + len(extents) <= len(shape)
    if not fits or not extents or any(not isinstance(n, int) or n < 1 for n in (*extents, *strides)):
        raise fault(
            call,
            f"data is {show_shape(shape)}, axis is {axis}, window_shape is {extents}, strides are {strides}, "
            "expected a number of at least 1 for each axis from there on",
        )
    return axis, extents, strides


def _window_type(call: Call, data: TensorType) -> TensorType:
    axis, extents, strides = _windows(call, data.shape)
    counts = []
    for size, n, s in zip(data.shape[axis:], extents, strides, strict=False):
        if isinstance(size, int) and size < n:
            raise fault(call, f"data is {show_shape(data.shape)}, window_shape is {extents}: it does not fit")
        counts.append(normal_dim((size - n) // s + 1))
    trailing = data.shape[axis + len(extents) :]
    return TensorType((*data.shape[:axis], *counts, *extents, *trailing), data.dtype)


def _window_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    axis, extents, strides = _windows(call, data.shape)
    axes = tuple(range(axis, axis + len(extents)))
    view = np.lib.stride_tricks.sliding_window_view(data, extents, axes)
    view = view[(*(slice(None),) * axis, *(slice(None, None, s) for s in strides))]
    ends = range(data.ndim, data.ndim + len(extents))
    return np.moveaxis(view, ends, range(axis + len(extents), axis + 2 * len(extents))).copy()


@injective(
    "sliding_window",
    infer=_window_type,
    reference=_window_numpy,
    attrs={
        "axis": REQUIRED,
        "window_shape": Attribute(REQUIRED, lambda _: INTEGERS),
        "strides": REQUIRED,
    },
)
def sliding_window(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """Every window of ``window_shape`` that slides over the axes from ``axis`` on, by ``strides``.

    Each of these axes becomes an axis that counts windows; an axis of elements for each follows them.
    """
    axis, extents, strides = _windows(call, data.shape)
    count = len(extents)
    starts, within = i[axis : axis + count], i[axis + count : axis + 2 * count]
    places = [y * s + k for y, s, k in zip(starts, strides, within, strict=True)]
    return data[(*i[:axis], *places, *i[axis + 2 * count :])]


# --- a buffer that moves along ----------------------------------------------------------------------


def _fifo_numpy(call: Call, data: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    whole, axis = np.concatenate([buffer, data], call["axis"]), call["axis"]
    return np.take(whole, range(data.shape[axis], whole.shape[axis]), axis)


@written_out("nn.fifo_buffer", reference=_fifo_numpy, attrs={"axis": REQUIRED})
def fifo_buffer(call: Call, data: Expr, buffer: Expr) -> Expr:
    """Append ``data`` to ``buffer`` along ``axis``, and remove as many elements from the front."""
    new, old = tensor_type_of(data), tensor_type_of(buffer)
    one_dtype(call, new, old)
    if new.ndim != old.ndim:
        raise fault(call, f"data is {show_shape(new.shape)}, buffer is {show_shape(old.shape)}")
    axis = axis_of(call, call["axis"], new.ndim)
    more, room = new.shape[axis], old.shape[axis]
    others = replaced(new.shape, axis), replaced(old.shape, axis)
    if not all(same_dim(a, b) for a, b in zip(*others, strict=True)) or (
        isinstance(more, int) and isinstance(room, int) and more > room
    ):
        raise fault(
            call,
            f"data is {show_shape(new.shape)}, buffer is {show_shape(old.shape)}, expected them to differ "
            f"on axis {axis} only, and data not to be longer",
        )
    whole = make("concatenate", Tuple((buffer, data)), axis=axis)
    kept = make("strided_slice", whole, begin=(more,), end=(normal_dim(more + room),), axes=(axis,))
    return kept
