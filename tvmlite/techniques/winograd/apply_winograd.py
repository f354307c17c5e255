"""Convolutions of 3 x 3 by Winograd's minimal filtering, where that is quicker and its error is allowed.

The error is a convolution's largest, relative to its largest result: ``winograd_matrices.stated_error``. Of
the filterings within the bound, and the direct convolution, the quickest by estimate is taken (products of
blocks of tiles, the transformed weight brought from memory, and the transforms), unless another was decided
for (``relay.passes.decisions``).
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
from tvmlite.techniques.blocked_conv.layout_rules import blocked_layout, likely
from tvmlite.techniques.winograd import operator as winograd
from tvmlite.techniques.winograd.matrices import FILTERINGS, WINDOW, Filtering, stated_error

FILTERED = ("float32", "float64")
"""The dtypes that there are kernels for."""

FLOPS_PER_BYTE = 8
"""Floating-point operations of a core in the time that a byte of a weight takes from memory.

That is not asked of ``te.cost``: by the bandwidth that a Zen 4 has been measured to have, 3.3, F(4, 3) would
be as quick as F(2, 3) on 7x7 pixels of 512 channels, and took 1.71 ms there, F(2, 3) 1.24: transformed
weights come slower than a plain stream."""

TRANSFORM_FLOPS = 20
"""Floating-point operations in the time that the transforms take for an element of a tile, there or back."""

PAIR = 2
"""How many times as quick products of pairs of bfloat16 are, and reading them."""

PAIRED = "2i"
"""How the layout of a weight of pairs ends."""

COPY_FLOPS = 60
"""Floating-point operations in the time that an element takes from one layout to the other."""


def apply_winograd(
    error_bound: float = 1e-4, pairs: bool = False, decisions: Decisions | None = None
) -> Callable[[Module], Module]:
    """The pass that allows errors up to ``error_bound``, to be run when channels are in blocks
    (``alter_op_layout``). With ``pairs``, convolutions of bfloat16 by pairs may be filterings of float32, of
    what was rounded. A bound that is negative or no finite number is a ConfigError."""
    checked_bound(error_bound)

    def apply_winograd(module: Module) -> Module:
        return map_functions(
            module, lambda body: rewrite(body, lambda node: _rule(node, error_bound, pairs, decisions))
        )

    return apply_winograd


def checked_bound(error_bound: float) -> None:
    """A ConfigError if ``error_bound`` is none."""
    if not (isinstance(error_bound, (int, float)) and 0 <= error_bound < math.inf):
        raise ConfigError(f"error_bound is {error_bound!r}, expected a relative error such as 1e-4, or 0")


def _rule(node: Expr, bound: float, pairs: bool, decisions: Decisions | None) -> Expr:
    """``node`` in the way that was decided for, by default the quickest by estimate."""
    ways = {way.name: way for way in alternatives(node, bound, pairs)}
    if len(ways) < 2:
        return node
    assert isinstance(node, Call)
    default = min(ways.values(), key=lambda way: way.cost).name
    return ways[decide(decisions, "winograd", lambda: [[node]], tuple(ways), default)].made


@dataclass(frozen=True)
class Way:
    """A way to compute a convolution: what it is called, ``direct`` or as the filtering, an expression, and
    its estimated time in floating-point operations."""

    name: str
    made: Expr
    cost: float


def alternatives(node: Expr, bound: float, pairs: bool = False) -> list[Way]:
    """The ways to compute the convolution ``node`` with errors up to ``bound``, the direct one first; none if
    it is no convolution on blocks that there are filterings for."""
    wide = _widened(node) if pairs else None
    match wide or node:
        case (
            Call(
                op="nn.contrib_conv2d_NCHWc", args=(data, Call("layout_transform", (Constant() as weight,)))
            ) as convolution
        ):
            type_ = tensor_type_of(weight)
            block = windows.known(tensor_type_of(convolution.args[1]).shape)[-1]
            if not _is_suitable(convolution, type_, block):
                return []
            channels = windows.known(type_.shape)[1]
            allowed = [
                one for one in FILTERINGS.values() if stated_error(one, channels, type_.dtype) <= bound
            ]
            direct = _cost(convolution, type_, None) / (1 if wide is None else PAIR)
            ways = [Way("direct", node, direct)]
            for one in allowed:
                made = _replaced(convolution, data, weight, one, block)
                ways.append(Way(f"F({one.outputs}, 3)", made, _cost(convolution, type_, one)))
            return ways
    return []


def _widened(node: Expr) -> Call | None:
    """A convolution of bfloat16 by pairs as one of float32; None if ``node`` is none."""
    match node:
        case Call(
            op="nn.contrib_conv2d_NCHWc",
            args=(data, Call("layout_transform", (Constant() as weight,)) as packed),
        ) if str(packed["dst_layout"]).endswith(PAIRED):
            layout = str(packed["dst_layout"]).removesuffix(PAIRED)
            same = DeferredConstant.of_call(
                make("cast", weight, dtype="float32", span=weight.span or node.span)
            )
            blocks = make("layout_transform", same, src_layout="OIHW", dst_layout=layout, span=node.span)
            args = (make("cast", data, dtype="float32", span=node.span), blocks)
            return replace(node, args=args, attrs=canonical({**dict(node.attrs), "kernel_layout": layout}))
    return None


def _is_suitable(node: Call, weight: TensorType, block: int) -> bool:
    """Whether ``node`` has dense windows of 3 x 3 side by side, in one group, and blocks of one size."""
    dense = (
        windows.spatial(node, "strides", 2) == windows.spatial(node, "dilation", 2) == (1, 1)
        and weight.shape[2:] == (WINDOW, WINDOW)
        and node["groups"] == 1
    )
    kinds = {tensor_type_of(one).dtype for one in (node, *node.args)}
    return (
        dense
        and len(kinds) == 1
        and kinds <= set(FILTERED)
        and windows.block_of(node, "data_layout", 2) in (0, block)
    )


def _cost(node: Call, weight: TensorType, filtering: Filtering | None) -> float:
    """Estimated time in floating-point operations of one image; ``None``: the direct convolution."""
    result, data = tensor_type_of(node), tensor_type_of(node.args[0])
    outputs, inputs = (likely(extent) for extent in weight.shape[:2])
    height, width = (likely(extent) for extent in result.shape[2:4])
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
    return math.prod(likely(extent) for extent in plain.shape[1:])


def _replaced(node: Call, data: Expr, weight: Expr, filtering: Filtering, block: int) -> Expr:
    """``node`` by ``filtering``; what is not in blocks is brought there and back."""
    layout, size = blocked_layout(2, block), filtering.outputs
    transformed = make(winograd.WEIGHT_TRANSFORM, weight, tile_size=size, span=node.span)
    packed = make(
        "layout_transform", transformed, src_layout="HWOI", dst_layout=f"OHWI{block}o", span=node.span
    )
    if not windows.block_of(node, "data_layout", 2):
        data = make("layout_transform", data, src_layout="NCHW", dst_layout=layout, span=node.span)
    attrs = {
        **dict(node.attrs),
        "tile_size": size,
        "data_layout": layout,
        "out_layout": layout,
        "kernel_layout": f"OHWI{block}o",
    }
    made: Expr = Call(winograd.CONVOLUTION, (data, packed), canonical(attrs), node.span)
    if conv_blocked.written_block(node, 2):
        return made
    made = make("layout_transform", made, src_layout=layout, dst_layout="NCHW", span=node.span)
    channels = tensor_type_of(node).shape[1]
    if channels % block:
        made = make(
            "strided_slice", made, begin=(0,), end=(channels,), strides=(1,), axes=(1,), span=node.span
        )
    return made
