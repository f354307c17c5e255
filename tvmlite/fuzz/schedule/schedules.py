"""Random schedules: caches, loops, placement."""

from __future__ import annotations

from collections.abc import Callable

from tvmlite.fuzz.schedule import loops, primitives
from tvmlite.fuzz.schedule.arranger import Arranger, free_leaves
from tvmlite.fuzz.schedule.placement import caches, double_buffers, groups, place, predicates
from tvmlite.fuzz.schedule.tensorizing import tensorize
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor import tensor as t


def arrange(arranger: Arranger) -> None:
    """Apply a random schedule: caches, loops, placement."""
    rnd = arranger.rnd
    if rnd.random() < 0.05:
        return
    if rnd.random() < 0.45:
        caches(arranger)
    for stage in reversed(arranger.stages()):
        for _ in range(rnd.choice((0, 1, 2, 3, 4, 6))):
            weights = [weight for weight, _ in PRIMITIVES.values()]
            name = rnd.choices(list(PRIMITIVES), weights)[0]
            PRIMITIVES[name][1](arranger, stage)
        _rfactor(arranger, stage)
    place(arranger)
    groups(arranger)
    for stage in arranger.stages():
        if rnd.random() < 0.4:
            loops.vectorize_last(arranger, stage)
    double_buffers(arranger)
    predicates(arranger)


def _rfactor(a: Arranger, stage: Stage) -> None:
    """Apply ``rfactor`` to a reduce axis, sometimes."""
    reducing = free_leaves(stage, "reduce")
    if not reducing or stage.tensorized is not None or a.rnd.random() > 0.2:
        return
    axis = a.rnd.choice(reducing)
    op = stage.op
    assert isinstance(op, t.ComputeOp)
    tensor, label = a.tensor(stage), a.label(stage, axis)
    place = a.rnd.randint(-1, len(op.axis))
    made = [a.fresh(f"{tensor}_rf") for _ in range(op.num_outputs)]
    if len(made) > 1:
        made = [f"{name}_{n}" for n, name in enumerate(made)]
    if a.attempt("rfactor", f"{', '.join(made)} = s.rfactor({tensor}, {label}, {place})"):
        for one in (stage, a.schedule[a.names[made[0]]]):
            for axis in one.leaf_iter_vars:
                a.labels.pop(axis, None)
            for _ in range(a.rnd.randint(0, 2)):
                name = a.rnd.choice(list(PRIMITIVES))
                PRIMITIVES[name][1](a, one)


PRIMITIVES: dict[str, tuple[int, Callable[[Arranger, Stage], None]]] = {
    "split": (5, loops.split),
    "tile": (2, loops.tile),
    "fuse": (3, loops.fuse),
    "reorder": (3, loops.reorder),
    "unroll": (2, loops.unroll),
    "parallel": (2, loops.parallel),
    "vectorize": (2, loops.vectorize),
    "pragma": (1, loops.pragma),
    "prefetch": (1, primitives.prefetch),
    "storage_align": (1, primitives.storage_align),
    "align_bounds": (1, primitives.align_bounds),
    "transform_layout": (1, primitives.transform_layout),
    "loop_partition": (1, primitives.loop_partition),
    "decompose_reduction": (1, primitives.decompose_reduction),
    "reverse_compute_at": (1, primitives.reverse_compute_at),
    "tensorize": (2, tensorize),
}
"""The primitives that are tried on a stage, with their weights."""
