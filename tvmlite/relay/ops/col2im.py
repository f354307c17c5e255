"""Windows added up into the image they were taken from: nn.col2im."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, operator
from tvmlite.relay.ir.types import Shape, TensorType, num_elements
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import agree, fault, ravelled
from tvmlite.relay.ops.conv import converted, sum_dtype
from tvmlite.te import expr as e
from tvmlite.te.tensor import reducers


def _geometry(call: Call) -> tuple[Any, ...]:
    """Image, kernel, strides, dilation, begins of the padding, and how many windows lie along each axis."""
    image, rank = call["image_shape"], len(call["image_shape"])
    kernel, strides = windows.spatial(call, "kernel_size", rank), windows.spatial(call, "strides", rank)
    dilation, (begins, ends) = windows.spatial(call, "dilation", rank), windows.padding_of(call, rank)
    blocks = tuple(
        windows.window_extent(size, k, s, d, b, f)
        for size, k, s, d, b, f in zip(image, kernel, strides, dilation, begins, ends, strict=True)
    )
    return image, kernel, strides, dilation, begins, blocks


def _infer(call: Call, data: TensorType) -> TensorType:
    windows.check_rank(call, "data", data, 3)
    image, kernel, _, _, _, blocks = _geometry(call)
    taps, rows = math.prod(kernel), data.shape[1]
    if isinstance(rows, int) and isinstance(taps, int) and rows % taps:
        raise fault(call, f"data has {rows} rows, expected a multiple of the {taps} elements of a window")
    agree(call, "the number of windows", data.shape[2], num_elements(blocks))
    return TensorType((data.shape[0], rows // taps, *image), data.dtype)


def _numpy(call: Call, data: np.ndarray) -> np.ndarray:
    image, kernel, strides, dilation, begins, blocks = _geometry(call)
    work = np.dtype(sum_dtype(data.dtype.name))
    n, channels = data.shape[0], data.shape[1] // math.prod(kernel)
    rows = data.reshape(n, channels, *kernel, *blocks).astype(work)
    reach = [
        max(b + size, (m - 1) * s + (k - 1) * d + 1)
        for size, k, s, d, b, m in zip(image, kernel, strides, dilation, begins, blocks, strict=True)
    ]
    canvas = np.zeros((n, channels, *reach), work)
    for tap in product(*(range(k) for k in kernel)):
        position = [k * d for k, d in zip(tap, dilation, strict=True)]
        windows.strided_windows(canvas, position, blocks, strides)[...] += rows[
            (slice(None), slice(None), *tap)
        ]
    crop = tuple(slice(b, b + size) for b, size in zip(begins, image, strict=True))
    return canvas[(slice(None), slice(None), *crop)].astype(data.dtype)


@operator(
    "nn.col2im",
    infer=_infer,
    reference=_numpy,
    fuse=Fuse.OPAQUE,
    attrs={"image_shape": REQUIRED, "kernel_size": REQUIRED, "strides": 1, "padding": 0, "dilation": 1},
    schedule="reduction",
    open_attrs=("image_shape", "kernel_size"),
)
def col2im(call: Call, data: te.Tensor) -> te.Tensor:
    """``(n, c * taps, windows)`` to ``(n, c, *image_shape)``: each element is the sum of its copies."""
    image, kernel, strides, dilation, begins, blocks = _geometry(call)
    taps, work = math.prod(kernel), sum_dtype(data.dtype)
    over = [te.reduce_axis(k, name=f"k{i}") for i, k in enumerate(kernel)]

    def element(n: e.Expr, c: e.Expr, *at: e.Expr) -> e.Expr:
        inside: list[e.Expr] = []
        window: list[e.Expr] = []
        for y, k, s, d, b, m in zip(at, over, strides, dilation, begins, blocks, strict=True):
            start = y + b - k.var * d
            window.append(start // s)
            inside += [start >= 0, e.Less(*e.match(start // s, m)), e.Equal(*e.match(start % s, 0))]
        row = c * taps + ravelled([k.var for k in over], kernel)
        read = e.cast(work, data[n, row, ravelled(window, _shape(blocks))])
        return reducers.sum(e.Call("if_then_else", (e.all_of(inside), read, e.const(0, work)), work), over)

    total = te.compute(
        (data.shape[0], data.shape[1] // taps, *image), element, name="col2im", tag="comm_reduce"
    )
    return converted(total, data.dtype)


def _shape(blocks: tuple[Any, ...]) -> Shape:
    return tuple(blocks)
