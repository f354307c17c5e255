"""Random uses of the primitives for memory and order."""

from __future__ import annotations

from tvmlite.fuzz.schedule.arranger import Arranger, free_leaves, name_of, readers_of, some_leaf
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor import tensor as t


def prefetch(a: Arranger, stage: Stage) -> None:
    """Prefetch what later iterations read."""
    names = [name for tensor in stage.op.inputs if (name := name_of(a, tensor)) is not None]
    axis = some_leaf(a, stage)
    if names and axis is not None:
        label = a.label(stage, axis)
        line = f"s[{a.tensor(stage)}].prefetch({a.rnd.choice(names)}, {label}, {a.rnd.randint(1, 3)})"
        a.attempt("prefetch", line)


def storage_align(a: Arranger, stage: Stage) -> None:
    """Pad the rows of a buffer."""
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    if op.axis and not stage.is_output:
        label = a.label(stage, a.rnd.choice(op.axis))
        factor, offset = a.rnd.choice((1, 4, 16)), a.rnd.choice((0, 1, 8))
        a.attempt("storage_align", f"s[{a.tensor(stage)}].storage_align({label}, {factor}, {offset})")


def align_bounds(a: Arranger, stage: Stage) -> None:
    """Compute whole groups of elements."""
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    if op.axis and not stage.is_output:
        label = a.label(stage, a.rnd.choice(op.axis))
        a.attempt("align_bounds", f"s[{a.tensor(stage)}].align_bounds({label}, {a.rnd.choice((2, 3, 4, 8))})")


def transform_layout(a: Arranger, stage: Stage) -> None:
    """Permute the axes of a buffer; one may be split first."""
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    if not op.axis or stage.is_output or stage.relations:
        return
    names = [f"x{n}" for n in range(len(op.axis))]
    parts = list(names)
    place = a.rnd.randrange(len(parts))
    if a.rnd.random() < 0.7:
        factor = a.rnd.choice((2, 3, 4, 8))
        parts[place : place + 1] = [f"{names[place]} // {factor}", f"{names[place]} % {factor}"]
    a.rnd.shuffle(parts)
    mapping = f"lambda {', '.join(names)}: [{', '.join(parts)}]"
    made = a.fresh(f"{a.tensor(stage)}_new")
    a.attempt("transform_layout", f"{made} = s[{a.tensor(stage)}].transform_layout({mapping})")


def loop_partition(a: Arranger, stage: Stage) -> None:
    """Partition a loop into several that are executed one after the other."""
    axis = some_leaf(a, stage)
    if axis is not None:
        sizes = a.rnd.choice(([1, None], [None, 1], [2, None, 3], [1, 2], [5]))
        if not a.is_fixed(axis) or a.extent(axis) < sum(n or 0 for n in sizes):
            return
        a.attempt("loop_partition", f"s[{a.tensor(stage)}].loop_partition({a.label(stage, axis)}, {sizes})")


def decompose_reduction(a: Arranger, stage: Stage) -> None:
    """Initialize a reduction in an outer loop."""
    leaves = free_leaves(stage)
    first = next((n for n, axis in enumerate(leaves) if axis.kind == "reduce"), None)
    if first is not None:
        axis = leaves[a.rnd.randint(0, first)]
        line = f"s[{a.tensor(stage)}].decompose_reduction({a.label(stage, axis)})"
        a.attempt("decompose_reduction", line)


def reverse_compute_at(a: Arranger, stage: Stage) -> None:
    """Compute ``stage`` in a loop of a producer that nothing else reads."""
    for tensor in stage.op.inputs:
        producer = a.schedule.stage_map.get(tensor.op)
        if producer is None or not isinstance(producer.op, t.ComputeOp) or producer.is_output:
            continue
        data = free_leaves(producer, "data")
        if data and len(readers_of(a, producer)) == 1 and not stage.op.reduce_axis:  # type: ignore[attr-defined]
            label = a.label(producer, a.rnd.choice(data))
            line = f"s[{a.tensor(stage)}].reverse_compute_at(s[{a.tensor(producer)}], {label})"
            a.attempt("reverse_compute_at", line)
            return
