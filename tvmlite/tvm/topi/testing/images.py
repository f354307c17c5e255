"""Reference implementations in numpy of operators on images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from tvmlite.tvm.topi.testing.convolutions import convolved, each

_FILL: dict[str, Callable[[np.ndarray, int, bool], np.ndarray]] = {
    "zeros": lambda x, n, ends: x,
    "border": lambda x, n, ends: np.clip(x, 0, n - 1),
    "reflection": lambda x, n, ends: _reflected(x, n, ends),
}


def _weights(x: np.ndarray, method: str, alpha: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """The positions, with their weights, from which the values at the fractional positions ``x`` are
    interpolated."""
    first = np.floor(x).astype(int)
    part = x - first
    if method in ("linear", "bilinear", "trilinear"):
        return [(first, 1 - part), (first + 1, part)]
    assert method in ("cubic", "bicubic"), f"a method {method!r}"
    taps = []
    for step in (-1, 0, 1, 2):
        t = np.abs(part - step)
        near = (alpha + 2) * t**3 - (alpha + 3) * t**2 + 1
        far = alpha * (t**3 - 5 * t**2 + 8 * t - 4)
        taps.append((first + step, np.where(t <= 1, near, far)))
    return taps


def _along(data: np.ndarray, axis: int, taps: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """``data`` interpolated along ``axis`` by ``taps``, whose positions are clipped to the valid ones."""
    shape = [-1 if k == axis else 1 for k in range(data.ndim)]
    parts = [
        np.take(data, np.clip(place, 0, data.shape[axis] - 1), axis) * weight.reshape(shape)
        for place, weight in taps
    ]
    return np.sum(parts, axis=0)


def _resized(data: np.ndarray, scale: Any, layout: str, method: str, mode: str) -> np.ndarray:
    axes = [k for k, letter in enumerate(layout) if letter in "DHW"]
    made = data.astype("float64")
    for axis, by in zip(axes, scale, strict=True):
        size, target = data.shape[axis], int(data.shape[axis] * by)
        x = np.arange(target, dtype="float64")
        if mode == "align_corners":
            x *= (size - 1) / max(target - 1, 1)
        elif mode == "half_pixel":
            x = (x + 0.5) * size / target - 0.5
        else:
            assert mode == "asymmetric", f"a coordinate_transformation_mode {mode!r}"
            x *= size / target
        if method == "nearest_neighbor":
            nearest = np.floor(x + 0.5 if mode == "align_corners" else x).astype(int)
            made = np.take(made, np.clip(nearest, 0, size - 1), axis)
        else:
            made = _along(made, axis, _weights(x, method, -0.5))
    return made.astype(data.dtype)


def resize1d_python(
    data: np.ndarray,
    scale: Any,
    layout: str = "NCW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """Sequences resized by ``scale``."""
    return _resized(data, scale, layout, method, coordinate_transformation_mode)


def resize2d_python(
    data: np.ndarray,
    scale: Any,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """Images resized by ``scale`` along each axis."""
    return _resized(data, scale, layout, method, coordinate_transformation_mode)


def resize3d_python(
    data: np.ndarray,
    scale: Any,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """Volumes resized by ``scale`` along each axis."""
    return _resized(data, scale, layout, method, coordinate_transformation_mode)


def crop_and_resize_python(
    image: np.ndarray,
    boxes: np.ndarray,
    box_indices: np.ndarray,
    crop_size: Any,
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0,
) -> np.ndarray:
    """Parts of images, each resized to ``crop_size``; ``boxes`` are ``(y1, x1, y2, x2)`` in 0 to 1."""
    images = image.transpose(0, 3, 1, 2) if layout == "NHWC" else image
    target = [int(n) for n in crop_size]
    made = []
    for box, number in zip(boxes, box_indices, strict=True):
        part, outside = images[int(number)].astype("float64"), np.zeros(target, bool)
        for k, (low, high) in enumerate(((box[0], box[2]), (box[1], box[3]))):
            size, count = images.shape[2 + k], target[k]
            steps = (high - low) * (size - 1) / (count - 1) * np.arange(count) if count > 1 else np.zeros(1)
            x = (low if count > 1 else (low + high) / 2) * (size - 1) + steps
            beyond = (x < 0) | (x > size - 1)
            outside |= beyond[:, None] if k == 0 else beyond[None]
            if method == "nearest_neighbor":
                nearest = np.floor(x + 0.5).astype(int)
                part = np.take(part, np.clip(nearest, 0, size - 1), 1 + k)
            else:
                part = _along(part, 1 + k, _weights(x, method, -0.5))
        made.append(np.where(outside, extrapolation_value, part))
    stacked = np.stack(made).astype(image.dtype)
    return stacked.transpose(0, 2, 3, 1) if layout == "NHWC" else stacked


def _reflected(x: np.ndarray, size: int, ends: bool) -> np.ndarray:
    """``x`` reflected at the first and last pixels with ``ends``, else half a pixel beyond them."""
    low, high = (0.0, size - 1.0) if ends else (-0.5, size - 0.5)
    span = max(high - low, 1e-12)
    folded = np.abs(x - low) % (2 * span)
    return np.clip(np.where(folded > span, 2 * span - folded, folded) + low, 0, size - 1)


def grid_sample_python(
    data: np.ndarray,
    grid: np.ndarray,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> np.ndarray:
    """``data`` interpolated at the coordinates ``grid``, from -1 to 1, that of the last axis first."""
    rank = len(layout) - 2
    fill = _FILL[padding_mode]
    places = []
    for k, size in enumerate(data.shape[2:]):
        x = grid[:, rank - 1 - k].astype("float64")
        places.append((x + 1) * (size - 1) / 2 if align_corners else ((x + 1) * size - 1) / 2)
    sizes = data.shape[2:]
    made = np.zeros((*data.shape[:2], *grid.shape[2:]))
    if method != "bicubic":
        places = [fill(x, n, align_corners) for x, n in zip(places, sizes, strict=True)]
    if method == "nearest":
        taps = [[(np.rint(x).astype(int), np.ones_like(x))] for x in places]
    else:
        taps = [_weights(x, method, -0.75) for x in places]
    for combination in product(*taps):
        inside = np.ones(grid.shape[:1] + grid.shape[2:], bool)
        index, weight = [], np.ones(inside.shape)
        for (place, share), n in zip(combination, sizes, strict=True):
            at = fill(place.astype("float64"), n, align_corners).astype(int)
            inside &= (at >= 0) & (at < n)
            index.append(np.clip(at, 0, n - 1))
            weight = weight * share
        for image in range(data.shape[0]):
            picked = data[image][(slice(None), *(one[image] for one in index))]
            made[image] += picked * np.where(inside[image], weight[image], 0)
    return made.astype(data.dtype)


def affine_grid_python(data: np.ndarray, target_shape: Any) -> np.ndarray:
    """The sampling grid that the affine matrices ``data`` make of a grid of ``target_shape``."""
    rows, columns = (np.linspace(-1, 1, n) if n > 1 else np.array([-1.0]) for n in target_shape)
    y, x = np.meshgrid(rows, columns, indexing="ij")
    places = np.stack([x, y, np.ones_like(x)])
    return np.einsum("nij,jhw->nihw", data, places).astype(data.dtype)


def _bilinear(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """Each channel of a CHW image interpolated at ``(y, x)``; 0 if that is more than one pixel outside."""
    rows, columns = image.shape[1:]
    if not (-1 <= y <= rows and -1 <= x <= columns):
        return np.zeros(image.shape[0])
    y, x = min(max(y, 0.0), rows - 1.0), min(max(x, 0.0), columns - 1.0)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, rows - 1), min(left + 1, columns - 1)
    down, along = y - top, x - left
    upper = image[:, top, left] * (1 - along) + image[:, top, right] * along
    lower = image[:, bottom, left] * (1 - along) + image[:, bottom, right] * along
    return upper * (1 - down) + lower * down


def roi_align_nchw_python(
    a_np: np.ndarray,
    rois_np: np.ndarray,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int,
    mode: Any = b"avg",
) -> np.ndarray:
    """Regions of NCHW images pooled to ``pooled_size`` by the average or maximum of samples."""
    combine = np.mean if mode in (b"avg", "avg", 0) else np.max
    height, width = each(pooled_size, 2)
    made = np.zeros((len(rois_np), a_np.shape[1], height, width), a_np.dtype)
    for number, (batch, *corners) in enumerate(rois_np):
        left, top, right, bottom = (float(c) * spatial_scale for c in corners)
        step_y, step_x = max(bottom - top, 1.0) / height, max(right - left, 1.0) / width
        ny, nx = (sample_ratio if sample_ratio > 0 else int(np.ceil(step)) for step in (step_y, step_x))
        for i, j in np.ndindex(height, width):
            samples = [
                _bilinear(
                    a_np[int(batch)],
                    top + (i + (p + 0.5) / ny) * step_y,
                    left + (j + (q + 0.5) / nx) * step_x,
                )
                for p, q in np.ndindex(ny, nx)
            ]
            made[number, :, i, j] = combine(samples, axis=0)
    return made


def roi_align_nhwc_python(
    a_np: np.ndarray,
    rois_np: np.ndarray,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int,
    mode: Any = b"avg",
) -> np.ndarray:
    """``roi_align_nchw_python`` of NHWC images."""
    images = a_np.transpose(0, 3, 1, 2)
    made = roi_align_nchw_python(images, rois_np, pooled_size, spatial_scale, sample_ratio, mode)
    return made.transpose(0, 2, 3, 1)


def roi_pool_nchw_python(
    a_np: np.ndarray, rois_np: np.ndarray, pooled_size: Any, spatial_scale: float
) -> np.ndarray:
    """Regions of NCHW images, with corners rounded to pixels, pooled to ``pooled_size`` by the maximum."""
    sizes = each(pooled_size, 2)
    made = np.zeros((len(rois_np), a_np.shape[1], *sizes), a_np.dtype)
    for number, (batch, *corners) in enumerate(rois_np):
        left, top, right, bottom = (int(np.floor(c * spatial_scale + 0.5)) for c in corners)
        extents = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for cell in np.ndindex(*sizes):
            part = []
            for k, start in enumerate((top, left)):
                step = extents[k] / sizes[k]
                begin, end = int(np.floor(cell[k] * step)), int(np.ceil((cell[k] + 1) * step))
                last = a_np.shape[2 + k]
                part.append(slice(min(max(begin + start, 0), last), min(max(end + start, 0), last)))
            found = a_np[(int(batch), slice(None), *part)]
            if found.size:
                made[(number, slice(None), *cell)] = found.max((1, 2))
    return made


def reorg_python(a_np: np.ndarray, stride: int) -> np.ndarray:
    """Blocks of pixels rearranged into channels in the order of YOLO's reorg layer."""
    images, channels, rows, columns = a_np.shape
    inner = channels // stride**2
    wide = a_np.reshape(images, inner, rows * stride, columns * stride)
    made = np.zeros_like(a_np)
    for c, y, x in np.ndindex(channels, rows, columns):
        shift = c // inner
        made[:, c, y, x] = wide[:, c % inner, y * stride + shift // stride, x * stride + shift % stride]
    return made.reshape(images, channels * stride**2, rows // stride, columns // stride)


def deformable_conv2d_nchw_python(
    a_np: np.ndarray,
    offset_np: np.ndarray,
    w_np: np.ndarray,
    stride: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
) -> np.ndarray:
    """The deformable convolution of NCHW images: window elements are displaced by ``offset_np``."""
    steps, around, apart = (each(one, 2) for one in (stride, padding, dilation))
    rows, columns = w_np.shape[2:]
    height, width = offset_np.shape[2:]
    images, channels = a_np.shape[:2]
    taken = np.zeros((images, channels, height * rows, width * columns))
    inside = channels // deformable_groups
    offsets = offset_np.reshape(images, deformable_groups, rows, columns, 2, height, width)
    for n, g, p, q, i, j in np.ndindex(images, deformable_groups, rows, columns, height, width):
        down, along = offsets[n, g, p, q, :, i, j]
        y = i * steps[0] - around[0] + p * apart[0] + down
        x = j * steps[1] - around[1] + q * apart[1] + along
        part = slice(g * inside, (g + 1) * inside)
        beyond = y < 0 or x < 0 or y >= a_np.shape[2] or x >= a_np.shape[3]
        if not beyond:
            padded = np.pad(a_np[n, part], ((0, 0), (1, 1), (1, 1)))
            taken[n, part, i * rows + p, j * columns + q] = _bilinear(padded, y + 1, x + 1)
    return convolved(taken, w_np, (rows, columns), 0, 1, groups).astype(a_np.dtype)


def deformable_conv2d_nhwc_python(
    a_np: np.ndarray,
    offset_np: np.ndarray,
    w_np: np.ndarray,
    stride: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
) -> np.ndarray:
    """The deformable convolution of NHWC images with HWIO kernels."""
    first = a_np.transpose(0, 3, 1, 2), offset_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1)
    made = deformable_conv2d_nchw_python(*first, stride, padding, dilation, deformable_groups, groups)
    return made.transpose(0, 2, 3, 1)


def correlation_nchw_python(
    data1: np.ndarray,
    data2: np.ndarray,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: Any,
    is_multiply: bool,
) -> np.ndarray:
    """The correlation of patches of ``data1`` with displaced patches of ``data2``."""
    before = _sides(padding)
    one, other = (np.pad(x.astype("float64"), ((0, 0), (0, 0), *before)) for x in (data1, data2))
    radius = (kernel_size - 1) // 2
    border = max_displacement + radius
    shape = [-(-(n - 2 * border) // stride1) for n in one.shape[2:]]
    reach = max_displacement // stride2
    steps = [(y * stride2, x * stride2) for y, x in product(range(-reach, reach + 1), repeat=2)]
    made = np.zeros((data1.shape[0], len(steps), *shape))
    for number, (down, along) in enumerate(steps):
        for i, j in np.ndindex(*shape):
            y, x = i * stride1 + max_displacement, j * stride1 + max_displacement
            left = one[:, :, y : y + kernel_size, x : x + kernel_size]
            right = other[:, :, y + down : y + down + kernel_size, x + along : x + along + kernel_size]
            alike = left * right if is_multiply else np.abs(left - right)
            made[:, number, i, j] = alike.sum((1, 2, 3))
    return (made / (kernel_size**2 * data1.shape[1])).astype(data1.dtype)


def _sides(padding: Any) -> list[tuple[int, int]]:
    given: Sequence[int] = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
    if len(given) == 2:
        given = (*given, *given)
    top, left, bottom, right = given
    return [(top, bottom), (left, right)]
