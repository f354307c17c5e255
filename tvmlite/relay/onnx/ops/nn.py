"""ONNX's convolutions and poolings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

Padding = tuple[tuple[Dim, Dim], ...]


def spatial_rank(node: OnnxNode, data: Expr) -> int:
    """Return the number of spatial axes, 1 to 3."""
    rank = node.rank(data) - 2
    if not 1 <= rank <= 3:
        node.unsupported(f"data of rank {rank + 2}; supported are 3, 4 and 5")
    return rank


def per_axis(node: OnnxNode, name: str, rank: int) -> tuple[int, ...]:
    """Return an attribute with one value for each spatial axis; ones if it is missing."""
    values = node.attr(name) or [1] * rank
    if len(values) != rank or any(v < 1 for v in values):
        node.bad(f"{name} is {values}, expected {rank} positive numbers")
    return tuple(values)


@dataclass(frozen=True)
class Window:
    """The window of an operator: the attributes that convolutions and poolings share."""

    node: OnnxNode
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def attrs(self) -> dict[str, tuple[int, ...]]:
        """The strides and dilations, as attributes of Relay's operators."""
        return {"strides": self.strides, "dilation": self.dilations}

    @property
    def dilated_kernel(self) -> list[int]:
        """The extent of a window from its first to its last element."""
        return [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]

    def padding(self, sizes: Sequence[Dim]) -> Padding:
        """Return (begin, end) for each spatial axis of ``sizes``, from ``pads`` or ``auto_pad``."""
        node, rank = self.node, len(self.kernel)
        mode = node.attr("auto_pad")
        if mode in ("NOTSET", ""):
            pads = node.attr("pads") or [0] * (2 * rank)
            if len(pads) != 2 * rank:
                node.bad(f"pads is {pads}, expected {2 * rank} numbers")
            if min(pads) < 0:
                node.bad(f"pads is {pads}, expected none below 0")
            return tuple(zip(pads[:rank], pads[rank:], strict=True))
        if mode == "VALID":
            return ((0, 0),) * rank
        node.choice("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
        totals: list[Dim] = []
        for size, s, window in zip(sizes, self.strides, self.dilated_kernel, strict=True):
            needed = window - 1 if s == 1 else (dims.ceil_div(size, s) - 1) * s + window - size
            totals.append(needed if s == 1 else dims.maximum(dims.simplify(needed), 0))
        return split_padding(totals, mode)

    def pooled_padding(self, data: Expr) -> Padding:
        """Return the ``padding`` of a pooling, where every window must contain an element of ``data``."""
        padding = self.padding(self.node.shape(data)[2:])
        for pair, extent in zip(padding, self.kernel, strict=True):
            if any(isinstance(p, int) and p >= extent for p in pair) and self.node.has("pads"):
                pads, kernel = self.node.attr("pads"), list(self.kernel)
                self.node.bad(f"pads is {pads}, expected less than the kernel's {kernel}")
        return padding


def split_padding(totals: Sequence[Dim], mode: str) -> Padding:
    """Split ``totals`` into (begin, end); for an odd one, SAME_UPPER has the larger part at the end."""
    pairs = [(half := dims.simplify(total // 2), dims.simplify(total - half)) for total in totals]
    return tuple(pair if mode == "SAME_UPPER" else pair[::-1] for pair in pairs)


def window_of(node: OnnxNode, rank: int, kernel: Sequence[int] | None = None) -> Window:
    """Return the window of a node over ``rank`` axes, with its ``kernel_shape`` if no ``kernel`` is given."""
    size = per_axis(node, "kernel_shape", rank) if kernel is None else tuple(kernel)
    return Window(node, size, per_axis(node, "strides", rank), per_axis(node, "dilations", rank))


def kernel_window(node: OnnxNode, data: Expr, weight: Expr) -> Window:
    """Return the window of a convolution of ``data``."""
    rank, shape = spatial_rank(node, data), node.shape(weight)
    if len(shape) != rank + 2:
        node.bad(f"the weight is of rank {len(shape)}, expected {rank + 2}")
    if not all(isinstance(d, int) for d in shape[2:]):
        node.unsupported("a kernel of dynamic size")
    given = node.attr("kernel_shape")
    if given and list(given) != list(shape[2:]):
        node.bad(f"kernel_shape is {list(given)}, the weight's is {list(shape[2:])}")
    return window_of(node, rank, [d for d in shape[2:] if isinstance(d, int)])


def flat(padding: Padding) -> tuple[Dim, ...]:
    """Return the padding before all axes, then that after all axes."""
    return (*(begin for begin, _ in padding), *(end for _, end in padding))


def explicit_padding(
    node: OnnxNode, data: Expr, padding: Padding, value: float
) -> tuple[Expr, tuple[Dim, ...]]:
    """Return ``data`` and the padding left to the operator: none if padding needs a separate step."""
    if all(isinstance(p, int) and p >= 0 for pair in padding for p in pair):
        return data, flat(padding)
    return pad_spatial(node, data, padding, value), (0,) * (2 * len(padding))


def pad_spatial(node: OnnxNode, data: Expr, padding: Padding, value: float) -> Expr:
    """Pad data (batch, channels, spatial axes) with ``value`` along its spatial axes."""
    if all(dims.equal(p, 0) for pair in padding for p in pair):
        return data
    return node.make("nn.pad", data, pad_width=((0, 0), (0, 0), *padding), pad_value=value)


def add_bias(node: OnnxNode, data: Expr, bias: Expr | None) -> Expr:
    """Add one number for each channel to ``data``."""
    if bias is None:
        return data
    return node.make("nn.bias_add", data, bias, axis=1)


@converter("Conv")
def conv(node: OnnxNode, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """Conv of 1 to 3 spatial axes as nn.conv1d to 3d, then nn.bias_add; data NCHW, weight OIHW."""
    return add_bias(node, convolution(node, data, weight), bias)


def convolution(
    node: OnnxNode, data: Expr, weight: Expr, out_dtype: str = "", padding: Padding | None = None
) -> Expr:
    """Return the convolution of a node's attributes, without its bias, with its ``padding`` or another."""
    window = kernel_window(node, data, weight)
    padding = window.padding(node.shape(data)[2:]) if padding is None else padding
    data, left = explicit_padding(node, data, padding, 0.0)
    return node.make(
        f"nn.conv{len(window.kernel)}d",
        data,
        weight,
        **window.attrs,
        padding=left,
        groups=node.attr("group"),
        channels=node.shape(weight)[0],
        kernel_size=window.kernel,
        out_dtype=out_dtype,
    )


@converter("ConvTranspose")
def conv_transpose(node: OnnxNode, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """ConvTranspose; ``output_shape`` and SAME set the padding, which may crop."""
    window = kernel_window(node, data, weight)
    rank, groups = len(window.kernel), node.attr("group")
    extra = tuple(node.attr("output_padding") or [0] * rank)
    if len(extra) != rank:
        node.bad(f"output_padding is {list(extra)}, expected {rank} numbers")
    padding = _transposed_padding(window, node.shape(data)[2:], extra)
    fits = all(isinstance(p, int) and p >= 0 for pair in padding for p in pair)
    fits = fits and all(x < s for x, s in zip(extra, window.strides, strict=True))
    made = node.make(
        f"nn.conv{rank}d_transpose",
        data,
        weight,
        **window.attrs,
        padding=flat(padding) if fits else (0,) * (2 * rank),
        output_padding=extra if fits else (0,) * rank,
        groups=groups,
        channels=dims.simplify(node.shape(weight)[1] * groups),
        kernel_size=window.kernel,
    )
    return add_bias(node, made if fits else _cropped(node, made, padding, extra), bias)


def _transposed_padding(window: Window, sizes: Sequence[Dim], extra: Sequence[int]) -> Padding:
    node, rank, mode = window.node, len(window.kernel), window.node.attr("auto_pad")
    wanted: Sequence[Dim] | None = node.attr("output_shape")
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [dims.simplify(size * s) for size, s in zip(sizes, window.strides, strict=True)]
    if wanted is None:
        return window.padding(sizes)
    wanted = list(wanted)[-rank:]
    if len(wanted) != rank:
        node.bad(f"output_shape is {wanted}, expected {rank} numbers")
    lengths = [
        (size - 1) * s + x + (k - 1) * d + 1
        for size, s, x, k, d in zip(
            sizes, window.strides, extra, window.kernel, window.dilations, strict=True
        )
    ]
    return split_padding(
        [dims.simplify(have - want) for have, want in zip(lengths, wanted, strict=True)], mode
    )


def _cropped(node: OnnxNode, data: Expr, padding: Padding, extra: Sequence[int]) -> Expr:
    """Apply padding that an operator does not support: more zeros, then a slice."""
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
    """AveragePool; ``count_include_pad``: padding counts in the mean."""
    return pool(node, data, "avg", 0.0)


def pool(node: OnnxNode, data: Expr, kind: str, fill: float) -> Expr:
    """Return the pooling ("max", "avg") of a node's attributes."""
    window = window_of(node, spatial_rank(node, data))
    padding = window.pooled_padding(data)
    attrs = {"count_include_pad": node.flag("count_include_pad")} if kind == "avg" else {}
    plain = all(isinstance(p, int) for pair in padding for p in pair)
    if not plain and kind == "avg" and not attrs["count_include_pad"]:
        node.unsupported("auto_pad of a mean over a dynamic size, without count_include_pad")
    data, left = explicit_padding(node, data, padding, fill)
    attrs |= {"padding": left, "ceil_mode": is_ceil_mode(node), "starts_inside": is_ceil_mode(node)}
    return node.make(
        f"nn.{kind}_pool{len(window.kernel)}d", data, pool_size=window.kernel, **window.attrs, **attrs
    )


def is_ceil_mode(node: OnnxNode) -> bool:
    """Return whether a window that only begins inside counts; not with ``auto_pad``."""
    return node.flag("ceil_mode") and node.attr("auto_pad") in ("NOTSET", "")


@converter("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: OnnxNode, data: Expr) -> Expr:
    """GlobalAveragePool and GlobalMaxPool: over all axes after the channels, which stay as 1s."""
    mean = node.op_type == "GlobalAveragePool"
    if node.rank(data) < 3:
        node.bad(f"data of rank {node.rank(data)}, expected at least 3")
    if node.rank(data) == 4:
        return node.make("nn.global_avg_pool2d" if mean else "nn.global_max_pool2d", data)
    axes = tuple(range(2, node.rank(data)))
    return node.make("mean" if mean else "max", data, axis=axes, keepdims=True)


@converter("LpPool")
def lp_pool(node: OnnxNode, data: Expr) -> Expr:
    """LpPool: the p-norm of each window: the mean of powers times the window's size, then the root."""
    node.required("kernel_shape")
    window, p = window_of(node, spatial_rank(node, data)), _power(node)
    if node.flag("ceil_mode"):
        node.unsupported("ceil_mode=1")
    size = node.make("abs", data)
    powers = size if p == 1 else node.make("power", size, p)
    powers = pad_spatial(node, powers, window.pooled_padding(data), 0.0)
    attrs = {"pool_size": window.kernel, **window.attrs, "count_include_pad": True}
    total = node.multiply(
        node.make(f"nn.avg_pool{len(window.kernel)}d", powers, **attrs), math.prod(window.kernel)
    )
    return total if p == 1 else node.make("power", total, 1 / p)


def _power(node: OnnxNode) -> float:
    p = node.attr("p")
    if p < 1:
        node.bad(f"p is {p}, expected at least 1")
    return p


@converter("GlobalLpPool")
def global_lp_pool(node: OnnxNode, data: Expr) -> Expr:
    """GlobalLpPool: the ``p``-norm over all axes after the channels, which stay as 1s."""
    p, axes = _power(node), tuple(range(2, node.rank(data)))
    total = node.make("sum", node.make("power", node.make("abs", data), p), axis=axes, keepdims=True)
    return node.make("power", total, 1 / p)
