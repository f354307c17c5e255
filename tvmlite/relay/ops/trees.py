"""``tree_ensemble``: decision trees, evaluated on rows of features."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import choice
from tvmlite.relay.ir.types import TensorType, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import INTEGERS, expect, expect_extent, fault
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

TREE_GROUP = 8
"""The number of trees evaluated together: a step waits for three loads, one of which depends on another."""

ROW_BLOCK = 16
"""The number of rows that one thread evaluates on the same trees, whose nodes are then in the cache."""

_START = {"sum": 0.0, "min": float("inf"), "max": -float("inf")}


def _type(call: Call, *types: TensorType) -> TensorType:
    data, roots, nodes, thresholds, weights = types
    if [one.ndim for one in types] != [2, 1, 2, 1, 2]:
        raise fault(
            call,
            f"arguments are {', '.join(show_shape(one.shape) for one in types)}, expected (rows, features), "
            "(trees,), (nodes, 3), (nodes,) and (nodes, targets)",
        )
    expect(call, "roots are", roots.dtype, INTEGERS)
    expect(call, "nodes are", nodes.dtype, INTEGERS)
    if not dtypes.is_float(data.dtype) or {thresholds.dtype, weights.dtype} != {data.dtype}:
        raise fault(
            call,
            f"data, thresholds and weights are {data.dtype}, {thresholds.dtype} and {weights.dtype}, "
            "expected one float dtype",
        )
    expect_extent(call, "the second extent of nodes", nodes.shape[1], 3)
    expect_extent(call, "the number of thresholds", thresholds.shape[0], nodes.shape[0])
    expect_extent(call, "the number of weights", weights.shape[0], nodes.shape[0])
    return TensorType((data.shape[0], weights.shape[1]), data.dtype)


def _numpy(
    call: Call,
    data: np.ndarray,
    roots: np.ndarray,
    nodes: np.ndarray,
    thresholds: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    combine = {"sum": np.add, "min": np.minimum, "max": np.maximum}[call["aggregate"]]
    result = np.full((len(data), weights.shape[1]), _START[call["aggregate"]], data.dtype)
    for row, root in np.ndindex(len(data), len(roots)):
        before, at = -1, roots[root]
        while at != before:
            value, before = data[row, nodes[at, 0]], at
            at = nodes[at, 2 if value <= thresholds[at] else 1]
        result[row] = combine(result[row], weights[at])
    return result


@statement("tree_ensemble", infer=_type, reference=_numpy, attrs={"aggregate": choice(*_START)})
def tree_ensemble(
    call: Call, data: Tensor, roots: Tensor, nodes: Tensor, thresholds: Tensor, weights: Tensor
) -> Tensor:
    """Sum, or take the minimum or maximum of, the weights (one per target) of the leaves that a row reaches.

    The nodes of all trees are in one table, ``(feature, other, child)`` each: from node ``n``, a row of data
    goes to ``child`` if its ``feature`` is at most ``thresholds[n]``, and to ``other`` if it is not, or is
    NaN. A leaf has itself as both. Nodes and features must be in range, and every path must end in a leaf:
    neither is checked.
    """
    rows, targets = data.shape[0], weights.shape[1]

    def body(*buffers: loop.Buffer) -> loop.Stmt:
        walk = _Walk(call["aggregate"], *buffers)

        def row_block(block: e.Expr) -> loop.Stmt:
            first = block * ROW_BLOCK
            return walk.all_trees(first, e.Min(loops.index(rows) - first, loops.index(ROW_BLOCK)))

        blocks = (loops.index(rows) + (ROW_BLOCK - 1)) // ROW_BLOCK
        return loops.over(blocks, row_block, "block", kind=loop.PARALLEL)

    given = [data, roots, nodes, thresholds, weights]
    return loops.extern("tree_ensemble", given, [((rows, targets), data.dtype)], body)[0]


class _Walk:
    """The loops of one kernel, on the buffers of its arguments and its result."""

    def __init__(
        self,
        aggregate: str,
        data: loop.Buffer,
        roots: loop.Buffer,
        nodes: loop.Buffer,
        thresholds: loop.Buffer,
        weights: loop.Buffer,
        result: loop.Buffer,
    ) -> None:
        self.start = e.const(_START[aggregate], result.dtype)
        self.combine = {"sum": e.Add, "min": e.Min, "max": e.Max}[aggregate]
        self.data, self.roots, self.nodes, self.thresholds = data, roots, nodes, thresholds
        self.weights, self.result = weights, result

    def all_trees(self, first: e.Expr, count: e.Expr) -> loop.Stmt:
        """Compute the results of ``count`` rows from ``first`` on."""
        trees, targets = self.roots.shape[0], self.result.shape[1]

        def initialize(row: e.Expr, target: e.Expr) -> loop.Stmt:
            return loops.store(self.result, (first + row, target), self.start)

        def evaluate(tree: e.Expr, group_size: int) -> loop.Stmt:
            return loops.over(count, lambda row: self._walk(first + row, tree, group_size), "row")

        whole = trees // TREE_GROUP
        return loop.sequence(
            loops.nest((count, targets), initialize),
            loops.over(whole, lambda group: evaluate(group * TREE_GROUP, TREE_GROUP), "group"),
            loops.over(trees - whole * TREE_GROUP, lambda k: evaluate(whole * TREE_GROUP + k, 1), "tree"),
        )

    def _walk(self, row: e.Expr, tree: e.Expr, group_size: int) -> loop.Stmt:
        """Evaluate ``group_size`` trees from number ``tree`` on for ``row``, until all are at a leaf."""
        nodes = [loops.Cell(f"node{k}", self.nodes.dtype) for k in range(group_size)]
        moving = loops.Cell("moving", "bool")
        begin = [
            node.set(e.cast(node.buffer.dtype, loops.load(self.roots, tree + k)))
            for k, node in enumerate(nodes)
        ]
        step = self._step(row, nodes, moving)

        def accumulate(target: e.Expr) -> loop.Stmt:
            value = loops.load(self.result, row, target)
            for node in nodes:
                value = self.combine(value, loops.load(self.weights, node.value, target))
            return loops.store(self.result, (row, target), value)

        body = loop.sequence(
            *begin,
            moving.set(True),
            loop.While(moving.value, step),
            loops.over(self.result.shape[1], accumulate, "target"),
        )
        return loops.allocated(body, *nodes, moving)

    def _step(self, row: e.Expr, nodes: list[loops.Cell], moving: loops.Cell) -> loop.Stmt:
        """Go down one level in each tree."""
        after = [e.Var(f"after{k}", node.buffer.dtype) for k, node in enumerate(nodes)]
        moved = e.const(False, "bool")
        for node, new in zip(nodes, after, strict=True):
            moved = e.Or(moved, e.NotEqual(node.value, new))
        body = loop.sequence(
            moving.set(moved), *(node.set(new) for node, new in zip(nodes, after, strict=True))
        )
        for node, new in zip(reversed(nodes), reversed(after), strict=True):
            body = loop.Let(new, self._child(row, node.value), body)
        return body

    def _child(self, row: e.Expr, node: e.Expr) -> e.Expr:
        value = loops.load(self.data, row, loops.load(self.nodes, node, 0))
        holds = e.LessEqual(value, loops.load(self.thresholds, node))
        return loops.load(self.nodes, node, e.cast(loops.INT, holds) + 1)
