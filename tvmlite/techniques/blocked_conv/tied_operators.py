"""Tied operators, which write the layout they read, and the calls that replace them on channels in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple, canonical, constant
from tvmlite.relay.ir.op import Fuse, is_anchor, make
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.passes.patterns import WITHOUT_AXES
from tvmlite.techniques.blocked_conv import conv_blocked
from tvmlite.techniques.blocked_conv.layout_rules import (
    RANKS,
    blocked_layout,
    channels_of,
    has_blocked_kernel,
    is_channels_first,
    relayout,
    spatial_rank,
)

_WINDOWED = {f"nn.{kind}_pool{rank}d": rank for kind in ("max", "avg") for rank in (1, 2, 3)}
_WINDOWED |= {"nn.global_max_pool2d": 2, "nn.global_avg_pool2d": 2}
_WINDOWED |= {f"image.resize{rank}d": rank for rank in (1, 2, 3)}
"""Poolings and resizes, with the number of their spatial axes."""


@dataclass(frozen=True)
class Tied:
    """An operator whose result is in blocks if, and only if, the values ``ties`` are.

    ``convert(block, args)`` is the call on blocks; ``args`` are the call's arguments, or the fields of its
    tuple: those in ``ties`` in blocks, the others unchanged.
    """

    ties: tuple[Expr, ...]
    convert: Callable[[int, tuple[Expr, ...]], Expr]


def is_elementwise(node: Expr) -> bool:
    """Whether the tied call ``node`` is as fast on vectors of pixels as on vectors of channels."""
    return not is_anchor(node)


def _ndim(node: Expr) -> int:
    return tensor_type_of(node).ndim


def _with(node: Call, args: tuple[Expr, ...], **attrs: object) -> Call:
    return Call(node.op, args, canonical({**dict(node.attrs), **attrs}), node.span)


def _depthwise(node: Call, lanes: int) -> Tied | None:
    data, weight = node.args
    if not isinstance(weight, Constant) or spatial_rank(data) is None:
        return None
    if not has_blocked_kernel(node) and not (is_channels_first(node) and _is_of_bytes(node)):
        return None
    if not node["groups"] == weight.shape[0] == channels_of(data) or weight.shape[1] != 1:
        return None
    rank = RANKS[str(node.op)]

    def convert(block: int, args: tuple[Expr, ...]) -> Expr:
        layout = conv_blocked.weight_layout(rank, block, depthwise=True)
        packed = relayout(weight, conv_blocked.WEIGHT_LAYOUTS[rank], layout, node.span)
        attrs = {
            **dict(node.attrs),
            "data_layout": blocked_layout(rank, block),
            "out_layout": "",
            "kernel_layout": layout,
        }
        return Call(conv_blocked.operator_name(rank, True), (args[0], packed), canonical(attrs), node.span)

    return Tied((data,), convert)


def _is_of_bytes(node: Call) -> bool:
    """Whether ``node`` multiplies bytes by a weight of int8 and sums in float32."""
    data, *kinds = *(tensor_type_of(arg).dtype for arg in node.args), tensor_type_of(node).dtype
    return data in ("uint8", "int8") and kinds == ["int8", "float32"]


def _windowed(node: Call, lanes: int) -> Tied | None:
    """Poolings and resizes: the layout is an attribute."""
    rank = _WINDOWED[str(node.op)]
    if node["layout"] != windows.LAYOUTS[rank] or node.get("out_layout"):
        return None
    return Tied(node.args, lambda block, args: _with(node, args, layout=blocked_layout(rank, block)))


def _reduction(node: Call, lanes: int) -> Tied | None:
    """Reductions of spatial axes with ``keepdims``; the axes keep their numbers."""
    axes, rank = node["axis"], _ndim(node.args[0])
    if not node["keepdims"] or node.get("exclude") or axes is None:
        return None
    several = tuple(axis % rank for axis in (axes if isinstance(axes, tuple) else (axes,)))
    if min(several, default=0) < 2:
        return None
    return Tied(node.args, lambda block, args: _with(node, args, axis=several))


def _pad(node: Call, lanes: int) -> Tied | None:
    widths = node["pad_width"]
    if any(not isinstance(width, int) or width for pair in widths[:2] for width in pair):
        return None
    return Tied(node.args[:1], lambda block, args: _with(node, args, pad_width=(*widths, (0, 0))))


def _interleaving(node: Call, lanes: int) -> Tied | None:
    """``nn.contrib_interleave``, if each phase has whole blocks."""
    if channels_of(node) % lanes or spatial_rank(node.args[0]) is None:
        return None
    return Tied(node.args, lambda block, args: _with(node, args))


def _concatenation(node: Call, lanes: int) -> Tied | None:
    """Concatenations along channels, if all fields but the last have whole blocks, or along other axes."""
    if not isinstance(node.args[0], Tuple):
        return None
    fields, axis = node.args[0].fields, node["axis"] % _ndim(node)
    if axis == 1 and any(channels_of(field) % lanes for field in fields[:-1] if spatial_rank(field)):
        return None
    if any(spatial_rank(field) is None for field in fields):
        return None

    def convert(block: int, args: tuple[Expr, ...]) -> Expr:
        return _with(node, (Tuple(args, node.span),), axis=axis)

    return Tied(fields, convert)


def _assumption(node: Call, lanes: int) -> Tied | None:
    """``assume_shape``, if it leaves the channels unchanged."""
    (data,), shape = node.args, node["newshape"]
    if spatial_rank(data) is None or channels_of(data) != channels_of(node):
        return None

    def convert(block: int, args: tuple[Expr, ...]) -> Expr:
        blocks = -(-channels_of(node) // block)
        return _with(node, args, newshape=(shape[0], blocks, *shape[2:], block))

    return Tied((data,), convert)


def _elementwise(node: Call) -> Tied | None:
    """Element-wise operators: arguments with the result's channels are tied, others are made to broadcast."""
    rank = _ndim(node)
    ties = tuple(arg for arg in node.args if _has_channels(arg, node))
    if not ties:
        return None

    def convert(block: int, args: tuple[Expr, ...]) -> Expr:
        given = (
            b if a in ties else broadcast_to_blocks(b, rank, block)
            for a, b in zip(node.args, args, strict=True)
        )
        return _with(node, tuple(given))

    return Tied(ties, convert)


def _with_scalars(node: Call) -> Tied | None:
    """Operators of a tensor and scalars, such as those of quantization."""
    data, *others = node.args
    if not all(is_one(extent) for other in others for extent in tensor_type_of(other).shape):
        return None
    return Tied((data,), lambda block, args: _with(node, args))


def _per_channel(node: Call, lanes: int) -> Tied | None:
    """Operators of a tensor and a vector with one value per channel."""
    data, rank = node.args[0], _ndim(node)
    if node["axis"] % rank != 1 or spatial_rank(data) is None:
        return None

    def convert(block: int, args: tuple[Expr, ...]) -> Expr:
        x, factors = args[0], broadcast_vector(args[1], rank, block)
        if node.op == "nn.bias_add":
            return make("add", x, factors, span=node.span)
        positive = make("greater", x, constant(0, tensor_type_of(data).dtype), span=node.span)
        return make("where", positive, x, make("multiply", x, factors, span=node.span), span=node.span)

    return Tied((data,), convert)


def _has_channels(arg: Expr, node: Call) -> bool:
    """Whether ``arg`` has the rank and channels of the result of ``node``, and is not a constant."""
    if isinstance(arg, Constant) or _ndim(arg) != _ndim(node) or spatial_rank(arg) is None:
        return False
    return channels_of(arg) == channels_of(node)


def broadcast_vector(vector: Expr, rank: int, block: int) -> Expr:
    """``vector (c,)`` reshaped to broadcast to a tensor of ``rank`` axes that is in blocks."""
    return make("expand_dims", relayout(vector, "C", f"C{block}c"), axis=1, num_newaxis=rank - 2)


def broadcast_to_blocks(value: Expr, rank: int, block: int) -> Expr:
    """``value``, which broadcasts to a tensor of ``rank`` axes, such that it broadcasts to that in blocks."""
    type_ = tensor_type_of(value)
    if all(isinstance(extent, int) and extent == 1 for extent in type_.shape):
        return value
    if type_.ndim < rank - 1:
        return make("expand_dims", value, axis=-1)
    if type_.ndim < rank:
        value = make("expand_dims", value, axis=0)
    if spatial_rank(value) is not None and channels_of(value) == 1:
        return make("expand_dims", value, axis=-1)
    return relayout(value, windows.LAYOUTS[rank - 2], blocked_layout(rank - 2, block))


Rule = Callable[[Call, int], Tied | None]

_RULES: dict[str, Rule] = {
    **dict.fromkeys(RANKS, _depthwise),
    **dict.fromkeys(_WINDOWED, _windowed),
    **dict.fromkeys(("mean", "max", "min", "sum"), _reduction),
    "assume_shape": _assumption,
    "concatenate": _concatenation,
    "nn.bias_add": _per_channel,
    "nn.contrib_interleave": _interleaving,
    "nn.pad": _pad,
    "nn.prelu": _per_channel,
}
"""The rules of operators whose attributes name axes or layouts; a rule gets the call and the number of
channels in a vector. Of the other operators, the element-wise ones are tied."""


def tied(node: Expr, lanes: int) -> Tied | None:
    """How the call ``node`` is computed on blocks of up to ``lanes`` channels; None if it is not tied."""
    if not isinstance(node, Call) or not isinstance(node.op, str) or spatial_rank(node) is None:
        return None
    rule = _RULES.get(node.op)
    if rule is not None:
        return rule(node, lanes)
    row = operators.get(node.op, node.span)
    if row.fuse == Fuse.ELEMWISE and len(node.args) > 1:
        return _with_scalars(node)
    if row.fuse <= Fuse.BROADCAST and row.num_inputs and row.attrs.keys() <= WITHOUT_AXES:
        return _elementwise(node)
    return None
