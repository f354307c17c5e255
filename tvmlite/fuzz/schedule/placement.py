"""Where stages are computed, and caches of what they read and write."""

from __future__ import annotations

from tvmlite.fuzz.schedule.arranger import Arranger, free_leaves, name_of, outputs_of, readers_of, some_leaf
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, INLINE
from tvmlite.te.tensor import tensor as t


def caches(a: Arranger) -> None:
    """Let some stages write to a cache, and copy some of what stages read to one."""
    for stage in a.stages():
        if a.rnd.random() < 0.3:
            names = outputs_of(a, stage)
            scope = a.rnd.choice(("local", "global"))
            if names is None:
                continue
            made = [a.fresh(f"{name}_c") for name in names]
            several = len(names) > 1
            given = f"[{', '.join(names)}]" if several else names[0]
            a.attempt("cache_write", f'{", ".join(made)} = s.cache_write({given}, "{scope}")')
    for stage in list(a.schedule.stages):
        if a.rnd.random() < 0.2:
            _cache_read(a, stage)


def _cache_read(a: Arranger, stage: Stage) -> None:
    chosen = a.rnd.choice(stage.op.outputs)
    readers = [
        one for one in a.schedule.stages if chosen in one.op.inputs and isinstance(one.op, t.ComputeOp)
    ]
    if not readers:
        return
    some = readers if a.rnd.random() < 0.6 else [a.rnd.choice(readers)]
    name = name_of(a, chosen)
    if name is None:
        return
    made = a.fresh(f"{name}_r")
    given = ", ".join(a.tensor(one) for one in some)
    a.attempt("cache_read", f'{made} = s.cache_read({name}, "local", [{given}])')


def place(a: Arranger) -> None:
    """Compute stages in loops of their readers, or inline them."""
    for stage in a.stages():
        choice = a.rnd.random()
        if stage.is_output or any(stage.op is one for one in a.schedule.outputs):
            continue
        op = stage.op
        assert isinstance(op, t.ComputeOp)
        readers = [one for one in readers_of(a, stage) if isinstance(one.op, t.ComputeOp)]
        externs = len(readers) < len(readers_of(a, stage))
        if choice < 0.25 and not op.reduce_axis and not externs:
            a.attempt("compute_inline", f"s[{a.tensor(stage)}].compute_inline()")
        elif choice < 0.75 and readers and not externs:
            reader = a.rnd.choice(readers)
            axis = some_leaf(a, reader)
            if axis is not None and reader.attach_type != INLINE:
                line = f"s[{a.tensor(stage)}].compute_at(s[{a.tensor(reader)}], {a.label(reader, axis)})"
                a.attempt("compute_at", line)
        if stage.attach_type == AT and a.rnd.random() < 0.1:
            a.attempt("compute_root", f"s[{a.tensor(stage)}].compute_root()")


def groups(a: Arranger) -> None:
    """Move some groups of intermediate stages together."""
    for stage in a.stages():
        readers = readers_of(a, stage)
        if stage.is_output or len(readers) != 1 or a.rnd.random() > 0.15:
            continue
        reader, sources = readers[0], _sources(stage)
        names = [name for tensor in sources if (name := name_of(a, tensor)) is not None]
        if not names or not free_leaves(reader) or not isinstance(reader.op, t.ComputeOp):
            continue
        name, inputs = a.fresh("group"), a.rnd.choice(names)
        more = a.rnd.choice(("", ", include_inputs=True"))
        line = f"{name} = s.create_group(outputs={a.tensor(stage)}, inputs={inputs}{more})"
        if a.attempt("create_group", line):
            label = a.label(reader, a.rnd.choice(free_leaves(reader)))
            a.attempt("group compute_at", f"{name}.compute_at(s[{a.tensor(reader)}], {label})")


def _sources(stage: Stage) -> list[t.Tensor]:
    """Return the operands of the stage, and their operands."""
    direct = list(stage.op.inputs)
    return direct + [indirect for one in direct for indirect in one.op.inputs]


def double_buffers(a: Arranger) -> None:
    """Double-buffer some of the stages that are computed in a loop of their reader."""
    for stage in a.stages():
        parent, axis = stage.attach_stage, stage.attach_ivar
        if stage.attach_type != AT or parent is None or axis is None or a.rnd.random() > 0.25:
            continue
        if axis not in parent.loop_kinds and axis not in parent.partitions and a.extent(axis) > 1:
            a.attempt("double_buffer", f"s[{a.tensor(stage)}].double_buffer()")


def predicates(a: Arranger) -> None:
    """Restrict the stores, or the updates, of some stages to a condition over their axes."""
    for stage in a.stages():
        op, origin = stage.op, stage.origin_op
        assert isinstance(op, t.ComputeOp)
        if not isinstance(origin, t.ComputeOp) or a.rnd.random() > 0.06 or stage.tensorized is not None:
            continue
        axes = (*op.axis, *op.reduce_axis)
        whole = axes == (*origin.axis, *origin.reduce_axis)  # else it stores part of what was defined
        if not axes or not whole or stage.attach_type == INLINE or stage.origin_op not in a.defined:
            continue
        axis = a.rnd.choice(axes)
        label, bound = a.label(stage, axis), a.rnd.randint(0, a.extent(axis))
        form = a.rnd.choice(
            (f"{label} % 2 == 0", f"{label} < {bound}", f"te.any({label} > {bound}, {label} == 0)")
        )
        a.attempt("set_store_predicate", f"s[{a.tensor(stage)}].set_store_predicate({form})")
