"""ONNX's convolutions and poolings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

Padding = tuple[tuple[Dim, Dim], ...]


def spatial_rank(node: OnnxNode, data: Expr) -> int:
    """The number of spatial axes, 1 to 3."""
    rank = node.rank(data) - 2
    if not 1 <= rank <= 3:
        node.unsupported(f"data of rank {rank + 2}; supported are 3, 4 and 5")
    return rank


def per_axis(node: OnnxNode, name: str, rank: int, default: int) -> tuple[int, ...]:
    """An attribute with one value a spatial axis."""
    values = node.attr(name) or [default] * rank
    if len(values) != rank or any(v < 1 for v in values):
        node.bad(f"{name} is {values}, expected {rank} positive numbers")
    return tuple(values)


def padding_of(
    node: OnnxNode,
    sizes: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Padding:
    """(begin, end) for each spatial axis, from ``pads`` or ``auto_pad``."""
    rank, mode = len(kernel), node.attr("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = node.attr("pads") or [0] * (2 * rank)
        if len(pads) != 2 * rank:
            node.bad(f"pads is {pads}, expected {2 * rank} numbers")
        if min(pads) < 0:
            node.bad(f"pads is {pads}, expected none below 0")
        return tuple(zip(pads[:rank], pads[rank:], strict=True))
    if mode == "VALID":
        return ((0, 0),) * rank
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        node.bad(f"auto_pad is {mode!r}")
    made: list[tuple[Dim, Dim]] = []
    for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (k - 1) * d + 1
        if s == 1:
            total: Dim = reach - 1
        else:
            total = dims.maximum(dims.simplify((dims.ceil_div(size, s) - 1) * s + reach - size), 0)
        less: Dim = dims.simplify(total // 2)
        more = dims.simplify(total - less)
        made.append((less, more) if mode == "SAME_UPPER" else (more, less))
    return tuple(made)


def window_padding(
    node: OnnxNode, data: Expr, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Padding:
    """``padding_of`` a pooling, where every window must hold an element of ``data``."""
    padding = padding_of(node, node.shape(data)[2:], kernel, strides, dilations)
    for pair, extent in zip(padding, kernel, strict=True):
        if any(isinstance(p, int) and p >= extent for p in pair) and node.has("pads"):
            node.bad(f"pads is {node.attr('pads')}, expected less than the kernel's {list(kernel)}")
    return padding


def padded(node: OnnxNode, data: Expr, padding: Padding, value: float) -> tuple[Expr, tuple[int, ...]]:
    """``data`` and the padding left for the operator: none when it must be done in a step of its own."""
    plain = [p for pair in padding for p in pair]
    if all(isinstance(p, int) and p >= 0 for p in plain):
        return data, tuple(p[0] for p in padding) + tuple(p[1] for p in padding)  # type: ignore[return-value]
    return pad_spatial(node, data, padding, value), (0,) * (2 * len(padding))


def pad_spatial(node: OnnxNode, data: Expr, padding: Padding, value: float) -> Expr:
    if all(dims.equal(p, 0) for pair in padding for p in pair):
        return data
    return node.make("nn.pad", data, pad_width=((0, 0), (0, 0), *padding), pad_value=value)


def with_bias(node: OnnxNode, data: Expr, bias: Expr | None) -> Expr:
    """``data`` plus one number a channel."""
    if bias is None:
        return data
    return node.make("nn.bias_add", data, bias, axis=1)


@converter("Conv")
def conv(node: OnnxNode, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    return with_bias(node, convolution(node, data, weight), bias)


def convolution(
    node: OnnxNode, data: Expr, weight: Expr, out_dtype: str = "", padding: Padding | None = None
) -> Expr:
    """The convolution a node's attributes describe, without its bias; its ``padding``, or another."""
    rank = spatial_rank(node, data)
    shape = node.shape(weight)
    if len(shape) != rank + 2:
        node.bad(f"the weight is of rank {len(shape)}, expected {rank + 2}")
    kernel = _static(node, shape[2:])
    strides, dilations = per_axis(node, "strides", rank, 1), per_axis(node, "dilations", rank, 1)
    if padding is None:
        padding = padding_of(node, node.shape(data)[2:], kernel, strides, dilations)
    data, left = padded(node, data, padding, 0.0)
    return node.make(
        f"nn.conv{rank}d",
        data,
        weight,
        strides=strides,
        padding=left,
        dilation=dilations,
        groups=node.attr("group", 1),
        channels=shape[0],
        kernel_size=kernel,
        out_dtype=out_dtype,
    )


def convolved_padding(node: OnnxNode, data: Expr, weight: Expr) -> Padding:
    """The padding of a convolution of ``data``."""
    rank = spatial_rank(node, data)
    strides, dilations = per_axis(node, "strides", rank, 1), per_axis(node, "dilations", rank, 1)
    return padding_of(node, node.shape(data)[2:], _static(node, node.shape(weight)[2:]), strides, dilations)


def _static(node: OnnxNode, shape: Sequence[Dim]) -> tuple[int, ...]:
    if not all(isinstance(d, int) for d in shape):
        node.unsupported("a kernel of dynamic size")
    given = node.attr("kernel_shape")
    if given and list(given) != list(shape):
        node.bad(f"kernel_shape is {list(given)}, the weight's is {list(shape)}")
    return tuple(d for d in shape if isinstance(d, int))


@converter("ConvTranspose")
def conv_transpose(node: OnnxNode, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """The transpose of a convolution; ``output_shape`` and SAME set the padding, which may crop."""
    rank = spatial_rank(node, data)
    if node.rank(weight) != rank + 2:
        node.bad(f"the weight is of rank {node.rank(weight)}, expected {rank + 2}")
    kernel = _static(node, node.shape(weight)[2:])
    strides, dilations = per_axis(node, "strides", rank, 1), per_axis(node, "dilations", rank, 1)
    extra = tuple(node.attr("output_padding") or [0] * rank)
    if len(extra) != rank:
        node.bad(f"output_padding is {list(extra)}, expected {rank} numbers")
    groups = node.attr("group", 1)
    sizes = node.shape(data)[2:]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    padding = _transposed_padding(node, sizes, strides, reach, extra)
    plain = all(isinstance(p, int) and p >= 0 for pair in padding for p in pair)
    fits = all(x < s for x, s in zip(extra, strides, strict=True))
    flat = tuple(p[0] for p in padding) + tuple(p[1] for p in padding)
    made = node.make(
        f"nn.conv{rank}d_transpose",
        data,
        weight,
        strides=strides,
        padding=flat if plain and fits else (0,) * (2 * rank),
        output_padding=extra if plain and fits else (0,) * rank,
        dilation=dilations,
        groups=groups,
        channels=dims.simplify(node.shape(weight)[1] * groups),
        kernel_size=kernel,
    )
    if not (plain and fits):
        made = _cropped(node, made, padding, extra)
    return with_bias(node, made, bias)


def _transposed_padding(
    node: OnnxNode, sizes: Sequence[Dim], strides: Sequence[int], reach: Sequence[int], extra: Sequence[int]
) -> Padding:
    rank, mode = len(strides), node.attr("auto_pad", "NOTSET")
    wanted: Sequence[Dim] | None = node.attr("output_shape")
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [dims.simplify(size * s) for size, s in zip(sizes, strides, strict=True)]
    if wanted is None:
        return padding_of(node, sizes, reach, strides, (1,) * rank)
    wanted = list(wanted)[-rank:]
    if len(wanted) != rank:
        node.bad(f"output_shape is {wanted}, expected {rank} numbers")
    made: list[tuple[Dim, Dim]] = []
    for size, s, r, x, want in zip(sizes, strides, reach, extra, wanted, strict=True):
        total = dims.simplify((size - 1) * s + x + r - want)
        less: Dim = dims.simplify(total // 2)
        more = dims.simplify(total - less)
        made.append((less, more) if mode == "SAME_UPPER" else (more, less))
    return tuple(made)


def _cropped(node: OnnxNode, data: Expr, padding: Padding, extra: Sequence[int]) -> Expr:
    """What padding an operator cannot carry out itself comes to: more zeros, then a slice."""
    grow = tuple(
        (dims.maximum(dims.simplify(0 - b), 0), dims.maximum(dims.simplify(x - e), 0))
        for (b, e), x in zip(padding, extra, strict=True)
    )
    data = pad_spatial(node, data, grow, 0.0)
    begin: list[Dim] = [0, 0]
    end: list[Dim] = list(node.shape(data)[:2])
    for (b, e), x, size in zip(padding, extra, node.shape(data)[2:], strict=True):
        begin.append(dims.maximum(b, 0))
        end.append(dims.simplify(size - dims.maximum(dims.simplify(e - x), 0)))
    return node.make("strided_slice", data, begin=tuple(begin), end=tuple(end), strides=(1,) * len(begin))


@converter("AveragePool")
def average_pool(node: OnnxNode, data: Expr) -> Expr:
    return pool(node, data, "avg", 0.0)


def pool(node: OnnxNode, data: Expr, kind: str, fill: float) -> Expr:
    """The pooling ("max", "avg") a node's attributes describe."""
    rank = spatial_rank(node, data)
    kernel = per_axis(node, "kernel_shape", rank, 1)
    strides, dilations = per_axis(node, "strides", rank, 1), per_axis(node, "dilations", rank, 1)
    padding = window_padding(node, data, kernel, strides, dilations)
    ceil = bool(node.attr("ceil_mode", 0)) and node.attr("auto_pad", "NOTSET") in ("NOTSET", "")
    attrs = {"count_include_pad": bool(node.attr("count_include_pad", 0))} if kind == "avg" else {}
    plain = all(isinstance(p, int) for pair in padding for p in pair)
    if not plain and kind == "avg" and not attrs["count_include_pad"]:
        node.unsupported("auto_pad of a mean over a dynamic size, without count_include_pad")
    data, left = padded(node, data, padding, fill)
    return node.make(
        f"nn.{kind}_pool{rank}d",
        data,
        pool_size=kernel,
        strides=strides,
        padding=left,
        dilation=dilations,
        ceil_mode=ceil,
        **attrs,
    )


@converter("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: OnnxNode, data: Expr) -> Expr:
    mean = node.op_type == "GlobalAveragePool"
    if node.rank(data) < 3:
        node.bad(f"data of rank {node.rank(data)}, expected at least 3")
    if node.rank(data) == 4:
        return node.make("nn.global_avg_pool2d" if mean else "nn.global_max_pool2d", data)
    axes = tuple(range(2, node.rank(data)))
    return node.make("mean" if mean else "max", data, axis=axes, keepdims=True)


@converter("LpPool", since=2)
def lp_pool(node: OnnxNode, data: Expr) -> Expr:
    """The p-norm of each window: the mean of powers times the window's size, then the root."""
    rank = spatial_rank(node, data)
    kernel = per_axis(node, "kernel_shape", rank, 1)
    strides, dilations = per_axis(node, "strides", rank, 1), per_axis(node, "dilations", rank, 1)
    p = node.attr("p", 2)
    if p < 1:
        node.bad(f"p is {p}, expected at least 1")
    size = node.make("abs", data)
    powers = size if p == 1 else node.make("power", size, p)
    padding = window_padding(node, data, kernel, strides, dilations)
    if node.attr("ceil_mode", 0):
        node.unsupported("ceil_mode=1")
    powers = pad_spatial(node, powers, padding, 0.0)
    mean = node.make(
        f"nn.avg_pool{rank}d",
        powers,
        pool_size=kernel,
        strides=strides,
        dilation=dilations,
        count_include_pad=True,
    )
    total = mean * math.prod(kernel)
    return total if p == 1 else node.make("power", total, 1 / p)


@converter("GlobalLpPool")
def global_lp_pool(node: OnnxNode, data: Expr) -> Expr:
    p, axes = node.attr("p", 2), tuple(range(2, node.rank(data)))
    if p < 1:
        node.bad(f"p is {p}, expected at least 1")
    total = node.make("sum", node.make("power", node.make("abs", data), p), axis=axes, keepdims=True)
    return node.make("power", total, 1 / p)
