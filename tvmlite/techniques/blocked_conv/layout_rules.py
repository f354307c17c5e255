"""Convolutions on channels in blocks: which are supported, and which call replaces a convolution.

A value in blocks is a tensor ``(n, c, spatial..)`` laid out as ``(n, c / block, spatial.., block)``, with
unspecified padding in its last block. Convolutions read and write either layout; tied operators
(``tied_operators``) write the layout they read; all others support channels-first only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, canonical
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import Dim, TensorType, dims_of, evaluate_dim
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.convolutions.conv import sum_dtype
from tvmlite.techniques.blocked_conv import conv_blocked, row_windows
from tvmlite.techniques.common import amx
from tvmlite.techniques.common.dot import multiplies_bytes, quad_lanes
from tvmlite.techniques.common.quads import QUAD

CONVOLUTION_DTYPES = ("float32", "float64", "bfloat16", "float16")
"""The dtypes of operands for which convolutions on blocks have kernels."""

LIKELY_EXTENT = 128
"""The assumed value of a named dimension when layouts are compared; larger if an extent would not be
positive, as a window of 512 samples does not fit in 128."""

LARGEST_LIKELY_EXTENT = 1 << 20

FEW_CHANNELS = 4
"""Convolutions with at most this many output channels would waste most of a vector of channels."""

TILE_BLOCK = amx.KINDS["bfloat16"].depth
"""The channels of bfloat16 in a tile product of AMX."""

BYTE_BLOCK = amx.KINDS["uint8"].depth
"""The channels of bytes in a tile product of AMX."""

RANKS = {f"nn.conv{rank}d": rank for rank in (1, 2, 3)}


def blocked_layout(rank: int, block: int) -> str:
    """The layout in blocks of ``block`` channels for ``rank`` spatial axes, such as ``NCHW16c``."""
    return f"{windows.LAYOUTS[rank]}{block}c"


def relayout(value: Expr, source: str, target: str, span: Span | None = None) -> Expr:
    """``value`` transformed from the layout ``source`` to ``target``."""
    return make("layout_transform", value, src_layout=source, dst_layout=target, span=span)


def from_blocks(value: Expr, block: int, channels: int, span: Span | None) -> Expr:
    """``value``, in blocks of ``block`` channels, as channels-first, without the last block's padding."""
    rank = tensor_type_of(value).ndim - 3
    made = relayout(value, blocked_layout(rank, block), windows.LAYOUTS[rank], span)
    if channels % block:
        cut = {"begin": (0,), "end": (channels,), "strides": (1,), "axes": (1,)}
        made = make("strided_slice", made, span=span, **cut)
    return made


def spatial_rank(value: Expr) -> int | None:
    """The number of spatial axes of ``value`` if it may be in blocks (its channels are known); else None."""
    type_ = type_of(value)
    if not isinstance(type_, TensorType) or type_.ndim - 2 not in windows.LAYOUTS:
        return None
    return type_.ndim - 2 if isinstance(type_.shape[1], int) else None


def likely_extent(extent: Dim) -> int:
    """A positive number: ``extent`` with likely values for named dimensions."""
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
    """Whether ``node`` is a convolution, not depthwise, with kernels for vectors of ``lanes`` channels."""
    match node:
        case Call(op=str() as name, args=(_, Constant() as weight)) if name in RANKS and has_blocked_kernel(
            node
        ):
            outputs, groups = weight.shape[0], node["groups"]
            if groups > 1 and (weight.shape[1] == 1 or outputs % (groups * lanes)):
                return False
            return outputs > FEW_CHANNELS and spatial_rank(node.args[0]) is not None
    return False


def has_blocked_kernel(node: Call) -> bool:
    """Whether a convolution is channels-first, with dtypes for which there are kernels on blocks."""
    kinds = {tensor_type_of(one).dtype for one in node.args}
    if not is_channels_first(node) or len(kinds) != 1 or not kinds <= set(CONVOLUTION_DTYPES):
        return False
    kind, made = kinds.pop(), tensor_type_of(node).dtype
    return made in (kind, sum_dtype(kind))


def is_float_convolution(node: Call) -> bool:
    """Whether the operands of ``node`` have one dtype, and it and the result's are in
    ``CONVOLUTION_DTYPES``."""
    kinds = {tensor_type_of(one).dtype for one in node.args}
    return (
        len(kinds) == 1
        and kinds <= set(CONVOLUTION_DTYPES)
        and tensor_type_of(node).dtype in CONVOLUTION_DTYPES
    )


def is_channels_first(node: Call) -> bool:
    """Whether data, weight and result of a convolution have the layouts of ONNX."""
    rank = RANKS[str(node.op)]
    layouts = (node["data_layout"], node["kernel_layout"], node["out_layout"] or node["data_layout"])
    return layouts == (windows.LAYOUTS[rank], conv_blocked.WEIGHT_LAYOUTS[rank], windows.LAYOUTS[rank])


def convolution(node: Call, data: Expr, read: int, written: int, target: Target) -> Call:
    """The convolution ``node`` of ``data`` in blocks of ``read`` channels (0: none), with its result in
    blocks of ``written`` (0: none). The weight has blocks of ``written``, or of a vector of ``target``."""
    rank, block = RANKS[str(node.op)], written or lanes_of(node, target)
    if not read and written in (TILE_BLOCK, TILE_BLOCK // 2) and _can_use_row_windows(node, target):
        return _convolution_of_row_windows(node, data, written)
    weight = node.args[1]
    paired = _can_use_pairs(node, read, target)
    if paired and read == written == TILE_BLOCK and can_use_tiles(node, target):
        return _tiled_convolution(node, data)
    interleaved = 2 if paired else QUAD if quad_block(node, target) else 1
    if interleaved == QUAD and read == written == BYTE_BLOCK and can_use_tiles(node, target):
        return _tiled_convolution(node, data, block=BYTE_BLOCK)
    plain = conv_blocked.WEIGHT_LAYOUTS[rank]
    layout = conv_blocked.weight_layout(rank, block, interleaved=interleaved)
    attrs = {
        **dict(node.attrs),
        "data_layout": blocked_layout(rank, read) if read else windows.LAYOUTS[rank],
        "out_layout": blocked_layout(rank, written) if written else windows.LAYOUTS[rank],
        "kernel_layout": layout,
        "channels": channels_of(node),
    }
    packed = relayout(weight, plain, layout, node.span)
    return Call(conv_blocked.operator_name(rank), (data, packed), canonical(attrs), node.span)


def quad_block(node: Expr, target: Target) -> int:
    """The channels in a block of data of ``node``, if it is a convolution of bytes of which ``target``
    multiplies four at once; else 0."""
    match node:
        case Call(op=str() as name, args=(data, Constant() as weight)) if name in RANKS and is_channels_first(
            node
        ):
            lanes = quad_lanes(target)
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


def can_use_tiles(node: Expr, target: Target) -> bool:
    """Whether ``node`` is a convolution that AMX's tiles could compute, with channels in blocks."""
    match node:
        case Call(op=str() as name, args=(data, Constant() as weight)) if name in RANKS:
            kind = amx.KINDS.get(tensor_type_of(data).dtype)
            if kind is None or not target.has(kind.needs) or node["groups"] != 1:
                return False
            known = (
                has_blocked_kernel(node)
                if kind.kernel == kind.data == "bfloat16"
                else quad_block(node, target)
            )
            return bool(known) and not (weight.shape[0] % kind.depth or weight.shape[1] % kind.depth)
    return False


def tile_block(values: Iterable[Expr], target: Target) -> int:
    """The block of channels with which AMX's tiles can read ``values``, of one region: some are bfloat16, or
    bytes, and all have whole blocks. 0 if there is none."""
    found = list(values)
    for value in found:
        if isinstance(value, Call) and value.op in RANKS and value["groups"] not in (1, channels_of(value)):
            return 0
    dtypes = {tensor_type_of(value).dtype for value in found}
    for kind in amx.KINDS.values():
        whole = not any(channels_of(value) % kind.depth for value in found)
        if kind.data in dtypes and target.has(kind.needs) and whole:
            return kind.depth
    return 0


def _can_use_row_windows(node: Call, target: Target) -> bool:
    """Whether ``node`` is computed on row windows: it has few channels, and the rows of its window fill a
    tile's steps well."""
    data, weight = (tensor_type_of(arg) for arg in node.args)
    if not target.has(amx.KINDS["bfloat16"].needs) or node.op != "nn.conv2d" or data.dtype != "bfloat16":
        return False
    shape = [n for n in weight.shape if isinstance(n, int)]
    if len(shape) < 4 or not all(isinstance(n, int) for n in data.shape):
        return False
    outputs, channels, _, wide = shape
    few = (
        channels <= row_windows.MOST_CHANNELS
        and 2 < wide <= row_windows.POSITIONS
        and outputs % TILE_BLOCK == 0
    )
    plain = node["groups"] == 1 and set(windows.spatial_attr(node, "dilation", 2)) == {1}
    return few and plain and sum_dtype(tensor_type_of(node).dtype) == "float32"


def _convolution_of_row_windows(node: Call, data: Expr, written: int) -> Call:
    """``node`` on row windows: with the positions of a row of its window in place of channels."""
    weight = node.args[1]
    assert isinstance(weight, Constant)
    (outputs, channels, high, wide), (down, along) = (
        weight.shape,
        windows.spatial_attr(node, "strides", 2),
    )
    (top, left), (bottom, right) = windows.padding_of(node, 2)
    transposed = np.zeros((outputs, row_windows.MOST_CHANNELS, row_windows.POSITIONS, high, 1), weight.dtype)
    transposed[:, :channels, :wide, :, 0] = weight.data.transpose(0, 1, 3, 2)
    transposed = transposed.reshape(outputs, -1, high, 1)
    padding = (top, left, bottom, right)
    rows = make("nn.contrib_strips", data, width=wide, stride=along, padding=padding, span=node.span)
    overrides = {"kernel_size": (high, 1), "strides": (down, 1), "padding": (0, 0)}
    return _tiled_convolution(node, rows, transposed, written, overrides)


def _tiled_convolution(
    node: Call,
    data: Expr,
    weight: np.ndarray | None = None,
    block: int = TILE_BLOCK,
    overrides: Mapping[str, object] | None = None,
) -> Call:
    """The convolution ``node`` of ``data`` in blocks for tiles, with its result in blocks of ``block``;
    ``weight`` replaces its weight, and ``overrides`` some of its attributes, if given."""
    rank, given = RANKS[str(node.op)], node.args[1]
    assert isinstance(given, Constant)
    interleaved = amx.KINDS[tensor_type_of(node.args[0]).dtype].interleaved
    packed = conv_blocked.tiled_weight(given.data if weight is None else weight, amx.LANES, interleaved)
    attrs = {
        **dict(node.attrs),
        "data_layout": blocked_layout(rank, interleaved * amx.STEPS),
        "out_layout": blocked_layout(rank, block),
        "kernel_layout": conv_blocked.weight_layout(rank, amx.LANES, interleaved=interleaved, tiled=True),
        "channels": channels_of(node),
        **(overrides or {}),
    }
    return Call(
        conv_blocked.operator_name(rank), (data, Constant(packed, node.span)), canonical(attrs), node.span
    )


def lanes_of(value: Expr, target: Target) -> int:
    """How many elements of ``value`` are computed at once: the lanes of the dtype it is summed in, float32
    for 16-bit floats and int32 for bytes."""
    dtype = tensor_type_of(value).dtype
    return target.lanes("int32" if dtype in ("int8", "uint8") else sum_dtype(dtype))


def _can_use_pairs(node: Call, read: int, target: Target) -> bool:
    """Whether ``target`` sums two products of bfloat16 at once, and the channels that ``node`` reads, in
    blocks of ``read``, are whole pairs, or are copied in any case."""
    data, weight = (tensor_type_of(arg) for arg in node.args)
    if data.dtype != "bfloat16" or sum_dtype(tensor_type_of(node).dtype) != "float32":
        return False
    if not target.has("avx512bf16"):
        return False
    even = isinstance(weight.shape[1], int) and weight.shape[1] % 2 == 0
    return even and read % 2 == 0 if read or node["groups"] != 1 else True
