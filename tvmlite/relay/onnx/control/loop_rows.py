"""Rows that a loop stacks: data-dependent extents must all be those of the first iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Expr, If, LetDims, Loop, Tuple, with_lets, without_lets
from tvmlite.relay.ir.types import Dim, dims_of
from tvmlite.relay.onnx.graph import dims, shapes
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.data_dependent_dims import bind_dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.te import expr as e


def with_extents_of_first_iteration(node: OnnxNode, made: Loop, first: Callable[[], Sequence[Expr]]) -> Loop:
    """Return ``made`` with rows whose extents are defined outside of it.

    Extents that contain dimensions bound in the body are replaced by those of the first iteration's rows,
    which ``first`` computes before the loop. The run stops if another iteration's rows have other extents.
    """
    lets, inner = without_lets(made.body)
    assert isinstance(inner, Tuple)
    results = inner.fields
    begin = 1 + len(made.states)
    inside = {d for one in postorder(made.body) if isinstance(one, LetDims) for d in one.dims}
    shapes_of_rows = [list(node.shape(row)) for row in results[begin:]]
    data_dependent = [
        (row, axis)
        for row, shape in enumerate(shapes_of_rows)
        for axis, extent in enumerate(shape)
        if inside.intersection(dims_of(extent))
    ]
    if not data_dependent:
        return made

    def extents() -> list[Dim]:
        first_shapes = [node.shape(row) for row in first()]
        if any(map(dims.differ, first_shapes, shapes_of_rows)):
            node.unsupported("scan outputs whose shape changes from one iteration to the next")
        return [first_shapes[row][axis] for row, axis in data_dependent]

    found = _evaluate_extents(node, made.trip_count, extents)
    for (row, axis), extent in zip(data_dependent, found, strict=True):
        shapes_of_rows[row][axis] = extent
    rows = [
        assume_shape(node, row, tuple(shape))
        for row, shape in zip(results[begin:], shapes_of_rows, strict=True)
    ]
    body = with_lets(lets, Tuple((*results[:begin], *rows)))
    return Loop(made.index, made.states, made.trip_count, made.condition, made.initial, body, made.span)


def _evaluate_extents(node: OnnxNode, iterations: Dim, extents: Callable[[], list[Dim]]) -> list[Dim]:
    """The result of ``extents``, with new dimensions for data-dependent ones, 0 if there is no iteration."""
    importer = node.importer
    known, found, dynamic = set(importer.bound), [], []

    def evaluate() -> list[Expr]:
        found.extend(extents())
        inside = importer.bound - known
        dynamic.extend(k for k, extent in enumerate(found) if inside.intersection(dims_of(extent)))
        return [node.make("shape_value", values=tuple(found[k] for k in dynamic), dtype="int64")]

    values = importer.block(evaluate)
    if not dynamic:
        return found
    if not isinstance(iterations, int) or iterations == 0:
        any_iteration = shapes.materialise(
            node, shapes.objects([e.Less(*e.match(0, iterations))], ()), "bool"
        )
        none = node.make("shape_value", values=(0,) * len(dynamic), dtype="int64")
        values = If(any_iteration, values, none, node.span)
    for k, extent in zip(dynamic, bind_dims(node, values, ["extent"] * len(dynamic)), strict=True):
        found[k] = extent
    return found
