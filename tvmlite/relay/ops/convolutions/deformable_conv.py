"""Deformable convolution: windows read at offset positions, then a product with the weight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import normal_dim, show_shape
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import FLOAT, expect, fault, one_dtype
from tvmlite.relay.ops.convolutions import any_layout
from tvmlite.relay.ops.convolutions.conv import check_kernel_size, check_operands, conv_attrs, result_dtype
from tvmlite.relay.ops.written_out import cast, reshaped, written_out


def _numpy(call: Call, data: np.ndarray, offset: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Compute the elements one by one, in float64."""
    outputs, inputs, *kernel = weight.shape
    geometry = windows.geometry(call, tuple(kernel), 2)
    rows, columns = windows.as_ints(geometry.extents(data.shape[2:]))
    taps, groups, moved = math.prod(kernel), call["groups"], call["deformable_groups"]
    channels = data.shape[1]
    places = offset.astype(np.float64).reshape(len(data), moved, taps, 2, rows, columns)
    result = np.zeros((len(data), outputs, rows, columns))
    for n, o, y, x in np.ndindex(*result.shape):
        for i in range(inputs):
            c = o // (outputs // groups) * inputs + i
            for tap in range(taps):
                ky, kx = divmod(tap, kernel[1])
                dy, dx = places[n, c // (channels // moved), tap, :, y, x]
                at = (
                    y * geometry.strides[0] - geometry.begins[0] + ky * geometry.dilation[0] + dy,
                    x * geometry.strides[1] - geometry.begins[1] + kx * geometry.dilation[1] + dx,
                )
                result[n, o, y, x] += weight[o, i, ky, kx] * _interpolate(data[n, c], *at)
    return result.astype(result_dtype(call, data.dtype.name))


def _interpolate(plane: np.ndarray, y: float, x: float) -> float:
    """Interpolate ``plane`` at ``(y, x)``: 0 before the first pixel, falling to 0 after the last."""
    total = 0.0
    if y < 0 or x < 0:
        return total
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            if 0 <= row < plane.shape[0] and 0 <= column < plane.shape[1]:
                total += float(plane[row, column]) * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


_ATTRS: dict[str, Any] = {}
for _key, _value in conv_attrs(2).items():
    if _key == "groups":
        _ATTRS["deformable_groups"] = 1
    _ATTRS[_key] = _value


@written_out("nn.deformable_conv2d", reference=_numpy, attrs=_ATTRS)
def deformable_conv2d(call: Call, data: Expr, offset: Expr, weight: Expr) -> Expr:
    """``nn.conv2d`` with each element of each window read at an offset from its position.

    ``offset`` is ``(n, deformable_groups * taps * 2, y, x)``, row offsets before column offsets. Positions
    between pixels are interpolated bilinearly, and towards 0 after the last pixel. A position before the
    first row or column gives 0, as in TVM and MXNet. PyTorch and ONNX interpolate there: see
    ``nn.deformable_im2col``.
    """
    x, w = tensor_type_of(data), tensor_type_of(weight)
    check_operands(call, x, w, "OIHW", 2)
    expect(call, "data is", one_dtype(call, x, w, tensor_type_of(offset)), FLOAT)
    outputs, inputs, *kernel = w.shape
    if not all(isinstance(extent, int) for extent in (outputs, inputs, *kernel, x.shape[1])):
        raise fault(call, f"weight is {show_shape(w.shape)}, expected known extents, and known channels")
    check_kernel_size(call, tuple(kernel), 2)
    groups = call["groups"]
    if groups < 1 or outputs % groups or inputs * groups != x.shape[1]:
        raise fault(
            call,
            f"data is {show_shape(x.shape)}, weight is {show_shape(w.shape)}, groups is {groups}: "
            "the channels do not fit",
        )
    if call["channels"] is not None and call["channels"] != outputs:
        raise fault(call, f"channels is {call['channels']}, weight is {show_shape(w.shape)}")
    shape = windows.geometry(call, tuple(kernel), 2).extents(x.shape[2:])
    windows.check_extents(call, shape, x)
    taps, moved = math.prod(kernel), call["deformable_groups"]
    ones = make("ones", shape=(x.shape[0], moved * taps, *shape), dtype=x.dtype)
    more = {key: call[key] for key in ("strides", "padding", "dilation", "deformable_groups")}
    read = make(
        "nn.deformable_im2col", data, offset, ones, kernel_size=tuple(kernel), zero_before=True, **more
    )
    columns = reshaped(read, (x.shape[0], normal_dim(x.shape[1] * taps), *shape))
    filters = reshaped(weight, (outputs, inputs * taps, 1, 1))
    made = make("nn.conv2d", columns, filters, groups=groups)
    return cast(made, result_dtype(call, x.dtype))


any_layout.accept_layouts(
    "nn.deformable_conv2d",
    any_layout.Layouts(
        {"data_layout": "NCHW", "kernel_layout": "OIHW"}, ("data_layout", "data_layout", "kernel_layout")
    ),
)
