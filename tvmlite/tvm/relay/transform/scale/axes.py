"""The channel axes of a product's operands and result, and the shape of a scale along them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.tvm.relay.transform.layout import names

Axes: TypeAlias = tuple[int, ...]
"""Sorted channel axes: one, or the outer and inner axis of a blocked layout."""

CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
PRODUCTS = (*CONVOLUTIONS, "nn.dense")
PASSING = ("nn.relu", "nn.leaky_relu")
"""Operators that commute with positive scales."""
SUMS = ("add", "subtract")


def data_axes(call: nodes.Call) -> Axes | None:
    """The channel axes of a product's data; None if scales cannot be folded into the weights (grouped
    convolutions, or layouts that are only partly blocked)."""
    if call.op == "nn.dense":
        return (tensor_type_of(call.args[0]).ndim - 1,)
    return _channels(call, call["data_layout"])


def result_axes(call: nodes.Call) -> Axes | None:
    """The channel axes of a product's result; None as in ``data_axes``."""
    if call.op == "nn.dense":
        return (tensor_type_of(call).ndim - 1,)
    return _channels(call, call["out_layout"] or call["data_layout"])


def weight_axes(call: nodes.Call, of_data: bool) -> Axes:
    """The axes of the weights that correspond to channels of the data (``of_data``) or of the result."""
    if call.op == "nn.dense":
        return (1,) if of_data else (0,)
    letter = "I" if of_data and not _is_depthwise(call) else "O"
    return _axes_of(call["kernel_layout"], letter)


def _channels(call: nodes.Call, layout: str) -> Axes | None:
    if call["groups"] != 1 and not _is_depthwise(call):
        return None
    kernel = call["kernel_layout"]
    blocks = [bool(names.block(kernel, "O")), bool(names.block(kernel, "I")), bool(names.block(layout, "C"))]
    return _axes_of(layout, "C") if all(blocks) or not any(blocks) else None


def _axes_of(layout: str, letter: str) -> Axes:
    found = [index for index, part in enumerate(names.parts(layout)) if part[-1].upper() == letter]
    return tuple(found)


def _is_depthwise(call: nodes.Call) -> bool:
    kernel, weight = call["kernel_layout"], tensor_type_of(call.args[1]).shape
    inner = [weight[axis] for axis in _axes_of(kernel, "I")]
    return call["groups"] > 1 and all(extent == 1 for extent in inner) and call["groups"] == _count(call)


def _count(call: nodes.Call) -> Any:
    count: Any = 1
    for axis in _axes_of(call["kernel_layout"], "O"):
        count = count * tensor_type_of(call.args[1]).shape[axis]
    return count


def along(whole: Any, factor: Any, axes: Axes) -> bool:
    """Whether ``factor`` has the full extents of ``axes`` of ``whole``, and extent 1 on all other axes."""
    shape, other = tensor_type_of(whole).shape, tensor_type_of(factor).shape
    base = len(shape) - len(other)
    if base < 0:
        return False
    return all(
        (axis >= base and other[axis - base] == extent)
        if axis in axes
        else axis < base or other[axis - base] == 1
        for axis, extent in enumerate(shape)
    )


def as_scale(whole: Any, factor: Any, axes: Axes, positive: bool) -> Any:
    """``factor`` as a scale with only ``axes`` of ``whole``. None if it is not such a scale, or if it must be
    ``positive`` and is not known to be."""
    if positive and not _is_positive(factor):
        return None
    shape = tensor_type_of(whole).shape
    if isinstance(factor, nodes.Constant) and factor.data.size == 1 and len(axes) == 1:
        extent = shape[axes[0]]
        if isinstance(extent, int):  # one number for all channels
            full = np.full((extent,), np.asarray(factor.data).reshape(()), factor.data.dtype)
            return nodes.Constant(full, factor.span)
    if not along(whole, factor, axes):
        return None
    base = len(shape) - tensor_type_of(factor).ndim
    left = tuple(axis - base for axis in range(base, len(shape)) if axis not in axes)
    return make("squeeze", factor, axis=left, span=_span(factor)) if left else factor


def _is_positive(value: Any) -> bool:
    if isinstance(value, nodes.Call) and value.op in ("squeeze", "reshape", "expand_dims", "transpose"):
        return _is_positive(value.args[0])
    return isinstance(value, nodes.Constant) and bool((np.asarray(value.data) > 0).all())


def laid(scale: Any, whole: Any, axes: Axes) -> Any:
    """``scale`` with axes of extent 1 added, so that it broadcasts along ``axes`` of ``whole``."""
    shape = tensor_type_of(whole).shape
    if len(axes) > 1:
        extents: Sequence[Any] = [extent if axis in axes else 1 for axis, extent in enumerate(shape)]
        return make("reshape", scale, newshape=tuple(extents), span=_span(scale))
    behind = len(shape) - min(axes) - 1
    return make("expand_dims", scale, axis=1, num_newaxis=behind, span=_span(scale)) if behind else scale


def _span(value: Any) -> Any:
    return getattr(value, "span", None)
