"""Axes known only at run time: a result's extents are selected from those of the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.data_dependent_dims import as_extents, name_dims, require
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.te import expr as e


def reshape_checked(node: OnnxNode, data: Expr, extents: Sequence[Dim]) -> Expr:
    """``data`` in another shape, with a run-time check of the number of elements if it is not certain."""
    count, expected = node.product(node.shape(data)), node.product(extents)
    if not dims.equal(count, expected):  # promised by the model
        data = assume_shape(node, node.reshape(data, (count,)), (expected,))
    return node.reshape(data, extents)


def select(condition: Any, a: Dim, b: Dim) -> Dim:
    """``a`` if ``condition`` holds, else ``b``."""
    if isinstance(condition, bool):
        return a if condition else b
    return e.Select(condition, e.convert(a, e.INDEX), e.convert(b, e.INDEX))


def is_among(axis: int, axes: Sequence[Dim], rank: int) -> Any:
    """Whether ``axes``, which may count from the end, contain ``axis`` of ``rank``."""
    found: Any = False
    for one in axes:
        same = _is_same_axis(one, axis, rank)
        found = same if found is False else True if found is True else e.Or(found, e.convert(same))
    return found


def _is_same_axis(one: Dim, axis: int, rank: int) -> Any:
    if isinstance(one, int):
        return one % rank == axis
    return e.Or(e.Equal(*e.match(one, axis)), e.Equal(*e.match(one, axis - rank)))


def check_axes(node: OnnxNode, axes: Sequence[Dim], rank: int, count: int | None = None) -> list[Dim]:
    """Return ``axes``, counted from the front if known: all different, of the first ``count`` of ``rank``.

    A run in which they are not stops.
    """
    if all(isinstance(axis, int) for axis in axes):
        return list(node.axes(axes, rank))
    named = [select(is_among(axis, axes, rank), 1, 0) for axis in range(rank if count is None else count)]
    found = node.make("shape_value", values=(dims.simplify(sum(named)),), dtype="int64")
    require(node, node.make("equal", found, len(axes)), "axes_found")
    return list(axes)


def remaining_extents(extents: Sequence[Dim], left_out: Sequence[Any], count: int) -> list[Dim]:
    """The ``count`` extents that are not left out, in order."""
    found: list[Dim] = []
    for place in range(count):
        extent: Dim = 0
        before: Dim = 0
        for own, out in zip(extents, left_out, strict=True):
            here = select(out, 0, select(_equals(before, place), own, 0))
            extent = dims.simplify(extent + here)
            before = dims.simplify(before + select(out, 0, 1))
        found.append(extent)
    return found


def insert_ones(extents: Sequence[Dim], ones: Sequence[Any]) -> list[Dim]:
    """1 where ``ones`` holds, and the ``extents`` in order elsewhere."""
    found: list[Dim] = []
    before: Dim = 0
    for one in ones:
        own: Dim = 1
        for place, extent in enumerate(extents):
            own = select(_equals(before, place), extent, own)
        found.append(dims.simplify(select(one, 1, own)))
        before = dims.simplify(before + select(one, 0, 1))
    return found


def _equals(value: Dim, number: int) -> Any:
    return value == number if isinstance(value, int) else e.Equal(*e.match(value, number))


def reduce_dynamic_axes(
    node: OnnxNode,
    data: Expr,
    axes: Sequence[Dim],
    keep: bool,
    reduce: Callable[[Expr, tuple[int, ...]], Expr],
) -> Expr:
    """Return ``reduce(data, axes)``, which keeps the axes, over axes known only at run time.

    Each axis becomes two, one of which has extent 1: the first if it is reduced, else the second.
    """
    shape, rank = node.shape(data), node.rank(data)
    among = [is_among(axis, axes, rank) for axis in range(rank)]
    pairs = [
        one for d, out in zip(shape, among, strict=True) for one in (select(out, 1, d), select(out, d, 1))
    ]
    pairs = as_extents(node, pairs, "extent")
    made = reduce(reshape_checked(node, data, pairs), tuple(range(1, 2 * rank, 2)))
    if keep:
        return node.reshape(made, pairs[::2])
    return reshape_checked(
        node, made, as_extents(node, remaining_extents(shape, among, rank - len(axes)), "kept")
    )


def along_dynamic_axis(node: OnnxNode, data: Expr, axis: Dim, make: Callable[[Expr, int], Expr]) -> Expr:
    """Return ``make(data, axis)``, of the shape of ``data``, along an axis known only at run time."""
    shape, rank = node.shape(data), node.rank(data)
    parts: list[Dim] = [0, 0, 0]
    for place in range(rank):
        here = is_among(place, [axis], rank)
        for k, part in enumerate((shape[:place], shape[place : place + 1], shape[place + 1 :])):
            parts[k] = dims.simplify(parts[k] + select(here, math.prod(part, start=1), 0))
    return reshape_checked(node, make(reshape_checked(node, data, as_extents(node, parts, "part")), 1), shape)


def require_extent(node: OnnxNode, data: Expr, axis: int, count: Dim) -> Expr:
    """Return ``data``, whose extent along ``axis`` must be ``count`` or more: otherwise the run stops."""
    extent = node.shape(data)[axis]
    wanted = e.LessEqual(*e.match(e.convert(count, e.INDEX), extent))
    if dims.proves(wanted):
        return data
    (more,) = name_dims(node, [e.convert(extent, e.INDEX) - count], "elements_beyond")
    shape = list(node.shape(data))
    shape[axis] = count + more
    return assume_shape(node, data, tuple(shape))
