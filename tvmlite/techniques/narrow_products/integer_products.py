"""The pass that computes products and convolutions of dequantized bytes as integer products of the bytes.

Quantized models state a product in floats, ``(q - z) s`` times ``(w - y) t``. Its sums equal integer ones,
``s t (sum(q w') - z sum(w'))`` with ``w' = w - y``, which processors with ``vpdpbusd`` compute four
terms at a time, exactly, reading a quarter of the bytes. The last bits of sums of floats need not be kept
(``quantized_chains``): the integer ones are the closest to the exact sums, and those of onnxruntime.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Module, canonical, constant
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import same_dim, same_shape
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.convolutions.conv import WEIGHT_LAYOUTS
from tvmlite.relay.passes.patterns import through_views
from tvmlite.techniques.common.dot import quads_of
from tvmlite.techniques.common.quads import QUAD
from tvmlite.techniques.narrow_products.quantized import (
    CONVOLUTIONS,
    LARGEST_EXACT,
    Quantized,
    as_scaled_sums,
    constant_elements,
    known_shape,
    quantized,
    scaled_sums,
    with_sign,
)

MOST_MERGED, MOST_MERGED_POINTWISE = 8, 2
"""The most groups that are merged into one, for windows and for 1x1. With bytes, a merged group is still
faster than separate groups of floats, zeros included: measured on chains of convolutions in groups of 4 to 16
channels."""

MOST_TERMS = (2**31 - 1) // (255 * 255)
"""The most terms of a sum of products of bytes, less their zero points, that int32 holds."""


def integer_products(target: Target) -> Callable[[Module], Module]:
    """The pass for ``target``; it does nothing if ``target`` has no instruction for products of bytes."""

    def integer_products(module: Module) -> Module:
        main = module.main
        found, lanes = quads_of(target), target.lanes("int32")
        rule = partial(_as_integers, sign=found.data if found else "", lanes=lanes)
        body = rewrite(main.body, rule) if found else main.body
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return integer_products


def _as_integers(node: Expr, sign: str, lanes: int) -> Expr:
    """``node`` with integer products, if it is a product of dequantized data and weights, or the sum of one
    and its bias. The data are bytes of dtype ``sign``."""
    match node:
        case Call("nn.matmul", (data, weight)) if not node["transpose_a"]:
            return _product(node, data, weight, 0 if node["transpose_b"] else 1, sign)
        case Call("nn.dense", (data, weight)):
            return _product(node, data, weight, 0, sign)
        case Call(op=str() as name, args=(data, weight)) if name in CONVOLUTIONS:
            return _convolution(node, data, weight, CONVOLUTIONS[name], sign, lanes)
        case Call("add" | "nn.bias_add", (data, bias)):
            return _with_bias(node, data, bias)
    return node


def _operands(
    node: Call, data: Expr, weight: Expr, axis: int, sign: str
) -> tuple[Quantized, np.ndarray, np.ndarray] | None:
    """The quantized ``data``, with dtype ``sign`` and one scale; the int8 elements of ``weight``, less their
    zero points; and the product of both scales, one number for each index of the weight along ``axis``. None
    if an operand has not that form, or the sums may overflow int32."""
    rows, columns = quantized(data), quantized(weight)
    if rows is None or columns is None or not rows.is_uniform or tensor_type_of(node).dtype != "float32":
        return None
    stored, shape = constant_elements(columns.codes), known_shape(tensor_type_of(weight).shape)
    if stored is None or shape is None or stored.dtype not in (np.int8, np.uint8) or not stored.size:
        return None
    stored = stored.reshape(shape)
    if not columns.is_uniform and columns.axis % stored.ndim != axis:
        return None
    along = tuple(-1 if k == axis else 1 for k in range(stored.ndim))
    moved = stored.astype(np.int32) - columns.zero.astype(np.int32).reshape(along)
    count = stored.shape[axis]
    if moved.min() < -128 or moved.max() > 127 or stored.size // count > MOST_TERMS:
        return None
    rows = with_sign(rows, sign)
    if rows is None:
        return None
    scale = rows.scale.reshape(()) * np.broadcast_to(columns.scale.reshape(-1), (count,))
    return rows, moved.astype(np.int8), scale.astype(np.float32)


def _product(node: Call, data: Expr, weight: Expr, axis: int, sign: str) -> Expr:
    """A product of two matrices, or of rows and a matrix, by ``nn.dense`` of bytes."""
    found = _operands(node, data, weight, axis, sign)
    if found is None:
        return node
    rows, kernel, scale = found
    if kernel.ndim != 2:
        return node
    kernel, codes, span = kernel if axis == 0 else kernel.T, rows.codes, node.span
    if not same_dim(tensor_type_of(codes).shape[-1], kernel.shape[1]):
        codes = make("reshape", codes, newshape=(-1, kernel.shape[1]), span=span)
    made = make("nn.dense", codes, Constant(np.ascontiguousarray(kernel), span), out_dtype="int32", span=span)
    sums = _minus_zero_point(made, kernel.sum(1, dtype=np.int32), rows.zero)
    return _reshaped_like(scaled_sums(sums, scale), node)


def _convolution(node: Call, data: Expr, weight: Expr, rank: int, sign: str, lanes: int) -> Expr:
    """A convolution of quantized data, padded with the data's zero point.

    Groups with fewer outputs than ``lanes``, or with inputs that are not a multiple of four, are merged, with
    zeros as the weights of inputs from other groups.

    Sums of a depthwise convolution are so short that float32 is exact, and are computed in floats: processors
    multiply vectors of floats lane by lane, but have no such instruction for bytes. Without vectors
    (``lanes`` is 1) the sums are integers, and groups are not merged.
    """
    layouts = node["data_layout"], node["kernel_layout"], node["out_layout"] or node["data_layout"]
    if layouts != (windows.LAYOUTS[rank], WEIGHT_LAYOUTS[rank], windows.LAYOUTS[rank]):
        return node
    if isinstance(weight, Constant) and weight.data.dtype == np.int8:
        return _with_merged_groups(node, data, weight, sign, lanes)
    found = _operands(node, data, weight, 0, sign)
    if found is None:
        return node
    rows, kernel, scale = found
    depthwise = lanes > 1 and node["groups"] == kernel.shape[0] > 1 and kernel.shape[1] == 1
    if depthwise and _bound(kernel) > LARGEST_EXACT:
        return node
    sums = kernel.reshape(kernel.shape[0], -1).sum(1, dtype=np.int32).reshape(-1, *(1,) * rank)
    attrs, codes, span = dict(node.attrs), rows.codes, node.span
    if not depthwise:
        merge_count = _groups_to_merge(kernel.shape, node["groups"], lanes)
        if merge_count is None:
            return node
        kernel, attrs["groups"] = (
            _merged_groups(kernel, node["groups"], merge_count),
            node["groups"] // merge_count,
        )
    attrs["out_dtype"] = "float32" if depthwise else "int32"
    if not same_shape(tensor_type_of(codes).shape, tensor_type_of(data).shape):
        codes = make("reshape", codes, newshape=tensor_type_of(data).shape, span=span)
    begins, ends = windows.padding_of(node, rank)
    if rows.zero.any() and any((*begins, *ends)):
        ends = _padding_read(node, data, kernel.shape[2:], begins, ends)
        widths = ((0, 0), (0, 0), *zip(begins, ends, strict=True))
        codes = make("nn.pad", codes, pad_width=widths, pad_value=float(rows.zero.reshape(())), span=span)
        attrs["padding"] = (0,) * (2 * rank)
    made = Call(node.op, (codes, Constant(kernel, span)), canonical(attrs), span)
    return scaled_sums(_minus_zero_point(made, sums, rows.zero), scale.reshape(sums.shape))


def _with_merged_groups(node: Call, data: Expr, weight: Constant, sign: str, lanes: int) -> Call:
    """``node`` with groups merged, if it is a convolution of bytes whose groups are too narrow."""
    groups, kernel = node["groups"], weight.data
    merge_count = _groups_to_merge(kernel.shape, groups, lanes)
    kinds = tensor_type_of(data).dtype, tensor_type_of(node).dtype
    if merge_count in (None, 1) or kinds != (sign, "int32"):
        return node
    attrs = canonical({**dict(node.attrs), "groups": groups // merge_count})
    return Call(
        node.op, (data, Constant(_merged_groups(kernel, groups, merge_count), weight.span)), attrs, node.span
    )


def _groups_to_merge(shape: Sequence[int], groups: int, lanes: int) -> int | None:
    """How many of ``groups`` to merge for outputs that are whole vectors and inputs that are a multiple of
    four; None if that takes too many."""
    if groups == 1 or lanes == 1:
        return 1
    outputs, inputs = shape[0] // groups, shape[1]
    most = MOST_MERGED if math.prod(shape[2:]) > 1 else MOST_MERGED_POINTWISE
    counts = (count for count in range(1, min(groups, most) + 1) if groups % count == 0)
    fits = (n for n in counts if outputs * n % lanes == 0 and (inputs * n % QUAD == 0 or n == groups))
    return next(fits, None)


def _merged_groups(kernel: np.ndarray, groups: int, merge_count: int) -> np.ndarray:
    """``kernel`` of ``groups`` groups, with ``merge_count`` groups merged into one and zeros between them."""
    if merge_count == 1:
        return kernel
    outputs, inputs, *window = kernel.shape
    made = np.zeros(
        (groups // merge_count, merge_count, outputs // groups, merge_count, inputs, *window), kernel.dtype
    )
    parts = kernel.reshape(groups // merge_count, merge_count, outputs // groups, inputs, *window)
    for own in range(merge_count):
        made[:, own, :, own] = parts[:, own]
    return made.reshape(outputs, merge_count * inputs, *window)


def _padding_read(
    node: Call, data: Expr, kernel: Sequence[int], begins: Sequence[int], ends: Sequence[int]
) -> tuple[int, ...]:
    """The padding after ``data`` that windows read: with strides, they may not reach the last elements."""
    rank = len(kernel)
    strides, dilation = (
        windows.spatial_attr(node, "strides", rank),
        windows.spatial_attr(node, "dilation", rank),
    )
    made = []
    sizes = tensor_type_of(data).shape[2:]
    for size, k, s, d, begin, end in zip(sizes, kernel, strides, dilation, begins, ends, strict=True):
        unread = (size + begin + end - (k - 1) * d - 1) % s if isinstance(size, int) else 0
        made.append(end - min(max(end, 0), unread))
    return tuple(made)


def _minus_zero_point(made: Expr, sums: np.ndarray, zero: np.ndarray) -> Expr:
    """``made`` minus the contribution of the data's zero point."""
    if not zero.any():
        return made
    moved = constant(-sums * zero.astype(np.int32).reshape(()), tensor_type_of(made).dtype)
    return make("add", made, moved, span=getattr(made, "span", None))


def _bound(kernel: np.ndarray) -> int:
    """A bound on the sums of products of bytes with ``kernel``, including the zero point's contribution."""
    return 2 * 255 * int(np.abs(kernel.reshape(kernel.shape[0], -1).astype(np.int64)).sum(1).max())


def _with_bias(node: Call, data: Expr, bias: Expr) -> Expr:
    """The sum of scaled sums and a bias, with the bias added before scaling if it has the same scale."""
    parts, whole = as_scaled_sums(through_views(data)), _quantized_bias(bias)
    if parts is None or whole is None:
        return node
    sums, scale = parts
    codes, own = whole
    shape = tensor_type_of(sums).shape
    if node.op == "nn.bias_add":
        rank = tensor_type_of(node).ndim
        along = (-1, *(1,) * (rank - 1 - node["axis"] % rank))
        codes, own = codes.reshape(along), own if own.size == 1 else own.reshape(along)
    of_data = tensor_type_of(data).shape
    if not same_shape(tensor_type_of(node).shape, of_data) or not _broadcasts(codes, shape):
        return node
    if not same_shape(of_data, shape) and (codes.ndim > 1 or not same_dim(of_data[-1], shape[-1])):
        return node  # a view with other axes
    if not _same_scale(own, scale, codes.shape):
        return node
    moved, span = codes.astype(np.int32), node.span
    match sums:
        case Call("add", (inner, Constant(before))):
            sums, moved = inner, before.astype(np.int32) + moved
    dtype = tensor_type_of(sums).dtype
    if dtype == "float32" and _bound_with_bias(sums, moved) > LARGEST_EXACT:
        return node
    made = scaled_sums(make("add", sums, constant(moved, dtype), span=span), scale)
    return _reshaped_like(made, node)


def _bound_with_bias(sums: Expr, moved: np.ndarray) -> int:
    """A bound on the sum of ``sums``, a convolution, and ``moved``."""
    assert isinstance(sums, Call)
    kernel = constant_elements(sums.args[1])
    assert kernel is not None
    return _bound(kernel) + int(np.abs(moved.astype(np.int64)).max())


def _same_scale(one: np.ndarray, other: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether two scales are equal up to rounding for each element of ``shape``."""
    if any(scale.size != 1 and scale.shape != shape for scale in (one, other)):
        return False
    return np.allclose(one, other, rtol=1e-6, atol=0)


def _quantized_bias(bias: Expr) -> tuple[np.ndarray, np.ndarray] | None:
    """The codes of a constant bias, if these are int32 without a zero point, and their scale, both in the
    bias's shape; else None."""
    value = through_views(bias)
    match value:
        case Call("qnn.dequantize", (codes, scale, zero)):
            parts = constant_elements(codes), constant_elements(scale), constant_elements(zero)
            if any(part is None for part in parts) or parts[0].dtype != np.int32 or parts[2].any():  # type: ignore[union-attr]
                return None
            shape = tensor_type_of(bias).shape
            if not all(isinstance(extent, int) for extent in shape) or parts[0].ndim != 1:  # type: ignore[union-attr]
                return None
            own = parts[1].reshape(-1)  # type: ignore[union-attr]
            return parts[0].reshape(shape), own if own.size == 1 else own.reshape(shape)  # type: ignore[union-attr,arg-type]
    return None


def _broadcasts(codes: np.ndarray, shape: tuple) -> bool:
    """Whether ``codes`` broadcast to ``shape``."""
    if codes.ndim > len(shape):
        return False
    last = shape[len(shape) - codes.ndim :]
    return all(have == 1 or same_dim(have, want) for have, want in zip(codes.shape, last, strict=True))


def _reshaped_like(made: Expr, node: Call) -> Expr:
    shape = tensor_type_of(node).shape
    if same_shape(tensor_type_of(made).shape, shape):
        return made
    return make("reshape", made, newshape=shape, span=node.span)
