"""``tvm.topi.image``: resizing, cropping, dilation and sampling of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite import relay
from tvmlite.te.tensor.tensor import Tensor
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.padding import each, moved
from tvmlite.tvm.topi.operate import operate


def _resize(count: int) -> Callable[..., Tensor]:
    name, first = f"image.resize{count}d", f"NC{'DHW'[3 - count :]}" if count > 1 else "NCW"

    def resize(
        data: Tensor,
        roi: Any,
        size: Any,
        layout: str = first,
        method: str = "linear",
        coordinate_transformation_mode: str = "half_pixel",
        rounding_method: str = "",
        bicubic_alpha: float = -0.5,
        bicubic_exclude: int = 0,
        extrapolation_value: float = 0.0,
        out_dtype: str | None = None,
        output_shape: Any = None,
    ) -> Tensor:
        options: dict[str, Any] = {
            "size": each(size, count),
            "roi": tuple(float(one) for one in roi or ()),
            "layout": first,
            "method": method,
            "coordinate_transformation_mode": coordinate_transformation_mode,
            "rounding_method": rounding_method,
            "cubic_alpha": bicubic_alpha,
            "cubic_exclude": bicubic_exclude,
            "extrapolation_value": extrapolation_value,
            "out_dtype": out_dtype,
        }
        make = getattr(relay.image, f"resize{count}d")
        whole = "int" in data.dtype and method != "nearest_neighbor"

        def formula(x: Any) -> Any:
            made = make(relay.cast(x, "float32") if whole else x, **options)
            return relay.cast(made, out_dtype or data.dtype) if whole else made

        made = operate(name, formula, moved(data, layout, first))
        return moved(made, first, layout)

    resize.__name__ = f"resize{count}d"
    resize.__doc__ = f"``data`` of ``layout`` with {count} axes in another ``size``."
    return resize


resize1d, resize2d, resize3d = (_resize(count) for count in (1, 2, 3))


def crop_and_resize(
    data: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Any,
    layout: str = "NCHW",
    method: str = "bilinear",
    extrapolation_value: float | None = None,
    out_dtype: str | None = None,
) -> Tensor:
    """Return the parts ``boxes`` of the images ``box_indices``, all resized to ``crop_size``."""
    size = each(crop_size, 2)
    value = extrapolation_value or 0.0
    return operate(
        "image.crop_and_resize",
        lambda x, b, i: relay.image.crop_and_resize(x, b, i, size, layout, method, value, out_dtype),
        data,
        boxes,
        box_indices,
    )


def _dilation2d(
    data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilations: Any, layouts: Any, dtype: Any
) -> Tensor:
    data_layout, kernel_layout = layouts
    given = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * 4
    around = each(given if len(given) == 4 else given * 2, 4)
    return operate(
        "image.dilation2d",
        lambda x, w: relay.image.dilation2d(
            x, w, each(stride, 2), around, each(dilations, 2), data_layout, kernel_layout, dtype or ""
        ),
        data,
        kernel,
    )


def dilation2d_nchw(
    input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any, out_dtype: str | None = None
) -> Tensor:
    """Return the morphological dilation of NCHW images by an IHW kernel."""
    return _dilation2d(input, filter, stride, padding, dilations, ("NCHW", "IHW"), out_dtype)


def dilation2d_nhwc(
    input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any, out_dtype: str | None = None
) -> Tensor:
    """Return the morphological dilation of NHWC images by an HWI kernel."""
    return _dilation2d(input, filter, stride, padding, dilations, ("NHWC", "HWI"), out_dtype)


def affine_grid(data: Tensor, target_shape: Any) -> Tensor:
    """Return the coordinates for ``grid_sample`` that the affine maps ``data`` make of a regular grid of
    ``target_shape`` over -1 to 1."""
    return operate("image.affine_grid", lambda x: relay.image.affine_grid(x, each(target_shape, 2)), data)


def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    """Return ``data`` interpolated at the coordinates ``grid``, in which the image extends from -1 to 1."""
    return operate(
        "image.grid_sample",
        lambda x, g: relay.image.grid_sample(x, g, method, layout, padding_mode, align_corners),
        data,
        grid,
    )


__getattr__ = refusing(__name__)
