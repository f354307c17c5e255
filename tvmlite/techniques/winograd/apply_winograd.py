"""The pass that uses Winograd's minimal filtering for 3 x 3 convolutions if it is faster and its error
allowed.

The error is the largest of a convolution, relative to its largest result: ``matrices.stated_error``. Of
the filterings within the bound and the direct convolution, the one with the least estimated time is used
(products of transformed tiles, reading the transformed weight from memory, and the transforms), unless a
decision says otherwise (``relay.passes.decisions``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tvmlite.core.errors import ConfigError
from tvmlite.core.node import rewrite
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, canonical
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import windows
from tvmlite.relay.passes.decisions import Decisions, decide
from tvmlite.relay.passes.graph_pass import map_functions
from tvmlite.techniques.blocked_conv import conv_blocked
from tvmlite.techniques.blocked_conv.layout_rules import (
    blocked_layout,
    channels_of,
    from_blocks,
    likely_extent,
    relayout,
)
from tvmlite.techniques.winograd import operator as winograd
from tvmlite.techniques.winograd.matrices import FILTERINGS, WINDOW, Filtering, stated_error

WINOGRAD_DTYPES = ("float32", "float64")
"""The dtypes with kernels."""

FLOPS_PER_BYTE = 8
"""Floating-point operations of a core in the time that it takes to read a byte of a weight from memory.

``te.cost`` is not used for this: with a processor's measured bandwidth the value would be 3.3, and F(4, 3)
as fast as F(2, 3) on 7x7 pixels of 512 channels, but it took 1.71 ms there, F(2, 3) 1.24: transformed
weights are read more slowly than a plain stream."""

TRANSFORM_FLOPS = 20
"""Floating-point operations in the time of the transform of one element of a tile, forward or back."""

PAIR = 2
"""The speed of products of pairs of bfloat16, and of reading them, relative to float32."""

PAIRED = "2i"
"""The end of the layout of a weight in pairs."""

COPY_FLOPS = 60
"""Floating-point operations in the time of the layout transform of one element."""


def apply_winograd(
    error_bound: float = 1e-4, pairs: bool = False, decisions: Decisions | None = None
) -> Callable[[Module], Module]:
    """The pass that allows errors up to ``error_bound``, to be run when channels are in blocks
    (``alter_op_layout``). With ``pairs``, convolutions of pairs of bfloat16 may become filterings in float32
    of the rounded operands. A bound that is negative or not a finite number is a ConfigError."""
    check_bound(error_bound)

    def apply_winograd(module: Module) -> Module:
        return map_functions(
            module, lambda body: rewrite(body, lambda node: _rule(node, error_bound, pairs, decisions))
        )

    return apply_winograd


def check_bound(error_bound: float) -> None:
    """Raise a ConfigError unless ``error_bound`` is a finite number of at least 0."""
    if not (isinstance(error_bound, (int, float)) and 0 <= error_bound < math.inf):
        raise ConfigError(f"error_bound is {error_bound!r}, expected a relative error such as 1e-4, or 0")


def _rule(node: Expr, bound: float, pairs: bool, decisions: Decisions | None) -> Expr:
    """``node`` computed as decided, by default in the way with the least estimated time."""
    ways = {way.name: way for way in alternatives(node, bound, pairs)}
    if len(ways) < 2:
        return node
    assert isinstance(node, Call)
    default = min(ways.values(), key=lambda way: way.cost).name
    return ways[decide(decisions, "winograd", lambda: [[node]], tuple(ways), default)].expr


@dataclass(frozen=True)
class Alternative:
    """A way to compute a convolution: its name (``direct`` or the filtering's), the expression, and the
    estimated time in floating-point operations."""

    name: str
    expr: Expr
    cost: float


def alternatives(node: Expr, bound: float, pairs: bool = False) -> list[Alternative]:
    """The ways to compute the convolution ``node`` with errors up to ``bound``, the direct one first; none if
    ``node`` is not a convolution in blocks for which there are filterings."""
    wide = _as_float32(node) if pairs else None
    match wide or node:
        case (
            Call(
                op="nn.contrib_conv2d_NCHWc", args=(data, Call("layout_transform", (Constant() as weight,)))
            ) as convolution
        ):
            type_ = tensor_type_of(weight)
            block = windows.as_ints(tensor_type_of(convolution.args[1]).shape)[-1]
            if not _is_suitable(convolution, type_, block):
                return []
            channels = windows.as_ints(type_.shape)[1]
            allowed = [
                one for one in FILTERINGS.values() if stated_error(one, channels, type_.dtype) <= bound
            ]
            direct = _cost(convolution, type_, None) / (1 if wide is None else PAIR)
            ways = [Alternative("direct", node, direct)]
            for one in allowed:
                made = _replaced(convolution, data, weight, one, block)
                ways.append(Alternative(f"F({one.outputs}, 3)", made, _cost(convolution, type_, one)))
            return ways
    return []


def _as_float32(node: Expr) -> Call | None:
    """A convolution of pairs of bfloat16 as one of float32; None if ``node`` is not such a convolution."""
    match node:
        case Call(
            op="nn.contrib_conv2d_NCHWc",
            args=(data, Call("layout_transform", (Constant() as weight,)) as packed),
        ) if str(packed["dst_layout"]).endswith(PAIRED):
            layout = str(packed["dst_layout"]).removesuffix(PAIRED)
            same = DeferredConstant.of_call(
                make("cast", weight, dtype="float32", span=weight.span or node.span)
            )
            blocks = relayout(same, "OIHW", layout, node.span)
            args = (make("cast", data, dtype="float32", span=node.span), blocks)
            return replace(node, args=args, attrs=canonical({**dict(node.attrs), "kernel_layout": layout}))
    return None


def _is_suitable(node: Call, weight: TensorType, block: int) -> bool:
    """Whether ``node`` has 3 x 3 windows, strides and dilation 1, one group, and blocks of one size."""
    dense = (
        windows.spatial_attr(node, "strides", 2) == windows.spatial_attr(node, "dilation", 2) == (1, 1)
        and weight.shape[2:] == (WINDOW, WINDOW)
        and node["groups"] == 1
    )
    kinds = {tensor_type_of(one).dtype for one in (node, *node.args)}
    return (
        dense
        and len(kinds) == 1
        and kinds <= set(WINOGRAD_DTYPES)
        and windows.channel_block(node, "data_layout", 2) in (0, block)
    )


def _cost(node: Call, weight: TensorType, filtering: Filtering | None) -> float:
    """Estimated time in floating-point operations of one image; ``None``: the direct convolution."""
    result, data = tensor_type_of(node), tensor_type_of(node.args[0])
    outputs, inputs = (likely_extent(extent) for extent in weight.shape[:2])
    height, width = (likely_extent(extent) for extent in result.shape[2:4])
    size = 4 if weight.dtype == "float32" else 8
    places, tiles, more = WINDOW**2, height * width, 0.0
    if filtering is not None:
        step = filtering.outputs
        places, tiles = filtering.extent**2, math.ceil(height / step) * math.ceil(width / step)
        more = TRANSFORM_FLOPS * places * tiles * (inputs + outputs)
        more += sum(COPY_FLOPS * _pixels(one) for one in (result, data) if one.ndim == 4)
    return max(2 * tiles, FLOPS_PER_BYTE * size) * places * inputs * outputs + more


def _pixels(plain: TensorType) -> float:
    """The elements of an image that is not in blocks."""
    return math.prod(likely_extent(extent) for extent in plain.shape[1:])


def _replaced(node: Call, data: Expr, weight: Expr, filtering: Filtering, block: int) -> Expr:
    """``node`` computed by ``filtering``, with layout transforms for operands and results not in blocks."""
    layout, size = blocked_layout(2, block), filtering.outputs
    transformed = make(winograd.WEIGHT_TRANSFORM, weight, tile_size=size, span=node.span)
    packed = relayout(transformed, "HWOI", f"OHWI{block}o", node.span)
    if not windows.channel_block(node, "data_layout", 2):
        data = relayout(data, "NCHW", layout, node.span)
    attrs = {
        **dict(node.attrs),
        "tile_size": size,
        "data_layout": layout,
        "out_layout": layout,
        "kernel_layout": f"OHWI{block}o",
    }
    made = Call(winograd.CONVOLUTION, (data, packed), canonical(attrs), node.span)
    if conv_blocked.written_block(node, 2):
        return made
    return from_blocks(made, block, channels_of(node), node.span)
