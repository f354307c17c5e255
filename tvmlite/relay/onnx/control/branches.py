"""Converts ONNX's If: to one branch if decided at import, else to a Relay If of two branches of one type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tvmlite.core.node import reachable
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Expr, If, LetDims
from tvmlite.relay.ir.types import Dim, TensorType, TupleType, dims_of, same_dim
from tvmlite.relay.onnx.control.control import convert_subgraph
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.conditions import Undecided, as_bool, known_outcome
from tvmlite.relay.onnx.graph.data_dependent_dims import bind_dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.te import arith
from tvmlite.te import expr as e

BranchBuilder: TypeAlias = Callable[[], list[Expr]]
"""Compute the results of one of two branches; each call makes new expressions."""

OutputAxis: TypeAlias = tuple[int, int]
"""The index of a branch's output, and one of its axes."""


@converter("If")
def if_(node: OnnxNode, condition: Expr) -> list[Expr]:
    """If: the branch that a condition known at import selects; otherwise a Relay If of both."""
    if any(isinstance(d, int) and d != 1 for d in node.shape(condition)):
        node.bad(f"the condition has shape {node.shape(condition)}, expected one element")
    graphs = node.required("then_branch"), node.required("else_branch")
    if len(graphs[0].output) != len(graphs[1].output):
        counts = " and ".join(str(len(graph.output)) for graph in graphs)
        node.bad(f"its branches give {counts} outputs, expected equal numbers")
    known = node.known(condition)
    test = None if known is None or known.size != 1 else known.reshape(-1)[0]
    chosen = known_outcome(node.importer.facts, condition, test)
    if chosen is not None:
        return convert_subgraph(node, graphs[0 if chosen else 1], [])
    builders = [lambda graph=graph: convert_subgraph(node, graph, []) for graph in graphs]
    return make_if(node, condition, as_bool(test), builders)


def _same_dtype_and_rank(a: TensorType, b: TensorType) -> bool:
    return a.dtype == b.dtype and a.ndim == b.ndim


def make_if(
    node: OnnxNode, condition: Expr, test: e.Expr | None, builders: Sequence[BranchBuilder]
) -> list[Expr]:
    """Return a Relay If: the first of two ``builders`` if ``condition`` holds, else the second.

    ``test`` is the condition, if it is one on dimensions. Undecided if ranks or element types differ.
    """
    scalar = node.reshape(condition, ())
    branches = [_build_branch(node, side, lambda made: made) for side in builders]
    types = [_field_types(branch) for branch in branches]
    if len(types[0]) != len(types[1]) or not all(map(_same_dtype_and_rank, *types)):
        raise Undecided(node, condition, test)
    extents = {
        place: _common_extent(_extents_at(types, place), test, branches)
        for place in _differing_extents(*types)
    }
    if extents:
        branches = _with_common_types(node, scalar, builders, types[0], extents)
    made = If(scalar, branches[0], branches[1], node.span)
    return [made] if len(types[0]) == 1 else [node.field(made, i) for i in range(len(types[0]))]


def _extents_at(types: Sequence[Sequence[TensorType]], place: OutputAxis) -> tuple[Dim, Dim]:
    """The extents that the two branches have at one place."""
    index, axis = place
    then, otherwise = (fields[index].shape[axis] for fields in types)
    return then, otherwise


def _common_extent(extents: tuple[Dim, Dim], test: e.Expr | None, branches: Sequence[Expr]) -> Dim | None:
    """The extent that is right for both branches, as ``test`` selects between them, if one of theirs is."""
    inside = {
        d for one in map(reachable, branches) for let in one if isinstance(let, LetDims) for d in let.dims
    }
    if test is None or inside.intersection(dims_of(extents)):
        return None
    then, otherwise = extents
    for general, special, holds in ((otherwise, then, test), (then, otherwise, e.Not(test))):
        analyzer = arith.Analyzer()
        analyzer.assume(arith.simplify(holds))
        if analyzer.equal(general, special):
            return general
    return None


def _build_branch(node: OnnxNode, build: BranchBuilder, finish: Callable[[list[Expr]], list[Expr]]) -> Expr:
    """A branch: the result of ``finish`` on the results of ``build``."""
    return node.importer.block(lambda: finish(build()))


def _field_types(value: Expr) -> list[TensorType]:
    made = type_of(value)
    fields = made.fields if isinstance(made, TupleType) else (made,)
    return [one for one in fields if isinstance(one, TensorType)]


def _differing_extents(then: list[TensorType], otherwise: list[TensorType]) -> list[OutputAxis]:
    """The places where the extents of the branches' outputs are not the same dimension."""
    return [
        (index, axis)
        for index, (a, b) in enumerate(zip(then, otherwise, strict=True))
        for axis, (x, y) in enumerate(zip(a.shape, b.shape, strict=True))
        if not same_dim(x, y)
    ]


def _with_common_types(
    node: OnnxNode,
    condition: Expr,
    builders: Sequence[BranchBuilder],
    types: list[TensorType],
    extents: dict[OutputAxis, Dim | None],
) -> list[Expr]:
    """The branches with these ``extents`` where theirs differ; with new dimensions where the extent is None.

    For new dimensions, both branches are first evaluated for their extents alone.
    """
    unknown = [place for place, extent in extents.items() if extent is None]

    def unknown_extents(made: list[Expr]) -> list[Expr]:
        values = tuple(node.shape(made[index])[axis] for index, axis in unknown)
        return [node.make("shape_value", values=values, dtype="int64")]

    known = {place: extent for place, extent in extents.items() if extent is not None}
    if unknown:
        counts = [_build_branch(node, side, unknown_extents) for side in builders]
        chosen = If(condition, counts[0], counts[1], node.span)
        known |= zip(unknown, bind_dims(node, chosen, ["extent"] * len(unknown)), strict=True)
    shapes = [
        tuple(known.get((index, axis), extent) for axis, extent in enumerate(type_.shape))
        for index, type_ in enumerate(types)
    ]

    def with_shapes(made: list[Expr]) -> list[Expr]:
        return [assume_shape(node, one, shape) for one, shape in zip(made, shapes, strict=True)]

    return [_build_branch(node, side, with_shapes) for side in builders]
