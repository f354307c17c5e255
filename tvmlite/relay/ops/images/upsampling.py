"""Upsampling: a resize by factors, as in TVM."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir import op
from tvmlite.relay.ir.attributes import NUMBER, Attribute
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import choice, make
from tvmlite.relay.ir.types import Dim, show_dim, show_shape
from tvmlite.relay.ops.common import fault
from tvmlite.relay.ops.convolutions import any_layout  # noqa: F401  (resizes take every layout)
from tvmlite.relay.ops.shapes.layout import axes_of, of_call
from tvmlite.relay.ops.windows import LAYOUTS
from tvmlite.relay.ops.written_out import written_out

_FACTOR = Attribute(1, lambda _: NUMBER)
_AXES = ("D", "H", "W")


def _scaled(call: Call, extent: Dim, factor: float) -> Dim:
    if not factor > 0 or not math.isfinite(factor):
        raise fault(call, f"a scale is {factor}, expected a number above 0")
    if factor == int(factor):
        return extent * int(factor)
    if not isinstance(extent, int):
        raise fault(call, f"a scale is {factor}, the extent is {show_dim(extent)}, expected a whole number")
    return round(extent * factor)


def _resize_attrs(call: Call, shape: Any, names: tuple[str, ...]) -> dict[str, Any]:
    rank = len(names)
    layout = call["layout"]
    if sorted(axes_of(layout) or "") != sorted(LAYOUTS[rank]):
        raise fault(call, f"layout is {layout!r}, expected the axes of {LAYOUTS[rank]!r} in some order")
    axes = of_call(call, "layout").axes
    if len(shape) != len(axes):
        raise fault(call, f"data is {show_shape(shape)}, expected {len(axes)} axes")
    size = [
        _scaled(call, shape[axes.index(axis)], call[name])
        for axis, name in zip(_AXES[-rank:], names, strict=True)
    ]
    if "coordinate_transformation_mode" in dict(call.attrs):
        mode = call["coordinate_transformation_mode"]
    else:
        mode = "align_corners" if call["align_corners"] else "asymmetric"
    method = call["method"].removeprefix("bi").removeprefix("tri")
    return {
        "size": tuple(size), "layout": layout, "method": method, "coordinate_transformation_mode": mode,
    }  # fmt: skip


def _register(name: str, scales: tuple[str, ...], attrs: dict[str, Any], doc: str) -> None:
    resize = f"image.resize{len(scales)}d"

    def rule(call: Call, data: Expr) -> Expr:
        shape = tensor_type_of(data).shape
        return make(resize, data, **_resize_attrs(call, shape, scales))

    rule.__doc__ = doc
    written_out(
        name, reference=_by_resize(resize, scales), attrs={**dict.fromkeys(scales, _FACTOR), **attrs}
    )(rule)


def _by_resize(resize: str, scales: tuple[str, ...]) -> Callable[..., np.ndarray]:
    """Return the reference of the resize, with the attributes of the call."""

    def reference(call: Call, data: np.ndarray) -> np.ndarray:
        row = op.get(resize)
        attrs = {**row.attrs, **_resize_attrs(call, data.shape, scales)}
        return row.reference(Call(resize, (), tuple(sorted(attrs.items()))), data)

    return reference


_register(
    "nn.upsampling",
    ("scale_h", "scale_w"),
    {
        "layout": LAYOUTS[2],
        "method": choice("nearest_neighbor", "bilinear", "bicubic"),
        "align_corners": False,
    },
    "``data`` with its height and width scaled; new extents are rounded, ties to even.",
)
_register(
    "nn.upsampling3d",
    ("scale_d", "scale_h", "scale_w"),
    {
        "layout": LAYOUTS[3],
        "method": choice("nearest_neighbor", "trilinear"),
        "coordinate_transformation_mode": choice("half_pixel", "align_corners", "asymmetric"),
    },
    "``data`` with its depth, height and width scaled; new extents are rounded, ties to even.",
)
