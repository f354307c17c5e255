"""Deformable convolution, correlation, upsampling, space-to-batch, mirror padding and FIFO buffers."""

from __future__ import annotations

from typing import Any

from tvmlite import relay
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.padding import each, extent, moved, sides
from tvmlite.tvm.topi.operate import operate


def _ints(values: Any) -> tuple[int, ...]:
    return tuple(int(one.value) if isinstance(one, e.Const) else int(one) for one in values)


def space_to_batch_nd(
    data: Tensor, block_shape: Any, pad_before: Any, pad_after: Any, pad_value: float = 0.0
) -> Tensor:
    """Return ``data``, padded and with the elements of blocks of ``block_shape`` moved to the batch axis."""
    paddings = tuple(zip(_ints(pad_before), _ints(pad_after), strict=True))
    shape = _ints(block_shape)
    return operate(
        "nn.space_to_batch_nd",
        lambda x: relay.nn.space_to_batch_nd(x, shape, paddings, float(pad_value)),
        data,
    )


def batch_to_space_nd(data: Tensor, block_shape: Any, crop_begin_list: Any, crop_end_list: Any) -> Tensor:
    """Return ``data`` with elements of the batch axis moved to blocks of ``block_shape``, then cropped."""
    crops = tuple(zip(_ints(crop_begin_list), _ints(crop_end_list), strict=True))
    shape = _ints(block_shape)
    return operate("nn.batch_to_space_nd", lambda x: relay.nn.batch_to_space_nd(x, shape, crops), data)


def mirror_pad(
    data: Tensor,
    pad_before: Any,
    pad_after: Any = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> Tensor:
    """Return ``data`` padded with its mirror image before and after each axis."""
    after = pad_before if pad_after is None else pad_after
    width = tuple(zip(_ints(pad_before), _ints(after), strict=True))
    return operate("nn.mirror_pad", lambda x: relay.nn.mirror_pad(x, width, mode), data)


def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """Return ``buffer`` with ``data`` appended along ``axis`` and as many elements dropped at the front."""
    return operate("nn.fifo_buffer", lambda x, b: relay.nn.fifo_buffer(x, b, axis), data, buffer)


def correlation_nchw(
    data1: Tensor,
    data2: Tensor,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: Any,
    is_multiply: bool,
) -> Tensor:
    """Return the correlation of patches of ``data1`` with displaced patches of ``data2``: the mean of
    products or, without ``is_multiply``, of absolute differences."""
    around = _ints(padding) if isinstance(padding, (tuple, list)) else (int(padding),) * 4
    around = around * 2 if len(around) == 2 else around
    options = kernel_size, max_displacement, stride1, stride2, around, is_multiply
    return operate("nn.correlation", lambda x, y: relay.nn.correlation(x, y, *options), data1, data2)


def deformable_conv2d_nchw(
    data: Tensor,
    offset: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
    out_dtype: str | None,
) -> Tensor:
    """Return the deformable convolution of NCHW images: elements of windows are displaced by ``offset``."""
    size = tuple(map(extent, kernel.shape[2:]))
    spread, steps = each(dilation, 2), each(strides, 2)
    around = sides("nn.deformable_conv2d", padding, size, spread)
    return operate(
        "nn.deformable_conv2d",
        lambda x, o, w: relay.nn.deformable_conv2d(
            x,
            o,
            w,
            strides=steps,
            padding=around,
            dilation=spread,
            deformable_groups=deformable_groups,
            groups=groups,
            channels=extent(kernel.shape[0]),
            kernel_size=size,
            out_dtype=out_dtype or "",
        ),
        data,
        offset,
        kernel,
    )


def deformable_conv2d_nhwc(
    data: Tensor,
    offset: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    deformable_groups: int,
    groups: int,
    out_dtype: str | None,
) -> Tensor:
    """Return the deformable convolution of NHWC images with HWIO kernels."""
    first = moved(data, "NHWC", "NCHW"), moved(offset, "NHWC", "NCHW"), moved(kernel, "HWIO", "OIHW")
    made = deformable_conv2d_nchw(*first, strides, padding, dilation, deformable_groups, groups, out_dtype)
    return moved(made, "NCHW", "NHWC")


def upsampling(
    data: Tensor,
    scale_h: float,
    scale_w: float,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
    output_shape: Any = None,
) -> Tensor:
    """Return images enlarged by ``scale_h`` and ``scale_w``. ``output_shape`` is ignored."""
    options = scale_h, scale_w, "NCHW", method, align_corners
    made = operate("nn.upsampling", lambda x: relay.nn.upsampling(x, *options), moved(data, layout, "NCHW"))
    return moved(made, "NCHW", layout)


def upsampling3d(
    data: Tensor,
    scale_d: float,
    scale_h: float,
    scale_w: float,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
    output_shape: Any = None,
) -> Tensor:
    """Return volumes enlarged by ``scale_d``, ``scale_h`` and ``scale_w``. ``output_shape`` is ignored."""
    options = scale_d, scale_h, scale_w, "NCDHW", method, coordinate_transformation_mode
    first = moved(data, layout, "NCDHW")
    made = operate("nn.upsampling3d", lambda x: relay.nn.upsampling3d(x, *options), first)
    return moved(made, "NCDHW", layout)


__getattr__ = refusing(__name__)
