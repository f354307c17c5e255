"""Random uses of the loop primitives."""

from __future__ import annotations

from tvmlite.fuzz.schedule.arranger import Arranger, free_leaves, some_leaf
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import INLINE, SHRINK, Split
from tvmlite.te.tensor.tensor import IterVar

UNROLLED = 64
"""The largest product of extents of the loops marked for unrolling in one stage."""


LANES = 64
"""The longest loop that is vectorized."""


def split(a: Arranger, stage: Stage) -> None:
    """Split a loop in two, in some cases with smaller loops for the remainder."""
    leaves = _free_to_change(stage)
    if not leaves or len(stage.leaf_iter_vars) > 9:
        return
    axis = a.rnd.choice(leaves)
    label, extent = a.label(stage, axis), a.extent(axis)
    outer, inner = a.fresh(f"{label}o"), a.fresh(f"{label}i")
    key = a.rnd.choice(("factor", "factor", "nparts"))
    count = a.rnd.choice((1, 2, 3, 4, 4, 5, 7, 8, 16, max(1, extent // 2), max(1, extent), extent + 1))
    tag, rest = f"split {key}", ""
    if key == "factor" and a.rnd.random() < 0.25:
        ratio = a.rnd.choice(("", ", ratio=3", ", ratio=4"))
        tag, rest = "split shrink", f', tail="shrink"{ratio}'
    if a.attempt(tag, f"{outer}, {inner} = s[{a.tensor(stage)}].split({label}, {key}={count}{rest})"):
        other, known = max(1, -(-extent // count)), a.is_fixed(axis)
        if key == "factor":
            a.note((outer, inner), (other, count), (known, True))
        else:
            a.note((outer, inner), (count, other), (True, known))


def _free_to_change(stage: Stage) -> list[IterVar]:
    """Return the free loops except those that are followed by smaller tiles, which must stay."""
    kept = {r.outer for r in stage.relations if isinstance(r, Split) and r.tail == SHRINK}
    return [leaf for leaf in free_leaves(stage) if leaf not in kept]


def tile(a: Arranger, stage: Stage) -> None:
    """Tile two loops into four."""
    leaves = _free_to_change(stage)
    if not 2 <= len(leaves) <= 7:
        return
    x, y = a.rnd.sample(leaves, 2)
    factors = (a.rnd.choice((1, 2, 3, 4, 8)), a.rnd.choice((1, 2, 3, 4, 8)))
    labels = a.label(stage, x), a.label(stage, y)
    new: list[str] = []
    for label in (f"{labels[0]}o", f"{labels[1]}o", f"{labels[0]}i", f"{labels[1]}i"):
        name = a.fresh(label)
        while name in new:
            name += "_"
        new.append(name)
    line = f"{', '.join(new)} = s[{a.tensor(stage)}].tile({', '.join(labels)}, {factors[0]}, {factors[1]})"
    if a.attempt("tile", line):
        outer = [max(1, -(-a.extent(axis) // f)) for axis, f in zip((x, y), factors, strict=True)]
        a.note(tuple(new), (*outer, *factors), (a.is_fixed(x), a.is_fixed(y), True, True))


def fuse(a: Arranger, stage: Stage) -> None:
    """Fuse neighbouring loops; if there are none, create one with a single iteration."""
    leaves = free_leaves(stage)
    if not leaves:
        if a.rnd.random() < 0.3:
            name = a.fresh("single")
            if a.attempt("fuse", f"{name} = s[{a.tensor(stage)}].fuse()"):
                a.note((name,), (1,), (True,))
        return
    place = a.rnd.randrange(len(leaves))
    axes = leaves[place : place + a.rnd.choice((2, 2, 3))]
    if len(axes) < 2 or not set(axes) <= set(_free_to_change(stage)):
        return
    extent = 1
    for axis in axes:
        extent *= a.extent(axis)
    labels = [a.label(stage, axis) for axis in axes]
    name = a.fresh("_".join(("fused", *(label.split("_", 1)[-1] for label in labels))))
    if a.attempt("fuse", f"{name} = s[{a.tensor(stage)}].fuse({', '.join(labels)})"):
        a.note((name,), (extent,), (all(a.is_fixed(axis) for axis in axes),))


def reorder(a: Arranger, stage: Stage) -> None:
    """Reorder some of the loops."""
    leaves = free_leaves(stage)
    if len(leaves) < 2:
        return
    chosen = a.rnd.sample(leaves, a.rnd.randint(2, len(leaves)))
    labels = ", ".join(a.label(stage, axis) for axis in chosen)
    a.attempt("reorder", f"s[{a.tensor(stage)}].reorder({labels})")


def unroll(a: Arranger, stage: Stage) -> None:
    """Unroll a loop, if it is not too long."""
    axis = some_leaf(a, stage)
    copies = 1
    for one, kind in stage.loop_kinds.items():
        copies *= a.extent(one) if kind in ("unroll", "vectorize") else 1
    if axis is not None and a.is_fixed(axis) and copies * a.extent(axis) <= UNROLLED:
        a.attempt("unroll", f"s[{a.tensor(stage)}].unroll({a.label(stage, axis)})")


def parallel(a: Arranger, stage: Stage) -> None:
    """Divide a loop among threads."""
    axis = some_leaf(a, stage, "data")
    if axis is not None:
        a.attempt("parallel", f"s[{a.tensor(stage)}].parallel({a.label(stage, axis)})")


def vectorize(a: Arranger, stage: Stage) -> None:
    """Vectorize a short loop."""
    axis = some_leaf(a, stage, "data")
    if axis is not None and a.extent(axis) <= LANES and a.is_fixed(axis):
        a.attempt("vectorize", f"s[{a.tensor(stage)}].vectorize({a.label(stage, axis)})")


def vectorize_last(a: Arranger, stage: Stage) -> None:
    """Vectorize the last data loop, if it is short."""
    if stage.attach_type == INLINE:
        return
    data = free_leaves(stage, "data")
    if data and data[-1] not in stage.loop_kinds and a.extent(data[-1]) <= LANES:
        if a.is_fixed(data[-1]):
            a.attempt("vectorize", f"s[{a.tensor(stage)}].vectorize({a.label(stage, data[-1])})")


def pragma(a: Arranger, stage: Stage) -> None:
    """Add a pragma to a loop."""
    axis = some_leaf(a, stage)
    if axis is not None:
        step = a.rnd.choice((0, 4, 16))
        line = f's[{a.tensor(stage)}].pragma({a.label(stage, axis)}, "auto_unroll_max_step", {step})'
        a.attempt("pragma", line)
