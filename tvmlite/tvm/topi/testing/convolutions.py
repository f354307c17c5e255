"""Reference implementations in numpy of convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def each(value: Any, rank: int) -> tuple[int, ...]:
    """``value``, one number for all axes or one per axis, as one number per axis."""
    return (int(value),) * rank if isinstance(value, (int, np.integer)) else tuple(map(int, value))


def _around(padding: Any, size: Sequence[int]) -> list[tuple[int, int]]:
    """The number of zeros before and after each axis."""
    rank = len(size)
    if padding == "VALID":
        return [(0, 0)] * rank
    if padding == "SAME":
        return [(n // 2, (n - 1) // 2) for n in size]
    given = each(padding, rank)
    given = given * 2 if len(given) == rank else given
    return list(zip(given[:rank], given[rank:], strict=True))


def convolved(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, dilation: Any = 1, groups: int = 1
) -> np.ndarray:
    """A convolution of any rank, with channels first and kernels in the layout OI..."""
    rank = a_np.ndim - 2
    stride, dilation = each(stride, rank), each(dilation, rank)
    size = [(n - 1) * step + 1 for n, step in zip(w_np.shape[2:], dilation, strict=True)]
    axes = tuple(range(2, 2 + rank))
    data = np.pad(a_np, [(0, 0), (0, 0), *_around(padding, size)])
    windows = np.lib.stride_tricks.sliding_window_view(data, size, axes)
    windows = windows[(slice(None), slice(None), *(slice(None, None, n) for n in stride))]
    windows = windows[(..., *(slice(None, None, n) for n in dilation))]
    inside, outside = a_np.shape[1] // groups, w_np.shape[0] // groups
    parts = [
        np.tensordot(
            windows[:, group * inside : (group + 1) * inside],
            w_np[group * outside : (group + 1) * outside],
            ((1, *range(2 + rank, 2 + 2 * rank)), (1, *axes)),
        )
        for group in range(groups)
    ]
    return np.moveaxis(np.concatenate(parts, -1), -1, 1).astype(a_np.dtype)


def conv1d_ncw_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, dilation: Any = 1
) -> np.ndarray:
    """The convolution of NCW sequences with OIW kernels."""
    return convolved(a_np, w_np, stride, padding, dilation)


def group_conv1d_ncw_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, dilation: Any, groups: int
) -> np.ndarray:
    """``conv1d_ncw_python`` in ``groups`` groups of channels."""
    return convolved(a_np, w_np, stride, padding, dilation, groups)


def depthwise_conv2d_python_nchwc(
    input_np: np.ndarray, filter_np: np.ndarray, stride: Any, padding: Any
) -> np.ndarray:
    """The depthwise convolution of NCHWc images with kernels (output blocks, 1, height, width, 1, channels of
    a block)."""
    image = input_np.transpose(0, 1, 4, 2, 3)
    blocks, _, height, width, _, size = filter_np.shape
    kernel = filter_np.transpose(0, 5, 1, 4, 2, 3).reshape(-1, 1, height, width)
    made = convolved(
        image.reshape(image.shape[0], -1, *image.shape[3:]), kernel, stride, padding, 1, blocks * size
    )
    return made.reshape(made.shape[0], blocks, size, *made.shape[2:]).transpose(0, 1, 3, 4, 2)


def conv3d_ncdhw_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, groups: int = 1
) -> np.ndarray:
    """The convolution of NCDHW volumes with OIDHW kernels."""
    return convolved(a_np, w_np, stride, padding, 1, groups)


def conv3d_ndhwc_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, groups: int = 1
) -> np.ndarray:
    """The convolution of NDHWC volumes with DHWIO kernels."""
    made = convolved(np.moveaxis(a_np, -1, 1), w_np.transpose(4, 3, 0, 1, 2), stride, padding, 1, groups)
    return np.moveaxis(made, 1, -1)


def _transposed(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, output_padding: Any, groups: int = 1
) -> np.ndarray:
    """A transposed convolution of any rank, with channels first and kernels in the layout IO..."""
    rank = a_np.ndim - 2
    stride, more = each(stride, rank), each(output_padding, rank)
    size = w_np.shape[2:]
    whole = [
        (n - 1) * step + k + extra
        for n, step, k, extra in zip(a_np.shape[2:], stride, size, more, strict=True)
    ]
    inside, outside = a_np.shape[1] // groups, w_np.shape[1]
    out = np.zeros((a_np.shape[0], outside * groups, *whole), a_np.dtype)
    for group in range(groups):
        own = slice(group * inside, (group + 1) * inside)
        target = out[:, group * outside : (group + 1) * outside]
        for place in np.ndindex(*size):
            spots = tuple(
                slice(k, k + (n - 1) * step + 1, step)
                for k, n, step in zip(place, a_np.shape[2:], stride, strict=True)
            )
            part = np.tensordot(a_np[:, own], w_np[(own, slice(None), *place)], ((1,), (0,)))
            target[(slice(None), slice(None), *spots)] += np.moveaxis(part, -1, 1)
    cuts = zip(_around(padding, size), whole, strict=True)
    return out[(slice(None), slice(None), *(slice(before, n - after) for (before, after), n in cuts))]


def conv1d_transpose_ncw_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, output_padding: Any
) -> np.ndarray:
    """The transposed convolution of NCW sequences with IOW kernels."""
    return _transposed(a_np, w_np, stride, padding, output_padding)


def group_conv1d_transpose_ncw_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, output_padding: Any, groups: int = 1
) -> np.ndarray:
    """``conv1d_transpose_ncw_python`` in ``groups`` groups of channels."""
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv2d_transpose_nchw_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, output_padding: Any, groups: int = 1
) -> np.ndarray:
    """The transposed convolution of NCHW images with IOHW kernels."""
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv2d_transpose_nhwc_python(
    a_nhwc: np.ndarray,
    weight: np.ndarray,
    weight_format: str,
    stride: Any,
    padding: Any,
    output_padding: Any = (0, 0),
) -> np.ndarray:
    """The transposed convolution of NHWC images with kernels in the layout ``weight_format``."""
    kernel = weight.transpose([weight_format.index(axis) for axis in "IOHW"])
    made = _transposed(np.moveaxis(a_nhwc, -1, 1), kernel, stride, padding, output_padding)
    return np.moveaxis(made, 1, -1)


def conv3d_transpose_ncdhw_python(
    a_np: np.ndarray, w_np: np.ndarray, stride: Any, padding: Any, output_padding: Any
) -> np.ndarray:
    """The transposed convolution of NCDHW volumes with IODHW kernels."""
    return _transposed(a_np, w_np, stride, padding, output_padding)


def poolnd_python(
    np_data: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding_before: Sequence[int],
    padding_after: Sequence[int],
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
    layout: str | None = None,
) -> np.ndarray:
    """The maximum or average of each window of data of any rank. Channels are the second axis, or the last if
    ``layout`` ends with C."""
    rank = len(kernel)
    last = layout is not None and layout.endswith("C")
    data = np.moveaxis(np_data, -1, 1) if last else np_data
    size = [(n - 1) * step + 1 for n, step in zip(kernel, dilation, strict=True)]
    around, beyond = [(0, 0), (0, 0)], [(0, 0), (0, 0)]
    rows = zip(data.shape[2:], size, strides, padding_before, padding_after, strict=True)
    for extent, reach, step, before, after in rows:
        over = -(extent + before + after - reach) % step if ceil_mode else 0
        around.append((before, after))
        beyond.append((0, over))
    lowest = np.finfo(data.dtype).min if data.dtype.kind == "f" else np.iinfo(data.dtype).min
    filler = lowest if pool_type == "max" else 0

    def windows(whole: np.ndarray) -> np.ndarray:
        found = np.lib.stride_tricks.sliding_window_view(whole, size, tuple(range(2, 2 + rank)))
        found = found[(slice(None), slice(None), *(slice(None, None, n) for n in strides))]
        return found[(..., *(slice(None, None, n) for n in dilation))]

    inner = tuple(range(-rank, 0))
    padded = np.pad(np.pad(data, around, constant_values=filler), beyond, constant_values=filler)
    if pool_type == "max":
        made = windows(padded).max(inner)
    else:
        counted = np.pad(np.ones_like(data), around, constant_values=1 if count_include_pad else 0)
        counts = windows(np.pad(counted, beyond)).sum(inner)
        made = windows(padded).sum(inner) / np.maximum(counts, 1)
    made = made.astype(dtype)
    return np.moveaxis(made, 1, -1) if last else made


def adaptive_pool(np_data: np.ndarray, out_size: Any, pool_type: str, layout: str = "NCHW") -> np.ndarray:
    """The maximum or average of each of ``out_size`` parts of every axis."""
    last = layout.endswith("C")
    data = np.moveaxis(np_data, -1, 1) if last else np_data
    counts = each(out_size, data.ndim - 2)
    out = np.zeros((*data.shape[:2], *counts), data.dtype)
    reduce = np.mean if pool_type == "avg" else np.max
    for place in np.ndindex(*counts):
        cut = tuple(
            slice(at * extent // count, -(-(at + 1) * extent // count))
            for at, extent, count in zip(place, data.shape[2:], counts, strict=True)
        )
        inner = tuple(range(2, data.ndim))
        out[(slice(None), slice(None), *place)] = reduce(data[(slice(None), slice(None), *cut)], inner)
    return np.moveaxis(out, 1, -1) if last else out
