"""References of ``tvm.topi.testing`` for images, which are the references of our own operators."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


def _reference(name: str, *arrays: np.ndarray, **attrs: Any) -> Any:
    """What the operator's reference gives of ``arrays``."""
    relay = importlib.import_module("tvmlite.tvm.relay")
    find = importlib.import_module("tvmlite.tvm.relay.op.functions").find
    params = [relay.var(f"x{at}", shape=one.shape, dtype=str(one.dtype)) for at, one in enumerate(arrays)]
    package, _, own = name.rpartition(".")
    build = getattr(find(package), own) if package else find(own)
    function = relay.Function(params, build(*params, **attrs))
    made = relay.create_executor("debug").evaluate(function)(*arrays)
    return np.asarray(made)


def _resized(rank: int, data: np.ndarray, scale: Any, layout: str, method: str, transformation: str) -> Any:
    extents = data.shape[1:-1] if layout.endswith("C") else data.shape[2:]
    size = tuple(int(n * by) for n, by in zip(extents, scale, strict=True))
    return _reference(
        f"image.resize{rank}d",
        data,
        size=size,
        layout=layout,
        method=method,
        coordinate_transformation_mode=transformation,
    )


def resize1d_python(
    data: np.ndarray,
    scale: Any,
    layout: str = "NCW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """Rows ``scale`` times as long."""
    return _resized(1, data, scale, layout, method, coordinate_transformation_mode)


def resize2d_python(
    data: np.ndarray,
    scale: Any,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """Images ``scale`` times as large."""
    return _resized(2, data, scale, layout, method, coordinate_transformation_mode)


def resize3d_python(
    data: np.ndarray,
    scale: Any,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> np.ndarray:
    """Volumes ``scale`` times as large."""
    return _resized(3, data, scale, layout, method, coordinate_transformation_mode)


def crop_and_resize_python(
    image: np.ndarray,
    boxes: np.ndarray,
    box_indices: np.ndarray,
    crop_size: Any,
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0,
) -> np.ndarray:
    """Parts of images, each in ``crop_size``."""
    return _reference(
        "image.crop_and_resize",
        image,
        boxes,
        box_indices,
        crop_size=[int(n) for n in crop_size],
        layout=layout,
        method=method,
        extrapolation_value=extrapolation_value,
    )


def grid_sample_python(
    data: np.ndarray,
    grid: np.ndarray,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> np.ndarray:
    """``data`` at the places of ``grid``."""
    options = {"layout": layout, "padding_mode": padding_mode, "align_corners": align_corners}
    return _reference("image.grid_sample", data, grid, method=method, **options)


def affine_grid_python(data: np.ndarray, target_shape: Any) -> np.ndarray:
    """The grid that affine matrices make of an image of ``target_shape``."""
    return _reference("image.affine_grid", data, target_shape=tuple(target_shape))


def _roi_aligned(layout: str, a_np: Any, rois_np: Any, size: Any, scale: float, ratio: int, mode: str) -> Any:
    size = (size, size) if isinstance(size, int) else tuple(size)
    return _reference(
        "vision.roi_align",
        a_np,
        rois_np,
        pooled_size=size,
        spatial_scale=scale,
        sample_ratio=ratio,
        mode=mode,
        layout=layout,
    )


def roi_align_nchw_python(
    a_np: np.ndarray,
    rois_np: np.ndarray,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int,
    mode: Any = b"avg",
) -> np.ndarray:
    """Regions of NCHW images in ``pooled_size``, averages or maxima of samples."""
    mode = mode.decode() if isinstance(mode, bytes) else mode
    return _roi_aligned("NCHW", a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode)


def roi_align_nhwc_python(
    a_np: np.ndarray,
    rois_np: np.ndarray,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int,
    mode: Any = b"avg",
) -> np.ndarray:
    """The same of NHWC images."""
    mode = mode.decode() if isinstance(mode, bytes) else mode
    return _roi_aligned("NHWC", a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode)


def roi_pool_nchw_python(
    a_np: np.ndarray, rois_np: np.ndarray, pooled_size: Any, spatial_scale: float
) -> np.ndarray:
    """The maxima of parts of regions."""
    size = (pooled_size, pooled_size) if isinstance(pooled_size, int) else tuple(pooled_size)
    return _reference("vision.roi_pool", a_np, rois_np, pooled_size=size, spatial_scale=spatial_scale)


def reorg_python(a_np: np.ndarray, stride: int) -> np.ndarray:
    """Rows and columns as channels, as YOLO's networks have them."""
    return _reference("vision.yolo_reorg", a_np, stride=stride)


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
    """The convolution of elements that stand beside those of a window, by ``offset_np``."""
    pair = [(one, one) if isinstance(one, int) else tuple(one) for one in (stride, padding, dilation)]
    return _reference(
        "nn.deformable_conv2d",
        a_np,
        offset_np,
        w_np,
        strides=pair[0],
        padding=pair[1],
        dilation=pair[2],
        deformable_groups=deformable_groups,
        groups=groups,
        channels=w_np.shape[0],
        kernel_size=w_np.shape[2:],
    )


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
    """How alike parts of two images are, at displacements of one against the other."""
    sizes = {"kernel_size": kernel_size, "max_displacement": max_displacement}
    steps = {"stride1": stride1, "stride2": stride2}
    return _reference(
        "nn.correlation", data1, data2, **sizes, **steps, padding=padding, is_multiply=is_multiply
    )
