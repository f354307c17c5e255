"""Rows that a loop stacks: all have the extents of the first turn's, where only the turns tell them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvmlite.core.node import postorder
from tvmlite.relay.ir.nodes import Expr, If, LetDims, Loop, Tuple, with_lets, without_lets
from tvmlite.relay.ir.types import Dim, dims_of
from tvmlite.relay.onnx.graph import demand, dims, shapes
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.te import expr as e


def with_extents_of_first_turn(node: OnnxNode, made: Loop, first: Callable[[], Sequence[Expr]]) -> Loop:
    """``made`` with rows whose extents mean something outside of it.

    Extents that mention dimensions of the body are those of the rows that ``first`` makes, the first turn's,
    which is asked for them before the loop. A turn whose rows have others stops the run.
    """
    lets, inner = without_lets(made.body)
    assert isinstance(inner, Tuple)
    results = inner.fields
    begin = 1 + len(made.states)
    inside = {d for one in postorder(made.body) if isinstance(one, LetDims) for d in one.dims}
    shapes_of_rows = [list(node.shape(row)) for row in results[begin:]]
    open_ones = [
        (row, axis)
        for row, shape in enumerate(shapes_of_rows)
        for axis, extent in enumerate(shape)
        if inside.intersection(dims_of(extent))
    ]
    if not open_ones:
        return made

    def extents() -> list[Dim]:
        of_first = [node.shape(row) for row in first()]
        if any(map(dims.differ, of_first, shapes_of_rows)):
            node.unsupported("scan outputs of a shape that changes from turn to turn")
        return [of_first[row][axis] for row, axis in open_ones]

    found = _asked(node, made.turns, extents)
    for (row, axis), extent in zip(open_ones, found, strict=True):
        shapes_of_rows[row][axis] = extent
    rows = [
        assume_shape(node, row, tuple(shape))
        for row, shape in zip(results[begin:], shapes_of_rows, strict=True)
    ]
    body = with_lets(lets, Tuple((*results[:begin], *rows)))
    return Loop(made.index, made.states, made.turns, made.condition, made.initial, body, made.span)


def _asked(node: OnnxNode, turns: Dim, extents: Callable[[], list[Dim]]) -> list[Dim]:
    """What ``extents`` gives; new dimensions for what comes from the data, 0 where no turn is made."""
    importer = node.importer
    known, found, told = set(importer.bound), [], []

    def asked() -> list[Expr]:
        found.extend(extents())
        inside = importer.bound - known
        told.extend(k for k, extent in enumerate(found) if inside.intersection(dims_of(extent)))
        return [node.make("shape_value", values=tuple(found[k] for k in told), dtype="int64")]

    values = importer.block(asked)
    if not told:
        return found
    if not isinstance(turns, int) or turns == 0:
        some = shapes.materialise(node, shapes.objects([e.Less(*e.match(0, turns))], ()), "bool")
        none = node.make("shape_value", values=(0,) * len(told), dtype="int64")
        values = If(some, values, none, node.span)
    for k, extent in zip(told, demand.bind(node, values, ["extent"] * len(told)), strict=True):
        found[k] = extent
    return found
