"""How operators deal with channels in blocks: which values must share a layout, and what a call becomes.

A value in blocks is a tensor ``(n, c, spatial..)`` laid out as ``(n, c / block, spatial.., block)``, its last
block filled up with whatever. Three kinds of operators deal in them: convolutions read and write either
layout; the tied ones write the layout they read; all others know channels-first only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple, canonical, constant
from tvmlite.relay.ir.op import Fuse, make
from tvmlite.relay.ir.types import Dim, TensorType, dims_of, evaluate_dim
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.ops.conv import sum_dtype
from tvmlite.relay.passes.patterns import WITHOUT_AXES
from tvmlite.techniques.blocked_conv import conv_blocked, row_windows
from tvmlite.techniques.common import amx
from tvmlite.techniques.common.dot import multiplies_bytes, multiplies_quads
from tvmlite.techniques.common.quads import QUAD

CONVOLVED = ("float32", "float64", "bfloat16", "float16")
"""The dtypes of operands that convolutions on blocks have kernels for."""

LIKELY_EXTENT = 128
"""What a named dimension is taken for where layouts are weighed against each other; more where an extent
would not be positive, as a window of 512 samples has no place in 128."""

LARGEST_LIKELY_EXTENT = 1 << 20

FEW_CHANNELS = 4
"""Convolutions with no more output channels than this would waste most of a vector of channels."""

TILE_BLOCK = amx.KINDS["bfloat16"].depth
"""The channels of bfloat16 that AMX's tiles multiply at once."""

BYTE_BLOCK = amx.KINDS["uint8"].depth
"""The channels of bytes that they multiply at once."""

_RANKS = {f"nn.conv{rank}d": rank for rank in (1, 2, 3)}
_POOLS = {f"nn.{kind}_pool{rank}d": rank for kind in ("max", "avg") for rank in (1, 2, 3)}
_POOLS |= {"nn.global_max_pool2d": 2, "nn.global_avg_pool2d": 2}
_RESIZES = {f"image.resize{rank}d": rank for rank in (1, 2, 3)}
_REDUCTIONS = ("mean", "max", "min", "sum")


def blocked_layout(rank: int, block: int) -> str:
    """``NCHW16c``, for ``rank`` spatial axes."""
    return f"{windows.LAYOUTS[rank]}{block}c"


def relayout(value: Expr, source: str, target: str, span: Span | None = None) -> Expr:
    """``value``, which is in the layout ``source``, in ``target``."""
    return make("layout_transform", value, src_layout=source, dst_layout=target, span=span)


def from_blocks(value: Expr, block: int, channels: int, span: Span | None) -> Expr:
    """``value`` in blocks of ``block`` channels channels-first, without what fills up the last block."""
    rank = tensor_type_of(value).ndim - 3
    made = relayout(value, blocked_layout(rank, block), windows.LAYOUTS[rank], span)
    if channels % block:
        cut = {"begin": (0,), "end": (channels,), "strides": (1,), "axes": (1,)}
        made = make("strided_slice", made, span=span, **cut)
    return made


def spatial_rank(value: Expr) -> int | None:
    """The number of spatial axes of a value that may be in blocks: its channels are a number. Else None."""
    type_ = type_of(value)
    if not isinstance(type_, TensorType) or type_.ndim - 2 not in windows.LAYOUTS:
        return None
    return type_.ndim - 2 if isinstance(type_.shape[1], int) else None


def likely(extent: Dim) -> int:
    """``extent``, named dimensions taken for likely ones: a positive number."""
    names, size = dims_of(extent), LIKELY_EXTENT
    while (value := evaluate_dim(extent, dict.fromkeys(names, size))) < 1 and size < LARGEST_LIKELY_EXTENT:
        size *= 2
    return max(value, 1)


def channels_of(value: Expr) -> int:
    """The channels of a value that may be in blocks."""
    channels = tensor_type_of(value).shape[1]
    assert isinstance(channels, int)
    return channels


# --- convolutions -------------------------------------------------------------------------------


def is_convolution(node: Expr, lanes: int) -> bool:
    """Whether ``node`` is a convolution, not depthwise, with a kernel for vectors of ``lanes`` channels."""
    match node:
        case Call(op=str() as name, args=(_, Constant() as weight)) if name in _RANKS and _is_plain(node):
            outputs, groups = weight.shape[0], node["groups"]
            if groups > 1 and (weight.shape[1] == 1 or outputs % (groups * lanes)):
                return False
            return outputs > FEW_CHANNELS and spatial_rank(node.args[0]) is not None
    return False


def _is_plain(node: Call) -> bool:
    """Whether a convolution is channels-first, of dtypes for which there are kernels on blocks."""
    kinds = {tensor_type_of(one).dtype for one in node.args}
    if not _is_channels_first(node) or len(kinds) != 1 or not kinds <= set(CONVOLVED):
        return False
    kind, made = kinds.pop(), tensor_type_of(node).dtype
    return made in (kind, sum_dtype(kind))


def is_float_convolved(node: Call) -> bool:
    """Whether ``node`` has operands and a result of one of the dtypes ``CONVOLVED``."""
    kinds = {tensor_type_of(one).dtype for one in node.args}
    return len(kinds) == 1 and kinds <= set(CONVOLVED) and tensor_type_of(node).dtype in CONVOLVED


def _is_channels_first(node: Call) -> bool:
    rank = _RANKS[str(node.op)]
    layouts = (node["data_layout"], node["kernel_layout"], node["out_layout"] or node["data_layout"])
    return layouts == (windows.LAYOUTS[rank], conv_blocked.WEIGHT_LAYOUTS[rank], windows.LAYOUTS[rank])


def convolution(node: Call, data: Expr, read: int, written: int, target: Target) -> Call:
    """The convolution ``node`` of ``data`` in blocks of ``read`` channels (0: none), its result in blocks of
    ``written``; without blocks of its own it is computed in vectors of channels of ``target``."""
    rank, block = _RANKS[str(node.op)], written or lanes_of(node, target)
    if not read and written in (TILE_BLOCK, TILE_BLOCK // 2) and _takes_row_windows(node, target):
        return _convolution_of_row_windows(node, data, written)
    weight = node.args[1]
    paired = _takes_pairs(node, read, target)
    if paired and read == written == TILE_BLOCK and takes_tiles(node, target):
        return _tiled(node, data)
    together = 2 if paired else QUAD if quad_block(node, target) else 1
    if together == QUAD and read == written == BYTE_BLOCK and takes_tiles(node, target):
        return _tiled(node, data, block=BYTE_BLOCK)
    plain = conv_blocked.WEIGHT_LAYOUTS[rank]
    layout = conv_blocked.weight_layout(rank, block, together=together)
    attrs = {
        **dict(node.attrs),
        "data_layout": blocked_layout(rank, read) if read else windows.LAYOUTS[rank],
        "out_layout": blocked_layout(rank, written) if written else windows.LAYOUTS[rank],
        "kernel_layout": layout,
        "channels": channels_of(node),
    }
    packed = relayout(weight, plain, layout, node.span)
    return Call(conv_blocked.name_of(rank), (data, packed), canonical(attrs), node.span)


def quad_block(node: Expr, target: Target) -> int:
    """The channels in a block of data of a convolution of bytes that ``target`` multiplies four at
    once; 0: ``node`` is none."""
    match node:
        case Call(op=str() as name, args=(data, Constant() as weight)) if (
            name in _RANKS and _is_channels_first(node)
        ):
            lanes = multiplies_quads(target)
            if not multiplies_bytes(target, tensor_type_of(data).dtype, str(weight.dtype)):
                return 0
            if tensor_type_of(node).dtype != "int32" or spatial_rank(data) is None:
                return 0
            if weight.shape[0] < lanes or target.lanes("int32") % lanes:
                return 0
            (outputs, inputs), groups = weight.shape[:2], node["groups"]
            if groups > 1 and (inputs % QUAD or outputs % (groups * target.lanes("int32"))):
                return 0
            return min(4 * QUAD, -(-inputs * groups // QUAD) * QUAD)
    return 0


def takes_tiles(node: Expr, target: Target) -> bool:
    """Whether the call ``node`` is a convolution that could be computed in AMX's tiles, channels in
    blocks."""
    match node:
        case Call(op=str() as name, args=(data, Constant() as weight)) if name in _RANKS:
            kind = amx.KINDS.get(tensor_type_of(data).dtype)
            if kind is None or not target.has(kind.needs) or node["groups"] != 1:
                return False
            known = _is_plain(node) if kind.kernel == kind.data == "bfloat16" else quad_block(node, target)
            return bool(known) and not (weight.shape[0] % kind.depth or weight.shape[1] % kind.depth)
    return False


def tile_block(values: Iterable[Expr], target: Target) -> int:
    """The block of channels in which ``values``, of one region, may be read by tiles, and gain by it: some
    are bfloat16, or bytes, of whole blocks all; 0 if they may not."""
    found = list(values)
    for value in found:
        if isinstance(value, Call) and value.op in _RANKS and value["groups"] not in (1, channels_of(value)):
            return 0
    dtypes = {tensor_type_of(value).dtype for value in found}
    for kind in amx.KINDS.values():
        whole = not any(channels_of(value) % kind.depth for value in found)
        if kind.data in dtypes and target.has(kind.needs) and whole:
            return kind.depth
    return 0


def _takes_row_windows(node: Call, target: Target) -> bool:
    """Whether rows of the window of ``node``, on an image of few channels, fill a tile's steps."""
    data, weight = (tensor_type_of(arg) for arg in node.args)
    if not target.has(amx.KINDS["bfloat16"].needs) or node.op != "nn.conv2d" or data.dtype != "bfloat16":
        return False
    shape = [n for n in weight.shape if isinstance(n, int)]
    if len(shape) < 4 or not all(isinstance(n, int) for n in data.shape):
        return False
    outputs, channels, _, wide = shape
    few = channels <= row_windows.CHANNELS and 2 < wide <= row_windows.PLACES and outputs % TILE_BLOCK == 0
    plain = node["groups"] == 1 and set(windows.spatial(node, "dilation", 2)) == {1}
    return few and plain and sum_dtype(tensor_type_of(node).dtype) == "float32"


def _convolution_of_row_windows(node: Call, data: Expr, written: int) -> Call:
    """``node`` with the places of a row of its window in place of channels."""
    weight = node.args[1]
    assert isinstance(weight, Constant)
    (outputs, channels, high, wide), (down, along) = weight.shape, windows.spatial(node, "strides", 2)
    (top, left), (bottom, right) = windows.padding_of(node, 2)
    turned = np.zeros((outputs, row_windows.CHANNELS, row_windows.PLACES, high, 1), weight.dtype)
    turned[:, :channels, :wide, :, 0] = weight.data.transpose(0, 1, 3, 2)
    turned = turned.reshape(outputs, -1, high, 1)
    padding = (top, left, bottom, right)
    rows = make("nn.contrib_strips", data, width=wide, stride=along, padding=padding, span=node.span)
    own = {"kernel_size": (high, 1), "strides": (down, 1), "padding": (0, 0)}
    return _tiled(node, rows, turned, written, own)


def _tiled(
    node: Call,
    data: Expr,
    weight: np.ndarray | None = None,
    block: int = TILE_BLOCK,
    own: Mapping[str, object] | None = None,
) -> Call:
    """The convolution ``node`` of ``data`` in blocks that tiles take, its result in those of
    ``block``, with its weight and attributes, or ``weight`` and its ``own``."""
    rank, given = _RANKS[str(node.op)], node.args[1]
    assert isinstance(given, Constant)
    together = amx.KINDS[tensor_type_of(node.args[0]).dtype].together
    packed = conv_blocked.tiled_weight(given.data if weight is None else weight, amx.LANES, together)
    attrs = {
        **dict(node.attrs),
        "data_layout": blocked_layout(rank, together * amx.STEPS),
        "out_layout": blocked_layout(rank, block),
        "kernel_layout": conv_blocked.weight_layout(rank, amx.LANES, together=together, tiled=True),
        "channels": channels_of(node),
        **(own or {}),
    }
    return Call(conv_blocked.name_of(rank), (data, Constant(packed, node.span)), canonical(attrs), node.span)


def lanes_of(value: Expr, target: Target) -> int:
    """How many elements of ``value`` are worked on at once: halves are, as float32, and bytes as the int32
    that they are summed up in."""
    dtype = tensor_type_of(value).dtype
    return target.lanes("int32" if dtype in ("int8", "uint8") else sum_dtype(dtype))


def _takes_pairs(node: Call, read: int, target: Target) -> bool:
    """Whether ``target`` multiplies two bfloat16 at once, and the channels that ``node`` reads, in blocks of
    ``read``, are whole pairs, or copied anyway."""
    data, weight = (tensor_type_of(arg) for arg in node.args)
    if data.dtype != "bfloat16" or sum_dtype(tensor_type_of(node).dtype) != "float32":
        return False
    if not target.has("avx512bf16"):
        return False
    even = isinstance(weight.shape[1], int) and weight.shape[1] % 2 == 0
    return even and read % 2 == 0 if read or node["groups"] != 1 else True


# --- tied operators -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Tied:
    """An operator whose result is in blocks if, and only if, the values ``ties`` are.

    ``convert(block, args)`` is the call on blocks; ``args`` are the call's own, the fields of a tuple spread
    out: the ties in blocks, the others as they were.
    """

    ties: tuple[Expr, ...]
    convert: Callable[[int, tuple[Expr, ...]], Expr]


def tied(node: Expr, lanes: int) -> Tied | None:
    """How the call ``node`` deals in blocks of up to ``lanes`` channels; None if it does not."""
    if not isinstance(node, Call) or not isinstance(node.op, str) or spatial_rank(node) is None:
        return None
    name = node.op
    if name in _RANKS:
        return _depthwise(node)
    if name in _POOLS or name in _RESIZES:
        return _windowed(node)
    if name in _REDUCTIONS:
        return _reduction(node)
    if name == "nn.pad":
        return _pad(node)
    if name == "nn.contrib_interleave":
        return _interleaving(node, lanes)
    if name == "concatenate":
        return _concatenation(node, lanes)
    if name in ("nn.bias_add", "nn.prelu"):
        return _per_channel(node)
    if name == "assume_shape":
        return _assumption(node)
    row = operators.get(name, node.span)
    if row.fuse == Fuse.ELEMWISE and len(node.args) > 1:
        return _with_scalars(node)
    if row.fuse <= Fuse.BROADCAST and row.num_inputs and row.attrs.keys() <= WITHOUT_AXES:
        return _elementwise(node)
    return None


def is_elementwise(node: Expr) -> bool:
    """Whether vectors of pixels do for the tied call ``node`` as well as vectors of channels."""
    assert isinstance(node, Call)
    return not str(node.op).startswith("nn.conv") and "pool" not in str(node.op)


def _ndim(node: Expr) -> int:
    return tensor_type_of(node).ndim


def _with(node: Call, args: tuple[Expr, ...], **attrs: object) -> Call:
    return Call(node.op, args, canonical({**dict(node.attrs), **attrs}), node.span)


def _depthwise(node: Call) -> Tied | None:
    data, weight = node.args
    if not isinstance(weight, Constant) or spatial_rank(data) is None:
        return None
    if not _is_plain(node) and not (_is_channels_first(node) and _is_of_bytes(node)):
        return None
    if not node["groups"] == weight.shape[0] == channels_of(data) or weight.shape[1] != 1:
        return None
    rank = _RANKS[str(node.op)]

    def convert(block: int, args: tuple[Expr, ...]) -> Expr:
        layout = conv_blocked.weight_layout(rank, block, depthwise=True)
        packed = relayout(weight, conv_blocked.WEIGHT_LAYOUTS[rank], layout, node.span)
        attrs = {
            **dict(node.attrs),
            "data_layout": blocked_layout(rank, block),
            "out_layout": "",
            "kernel_layout": layout,
        }
        return Call(conv_blocked.name_of(rank, True), (args[0], packed), canonical(attrs), node.span)

    return Tied((data,), convert)


def _is_of_bytes(node: Call) -> bool:
    """Whether ``node`` multiplies bytes, its weight's int8, and sums up in float32."""
    data, *kinds = *(tensor_type_of(arg).dtype for arg in node.args), tensor_type_of(node).dtype
    return data in ("uint8", "int8") and kinds == ["int8", "float32"]


def _windowed(node: Call) -> Tied | None:
    """Poolings and resizings: the layout is an attribute."""
    rank = {**_POOLS, **_RESIZES}[str(node.op)]
    if node["layout"] != windows.LAYOUTS[rank] or node.get("out_layout"):
        return None
    return Tied(node.args, lambda block, args: _with(node, args, layout=blocked_layout(rank, block)))


def _reduction(node: Call) -> Tied | None:
    """Reductions of spatial axes, which keep their places."""
    axes, rank = node["axis"], _ndim(node.args[0])
    if not node["keepdims"] or node.get("exclude") or axes is None:
        return None
    several = tuple(axis % rank for axis in (axes if isinstance(axes, tuple) else (axes,)))
    if min(several, default=0) < 2:
        return None
    return Tied(node.args, lambda block, args: _with(node, args, axis=several))


def _pad(node: Call) -> Tied | None:
    widths = node["pad_width"]
    if any(not isinstance(width, int) or width for pair in widths[:2] for width in pair):
        return None
    return Tied(node.args[:1], lambda block, args: _with(node, args, pad_width=(*widths, (0, 0))))


def _interleaving(node: Call, lanes: int) -> Tied | None:
    """Phases of whole blocks."""
    if channels_of(node) % lanes or spatial_rank(node.args[0]) is None:
        return None
    return Tied(node.args, lambda block, args: _with(node, args))


def _concatenation(node: Call, lanes: int) -> Tied | None:
    """Along the channels if all but the last have whole blocks, or along any other axis."""
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


def _assumption(node: Call) -> Tied | None:
    """What is assumed of the extents besides the channels."""
    (data,), shape = node.args, node["newshape"]
    if spatial_rank(data) is None or channels_of(data) != channels_of(node):
        return None

    def convert(block: int, args: tuple[Expr, ...]) -> Expr:
        blocks = -(-channels_of(node) // block)
        return _with(node, args, newshape=(shape[0], blocks, *shape[2:], block))

    return Tied((data,), convert)


def _elementwise(node: Call) -> Tied | None:
    """Arguments with the channels of the result are tied; others are spread out to be broadcast."""
    rank = _ndim(node)
    ties = tuple(arg for arg in node.args if _has_channels(arg, node))
    if not ties:
        return None

    def convert(block: int, args: tuple[Expr, ...]) -> Expr:
        given = (b if a in ties else spread(b, rank, block) for a, b in zip(node.args, args, strict=True))
        return _with(node, tuple(given))

    return Tied(ties, convert)


def _with_scalars(node: Call) -> Tied | None:
    """Operators of a tensor and of numbers that hold for all its elements, as quantization's are."""
    data, *others = node.args
    if not all(is_one(extent) for other in others for extent in tensor_type_of(other).shape):
        return None
    return Tied((data,), lambda block, args: _with(node, args))


def _per_channel(node: Call) -> Tied | None:
    """Operators of a tensor and a vector that has a value for each channel."""
    data, rank = node.args[0], _ndim(node)
    if node["axis"] % rank != 1 or spatial_rank(data) is None:
        return None

    def convert(block: int, args: tuple[Expr, ...]) -> Expr:
        x, spread_out = args[0], spread_vector(args[1], rank, block)
        if node.op == "nn.bias_add":
            return make("add", x, spread_out, span=node.span)
        positive = make("greater", x, constant(0, tensor_type_of(data).dtype), span=node.span)
        return make("where", positive, x, make("multiply", x, spread_out, span=node.span), span=node.span)

    return Tied((data,), convert)


def _has_channels(arg: Expr, node: Call) -> bool:
    """Whether ``arg`` has as many axes and channels as the result of ``node``, and is no constant."""
    if isinstance(arg, Constant) or _ndim(arg) != _ndim(node) or spatial_rank(arg) is None:
        return False
    return channels_of(arg) == channels_of(node)


def spread_vector(vector: Expr, rank: int, block: int) -> Expr:
    """A value for each channel, ``(c,)``, so that it broadcasts to a tensor in blocks, once ``rank`` axes."""
    return make("expand_dims", relayout(vector, "C", f"C{block}c"), axis=1, num_newaxis=rank - 2)


def spread(value: Expr, rank: int, block: int) -> Expr:
    """``value``, which broadcasts to a tensor of ``rank`` axes, so that it does to that tensor in blocks."""
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
