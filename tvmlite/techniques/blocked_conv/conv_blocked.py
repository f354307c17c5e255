"""Convolutions with weights laid out for vectors of output channels, and data optionally in blocks.

``nn.contrib_conv2d_NCHWc`` reads ``NCHW`` or ``NCHW16c`` and writes ``NCHW`` or ``NCHW16c``, as its
``data_layout`` and ``out_layout`` say. Its weight is ``OIHW16o``: vectors of output channels, each for one
input channel and position of the window. Channels need not fill their last block: its padding is never read,
and its content in the result is unspecified. In a weight ``OIHW16o2i``, two input channels are adjacent, as
``vdpbf16ps`` reads them, in ``OIHW16o4i`` four, as ``vpdpbusd`` does, with zeros after the last channel. In a
weight ``OIHW16i16o2i``, 16 such pairs are contiguous, the operand of one tile product of AMX; a block of the
result may then be several of the weight's. The depthwise convolution has one layout for data and result, and
the weight ``OIHW1i16o``. There are the same operators for one and three spatial axes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, operator
from tvmlite.relay.ir.types import Shape, TensorType, same_dim, same_shape, show_shape
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import fault, is_one, product_of, ravelled, unravelled
from tvmlite.relay.ops.convolutions.conv import (
    WEIGHT_LAYOUTS,
    check_kernel_size,
    conv_attrs,
    converted,
    convolved_numpy,
    result_dtype,
    sum_dtype,
)
from tvmlite.te import expr as e
from tvmlite.te.intrin.words import part_of, word_of, word_of_bytes
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers
from tvmlite.techniques.blocked_conv import small_images
from tvmlite.techniques.common import amx

TILE_STEPS = amx.STEPS
"""The number of pairs, or groups of four, of input channels in a tile product of AMX."""


def operator_name(rank: int, depthwise: bool = False) -> str:
    """The name of the operator for ``rank`` spatial axes, such as ``nn.contrib_conv2d_NCHWc``."""
    return f"nn.contrib_{'depthwise_' if depthwise else ''}conv{rank}d_{windows.LAYOUTS[rank]}c"


def weight_layout(
    rank: int, block: int, depthwise: bool = False, interleaved: int = 1, tiled: bool = False
) -> str:
    """The layout of weights for vectors of ``block`` channels: ``OIHW16o``, ``OIHW16o2i``, ``OIHW16o4i``,
    ``OIHW1i16o``, ``OIHW16i16o2i``, ``OIHW16i16o4i``."""
    inner = "1i" if depthwise else f"{TILE_STEPS}i" if tiled else ""
    return f"{WEIGHT_LAYOUTS[rank]}{inner}{block}o{f'{interleaved}i' if interleaved > 1 else ''}"


def is_tiled(call: Call) -> bool:
    """Whether 16 pairs, or groups of four, of input channels are contiguous in the weight."""
    return bool(re.search(rf"[A-Z]{TILE_STEPS}i\d+o[24]i$", str(call["kernel_layout"])))


def tiled_weight(weight: np.ndarray, block: int, interleaved: int) -> np.ndarray:
    """``weight (o, i, ..)``, of whole blocks and any number of spatial axes, in the layout
    ``OIHW16i{block}o{interleaved}i``."""
    outputs, inputs, *window = weight.shape
    parts = weight.reshape(
        outputs // block, block, inputs // (interleaved * TILE_STEPS), TILE_STEPS, interleaved, *window
    )
    return np.ascontiguousarray(np.moveaxis(parts, (0, 2, 3, 1, 4), (0, 1, -3, -2, -1)))


def interleaved_channels(call: Call) -> int:
    """The number of input channels stored next to each other in the weight: 1, 2 or 4."""
    found = re.search(r"o([24])i$", str(call["kernel_layout"]))
    return int(found[1]) if found else 1


def out_layout(call: Call) -> str:
    """The layout of the result: ``out_layout``, or ``data_layout`` if that is empty."""
    return call["out_layout"] or call["data_layout"]


def blocked_type(rank: int) -> Callable[..., TensorType]:
    """The type relation of convolutions on blocks."""

    def infer(call: Call, data: TensorType, weight: TensorType) -> TensorType:
        read = windows.check_data(call, data, "data_layout", rank)
        block = _weight_block(call, weight, rank, depthwise=False)
        written = written_block(call, rank)
        if written not in (0, block) and not (is_tiled(call) and written % block == 0):
            raise fault(call, f"out_layout is {out_layout(call)}, the weight has blocks of {block} channels")
        interleaved = interleaved_channels(call)
        groups, inputs = call["groups"], weight.shape[1] * interleaved * (TILE_STEPS if is_tiled(call) else 1)
        channels = _channels(call, weight, block)
        if groups != 1 and not _whole_blocks(channels, groups, block):
            raise fault(
                call, f"groups is {groups}: {channels} channels are not whole blocks of {block} in each group"
            )
        if read % interleaved:
            raise fault(
                call,
                f"data_layout is {call['data_layout']}: its blocks are not a multiple of {interleaved} "
                "channels",
            )
        fits = (inputs * groups + (read - 1)) // read if read else inputs * groups
        filled = (
            not read
            and groups == 1
            and any(same_dim(data.shape[1], fits - missing) for missing in range(1, interleaved))
        )
        if not same_dim(data.shape[1], fits) and not filled:
            raise fault(
                call,
                f"data is {show_shape(data.shape)}, weight is {show_shape(weight.shape)}, groups is "
                f"{groups}: the channels do not fit",
            )
        if not written:
            return _result(call, data, weight, (data.shape[0], channels), (), rank)
        lead = (data.shape[0], weight.shape[0] if written == block else weight.shape[0] * block // written)
        return _result(call, data, weight, lead, (written,), rank)

    return infer


def depthwise_type(rank: int) -> Callable[..., TensorType]:
    """The type relation of depthwise convolutions on blocks."""

    def infer(call: Call, data: TensorType, weight: TensorType) -> TensorType:
        read = windows.check_data(call, data, "data_layout", rank)
        block = _weight_block(call, weight, rank, depthwise=True)
        if not read == block == written_block(call, rank):
            raise fault(
                call,
                f"data_layout is {call['data_layout']}, out_layout is {out_layout(call)}, the weight has "
                f"blocks of {block} channels: expected one block",
            )
        if not same_dim(data.shape[1], weight.shape[0]) or not is_one(weight.shape[1]):
            raise fault(
                call,
                f"data is {show_shape(data.shape)}, weight is {show_shape(weight.shape)}: "
                "the channels do not fit",
            )
        return _result(call, data, weight, data.shape[:2], (block,), rank)

    return infer


def _weight_block(call: Call, weight: TensorType, rank: int, depthwise: bool) -> int:
    """The block of output channels in the kernel_layout; an error unless the weight has that layout."""
    plain, inner = WEIGHT_LAYOUTS[rank], "1i" if depthwise else ""
    pair = "" if depthwise else "([24]i)?"
    tiled = not depthwise and is_tiled(call)
    before = f"{TILE_STEPS}i" if tiled else inner
    found = re.fullmatch(rf"{plain}{before}([1-9]\d*)o{pair}", call["kernel_layout"])
    if found is None:
        raise UnsupportedError(
            f"{call.op}: kernel_layout {call['kernel_layout']!r} is not supported; supported are such as "
            f"'{plain}{inner}16o'",
            call.span,
        )
    interleaved = interleaved_channels(call)
    windows.check_rank(call, "weight", weight, rank + 3 + (depthwise or interleaved > 1) + tiled)
    block = int(found[1])
    inside = (1, block) if depthwise else (block, interleaved) if interleaved > 1 else (block,)
    inside = (TILE_STEPS, *inside) if tiled else inside
    if not same_shape(weight.shape[2 + rank :], inside):
        raise fault(call, f"weight is {show_shape(weight.shape)}, kernel_layout is {call['kernel_layout']}")
    return block


def written_block(call: Call, rank: int) -> int:
    """The block of channels of the result, of ``out_layout`` or ``data_layout``; 0 for channels-first."""
    return windows.channel_block(call, "out_layout" if call["out_layout"] else "data_layout", rank)


def _whole_blocks(channels: Any, groups: Any, block: int) -> bool:
    known = isinstance(channels, int) and isinstance(groups, int)
    return known and groups > 1 and channels % (groups * block) == 0


def _channels(call: Call, weight: TensorType, block: int) -> Any:
    """The number of output channels: the attribute, or as many as fill the weight's blocks."""
    made, stated = weight.shape[0] * block, call["channels"]
    if stated is None:
        return made
    if not (isinstance(stated, int) and isinstance(made, int) and made - block < stated <= made):
        raise fault(call, f"channels is {stated}, weight is {show_shape(weight.shape)}")
    return stated


def _result(
    call: Call, data: TensorType, weight: TensorType, lead: Shape, lanes: Shape, rank: int
) -> TensorType:
    kernel = weight.shape[2 : 2 + rank]
    check_kernel_size(call, kernel, rank)
    shape = _extents(call, data.shape, kernel, rank)
    windows.check_extents(call, shape, data)
    return TensorType((*lead, *shape, *lanes), result_dtype(call, data.dtype))


def _extents(call: Call, shape: Shape, kernel: Shape, rank: int) -> Shape:
    """The spatial extents of the result."""
    begins, ends = windows.padding_of(call, rank)
    strides, dilation = (
        windows.spatial_attr(call, "strides", rank),
        windows.spatial_attr(call, "dilation", rank),
    )
    return tuple(
        windows.window_extent(size, k, s, d, b, f)
        for size, k, s, d, b, f in zip(
            shape[2 : 2 + rank], kernel, strides, dilation, begins, ends, strict=True
        )
    )


def blocked_compute(rank: int) -> Callable[..., te.Tensor]:
    """The tensor expression: scalars or pairs of the data times vectors of output channels."""

    def compute(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
        lanes = windows.channel_block(call, "data_layout", rank)
        interleaved, kernel = interleaved_channels(call), weight.shape[2 : 2 + rank]
        dtype, shape = result_dtype(call, data.dtype), _extents(call, data.shape, kernel, rank)
        padding, groups = windows.padding_of(call, rank), call["groups"]
        strides, dilation = (
            windows.spatial_attr(call, "strides", rank),
            windows.spatial_attr(call, "dilation", rank),
        )
        pointwise = rank > 1 and all(is_one(n) for n in (*kernel, *strides)) and not any(map(any, padding))
        words = interleaved > 1 and not lanes
        takes_whole = interleaved == 2 and written_block(call, rank) > 0 and not pointwise
        image = small_images.small_image(call, kernel, shape) if takes_whole else None
        if image is not None:
            source = small_images.phases(call, data, image)
        else:
            source = (
                _padded_words(data, *padding, interleaved)
                if words
                else windows.padded(data, *padding, 0, trailing=lanes > 0)
            )
        several = lanes // interleaved
        per_group, tiled = weight.shape[0] // groups, is_tiled(call)
        inputs = weight.shape[1] * TILE_STEPS if tiled else weight.shape[1]
        channel = te.reduce_axis(inputs, name="ic")
        taps = [te.reduce_axis(k, name=f"k{n}") for n, k in enumerate(kernel)]
        pair = [te.reduce_axis(interleaved, name="pair")] if interleaved > 1 else []
        skips = interleaved == 1 and _skips_padding(call, kernel, rank)

        def factor(oo: Any, lane: Any) -> e.Expr:
            if tiled:
                at = (oo, channel // TILE_STEPS, *taps, channel % TILE_STEPS, lane, *pair)
            else:
                at = (oo, channel, *taps, lane, *pair)
            return weight[at].astype(work)

        def element(n: Any, oo: Any, *rest: Any) -> e.Expr:
            if image is not None:
                places = image.positions(rest[0], taps, strides, dilation)
                value = source[(n, channel // several, *places, channel % several * 2 + pair[0])].astype(work)
                return reducers.sum(value * factor(oo, rest[-1]), [channel, *taps, *pair])
            at = unravelled(rest[0], shape) if pointwise else rest[:-1]
            places = [y * s + k * d for y, k, s, d in zip(at, taps, strides, dilation, strict=True)]
            read: Any = channel if groups == 1 else oo // per_group * inputs + channel
            if several:
                inside = read % several * interleaved + pair[0] if pair else read % several
                places, read = [*places, inside], read // several
            value = source[(n, read, *places)]
            value = part_of(value, pair[0].var, interleaved) if words else value.astype(work)
            begin = padding[0][0]
            inside = [places[0] >= begin, places[0] < data.shape[2] + begin] if skips else []
            return reducers.sum(value * factor(oo, rest[-1]), [channel, *taps, *pair], where=e.all_of(inside))

        work = sum_dtype(dtype)
        pixels = (product_of(shape),) if pointwise else shape if image is None else (image.count,)
        sums = te.compute(
            (data.shape[0], weight.shape[0], *pixels, weight.shape[2 + rank + tiled]),
            element,
            name="conv",
            tag="conv2d_packed",
            attrs={"paired": interleaved > 1, "wide": image is not None},
        )
        row = shape[-1] if image is None else image.row
        return converted(
            _in_result_layout(call, sums, shape, pointwise or image is not None, rank, row), dtype
        )

    return compute


def _skips_padding(call: Call, kernel: Shape, rank: int) -> bool:
    """Whether sums skip the rows of a window that are in padding. Rows of a dilated window are far apart, so
    many are in padding; without dilation, skipping saves less than the extra loop costs."""
    begins, ends = windows.padding_of(call, rank)
    dilated = windows.spatial_attr(call, "dilation", rank)[0] > 1 and not is_one(kernel[0])
    return rank > 1 and dilated and begins[0] + ends[0] > 0 and min(begins[0], ends[0]) >= 0


def _padded_words(data: te.Tensor, begins: Sequence[int], ends: Sequence[int], interleaved: int) -> te.Tensor:
    """``data`` padded, ``interleaved`` channels per word, ``(n, c / interleaved, y..)``; zeros at the end."""
    channels = data.shape[1]
    extents = [d + (b + f) for d, b, f in zip(data.shape[2:], begins, ends, strict=True)]

    def element(n: Any, group: Any, *at: Any) -> e.Expr:
        places = [i - begin for i, begin in zip(at, begins, strict=True)]
        inside = [place >= 0 for place, begin in zip(places, begins, strict=True) if begin > 0]
        inside += [p < d for p, d, f in zip(places, data.shape[2:], ends, strict=True) if f > 0]

        def part(which: int) -> e.Expr:
            known = which == 0 or same_dim(channels % interleaved, 0)
            needed = inside if known else [*inside, group * interleaved + which < channels]
            read = data[(n, group * interleaved + which, *places)]
            if not needed:
                return read
            return e.Call("if_then_else", (e.all_of(needed), read, e.const(0, data.dtype)), data.dtype)

        parts = [part(which) for which in range(interleaved)]
        return word_of(*parts) if interleaved == 2 else word_of_bytes(parts)

    groups = (channels + (interleaved - 1)) // interleaved
    return te.compute((data.shape[0], groups, *extents), element, name="words", tag="pad")


def _in_result_layout(
    call: Call, sums: te.Tensor, shape: Shape, flat: bool, rank: int, row: Any
) -> te.Tensor:
    """The sums ``(n, blocks, pixels.., lane)`` in the layout of the result, as a stage to be inlined. If
    ``flat``, they have one axis of pixels, with ``row`` elements per row of the image."""
    block, lead = sums.shape[-1], (*shape[:-1], row)

    def pixel(at: Sequence[Any]) -> Sequence[Any]:
        return (ravelled(at, lead),) if flat else at

    written = written_block(call, rank)
    if written and not same_dim(written, block):
        several = written // block
        return te.compute(
            (sums.shape[0], sums.shape[1] // several, *shape, written),
            lambda n, oo, *rest: sums[
                (n, oo * several + rest[-1] // block, *pixel(rest[:-1]), rest[-1] % block)
            ],
            name="conv_blocked",
            tag="conv2d_blocked",
        )
    if written:
        return te.compute(
            (*sums.shape[:2], *shape, block),
            lambda n, oo, *rest: sums[(n, oo, *pixel(rest[:-1]), rest[-1])],
            name="conv_blocked",
            tag="conv2d_blocked",
        )
    channels = call["channels"] if call["channels"] is not None else sums.shape[1] * block
    return te.compute(
        (sums.shape[0], channels, *shape),
        lambda n, c, *at: sums[(n, c // block, *pixel(at), c % block)],
        name="conv_unpacked",
        tag="conv2d_unpack",
    )


def depthwise_compute(rank: int) -> Callable[..., te.Tensor]:
    """The tensor expression: each vector of channels is convolved separately."""

    def compute(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
        kernel, dtype = weight.shape[2 : 2 + rank], result_dtype(call, data.dtype)
        (begins, ends), bytes_ = windows.padding_of(call, rank), data
        work = sum_dtype(dtype)
        if dtypes.is_int(data.dtype) and dtypes.is_float(work):  # convert each once, not per window
            data = te.compute(data.shape, lambda *i: bytes_[i].astype(work), name="floats", tag="elemwise")
        source = windows.padded(data, begins, ends, 0, trailing=1)
        strides, dilation = (
            windows.spatial_attr(call, "strides", rank),
            windows.spatial_attr(call, "dilation", rank),
        )
        taps = [te.reduce_axis(k, name=f"k{n}") for n, k in enumerate(kernel)]

        def element(n: Any, block: Any, *rest: Any) -> e.Expr:
            *at, lane = rest
            places = [y * s + k * d for y, k, s, d in zip(at, taps, strides, dilation, strict=True)]
            value = source[(n, block, *places, lane)].astype(work)
            return reducers.sum(value * weight[(block, 0, *taps, 0, lane)].astype(work), taps)

        sums = te.compute(
            (*data.shape[:2], *_extents(call, data.shape, kernel, rank), data.shape[-1]),
            element,
            name="conv",
            tag="depthwise_conv2d_blocked",
        )
        return converted(sums, dtype)

    return compute


def blocked_numpy(rank: int, depthwise: bool) -> Callable[..., np.ndarray]:
    """The reference in numpy: a channels-first convolution of operands without blocks."""

    def reference(call: Call, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if is_tiled(call):
            weight = np.moveaxis(weight, (-3, -1), (2, 3))  # (o, i, 16, interleaved, .., block)
            weight = weight.reshape(weight.shape[0], -1, *weight.shape[4:])
        elif interleaved_channels(call) > 1:
            parts = np.moveaxis(weight, -1, 2)
            weight = parts.reshape(weight.shape[0], -1, *parts.shape[3:])
        plain = np.moveaxis(weight[..., 0, :] if depthwise else weight, -1, 1)
        plain = plain.reshape(-1, *plain.shape[2:])
        groups = plain.shape[0] if depthwise else call["groups"]
        if not depthwise and not windows.channel_block(call, "data_layout", rank):
            plain = plain[:, : data.shape[1]] if groups == 1 else plain
        if windows.channel_block(call, "data_layout", rank):
            data = np.moveaxis(data, -1, 2)
            data = data.reshape(data.shape[0], -1, *data.shape[3:])[:, : plain.shape[1] * groups]
        result = convolved_numpy(call, data, plain, groups, rank)
        block = written_block(call, rank)
        if not block:
            return result[:, : call["channels"]]
        blocks = result.reshape(result.shape[0], math.ceil(plain.shape[0] / block), block, *result.shape[2:])
        return np.ascontiguousarray(np.moveaxis(blocks, 2, -1))

    return reference


_BLOCKED = """The {}convolution along {} axes of channels in blocks: what ``AlterOpLayout`` makes.

The layouts say how long the blocks are; the defaults are of 16 (TVM's, of 8). The weight's outputs are in
blocks, too.
"""

for _rank in (1, 2, 3):
    operator(
        operator_name(_rank),
        infer=blocked_type(_rank),
        reference=blocked_numpy(_rank, depthwise=False),
        fuse=Fuse.OUT_ELEMWISE_FUSABLE,
        attrs={
            **conv_attrs(_rank),
            "data_layout": f"{windows.LAYOUTS[_rank]}16c",
            "kernel_layout": weight_layout(_rank, 16),
        },
        schedule=anchors.CONVOLUTION,
        doc=_BLOCKED.format("", _rank),
    )(blocked_compute(_rank))
    operator(
        operator_name(_rank, depthwise=True),
        infer=depthwise_type(_rank),
        reference=blocked_numpy(_rank, depthwise=True),
        fuse=Fuse.OUT_ELEMWISE_FUSABLE,
        attrs={
            **conv_attrs(_rank),
            "data_layout": f"{windows.LAYOUTS[_rank]}16c",
            "kernel_layout": weight_layout(_rank, 16, depthwise=True),
        },
        schedule=anchors.CONVOLUTION,
        doc=_BLOCKED.format("depthwise ", _rank),
    )(depthwise_compute(_rank))
