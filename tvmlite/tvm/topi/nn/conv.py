"""Convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite import relay
from tvmlite.core import arguments
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.padding import each, extent, moved, sides
from tvmlite.tvm.topi.operate import operate

_KERNELS = {"NCHW": "OIHW", "NHWC": "HWIO", "HWCN": "HWIO"}


def _kernel_size(kernel: Tensor, layout: str, axes: str) -> tuple[Any, ...]:
    return tuple(extent(kernel.shape[layout.index(axis)]) for axis in axes)


def _convolution(
    name: str,
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    layouts: tuple[str, str],
    groups: Any,
    out_dtype: str | None,
) -> Tensor:
    """The operator ``nn.<name>`` of ``data`` and ``kernel``, which have the two ``layouts``."""
    axes = layouts[0].translate({ord("N"): None, ord("C"): None})
    size, spread = _kernel_size(kernel, layouts[1], axes), each(dilation, len(axes))
    around = sides(f"nn.{name}", padding, size, spread)
    channels = extent(kernel.shape[layouts[1].index("O")])
    first = f"NC{axes}", f"OI{axes}"
    make = getattr(relay.nn, name)
    made = operate(
        f"nn.{name}",
        lambda x, w: make(
            x,
            w,
            strides=each(strides, len(axes)),
            padding=around,
            dilation=spread,
            groups=groups,
            channels=channels,
            kernel_size=size,
            data_layout=first[0],
            kernel_layout=first[1],
            out_dtype=out_dtype or "",
        ),
        moved(data, layouts[0], first[0]),
        moved(kernel, layouts[1], first[1]),
    )
    return moved(made, first[0], layouts[0])


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """Return the convolution of images. ``padding`` is one, two or four ints, ``"SAME"`` or ``"VALID"``."""
    if data_layout not in ("NCHW", "NHWC"):
        raise TensorExpressionError(
            f"topi.nn.conv2d: data_layout is {data_layout!r}, expected NCHW or NHWC", Span.of_caller()
        )
    layouts = data_layout, kernel_layout or _KERNELS[data_layout]
    return _convolution("conv2d", input, filter, strides, padding, dilation, layouts, 1, out_dtype)


def conv2d_nchw(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: str | None = None
) -> Tensor:
    """Return the convolution of NCHW images with OIHW kernels."""
    return conv2d(Input, Filter, stride, padding, dilation, "NCHW", "OIHW", out_dtype)


def conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str | None = "float32",
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """Return the convolution of NHWC images with HWIO kernels. The last two parameters are ignored."""
    return conv2d(Input, Filter, stride, padding, dilation, "NHWC", "HWIO", out_dtype)


def conv2d_hwcn(
    Input: Tensor, Filter: Tensor, stride: Any, padding: Any, dilation: Any, out_dtype: str | None = None
) -> Tensor:
    """Return the convolution of HWCN images with HWIO kernels."""
    layouts = "HWCN", "HWIO"
    return _convolution("conv2d", Input, Filter, stride, padding, dilation, layouts, 1, out_dtype)


def group_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """Return the convolution of NCHW images with OIHW kernels in ``groups`` groups of channels."""
    layouts = "NCHW", "OIHW"
    return _convolution("conv2d", Input, Filter, stride, padding, dilation, layouts, groups, out_dtype)


def group_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """Return the convolution of NHWC images with HWIO kernels in ``groups`` groups of channels."""
    layouts = "NHWC", "HWIO"
    return _convolution("conv2d", Input, Filter, stride, padding, dilation, layouts, groups, out_dtype)


def _winograd(layout: str) -> Callable[..., Tensor]:
    def apply(
        data: Tensor,
        weight: Tensor,
        strides: Any,
        padding: Any,
        dilation: Any,
        out_dtype: str | None,
        pre_computed: bool = False,
        auto_scheduler_rewritten_layout: str = "",
        meta_schedule_original_shape: Any = None,
    ) -> Tensor:
        if pre_computed:
            raise UnsupportedError(
                "topi.nn.conv2d_winograd: pre_computed=True is not supported: give the untransformed weight",
                Span.of_caller(),
            )
        return conv2d(data, weight, strides, padding, dilation, layout, "", out_dtype)

    apply.__doc__ = f"``conv2d_{layout.lower()}``; the schedule decides whether Winograd's transform is used."
    return apply


conv2d_winograd_nchw, conv2d_winograd_nhwc = _winograd("NCHW"), _winograd("NHWC")


def depthwise_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any = (1, 1),
    out_dtype: str | None = None,
) -> Tensor:
    """Return the depthwise convolution of NCHW images. ``Filter`` has the shape (channels, multiplier,
    height, width)."""
    channels, multiplier, *size = map(extent, Filter.shape)
    kernel = operate("reshape", lambda w: relay.reshape(w, (channels * multiplier, 1, *size)), Filter)
    layouts = "NCHW", "OIHW"
    return _convolution("conv2d", Input, kernel, stride, padding, dilation, layouts, channels, out_dtype)


def depthwise_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any = (1, 1),
    kernel_layout: str = "HWOI",
    out_dtype: str | None = None,
) -> Tensor:
    """Return the depthwise convolution of NHWC images. ``Filter`` has the shape (height, width, channels,
    multiplier) or, with the ``kernel_layout`` HWIO, (height, width, multiplier, channels)."""
    if kernel_layout not in ("HWOI", "HWIO"):
        raise arguments.refused("depthwise_conv2d_nhwc: kernel_layout", kernel_layout, "HWOI or HWIO")
    own = moved(Filter, kernel_layout, "HWOI")
    height, width, channels, multiplier = map(extent, own.shape)
    kernel = operate("reshape", lambda w: relay.reshape(w, (height, width, 1, channels * multiplier)), own)
    layouts = "NHWC", "HWIO"
    return _convolution("conv2d", Input, kernel, stride, padding, dilation, layouts, channels, out_dtype)


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """Return the one-dimensional convolution of sequences."""
    kernels = {"NCW": "OIW", "NWC": "WIO"}
    if data_layout not in kernels:
        raise TensorExpressionError(
            f"topi.nn.conv1d: data_layout is {data_layout!r}, expected NCW or NWC", Span.of_caller()
        )
    layouts = data_layout, kernel_layout or kernels[data_layout]
    return _convolution("conv1d", data, kernel, strides, padding, dilation, layouts, groups, out_dtype)


def _of_rows(layouts: tuple[str, str]) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """The one-dimensional convolutions in ``layouts``: the plain and the grouped one."""

    def grouped(
        data: Tensor,
        kernel: Tensor,
        strides: Any = 1,
        padding: Any = "VALID",
        dilation: Any = 1,
        groups: int = 1,
        out_dtype: str | None = None,
    ) -> Tensor:
        return _convolution("conv1d", data, kernel, strides, padding, dilation, layouts, groups, out_dtype)

    def whole(
        data: Tensor,
        kernel: Tensor,
        strides: Any = 1,
        padding: Any = "VALID",
        dilation: Any = 1,
        out_dtype: str | None = None,
    ) -> Tensor:
        return grouped(data, kernel, strides, padding, dilation, 1, out_dtype)

    whole.__doc__ = f"A convolution of {layouts[0]} rows by {layouts[1]} kernels."
    grouped.__doc__ = f"{whole.__doc__[:-1]} in ``groups`` of channels."
    return whole, grouped


conv1d_ncw, group_conv1d_ncw = _of_rows(("NCW", "OIW"))
conv1d_nwc, group_conv1d_nwc = _of_rows(("NWC", "WIO"))


def conv3d_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """Return the convolution of NCDHW volumes with OIDHW kernels in ``groups`` groups of channels."""
    layouts = "NCDHW", "OIDHW"
    return _convolution("conv3d", Input, Filter, stride, padding, dilation, layouts, groups, out_dtype)


def conv3d_ndhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: str | None = "float32",
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_origin_shape: Any = None,
) -> Tensor:
    """Return the convolution of NDHWC volumes with DHWIO kernels in ``groups`` groups of channels. The last
    two parameters are ignored."""
    layouts = "NDHWC", "DHWIO"
    return _convolution("conv3d", Input, Filter, stride, padding, dilation, layouts, groups, out_dtype)


__getattr__ = refusing(__name__)
