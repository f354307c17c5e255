"""Operators between layers: functions of elements, joins, masks, rearrangements."""

from __future__ import annotations

import numpy as np

from tvmlite.fuzz.quantized.graph import Graph, have_same_type
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Expr, constant
from tvmlite.relay.ir.types import normal_dim


def function(graph: Graph, value: Expr) -> Expr | None:
    """A function of each element."""
    rnd = graph.rnd
    name = rnd.choice(
        ("nn.relu", "clip", "nn.leaky_relu", "sigmoid", "tanh", "nn.gelu", "abs", "negative", "silu")
    )
    match name:
        case "clip":
            low = rnd.choice((0.0, -1.0, 0.1))
            return graph.call("clip", value, a_min=low, a_max=rnd.choice((1.0, 2.5, 6.0)))
        case "nn.leaky_relu":
            return graph.call(name, value, alpha=0.1)
        case "silu":
            return graph.call("multiply", value, graph.call("sigmoid", value))
    return graph.call(name, value)


def scaled(graph: Graph, value: Expr) -> Expr | None:
    """Combine with a number, or with a vector along an axis."""
    shape, rnd = graph.shape(value), graph.rnd
    axis = rnd.choice([n for n in graph.fixed_axes(value) if n] or [len(shape) - 1])
    if axis not in graph.fixed_axes(value):
        return None
    along = rnd.choice(((), (1,), (shape[axis], *(1,) * (len(shape) - 1 - axis))))
    name = rnd.choice(("multiply", "add", "subtract", "maximum", "minimum"))
    return graph.call(name, value, graph.constant(along))


def joined(graph: Graph, value: Expr) -> Expr | None:
    """Combine element-wise with another value of the same shape."""
    others = [one for one in graph.values if have_same_type(one, value)]
    if not others:
        return None
    name = graph.rnd.choice(("add", "add", "subtract", "multiply", "maximum", "minimum"))
    pair = [value, graph.rnd.choice(others)]
    graph.rnd.shuffle(pair)
    return graph.call(name, *pair)


def concatenated(graph: Graph, value: Expr) -> Expr | None:
    """Concatenate with other values of the same shape, and with constants."""
    rnd, axes = graph.rnd, graph.fixed_axes(value)
    shape = graph.shape(value)
    if not axes or np.prod(shape) > 6000:
        return None
    axis = rnd.choice(axes)
    parts = [value, *(one for one in graph.values if have_same_type(one, value) and rnd.random() < 0.5)][:3]
    if len(axes) == len(shape) and rnd.random() < 0.4:
        parts.append(graph.constant(tuple(2 if n == axis else size for n, size in enumerate(shape))))
    if len(parts) == 1:
        parts.append(sliced(graph, value, axis) if shape[axis] > 1 else value)
    rnd.shuffle(parts)
    return graph.call("concatenate", parts, axis=axis)


def part(graph: Graph, value: Expr) -> Expr | None:
    """Slice a random axis."""
    shape = graph.shape(value)
    axes = [n for n in graph.fixed_axes(value) if shape[n] > 1]
    return sliced(graph, value, graph.rnd.choice(axes)) if axes else None


def sliced(graph: Graph, value: Expr, axis: int) -> Expr:
    """Slice ``axis``."""
    rnd, shape = graph.rnd, graph.shape(value)
    begin, stride = rnd.randrange(shape[axis] // 2 + 1), rnd.choice((1, 1, 2))
    end = rnd.randint(begin + 1, shape[axis])
    return graph.call("strided_slice", value, begin=(begin,), end=(end,), strides=(stride,), axes=(axis,))


def padded(graph: Graph, value: Expr) -> Expr | None:
    """Pad with zeros, with another number, with the edge or with a mirror image."""
    rnd, fixed, shape = graph.rnd, graph.fixed_axes(value), graph.shape(value)
    if np.prod(shape) > 6000:
        return None
    mode = rnd.choice(("constant", "constant", "edge", "reflect"))
    widths = tuple(
        (rnd.randint(0, 1), rnd.randint(0, 2)) if n in fixed and size > 2 and rnd.random() < 0.6 else (0, 0)
        for n, size in enumerate(shape)
    )
    attrs = {"pad_value": rnd.choice((0.0, 0.0, 0.5))} if mode == "constant" else {}
    return graph.call("nn.pad", value, pad_width=widths, pad_mode=mode, **attrs)


def masked(graph: Graph, value: Expr) -> Expr | None:
    """Select elements of this and another value, or a number, by a mask; or take a triangle."""
    rnd, shape = graph.rnd, tensor_type_of(value).shape
    if len(shape) > 1 and rnd.random() < 0.3:
        return graph.call("trilu", value, k=rnd.randint(-1, 1), upper=rnd.random() < 0.5)
    given = shape if rnd.random() < 0.6 else shape[-1:]
    others = [one for one in graph.values if have_same_type(one, value)]
    other = rnd.choice([*others, constant(np.float32(rnd.choice((0.0, -1.0))))])
    pair = [value, other]
    rnd.shuffle(pair)
    return graph.call("where", graph.param(given, "bool"), *pair)


def rearranged(graph: Graph, value: Expr) -> Expr | None:
    """Change the order or the shape of the elements."""
    rnd, type_ = graph.rnd, tensor_type_of(value)
    rank, shape = type_.ndim, type_.shape
    kind = rnd.choice(("transpose", "merge", "split", "repeat", "take", "flip", "tile"))
    fixed = graph.fixed_axes(value)
    axis = rnd.choice(fixed or [0])
    extent = shape[axis]
    match kind:
        case "transpose" if rank > 1:
            axes = list(range(rank))
            rnd.shuffle(axes)
            return graph.call("transpose", value, axes=tuple(axes))
        case "merge" if rank > 2:
            place = rnd.randrange(rank - 1)
            merged = normal_dim(shape[place] * shape[place + 1])
            made = (*shape[:place], merged, *shape[place + 2 :])
            return graph.reshaped(value, made)
        case "split" if rank < 5 and isinstance(extent, int) and extent % 2 == 0:
            made = (*shape[:axis], 2, extent // 2, *shape[axis + 1 :])
            return graph.reshaped(value, made)
        case "repeat" if np.prod(graph.shape(value)) < 3000:
            return graph.call("repeat", value, repeats=2, axis=axis)
        case "tile" if np.prod(graph.shape(value)) < 3000 and fixed:
            return graph.call("tile", value, reps=tuple(2 if n == axis else 1 for n in range(rank)))
        case "take" if isinstance(extent, int):
            places = graph.random.integers(0, extent, rnd.choice((1, 3, 5)))
            return graph.call("take", value, constant(places, "int64"), axis=axis)
        case "flip" if isinstance(extent, int):
            return graph.call("reverse", value, axis=axis)
    return None


def reduced(graph: Graph, value: Expr) -> Expr | None:
    """Take a mean, sum, maximum or minimum along some axes, or a softmax along the last one."""
    rnd, rank = graph.rnd, len(graph.shape(value))
    if rank < 2:
        return None
    if rnd.random() < 0.3:
        return graph.call("nn.softmax", value, axis=rnd.choice((-1, rank - 1)))
    axes = tuple(sorted(rnd.sample(range(1, rank), rnd.randint(1, rank - 1))))
    name = rnd.choice(("mean", "mean", "sum", "max", "min"))
    return graph.call(name, value, axis=axes, keepdims=rnd.random() < 0.7)
