"""Reference implementations in numpy of operators that move elements, normalizations and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# --- elements ---------------------------------------------------------------------------------------


def _cut(begin: Any, end: Any, strides: Any, slice_mode: str = "end") -> tuple[slice, ...]:
    begin, end = list(begin), list(end)
    count = max(len(begin), len(end))
    strides = [1] * count if strides is None else list(strides)
    strides = strides * count if len(strides) == 1 else strides + [1] * (count - len(strides))
    begin += [None] * (count - len(begin))
    end += [None] * (count - len(end))
    if slice_mode == "size":
        end = [None if n is None or n < 0 else (first or 0) + n for first, n in zip(begin, end, strict=True)]
        strides = [1] * count
    return tuple(slice(*one) for one in zip(begin, end, strides[:count], strict=True))


def strided_slice_python(
    data: np.ndarray, begin: Any, end: Any, strides: Any, slice_mode: str = "end", axes: Any = None
) -> np.ndarray:
    """``data[begin:end:strides]`` on the first axes or on ``axes``; in mode "size", ``end`` has counts."""
    cuts = _cut(begin, end, strides, slice_mode)
    at = [slice(None)] * data.ndim
    for axis, one in zip(range(len(cuts)) if axes is None else axes, cuts, strict=True):
        at[axis] = one
    return data[tuple(at)]


def strided_set_python(data: np.ndarray, v: np.ndarray, begin: Any, end: Any, strides: Any) -> np.ndarray:
    """A copy of ``data`` after ``data[begin:end:strides] = v``."""
    result = data.copy()
    result[_cut(begin, end, strides)] = v
    return result


def slice_axis_python(data: np.ndarray, axis: int, begin: int, end: int | None = None) -> np.ndarray:
    """``data`` from ``begin`` to ``end`` along ``axis``."""
    at = [slice(None)] * data.ndim
    at[axis] = slice(begin, end)
    return data[tuple(at)]


def gather_python(data: np.ndarray, axis: int, indices: np.ndarray) -> np.ndarray:
    """The elements at ``indices`` along ``axis``."""
    return np.take_along_axis(data, indices, axis)


def gather_nd_python(a_np: np.ndarray, indices_np: Any) -> np.ndarray:
    """The elements at the columns of ``indices_np``."""
    return a_np[tuple(np.asarray(indices_np))]


def matrix_set_diag(
    input_np: np.ndarray, diagonal: np.ndarray, k: Any = 0, align: str = "RIGHT_LEFT"
) -> np.ndarray:
    """``input_np`` with its diagonals ``k`` replaced by the rows of ``diagonal``, the highest first."""
    low, high = (k[0], k[-1]) if isinstance(k, (tuple, list)) else (k, k)
    result = input_np.copy()
    bands = diagonal if low < high else diagonal[..., None, :]
    rows, columns = input_np.shape[-2:]
    above, below = align.split("_")
    for offset in range(low, high + 1):
        count = min(rows + min(offset, 0), columns - max(offset, 0))
        start = bands.shape[-1] - count if (above if offset >= 0 else below) == "RIGHT" else 0
        for at in range(count):
            row, column = at + max(-offset, 0), at + max(offset, 0)
            result[..., row, column] = bands[..., high - offset, start + at]
    return result


def one_hot(
    indices: np.ndarray, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str
) -> np.ndarray:
    """``on_value`` where the position along the new ``axis`` is the index, else ``off_value``."""
    found = np.where(indices[..., None] == np.arange(depth), on_value, off_value)
    return np.moveaxis(found, -1, axis).astype(dtype)


def sequence_mask(data: np.ndarray, valid_length: np.ndarray, mask_value: float, axis: int) -> np.ndarray:
    """``data`` with ``mask_value`` from ``valid_length`` on along ``axis``, which is 0 or 1; the other of the
    two axes is the batch."""
    shape = [1] * data.ndim
    shape[axis] = data.shape[axis]
    place = np.arange(data.shape[axis]).reshape(shape)
    shape = [1] * data.ndim
    shape[1 - axis] = data.shape[1 - axis]
    return np.where(place < valid_length.reshape(shape), data, mask_value).astype(data.dtype)


def searchsorted_ref(
    sorted_sequence: np.ndarray, values: np.ndarray, right: bool, out_dtype: str
) -> np.ndarray:
    """The positions at which ``values`` would be inserted into the rows of ``sorted_sequence``."""
    side = "right" if right else "left"
    rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    if sorted_sequence.ndim == 1:
        return np.searchsorted(sorted_sequence, values, side).astype(out_dtype)
    wanted = values.reshape(-1, values.shape[-1])
    found = [np.searchsorted(row, one, side) for row, one in zip(rows, wanted, strict=True)]
    return np.reshape(found, values.shape).astype(out_dtype)


def depth_to_space_python(data: np.ndarray, block_size: int, mode: str = "DCR") -> np.ndarray:
    """NCHW images with groups of channels rearranged into blocks of pixels."""
    n, c, h, w = data.shape
    b, rest = block_size, c // block_size**2
    if mode == "DCR":
        parts = data.reshape(n, b, b, rest, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(n, rest, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, rest, h * b, w * b)


def space_to_depth_python(data: np.ndarray, block_size: int) -> np.ndarray:
    """NCHW images with blocks of pixels rearranged into channels."""
    n, c, h, w = data.shape
    b = block_size
    parts = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(n, c * b * b, h // b, w // b)


def space_to_batch_nd_python(
    data: np.ndarray, block_shape: Sequence[int], pad_before: Any, pad_after: Any, pad_value: float = 0
) -> np.ndarray:
    """``data`` padded and with the elements of blocks moved to the batch axis."""
    count = len(block_shape)
    around = [(0, 0), *zip(pad_before, pad_after, strict=True), *[(0, 0)] * (data.ndim - count - 1)]
    data = np.pad(data, around, constant_values=pad_value)
    split = [data.shape[0]]
    for extent, block in zip(data.shape[1:], block_shape, strict=False):
        split += [extent // block, block]
    parts = data.reshape(*split, *data.shape[count + 1 :])
    blocks, spaces = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    parts = parts.transpose(*blocks, 0, *spaces, *range(2 * count + 1, parts.ndim))
    return parts.reshape(-1, *parts.shape[count + 1 :])


def batch_to_space_nd_python(
    data: np.ndarray, block_shape: Sequence[int], crop_begin_list: Any, crop_end_list: Any
) -> np.ndarray:
    """The inverse of ``space_to_batch_nd_python``, cropped at both ends of each axis."""
    count, batch = len(block_shape), data.shape[0] // int(np.prod(block_shape))
    parts = data.reshape(*block_shape, batch, *data.shape[1:])
    order = [count]
    for axis in range(count):
        order += [count + 1 + axis, axis]
    parts = parts.transpose(*order, *range(2 * count + 1, parts.ndim))
    spread = [n * block for n, block in zip(data.shape[1:], block_shape, strict=False)]
    whole = parts.reshape(batch, *spread, *data.shape[count + 1 :])
    rows = zip(crop_begin_list, crop_end_list, spread, strict=True)
    return whole[(slice(None), *(slice(first, n - last) for first, last, n in rows))]


# --- norms ------------------------------------------------------------------------------------------


def l2_normalize_python(a_np: np.ndarray, eps: float, axis: Any = None) -> np.ndarray:
    """``a_np`` divided by the root of the sum of its squares, at least ``eps``, along ``axis``."""
    axis = tuple(axis) if isinstance(axis, list) else axis
    return a_np / np.sqrt(np.maximum(np.sum(a_np**2, axis, keepdims=True), eps))


def lrn_python(a_np: np.ndarray, size: int, axis: int, bias: float, alpha: float, beta: float) -> np.ndarray:
    """Local response normalization: ``a_np`` divided by a power of the sum of squares of ``size`` neighbours
    along ``axis``. As in the operator, float16 is computed in float32 and rounded once."""
    wide = a_np.astype(np.promote_types(a_np.dtype, np.float32))
    around = [(0, 0)] * a_np.ndim
    around[axis] = (size // 2, size // 2)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(wide**2, around), size, axis)
    return (wide / (bias + alpha / size * windows.sum(-1)) ** beta).astype(a_np.dtype)


def _normalized(data: np.ndarray, axes: Any, epsilon: float) -> np.ndarray:
    mean, variance = data.mean(axes, keepdims=True), data.var(axes, keepdims=True)
    return (data - mean) / np.sqrt(variance + epsilon)


def layer_norm_python(
    data: np.ndarray, gamma: np.ndarray, beta: np.ndarray | None, axis: Any, epsilon: float = 1e-5
) -> np.ndarray:
    """``data`` normalized to mean 0 and variance 1 along ``axis``, times ``gamma`` plus ``beta``."""
    axes = tuple(one % data.ndim for one in ((axis,) if isinstance(axis, int) else axis))
    shape = [n if at in axes else 1 for at, n in enumerate(data.shape)]
    made = _normalized(data, axes, epsilon) * gamma.reshape(shape)
    return made if beta is None else made + beta.reshape(shape)


def instance_norm_python(
    data: np.ndarray, gamma: np.ndarray, beta: np.ndarray | None, axis: Any, epsilon: float = 1e-5
) -> np.ndarray:
    """The same as ``layer_norm_python``: the weights have the axes ``axis``."""
    return layer_norm_python(data, gamma, beta, axis, epsilon)


def rms_norm_python(data: np.ndarray, weight: np.ndarray, axis: Any, epsilon: float = 1e-5) -> np.ndarray:
    """``data`` divided by its root mean square along ``axis``, times ``weight``, which has these axes."""
    axes = tuple(one % data.ndim for one in ((axis,) if isinstance(axis, int) else axis))
    squares = np.mean(np.square(data.astype("float32")), axes, keepdims=True)
    shape = [n if at in axes else 1 for at, n in enumerate(data.shape)]
    return (data / np.sqrt(squares + epsilon) * weight.reshape(shape)).astype(data.dtype)


def batch_norm(
    x: np.ndarray,
    gamma: np.ndarray,
    beta: np.ndarray,
    moving_mean: np.ndarray,
    moving_var: np.ndarray,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    *_: Any,
) -> list[np.ndarray]:
    """``x`` normalized by the moving mean and variance of each channel, and both unchanged."""
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    made = (x - moving_mean.reshape(shape)) / np.sqrt(moving_var.reshape(shape) + epsilon)
    made = made * gamma.reshape(shape) if scale else made
    return [made + beta.reshape(shape) if center else made, moving_mean, moving_var]


def group_norm_python(
    data: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    num_groups: int,
    channel_axis: int,
    axes: Any,
    epsilon: float = 1e-5,
) -> np.ndarray:
    """``data`` with each of ``num_groups`` groups of channels normalized over its channels and ``axes``."""
    axis = channel_axis % data.ndim
    shape = [*data.shape[:axis], num_groups, data.shape[axis] // num_groups, *data.shape[axis + 1 :]]
    along = [n % data.ndim for n in axes]
    over = (axis + 1, *(n + (n > axis) for n in along))
    normal = _normalized(data.reshape(shape), over, epsilon).reshape(data.shape)
    wide = [-1 if n == axis else 1 for n in range(data.ndim)]
    return normal * weight.reshape(wide) + bias.reshape(wide)


def nll_loss(
    predictions: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> np.ndarray:
    """The negated prediction for each target times the weight of its class; 0 for ``ignore_index``.
    ``"mean"`` divides by the sum of the weights."""
    counted = targets != ignore_index
    known = np.where(counted, targets, 0)
    weight = weights[known] * counted
    losses = -np.take_along_axis(predictions, known[:, None], 1)[:, 0] * weight
    whole = {"mean": lambda: losses.sum() / weight.sum(), "sum": losses.sum, "none": lambda: losses}[
        reduction
    ]()
    return np.asarray(whole, predictions.dtype)
