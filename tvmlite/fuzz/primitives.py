"""Random uses of the primitives about memory and order: what a stage's elements and turns are."""

from __future__ import annotations

from collections.abc import Callable

from tvmlite.fuzz.schedules import PRIMITIVES, Arranger, name_of, readers_of
from tvmlite.te import tensor as t
from tvmlite.te.stage import AT, Stage


def _prefetch(a: Arranger, stage: Stage) -> None:
    names = [name for tensor in stage.op.inputs if (name := name_of(a, tensor)) is not None]
    if names and stage.leaf_iter_vars:
        label = a.label(stage, a.rnd.choice(stage.leaf_iter_vars))
        line = f"s[{a.tensor(stage)}].prefetch({a.rnd.choice(names)}, {label}, {a.rnd.randint(1, 3)})"
        a.attempt("prefetch", line)


def _storage_align(a: Arranger, stage: Stage) -> None:
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    if op.axis and not stage.is_output:
        label = a.label(stage, a.rnd.choice(op.axis))
        factor, offset = a.rnd.choice((1, 4, 16)), a.rnd.choice((0, 1, 8))
        a.attempt("storage_align", f"s[{a.tensor(stage)}].storage_align({label}, {factor}, {offset})")


def _transform_layout(a: Arranger, stage: Stage) -> None:
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


def _loop_partition(a: Arranger, stage: Stage) -> None:
    if stage.leaf_iter_vars:
        axis = a.rnd.choice(stage.leaf_iter_vars)
        sizes = a.rnd.choice(([1, None], [None, 1], [2, None, 3], [1, 2], [5]))
        if not a.is_fixed(axis) or a.extent(axis) < sum(n or 0 for n in sizes):
            return
        a.attempt("loop_partition", f"s[{a.tensor(stage)}].loop_partition({a.label(stage, axis)}, {sizes})")


def _decompose_reduction(a: Arranger, stage: Stage) -> None:
    first = next((n for n, axis in enumerate(stage.leaf_iter_vars) if axis.kind == "reduce"), None)
    if first is not None:
        axis = stage.leaf_iter_vars[a.rnd.randint(0, first)]
        line = f"s[{a.tensor(stage)}].decompose_reduction({a.label(stage, axis)})"
        a.attempt("decompose_reduction", line)


def _reverse_compute_at(a: Arranger, stage: Stage) -> None:
    """``stage`` in a loop of what it reads, where nothing else reads that."""
    for tensor in stage.op.inputs:
        producer = a.schedule.stage_map.get(tensor.op)
        if producer is None or not isinstance(producer.op, t.ComputeOp) or producer.is_output:
            continue
        data = [axis for axis in producer.leaf_iter_vars if axis.kind == "data"]
        if data and len(readers_of(a, producer)) == 1 and not stage.op.reduce_axis:  # type: ignore[attr-defined]
            label = a.label(producer, a.rnd.choice(data))
            line = f"s[{a.tensor(stage)}].reverse_compute_at(s[{a.tensor(producer)}], {label})"
            a.attempt("reverse_compute_at", line)
            return


def double_buffers(a: Arranger) -> None:
    """Some of the stages computed in a loop of their reader are computed a turn ahead."""
    for stage in a.stages():
        parent, axis = stage.attach_stage, stage.attach_ivar
        if stage.attach_type != AT or parent is None or axis is None or a.rnd.random() > 0.25:
            continue
        if axis not in parent.loop_kinds and axis not in parent.partitions and a.extent(axis) > 1:
            a.attempt("double_buffer", f"s[{a.tensor(stage)}].double_buffer()")


MORE: dict[str, tuple[int, Callable[[Arranger, Stage], None]]] = {
    "prefetch": (1, _prefetch),
    "storage_align": (1, _storage_align),
    "transform_layout": (1, _transform_layout),
    "loop_partition": (1, _loop_partition),
    "decompose_reduction": (1, _decompose_reduction),
    "reverse_compute_at": (1, _reverse_compute_at),
}

PRIMITIVES |= MORE
