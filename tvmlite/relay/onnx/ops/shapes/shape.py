"""ONNX's operators that move elements: reshape, transpose, slice, split, concatenate, tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim, show_shape
from tvmlite.relay.onnx.graph import axes as along
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.conditions import decide
from tvmlite.relay.onnx.graph.data_dependent_dims import (
    as_extents,
    depends_on_data,
    may_be_negative,
    name_dims,
)
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.te import expr as e

MAX_BOUND = 2**31 - 1
"""The bound of a slice from which on it means the end, however long the axis."""


@converter("Reshape")
def reshape(node: OnnxNode, data: Expr, shape: Expr | None = None) -> Expr:
    """Reshape: -1 is the remaining extent; 0 keeps the input's extent unless ``allowzero``."""
    have, keeps_zero = node.shape(data), node.flag("allowzero")
    wanted = node.required("shape") if shape is None else node.ints(shape, "shape")
    if any(may_be_negative(node, d) for d in wanted):
        return along.reshape_checked(node, data, _dynamic_shape(node, have, wanted, keeps_zero))
    return along.reshape_checked(node, data, resolve_shape(node, have, wanted, keeps_zero))


def _dynamic_shape(node: OnnxNode, have: tuple[Dim, ...], wanted: list[Dim], allowzero: bool) -> list[Dim]:
    """``resolve_shape`` for numbers known only at run time, codes and extents alike."""
    copied = [
        d if allowzero else along.select(_is_code(d, 0), have[i] if i < len(have) else 0, d)
        for i, d in enumerate(wanted)
    ]
    named = [along.select(_is_code(d, -1), 1, d) for d in copied]
    rest = e.FloorDiv(*(e.convert(n, e.INDEX) for n in (node.product(have), node.product(named))))
    return as_extents(node, [along.select(_is_code(d, -1), rest, d) for d in copied], "extent")


def _is_code(extent: Dim, code: int) -> Any:
    return extent == code if isinstance(extent, int) else e.Equal(*e.match(extent, code))


def resolve_shape(node: OnnxNode, have: tuple[Dim, ...], wanted: list[Dim], allowzero: bool) -> list[Dim]:
    """Return ``wanted`` with its codes 0 and -1 replaced by extents."""
    made: list[Dim | None] = []
    for i, extent in enumerate(wanted):
        if isinstance(extent, int) and extent == 0 and not allowzero:
            if i >= len(have):
                node.bad(f"shape {show_shape(tuple(wanted))} copies axis {i} of {show_shape(have)}")
            made.append(have[i])
        elif isinstance(extent, int) and extent < 0:
            if extent != -1 or None in made:
                node.bad(f"shape {show_shape(tuple(wanted))} is not valid")
            made.append(None)
        else:
            made.append(extent)
    others = [d for d in made if d is not None]
    if None not in made:
        _check_count(node, have, others)
        return others
    rest = dims.quotient(have, others)
    if rest is None:
        node.bad(f"{show_shape(have)} does not reshape to {show_shape(tuple(wanted))}")
    return [rest if d is None else d for d in made]


def _check_count(node: OnnxNode, have: tuple[Dim, ...], wanted: list[Dim]) -> None:
    a, b = node.product(have), node.product(wanted)
    if isinstance(a, int) and isinstance(b, int) and a != b:
        node.bad(f"{show_shape(have)} does not reshape to {show_shape(tuple(wanted))}")


@converter("Flatten")
def flatten(node: OnnxNode, data: Expr) -> Expr:
    """Flatten to a matrix: the axes before ``axis`` are its rows, those from it on its columns."""
    shape = node.shape(data)
    axis = node.attr("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        node.bad(f"axis {axis} is outside [{-len(shape)}, {len(shape)}]")
    axis = axis + len(shape) if axis < 0 else axis
    return node.reshape(data, (node.product(shape[:axis]), node.product(shape[axis:])))


@converter("Unsqueeze")
def unsqueeze(node: OnnxNode, data: Expr, axes: Expr | None = None) -> Expr:
    """Unsqueeze: 1s at ``axes`` of the result; an attribute, from opset 13 an input."""
    given = node.ints_or_attr(axes, "axes") or []
    rank = node.rank(data) + len(given)
    inserted = along.check_axes(node, given, rank)
    ones = [along.is_among(axis, inserted, rank) for axis in range(rank)]
    return along.reshape_checked(
        node, data, as_extents(node, along.insert_ones(node.shape(data), ones), "extent")
    )


@converter("Squeeze")
def squeeze(node: OnnxNode, data: Expr, axes: Expr | None = None) -> Expr:
    """Squeeze of ``axes``, an attribute, from opset 13 an input; by default of every extent 1."""
    shape = node.shape(data)
    given = node.ints_or_attr(axes, "axes")
    if given is None:
        given = [i for i, d in enumerate(shape) if decide(node, e.Equal(*e.match(e.convert(d), 1)))]
    over = along.check_axes(node, given, len(shape))
    removed = [along.is_among(axis, over, len(shape)) for axis in range(len(shape))]
    for axis, extent in enumerate(shape):
        if removed[axis] is True and isinstance(extent, int) and extent != 1:
            node.bad(f"axis {axis} of {show_shape(shape)} is not 1")
    data = assume_shape(node, data, tuple(1 if r is True else d for r, d in zip(removed, shape, strict=True)))
    left = along.remaining_extents(node.shape(data), removed, len(shape) - len(over))
    return along.reshape_checked(node, data, as_extents(node, left, "extent"))


@converter("Transpose")
def transpose(node: OnnxNode, data: Expr) -> Expr:
    """Transpose by ``perm``, by default with the axes reversed."""
    rank = node.rank(data)
    perm = node.attr("perm", list(range(rank))[::-1])
    if sorted(perm) != list(range(rank)):
        node.bad(f"perm {perm} does not permute {rank} axes")
    return node.transpose(data, perm)


@converter("Concat")
def concat(node: OnnxNode, *inputs: Expr) -> Expr:
    """Concat: inputs joined along an axis; their other extents are assumed to be equal."""
    first = node.shape(inputs[0])
    axis = node.axis(node.attr("axis", 1) if node.opset < 4 else node.required("axis"), len(first))
    fitted: list[Expr] = []
    for value in inputs:
        shape = node.shape(value)
        if len(shape) != len(first):
            node.bad(f"inputs of shapes {show_shape(first)} and {show_shape(shape)}")
        wanted = tuple(own if i == axis else d for i, (own, d) in enumerate(zip(shape, first, strict=True)))
        if dims.differ(shape, wanted):
            node.bad(
                f"inputs of shapes {show_shape(first)} and {show_shape(shape)}, joined along axis {axis}"
            )
        fitted.append(assume_shape(node, value, wanted))
    if len({node.dtype(v) for v in inputs}) > 1:
        node.bad(f"inputs of types {', '.join(node.dtype(v) for v in inputs)}")
    return node.joined(fitted, axis)


@converter("Split")
def split(node: OnnxNode, data: Expr, sizes: Expr | None = None) -> list[Expr]:
    """Split: parts of the given sizes, or ``num_outputs`` equal ones (the last may be smaller)."""
    if node.opset < 2 and not node.has("axis"):
        node.unsupported("no axis: which one is not defined")
    shape = node.shape(data)
    axis = node.axis(node.attr("axis", 0), len(shape))
    extent = shape[axis]
    given: list[Dim] = (node.attr("split") or []) if sizes is None else node.extents(sizes, "split")
    count = node.attr("num_outputs", node.num_outputs)
    if (len(given) or count) != node.num_outputs:
        node.bad(f"into {len(given) or count} parts, {node.num_outputs} outputs are named")
    if not given:
        part = dims.ceil_div(extent, count)
        if not isinstance(part, int) and node.opset < 18:
            node.unsupported(f"of a dynamic extent {extent} into {count} equal parts")
        if node.opset < 18 and part * count != extent:
            node.bad(f"{extent} elements do not split into {count} equal parts")
        given = [part] * (count - 1) + [dims.simplify(extent - part * (count - 1))]
    total = dims.simplify(sum(given[1:], start=given[0]))
    if isinstance(total, int) and isinstance(extent, int) and total != extent:
        node.bad(f"sizes {given} do not add up to {extent}")
    if any(isinstance(d, int) and d < 0 for d in given):
        node.bad(f"sizes {given}: negative")
    data = assume_shape(node, data, tuple(total if i == axis else d for i, d in enumerate(shape)))
    return node.split(data, axis, given)


@converter("Slice")
def slice_(node: OnnxNode, data: Expr, *bounds: Expr | None) -> Expr:
    """Slice; starts, ends, axes and steps are attributes in older operator sets."""
    given = (*bounds, None, None, None, None)[:4]
    names = ("starts", "ends", "axes", "steps")
    starts, ends, axes, steps = (node.ints_or_attr(one, name) for one, name in zip(given, names, strict=True))
    return _slice(node, data, starts or [], ends or [], axes, steps)


def _slice(
    node: OnnxNode,
    data: Expr,
    starts: list[Dim],
    ends: list[Dim],
    axes: Sequence[Dim] | None,
    steps: Sequence[Dim] | None,
) -> Expr:
    """``data[starts:ends:steps]``; for bounds known only at run time, the window of each axis is computed."""
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        lengths = f"{len(starts)}, {len(ends)}, {len(axes)} and {len(steps)} elements"
        node.bad(
            f"starts, ends, axes and steps have lengths {lengths}, expected equal lengths, and no step of 0"
        )
    axes = along.check_axes(node, axes, node.rank(data))
    fixed = [d for d in (*axes, *steps) if isinstance(d, int)]
    if len(fixed) == 2 * len(axes) and not any(may_be_negative(node, d) for d in (*starts, *ends)):
        begin, end = ([_bounded(d) for d in side] for side in (starts, ends))
        return node.slice(data, fixed[: len(axes)], begin, end, fixed[len(axes) :])
    windows = [
        _window_along(axis, extent, node.rank(data), list(zip(axes, starts, ends, steps, strict=True)))
        for axis, extent in enumerate(node.shape(data))
    ]
    begin, step, count = zip(*windows, strict=True) if windows else ((), (), ())
    extents = as_extents(node, list(count), "extent")
    return node.make("strided_window", data, begin=begin, strides=step, shape=tuple(extents))


def _window_along(
    axis: int, extent: Dim, rank: int, slices: list[tuple[Dim, Dim, Dim, Dim]]
) -> tuple[Dim, Dim, Dim]:
    """The window of ``axis``: that of the slice (axis, start, end, step) for it, else all of it."""
    window: tuple[Dim, Dim, Dim] = (0, 1, extent)
    for one, start, end, step in slices:
        here, own = along.is_among(axis, [one], rank), _window(start, end, step, extent)
        window = tuple(along.select(here, a, b) for a, b in zip(own, window, strict=True))  # type: ignore[assignment]
    return tuple(map(dims.simplify, window))  # type: ignore[return-value]


def _window(first: Dim, last: Dim, step: Dim, extent: Dim) -> tuple[Dim, Dim, Dim]:
    """The begin of ``first:last:step`` on an axis of ``extent``, its step, and its number of elements."""
    begin, end, stride, whole = (e.convert(v, e.INDEX) for v in (first, last, step, extent))
    zero, one = e.const(0, e.INDEX), e.const(1, e.INDEX)
    forward = stride > 0

    def bounded(bound: e.Expr) -> e.Expr:
        counted = e.Select(bound < 0, bound + whole, bound)
        low, high = e.Select(forward, zero, zero - one), e.Select(forward, whole, whole - one)
        return e.Min(e.Max(counted, low), high)

    begin, end = bounded(begin), bounded(end)
    size = e.Select(forward, stride, zero - stride)
    distance = e.Select(forward, end - begin, begin - end)
    return begin, stride, e.Max((distance + size - one) // size, zero)


def _bounded(bound: Dim) -> Dim:
    """A bound far outside, clamped so that later stages interpret it correctly."""
    return max(-MAX_BOUND, min(bound, MAX_BOUND)) if isinstance(bound, int) else bound


@converter("Expand", since=8)
def expand(node: OnnxNode, data: Expr, shape: Expr) -> Expr:
    """Expand: broadcasts in both directions: an extent of 1 on either side takes the other's."""
    have, wanted = list(node.shape(data)), node.extents(shape, "shape")
    rank = max(len(have), len(wanted))
    have = [1] * (rank - len(have)) + have
    wanted = [1] * (rank - len(wanted)) + wanted
    made: list[Dim] = []
    for own, other in zip(have, wanted, strict=True):
        if isinstance(own, int) and isinstance(other, int) and 1 not in (own, other) and own != other:
            node.bad(f"{show_shape(node.shape(data))} does not expand to {show_shape(tuple(wanted))}")
        made.append(_broadcast(node, own, other))
    fitted = [own if dims.equal(own, 1) else new for own, new in zip(have, made, strict=True)]
    data = assume_shape(node, node.expand_to_rank(data, rank), tuple(fitted))
    return node.broadcast_to(data, made)


def _broadcast(node: OnnxNode, own: Dim, other: Dim) -> Dim:
    """The extent of an axis of ``own`` broadcast with ``other``, which may be 1 at run time."""
    if dims.equal(other, 1) or dims.equal(own, other):
        return own
    if dims.equal(own, 1) or not depends_on_data(node, other):
        return other
    return name_dims(node, [e.Select(e.Equal(*e.match(other, 1)), *e.match(own, other))], "extent")[0]


@converter("Tile", since=6)
def tile(node: OnnxNode, data: Expr, repeats: Expr) -> Expr:
    """Tile from opset 6: ``repeats`` has a count for each axis."""
    counts = node.extents(repeats, "repeats")
    if len(counts) != node.rank(data) or any(isinstance(c, int) and c < 0 for c in counts):
        node.bad(f"repeats {counts} for data of rank {node.rank(data)}")
    return node.make("tile", data, reps=tuple(counts))


@converter("DepthToSpace")
def depth_to_space(node: OnnxNode, data: Expr) -> Expr:
    """DepthToSpace of NCHW data: the position in a block is the channels' outer part (DCR) or inner (CRD)."""
    mode = node.attr("mode")
    return node.make("nn.depth_to_space", data, block_size=node.required("blocksize"), mode=mode)


@converter("SpaceToDepth")
def space_to_depth(node: OnnxNode, data: Expr) -> Expr:
    """SpaceToDepth of NCHW data: the position in a block is the channels' outer part (DCR) or inner (CRD)."""
    block = node.required("blocksize")
    if node.attr("mode") == "CRD":
        return _channel_major(node, data, block)
    return node.make("nn.space_to_depth", data, block_size=block)


def _channel_major(node: OnnxNode, data: Expr, block: int) -> Expr:
    """Space to depth with the position in the block varying fastest (CRD)."""
    if node.rank(data) != 4 or block < 1:
        node.bad(f"blocksize is {block} and data is {show_shape(node.shape(data))}, expected 4 axes")
    n, c, h, w = node.shape(data)
    rows, columns = dims.simplify(h // block), dims.simplify(w // block)
    parts = node.reshape(data, (n, c, rows, block, columns, block))
    return node.reshape(
        node.transpose(parts, (0, 1, 3, 5, 2, 4)), (n, dims.simplify(c * block**2), rows, columns)
    )


@converter("Trilu", since=14)
def trilu(node: OnnxNode, data: Expr, k: Expr | None = None) -> Expr:
    """Trilu: the upper or lower triangle from diagonal ``k`` on, which must be known at import."""
    offset = 0 if k is None else node.one_int(k, "k")
    return node.make("trilu", data, k=offset, upper=node.flag("upper"))
