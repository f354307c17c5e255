"""Finds the axes of a scan along which an element reads earlier rows at its own index only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from tvmlite.core import arguments
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.tvm.runtime.convert import const
from tvmlite.tvm.te.op_attributes import spatial_axes


class _Index(NamedTuple):
    """The axes of an update that occur in an index, and whether the index is one axis variable ``alone``."""

    axes: frozenset[int] = frozenset()
    alone: bool = False


_Place = tuple[_Index, ...]


def ScanFixPointAnalysis(scan: Any) -> dict[t.IterVar, Any]:
    """For each axis in ``spatial_axis_`` of ``scan``: 1 if an element depends on earlier rows only at its own
    index on the axis, so that parts of the axis can be scanned independently; 0 if it may not."""
    op: ScanOp = arguments.instance("ScanFixPointAnalysis: scan", scan, ScanOp, "a scan's operation")
    moving: set[tuple[int, int]] = set()
    together: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    for number, update in enumerate(op.update):
        for state, place in _reads_of_states(op, update):
            uses = [one.axes for one in place]
            for k, index in enumerate(place):
                elsewhere = any(k in axes for m, axes in enumerate(uses) if m != k)
                if elsewhere or not index.alone or index.axes != {k}:
                    moving |= {(number, k), (state, k)}
                together[number, k].add((state, k))
                together[state, k].add((number, k))
    todo = list(moving)
    while todo:
        todo += (new := together[todo.pop()] - moving)
        moving |= new
    keys = [(n, k) for n, state in enumerate(op.state) for k in range(len(state.shape) - 1)]
    return {axis: const(int(key not in moving)) for axis, key in zip(spatial_axes(op), keys, strict=True)}


def _reads_of_states(scan: ScanOp, update: t.Tensor) -> list[tuple[int, _Place]]:
    """The states that an element of ``update`` reads, directly or through other computes: the number of each
    and the indices of the read, in terms of the axes of the update without the first (the scan axis)."""
    states = {state: n for n, state in enumerate(scan.state)}
    found: dict[tuple[int, _Place], None] = {}
    own = tuple(_Index(frozenset([k]), True) for k in range(len(update.shape) - 1))
    todo: list[tuple[Any, _Place]] = [(update.op, (_Index(), *own))]
    seen = set(todo)
    while todo:
        op, place = todo.pop()
        known = dict(zip((axis.var for axis in op.axis), place, strict=True))
        reads = [node for body in op.body for node in postorder(body) if isinstance(node, t.TensorRead)]
        for read in reads:
            there = tuple(_index(one, known) for one in read.indices)
            if read.tensor in states:
                found[states[read.tensor], there[1:]] = None
            elif isinstance(read.tensor.op, t.ComputeOp) and (read.tensor.op, there) not in seen:
                seen.add((read.tensor.op, there))
                todo.append((read.tensor.op, there))
    return list(found)


def _index(index: e.Expr, known: dict[e.Var, _Index]) -> _Index:
    if isinstance(index, e.Var) and index in known:
        return known[index]
    parts: Sequence[_Index] = [known[node] for node in postorder(index) if node in known]  # type: ignore[index]
    return _Index(frozenset().union(*(one.axes for one in parts)))
