"""Along which axes of a scan's rows an element needs earlier rows at its own place alone."""

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
    """Of which axes of an update an index speaks, and whether it is just one of them."""

    axes: frozenset[int] = frozenset()
    alone: bool = False


_Place = tuple[_Index, ...]


def ScanFixPointAnalysis(scan: Any) -> dict[t.IterVar, Any]:
    """Of each of the axes ``spatial_axis_`` of ``scan``, 1 if an element needs earlier rows at its own place
    on the axis alone, so that a part of the axis can be scanned by itself; 0 if it may need others."""
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
    """The states that an element of ``update`` needs, by their numbers, each with where it reads them: in
    terms of the axes of the update but the first, which is that of the rows."""
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
