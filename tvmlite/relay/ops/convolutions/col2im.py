"""``nn.col2im``: sums windows into the image that they were taken from."""

from __future__ import annotations

import math

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, operator
from tvmlite.relay.ir.types import Shape, TensorType, num_elements
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import expect_extent, fault, ravelled
from tvmlite.relay.ops.convolutions.conv import converted, sum_dtype
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers


def _geometry(call: Call) -> tuple[windows.Geometry, Shape]:
    """The windows on the image, and their number along each axis."""
    geometry = windows.geometry(call, "kernel_size", len(call["image_shape"]))
    return geometry, geometry.extents(call["image_shape"])


def _infer(call: Call, data: TensorType) -> TensorType:
    windows.check_rank(call, "data", data, 3)
    geometry, blocks = _geometry(call)
    taps, rows = math.prod(geometry.kernel), data.shape[1]
    if isinstance(rows, int) and isinstance(taps, int) and rows % taps:
        raise fault(call, f"data has {rows} rows, expected a multiple of the {taps} elements of a window")
    expect_extent(call, "the number of windows", data.shape[2], num_elements(blocks))
    return TensorType((data.shape[0], rows // taps, *call["image_shape"]), data.dtype)


def _numpy(call: Call, data: np.ndarray) -> np.ndarray:
    geometry, blocks = _geometry(call)
    image, begins, kernel = call["image_shape"], geometry.begins, windows.as_ints(geometry.kernel)
    n, channels = data.shape[0], data.shape[1] // math.prod(kernel)
    rows = data.reshape(n, channels, *kernel, *windows.as_ints(blocks)).astype(sum_dtype(data.dtype.name))
    reach = zip(begins, image, geometry.covered_extents(blocks), strict=True)
    canvas = np.zeros((n, channels, *(max(b + size, end) for b, size, end in reach)), rows.dtype)
    for tap, position in geometry.taps():
        view = windows.strided_windows(canvas, position, windows.as_ints(blocks), geometry.strides)
        view += rows[(slice(None), slice(None), *tap)]
    crop = tuple(slice(b, b + size) for b, size in zip(begins, image, strict=True))
    return canvas[(slice(None), slice(None), *crop)].astype(data.dtype)


@operator(
    "nn.col2im",
    infer=_infer,
    reference=_numpy,
    fuse=Fuse.OPAQUE,
    attrs={"image_shape": REQUIRED, "kernel_size": REQUIRED, "strides": 1, "padding": 0, "dilation": 1},
    schedule=anchors.REDUCTION,
    open_attrs=("image_shape", "kernel_size"),
)
def col2im(call: Call, data: te.Tensor) -> te.Tensor:
    """Add the windows ``(n, c * taps, windows)`` up into an image ``(n, c, *image_shape)``, as in ONNX."""
    geometry, blocks = _geometry(call)
    taps, work = math.prod(geometry.kernel), sum_dtype(data.dtype)
    over = [te.reduce_axis(k, name=f"k{i}") for i, k in enumerate(geometry.kernel)]
    axes = tuple(zip(over, geometry.strides, geometry.dilation, geometry.begins, blocks, strict=True))

    def element(n: e.Expr, c: e.Expr, *at: e.Expr) -> e.Expr:
        inside: list[e.Expr] = []
        window: list[e.Expr] = []
        for y, (k, s, d, b, m) in zip(at, axes, strict=True):
            start = y + b - k.var * d
            window.append(start // s)
            inside += [start >= 0, e.Less(*e.match(start // s, m)), e.Equal(*e.match(start % s, 0))]
        row = c * taps + ravelled([k.var for k in over], geometry.kernel)
        read = e.cast(work, data[n, row, ravelled(window, blocks)])
        return reducers.sum(e.Call("if_then_else", (e.all_of(inside), read, e.const(0, work)), work), over)

    total = te.compute(
        (data.shape[0], data.shape[1] // taps, *call["image_shape"]),
        element,
        name="col2im",
        tag="comm_reduce",
    )
    return converted(total, data.dtype)
