"""Convolutions of one, two and three spatial axes: plain, grouped, depthwise, and over packed weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError, UnsupportedError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, operator
from tvmlite.relay.ir.types import Dim, Shape, TensorType, same_dim, show_shape
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import fault, is_one, product_of, ravelled, unravelled
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers

WEIGHT_LAYOUTS = {1: "OIW", 2: "OIHW", 3: "OIDHW"}
"""Layouts of weights by number of spatial axes; packed ones have a suffix such as ``16o``."""


def conv_attrs(rank: int) -> dict[str, Any]:
    """The attributes of a convolution with their defaults, as in TVM."""
    return {
        "strides": (1,) * rank,
        "padding": (0,) * (2 * rank),
        "dilation": (1,) * rank,
        "groups": 1,
        "channels": None,
        "kernel_size": None,
        "data_layout": windows.LAYOUTS[rank],
        "kernel_layout": WEIGHT_LAYOUTS[rank],
        "out_layout": "",
        "out_dtype": "",
    }


def result_dtype(call: Call, data: str) -> str:
    """Return the dtype of the result: ``out_dtype``, or ``data`` if it is not given."""
    return dtypes.check(call["out_dtype"]) if call["out_dtype"] else data


def sum_dtype(dtype: str) -> str:
    """Return the dtype in which a sum of ``dtype`` is computed: float32 for 16-bit floats."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def conv_type(rank: int) -> Callable[..., TensorType]:
    """The type relation of convolutions of ``rank`` spatial axes."""

    def infer(call: Call, data: TensorType, weight: TensorType) -> TensorType:
        check_operands(call, data, weight, WEIGHT_LAYOUTS[rank], rank)
        channels = _check_channels(call, data, weight)
        kernel = weight.shape[2:]
        check_kernel_size(call, kernel, rank)
        shape = windows.geometry(call, kernel, rank).extents(data.shape[2:])
        windows.check_extents(call, shape, data)
        return TensorType((data.shape[0], channels, *shape), result_dtype(call, data.dtype))

    return infer


def check_operands(call: Call, data: TensorType, weight: TensorType, kernel_layout: str, rank: int) -> None:
    """Raise an error unless layouts are channels-first and ``kernel_layout``, and the ranks are theirs."""
    windows.check_layout(call, "data_layout", rank)
    if call["kernel_layout"] != kernel_layout:
        raise UnsupportedError(
            f"{call.op}: kernel_layout {call['kernel_layout']!r} is not supported; supported is "
            f"{kernel_layout!r}",
            call.span,
        )
    windows.check_rank(call, "data", data, rank + 2)
    windows.check_rank(call, "weight", weight, rank + 2)


def check_kernel_size(call: Call, kernel: Shape, rank: int) -> None:
    """Raise a type error if ``kernel_size`` is given and is not the weight's."""
    if call["kernel_size"] is None:
        return
    stated = windows.spatial_attr(call, "kernel_size", rank)
    if any(not same_dim(a, b) for a, b in zip(stated, kernel, strict=True)):
        raise fault(call, f"kernel_size is {stated}, the weight's is {show_shape(kernel)}")


def _check_channels(call: Call, data: TensorType, weight: TensorType) -> Dim:
    """Check that the channels of data and weight match, and return the number of output channels."""
    groups, stated = call["groups"], call["channels"]
    channels = weight.shape[0] if stated is None else stated
    if not same_dim(channels, weight.shape[0]):
        raise fault(call, f"channels is {channels}, weight is {show_shape(weight.shape)}")
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise fault(call, f"groups is {groups}, output channels are {channels}")
    if not same_dim(data.shape[1], weight.shape[1] * groups):
        raise channels_mismatch(call, data, weight)
    return channels


def channels_mismatch(call: Call, data: TensorType, weight: TensorType) -> TypeInferError:
    """Return the type error for a weight whose channels do not match those of the data."""
    shapes = f"data is {show_shape(data.shape)}, weight is {show_shape(weight.shape)}"
    return fault(call, f"{shapes}, groups is {call['groups']}: the channels do not fit")


def conv_compute(rank: int) -> Callable[..., te.Tensor]:
    """The tensor expression of convolutions of ``rank`` spatial axes."""

    def compute(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
        dtype, kernel = result_dtype(call, data.dtype), weight.shape[2:]
        geometry = windows.geometry(call, kernel, rank)
        source = windows.padded(data, geometry.begins, geometry.ends, 0)
        if rank > 1 and source is data and all(is_one(n) for n in (*kernel, *geometry.strides)):
            result = _pointwise(data, weight, call["groups"], sum_dtype(dtype))
        else:
            result = _plain(source, weight, geometry, call["groups"], sum_dtype(dtype))
        return converted(result, dtype)

    return compute


def converted(value: te.Tensor, dtype: str) -> te.Tensor:
    """Convert ``value`` to ``dtype`` in a separate stage; return it if it has that dtype."""
    if value.dtype == dtype:
        return value
    return te.compute(value.shape, lambda *i: e.cast(dtype, value[i]), name="converted", tag="elemwise")


def _plain(
    data: te.Tensor, weight: te.Tensor, geometry: windows.Geometry, groups: int, dtype: str
) -> te.Tensor:
    """``conv[n, o, y..] = sum(i, k..) data[n, group(o) * I + i, y * s + k * d..] * weight[o, i, k..]``, with
    ``data`` already padded."""
    inputs = weight.shape[1]
    per_group = weight.shape[0] // groups
    channel = te.reduce_axis(inputs, name="ic")
    taps = [te.reduce_axis(k, name=f"k{n}") for n, k in enumerate(geometry.kernel)]
    none = (0,) * len(taps)

    def element(n: Any, o: Any, *at: Any) -> e.Expr:
        read = o if per_group == 1 and inputs == 1 else o // per_group * inputs + channel
        if groups == 1:
            read = channel
        value = data[(n, read, *geometry.positions(at, taps))].astype(dtype)
        return reducers.sum(value * weight[(o, channel, *taps)].astype(dtype), [channel, *taps])

    depthwise = groups > 1 and is_one(inputs)
    return te.compute(
        (data.shape[0], weight.shape[0], *replace(geometry, begins=none, ends=none).extents(data.shape[2:])),
        element,
        name="conv",
        tag="depthwise_conv2d" if depthwise else "conv2d",
        attrs={"strides": geometry.strides, "dilation": geometry.dilation, "groups": groups},
    )


def _pointwise(data: te.Tensor, weight: te.Tensor, groups: int, dtype: str) -> te.Tensor:
    """A 1x1 convolution with stride 1: the pixels of a plane form one axis, as in a matrix product."""
    extents, inputs = data.shape[2:], weight.shape[1]
    per_group = weight.shape[0] // groups
    channel = te.reduce_axis(inputs, name="ic")

    def element(n: Any, o: Any, p: Any) -> e.Expr:
        read = channel if groups == 1 else o // per_group * inputs + channel
        value = data[(n, read, *unravelled(p, extents))].astype(dtype)
        return reducers.sum(value * weight[(o, channel, *(0,) * len(extents))].astype(dtype), channel)

    conv = te.compute(
        (data.shape[0], weight.shape[0], product_of(extents)),
        element,
        name="conv",
        tag="conv2d_pointwise",
        attrs={"groups": groups},
    )
    return te.compute(
        (*conv.shape[:2], *extents),
        lambda n, o, *at: conv[n, o, ravelled(at, extents)],
        name="conv_planes",
        tag="conv2d_planes",
    )


def conv_numpy(rank: int) -> Callable[..., np.ndarray]:
    """Return the reference of convolutions of ``rank`` axes: one matrix product per kernel position."""

    def reference(call: Call, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return convolved_numpy(call, data, weight, call["groups"], rank)

    return reference


def convolved_numpy(call: Call, data: np.ndarray, weight: np.ndarray, groups: int, rank: int) -> np.ndarray:
    """Compute the convolution ``call`` of channels-first ``data`` and a plain ``weight`` in ``groups``."""
    dtype = result_dtype(call, data.dtype.name)
    work, geometry = np.dtype(sum_dtype(dtype)), windows.geometry(call, weight.shape[2:], rank)
    shape = windows.as_ints(geometry.extents(data.shape[2:]))
    source = windows.padded_numpy(data, geometry.begins, geometry.ends, 0)
    source = source.reshape(data.shape[0], groups, -1, *source.shape[2:]).astype(work)
    filters = weight.reshape(groups, -1, *weight.shape[1:]).astype(work)
    total = np.zeros((data.shape[0], groups, filters.shape[1], math.prod(shape)), work)
    for tap, position in geometry.taps():
        view = windows.strided_windows(source, position, shape, geometry.strides)
        total += filters[(..., *tap)] @ view.reshape(*view.shape[:3], -1)
    return total.reshape(data.shape[0], -1, *shape).astype(dtypes.numpy_of(dtype))


for _rank in (1, 2, 3):
    operator(
        f"nn.conv{_rank}d",
        infer=conv_type(_rank),
        reference=conv_numpy(_rank),
        fuse=Fuse.OUT_ELEMWISE_FUSABLE,
        attrs=conv_attrs(_rank),
        schedule=anchors.CONVOLUTION,
        doc=f"""The convolution of ``data`` with ``weight`` along {_rank} axes.

        Data are {windows.LAYOUTS[_rank]} and the weight is {WEIGHT_LAYOUTS[_rank]}, with I / ``groups`` input
        channels, unless ``data_layout`` and ``kernel_layout`` order the axes differently. ``padding`` is one
        number, one per axis, or those before and then those after; ``strides`` and ``dilation`` are one
        number or one per axis. ``channels`` and ``kernel_size`` are those of the weight, and optional.
        ``out_dtype`` defaults to the data's dtype.
        """,
    )(conv_compute(_rank))
