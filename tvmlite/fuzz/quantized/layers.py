"""Layers of quantized networks: convolutions, products, poolings. Each returns None if ranks do not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.fuzz.quantized.graph import Graph, have_same_type
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, constant
from tvmlite.relay.ir.types import Dim, normal_dim


def convolution(graph: Graph, value: Expr) -> Expr | None:
    """A convolution along one to three axes, with one group, with several, or with one for each channel."""
    rnd, shape = graph.rnd, graph.shape(value)
    rank = len(shape) - 2
    if rank not in (1, 2, 3) or not _is_image(graph, value):
        return None
    channels = shape[1]
    groups = rnd.choice(
        (1, 1, rnd.choice([n for n in range(1, channels + 1) if channels % n == 0]), channels)
    )
    many = (1, 3, 8, 16, 17, 32) if rank < 3 else (1, 5, 16)
    made = groups * rnd.choice((1, 1, 2)) if groups == channels else groups * rnd.choice((1, 2, 3, 4, 8))
    made = rnd.choice(many) if groups == 1 else min(made, 6 * groups)
    kernel, attrs = _window(graph, shape[2:])
    sizes = zip(kernel, shape[2:], strict=True)
    dilation = [2 if k == 2 and n > 3 and rnd.random() < 0.4 else 1 for k, n in sizes]
    weight = graph.weight((made, channels // groups, *kernel), 0)
    product = graph.call(f"nn.conv{rank}d", value, weight, groups=groups, dilation=tuple(dilation), **attrs)
    return _with_bias(graph, product, (value, weight), made, 1)


def transposed_convolution(graph: Graph, value: Expr) -> Expr | None:
    """A transposed convolution along one axis or two."""
    rnd, shape = graph.rnd, graph.shape(value)
    rank = len(shape) - 2
    if rank not in (1, 2) or not _is_image(graph, value) or math.prod(shape) > 4000:
        return None
    kernel = tuple(rnd.choice((1, 2, 3)) for _ in range(rank))
    padding = tuple(1 if n == 3 and rnd.random() < 0.5 else 0 for n in kernel * 2)
    made = rnd.choice((1, 5, 16))
    weight = graph.weight((shape[1], made, *kernel), 1)
    strides = tuple(rnd.choice((1, 2)) for _ in kernel)
    product = graph.call(f"nn.conv{rank}d_transpose", value, weight, strides=strides, padding=padding)
    return _with_bias(graph, product, (value, weight), made, 1)


def _is_image(graph: Graph, value: Expr) -> bool:
    return set(graph.fixed_axes(value)) >= set(range(1, len(graph.shape(value))))


def _window(graph: Graph, sizes: Sequence[int]) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Return a kernel that fits ``sizes``, and its strides and padding."""
    rnd = graph.rnd
    kernel = tuple(min(size, rnd.choice((1, 2, 3, 3))) for size in sizes)
    if rnd.random() < 0.2:
        kernel = (1,) * len(sizes)
    strides = tuple(rnd.choice((1, 1, 1, 2, 3)) for _ in sizes)
    padding = tuple(rnd.choice((0, 1)) if n > 1 else 0 for n in kernel * 2)
    return kernel, {"strides": strides, "padding": padding}


def _with_bias(graph: Graph, made: Expr, of: tuple[Expr, Expr], count: int, axis: int) -> Expr:
    """Add a bias along ``axis``: of floats, or with the product of the scales of the operands ``of``."""
    rnd, rank = graph.rnd, len(graph.shape(made))
    if rnd.random() < 0.3:
        return made
    count = 1 if rnd.random() < 0.1 else count
    scales = [_scale(one) for one in of]
    if scales[0] is not None and scales[0].size > 1:
        scales[0] = None
    bias: Expr = constant(np.asarray(graph.random.standard_normal(count), np.float32))
    if rnd.random() < 0.7 and all(scale is not None for scale in scales):
        scale = np.float32(scales[0]) * scales[1]  # type: ignore[operator]
        scale = scale if count > 1 and scale.size == count else scale.reshape(-1)[:1].reshape(())
        codes = constant(graph.random.integers(-4000, 4000, count), "int32")
        zero = constant(np.zeros(scale.shape), "int32")
        bias = graph.call("qnn.dequantize", codes, constant(scale, "float32"), zero, axis=0)
    if rnd.random() < 0.3 and graph.shape(bias)[0] == graph.shape(made)[axis]:
        return graph.call("nn.bias_add", made, bias, axis=axis)
    if (behind := rank - 1 - axis) or rnd.random() < 0.2:
        shape = (count, *(1,) * behind)
        bias = graph.call("reshape", bias, newshape=(1, *shape) if rnd.random() < 0.3 else shape)
    return graph.call("add", made, bias) if rnd.random() < 0.8 else graph.call("add", bias, made)


def _scale(value: Expr) -> np.ndarray | None:
    match value:
        case Call("qnn.dequantize", (_, Constant(scale), _)):
            return scale
    return None


def dense(graph: Graph, value: Expr) -> Expr | None:
    """A product of rows with a constant weight, whose axes are in either order."""
    rnd, shape = graph.rnd, graph.shape(value)
    if len(shape) < 2 or shape[-1] > 400 or len(shape) - 1 not in graph.fixed_axes(value):
        return None
    depth, units = shape[-1], rnd.choice((1, 5, 16, 24, 40))
    if rnd.random() < 0.5:
        weight = graph.weight((units, depth), 0)
        made = graph.call("nn.dense", value, weight)
    else:
        by_units = rnd.random() < 0.9
        weight = graph.weight((depth, units), 1 if by_units else 0)
        made = _by_matrix(graph, value, weight)
    return _with_bias(graph, made, (value, weight), units, len(shape) - 1)


def prod(extents: Sequence[Dim]) -> Dim:
    """Return the product of all extents, at most one of which is open."""
    made: Dim = 1
    for extent in extents:
        made = made * extent
    return normal_dim(made)


def _by_matrix(graph: Graph, value: Expr, weight: Expr) -> Expr:
    """Multiply ``value``, with its leading axes merged, by ``weight``, and split them again."""
    shape, units = tensor_type_of(value).shape, tensor_type_of(weight).shape[-1]
    rows = graph.reshaped(value, (prod(shape[:-1]), shape[-1]))
    made = graph.call("nn.matmul", rows, weight, transpose_a=False, transpose_b=False)
    return graph.reshaped(made, (*shape[:-1], units))


def product_of_two(graph: Graph, value: Expr) -> Expr | None:
    """A batch of matrices times another computed one, which may be transposed."""
    rnd, shape = graph.rnd, graph.shape(value)
    if len(shape) < 3:
        return None
    *batch, rows, depth = shape
    if math.prod(batch) * rows * rows * depth > 200_000:
        return None
    other = rnd.choice([one for one in graph.values if have_same_type(one, value)] or [value])
    whole = tensor_type_of(value).shape
    if transposed := rnd.random() < 0.5:
        columns = whole[-2]
    else:
        other = graph.call("transpose", other, axes=(*range(len(shape) - 2), len(shape) - 1, len(shape) - 2))
        columns = tensor_type_of(other).shape[-1]
    one, two = (graph.reshaped(x, (prod(whole[:-2]), *tensor_type_of(x).shape[-2:])) for x in (value, other))
    made = graph.call("nn.batch_matmul", one, two, transpose_a=False, transpose_b=transposed)
    return graph.reshaped(made, (*whole[:-1], columns))


def pooling(graph: Graph, value: Expr) -> Expr | None:
    """A maximum or mean pooling, of windows or of the whole."""
    rnd, shape = graph.rnd, graph.shape(value)
    rank = len(shape) - 2
    if rank not in (1, 2, 3) or not _is_image(graph, value):
        return None
    kind = rnd.choice(("max", "avg"))
    if rank == 2 and rnd.random() < 0.3:
        return graph.call(f"nn.global_{kind}_pool2d", value)
    kernel, attrs = _window(graph, shape[2:])
    attrs["ceil_mode"] = attrs["starts_inside"] = rnd.random() < 0.3
    if kind == "avg":
        attrs["count_include_pad"] = rnd.random() < 0.5
    return graph.call(f"nn.{kind}_pool{rank}d", value, pool_size=kernel, **attrs)


def resized(graph: Graph, value: Expr) -> Expr | None:
    """Resize an image to twice its size, or to another one."""
    shape = graph.shape(value)
    if len(shape) != 4 or not _is_image(graph, value) or np.prod(shape) > 6000:
        return None
    size = graph.rnd.choice(((2 * shape[2], 2 * shape[3]), (shape[2] + 1, shape[3]), (5, 3)))
    method, mode = graph.rnd.choice(
        (("nearest_neighbor", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners"))
    )
    attrs = {"method": method, "coordinate_transformation_mode": mode}
    return graph.call("image.resize2d", value, size=size, **attrs)
