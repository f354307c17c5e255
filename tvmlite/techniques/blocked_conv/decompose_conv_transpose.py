"""Decomposition of a transposed convolution: one convolution whose channels are the phases of the result."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import same_type, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops import windows
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.techniques.blocked_conv.layout_rules import FEW_CHANNELS, is_float_convolution

LEAST_PRODUCTS = 128
"""The least number of products per result: with fewer, moving each result once more costs what the
convolution saves."""

RANKS = {f"nn.conv{rank}d_transpose": rank for rank in (1, 2, 3)}


@graph_pass
def decompose_conv_transpose(body: Expr) -> Expr:
    """``conv2d_transpose(x, w, strides=s)`` becomes ``contrib_interleave(conv2d(x, v), strides=s)``.

    The weight must be constant, with one group and no dilation. Along an axis, the results at ``q * s + r``
    depend on every ``s``-th position of the window, from ``r`` on: these are the weights of phase ``r``
    (reversed, as a convolution reads forward). Phases are channels of one convolution, which has the kernels
    and layouts of any other, and whose weight is packed at compile time. Small ones are not decomposed.
    """
    return rewrite(body, _decomposed)


class _Axis(NamedTuple):
    """How one axis is decomposed: the ``taps`` of a phase, the padding ``before`` and ``after`` of the
    convolution, and the elements cropped from its interleaved phases."""

    stride: int
    taps: int
    before: int
    after: int
    crop_before: int
    crop_after: int


def _decomposed(node: Expr) -> Expr:
    match node:
        case Call(op=str() as name, args=(data, Constant() as weight)) if name in RANKS:
            rank = RANKS[name]
            one_group = node["groups"] == 1 and set(windows.spatial_attr(node, "dilation", rank)) == {1}
            axes = [_axis(node, weight, axis, rank) for axis in range(rank)]
            fits = min(min(one[2:]) for one in axes) >= 0
            if one_group and fits and is_float_convolution(node) and _is_profitable(weight, axes):
                made = _convolution(node, data, weight, axes)
                return made if same_type(type_of(made), type_of(node)) else node
    return node


def _is_profitable(weight: Constant, axes: list[_Axis]) -> bool:
    """Whether the convolution has enough channels for vectors, and enough products per result."""
    channels = weight.shape[1] * math.prod(one.stride for one in axes)
    products = weight.shape[0] * math.prod(one.taps for one in axes)
    return channels > FEW_CHANNELS and products >= LEAST_PRODUCTS


def _axis(node: Call, weight: Constant, axis: int, rank: int) -> _Axis:
    begins, ends = windows.padding_of(node, rank)
    more = node["output_padding"]
    more = more[axis % len(more)] if isinstance(more, tuple) else more
    stride, kernel = windows.spatial_attr(node, "strides", rank)[axis], weight.shape[2 + axis]
    taps = -(-kernel // stride)
    skipped = begins[axis] // stride  # positions before the first result
    last = kernel - 1 - ends[axis] + more  # the last result, from the first that the last element adds to
    return _Axis(
        stride,
        taps,
        taps - 1 - skipped,
        last // stride,
        begins[axis] - skipped * stride,
        stride - 1 - last % stride,
    )


def _convolution(node: Call, data: Expr, weight: Constant, axes: list[_Axis]) -> Expr:
    rank = len(axes)
    before, after = tuple(one.before for one in axes), tuple(one.after for one in axes)
    made = make(
        f"nn.conv{rank}d",
        data,
        Constant(_phases(weight.data, axes), weight.span),
        padding=(*before, *after),
        channels=weight.shape[1] * math.prod(one.stride for one in axes),
        kernel_size=tuple(one.taps for one in axes),
        out_dtype=node["out_dtype"],
        span=node.span,
    )
    strides = tuple(one.stride for one in axes)
    crop = (*(one.crop_before for one in axes), *(one.crop_after for one in axes))
    if set(strides) == {1} and not any(crop):
        return made
    return make("nn.contrib_interleave", made, strides=strides, crop=crop, span=node.span)


def _phases(weight: np.ndarray, axes: list[_Axis]) -> np.ndarray:
    """``(i, o, k..)`` as ``(r.. * o, i, j..)``: tap ``j`` of phase ``r`` is ``r + (taps - 1 - j) * s``."""
    rank = len(axes)
    fill = [(0, one.taps * one.stride - k) for one, k in zip(axes, weight.shape[2:], strict=True)]
    whole = np.pad(weight, [(0, 0), (0, 0), *fill])
    inputs, outputs = whole.shape[:2]
    whole = whole.reshape(inputs, outputs, *(n for one in axes for n in (one.taps, one.stride)))
    taps, phases = range(2, 2 + 2 * rank, 2), range(3, 3 + 2 * rank, 2)
    whole = np.flip(whole, tuple(taps)).transpose(*phases, 1, 0, *taps)
    return np.ascontiguousarray(whole.reshape(-1, inputs, *(one.taps for one in axes)))
