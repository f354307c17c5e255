"""``nn.deformable_im2col``: the windows of a deformable convolution, read at offset positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED, Fuse, operator
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import FLOAT, expect, expect_extent, fault, one_dtype
from tvmlite.relay.ops.images import sampling
from tvmlite.te import expr as e
from tvmlite.te.tensor.declare import compute
from tvmlite.te.tensor.tensor import Tensor


def _infer(call: Call, data: TensorType, offset: TensorType, mask: TensorType) -> TensorType:
    for name, given in (("data", data), ("offset", offset), ("mask", mask)):
        windows.check_rank(call, name, given, 4)
    dtype = one_dtype(call, data, offset, mask)
    expect(call, "data is", dtype, FLOAT)
    geometry, groups, channels = (
        windows.geometry(call, "kernel_size", 2),
        call["deformable_groups"],
        data.shape[1],
    )
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise fault(call, f"deformable_groups is {groups}, channels are {channels}")
    shape, taps = geometry.extents(data.shape[2:]), math.prod(geometry.kernel)
    windows.check_extents(call, shape, data)
    for name, given, count in (("offset", offset, 2 * groups * taps), ("mask", mask, groups * taps)):
        expect_extent(call, f"the batch of {name}", given.shape[0], data.shape[0])
        expect_extent(call, f"the second axis of {name}", given.shape[1], count)
        for axis in (0, 1):
            expect_extent(call, f"the extent {axis + 2} of {name}", given.shape[axis + 2], shape[axis])
    return TensorType((data.shape[0], channels, taps, *shape), dtype)


def _numpy(call: Call, data: np.ndarray, offset: np.ndarray, mask: np.ndarray) -> np.ndarray:
    geometry, (n, c, _, _) = windows.geometry(call, "kernel_size", 2), data.shape
    shape = windows.as_ints(geometry.extents(data.shape[2:]))
    work = np.float64 if data.dtype == np.float64 else np.float32
    groups, taps = call["deformable_groups"], math.prod(geometry.kernel)
    moved = offset.reshape(n, groups, taps, 2, *shape).repeat(c // groups, axis=1).astype(work)
    factor = mask.reshape(n, groups, taps, *shape).repeat(c // groups, axis=1).astype(work)
    grid = np.indices((*geometry.kernel, *shape)).reshape(4, taps, *shape)
    found, factors = [], [factor]
    for axis, place in enumerate(geometry.positions(grid[2:], grid[:2])):
        start = place - geometry.begins[axis]
        places = start.astype(work) + moved[:, :, :, axis]
        found.append(sampling.linear_taps_numpy(places))
        if call["zero_before"]:
            factors.append(places >= 0)
    lead = (np.arange(n).reshape(-1, 1, 1, 1, 1), np.arange(c).reshape(1, -1, 1, 1, 1))
    result = sampling.interpolate_numpy(data.astype(work), lead, found, zeros=True)
    for one in factors:
        result = result * one
    return result.astype(data.dtype)


@operator(
    "nn.deformable_im2col",
    infer=_infer,
    reference=_numpy,
    fuse=Fuse.OPAQUE,
    attrs={
        "kernel_size": REQUIRED,
        "strides": (1, 1),
        "padding": (0, 0, 0, 0),
        "dilation": (1, 1),
        "deformable_groups": 1,
        "zero_before": False,
    },
)
def deformable_im2col(call: Call, data: Tensor, offset: Tensor, mask: Tensor) -> Tensor:
    """Read each element of each window at an offset, times ``mask``: ``(n, c, taps, y, x)``.

    ``offset`` is ``(n, deformable_groups * taps * 2, y, x)``, row offsets before column offsets; ``mask`` is
    ``(n, deformable_groups * taps, y, x)``. Positions between pixels are interpolated bilinearly; pixels
    outside the data are 0. With ``zero_before``, any position before the first row or column gives 0.
    """
    geometry = windows.geometry(call, "kernel_size", 2)
    (_, columns), strides, dilation, begins = (
        geometry.kernel,
        geometry.strides,
        geometry.dilation,
        geometry.begins,
    )
    shape, taps = geometry.extents(data.shape[2:]), math.prod(geometry.kernel)
    per_group = data.shape[1] // call["deformable_groups"]
    work = "float64" if data.dtype == "float64" else "float32"

    def element(n: e.Expr, c: e.Expr, tap: e.Expr, *at: e.Expr) -> e.Expr:
        number = c // per_group * taps + tap
        found: list[Any] = []
        inside: list[e.Expr] = []
        for axis, step in enumerate((tap // columns, tap % columns)):
            start = at[axis] * strides[axis] - begins[axis] + step * dilation[axis]
            x = e.cast(work, start) + e.cast(work, offset[(n, number * 2 + axis, *at)])
            found.append(sampling.linear_taps(sampling.clamp_coordinate(x, data.shape[2 + axis])))
            inside.append(x >= 0)
        value = sampling.interpolate(data, (n, c), found, zeros=True, work=work)
        if call["zero_before"]:
            value = e.Select(e.all_of(inside), value, e.const(0, work))
        return e.cast(data.dtype, value * e.cast(work, mask[(n, number, *at)]))

    return compute((*data.shape[:2], taps, *shape), element, name="deformable_im2col", tag="injective")
