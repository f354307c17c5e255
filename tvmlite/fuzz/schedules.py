"""Random schedules: primitives tried one by one on the live schedule, and kept as text if they took."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tvmlite import te
from tvmlite.core.errors import ScheduleError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.fuzz.check import Wrong
from tvmlite.fuzz.program import run
from tvmlite.relay.dims import evaluate_dim
from tvmlite.te import expr as e
from tvmlite.te import tensor as t
from tvmlite.te.stage import AT, INLINE, Stage
from tvmlite.te.tensor import IterVar

UNROLLED = 64
"""The most turns that loops marked for unrolling may have together, in one stage."""

LANES = 64
"""The longest loop that is made a vector."""


@dataclass
class Arranger:
    """A schedule in the making: the program's names, its statements so far, and what is known of axes."""

    rnd: random.Random
    names: dict[str, Any]
    lines: list[str]
    sizes: dict[str, int]
    tags: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    labels: dict[IterVar, str] = field(default_factory=dict)
    extents: dict[IterVar, int] = field(default_factory=dict)
    fixed: dict[IterVar, bool] = field(default_factory=dict)
    count: int = 0

    @property
    def schedule(self) -> te.Schedule:
        return self.names["s"]

    def attempt(self, tag: str, line: str) -> bool:
        """Carry out ``line``; keep it unless the schedule refuses it. Wrong if it is changed all the same."""
        before = str(self.schedule)
        try:
            run([line], self.names, len(self.lines) + 1)
        except (ScheduleError, UnsupportedError) as error:
            if str(self.schedule) != before:
                raise Wrong("refusal", "state", f"{line}: was refused, but changed the schedule") from error
            self.refused.append(f"{tag}: {error}")
            return False
        self.lines.append(line)
        if tag:
            self.tags.append(tag)
        return True

    def fresh(self, base: str) -> str:
        """A name not used yet, like ``base``."""
        name = "".join(c if c.isalnum() else "_" for c in base)
        while name in self.names:
            self.count += 1
            name = f"{name.rstrip('0123456789')}{self.count}"
        return name

    def stages(self) -> list[Stage]:
        """The stages that have loops to arrange."""
        return [stage for stage in self.schedule.stages if isinstance(stage.op, t.ComputeOp)]

    def tensor(self, stage: Stage) -> str:
        """The name of a tensor that ``stage`` makes."""
        for name, value in self.names.items():
            if isinstance(value, te.Tensor) and self.schedule.stage_map.get(value.op) is stage:
                return name
        raise AssertionError(f"no name for {stage.name}")

    def label(self, stage: Stage, axis: IterVar) -> str:
        """The name of ``axis``, one of the stage's loops; written when first needed, for all axes of an
        operation at once."""
        if axis not in self.labels:
            op = stage.op
            assert isinstance(op, t.ComputeOp)
            for kind, axes in (("axis", op.axis), ("reduce_axis", op.reduce_axis)):
                if not any(one is axis for one in axes):
                    continue
                labels = [self.fresh(f"{self.tensor(stage)}_{one.var.name}") for one in axes]
                if len(set(labels)) < len(labels):
                    labels = [f"{label}_{n}" for n, label in enumerate(labels)]
                comma = "," if len(labels) == 1 else ""
                self.attempt("", f"{', '.join(labels)}{comma} = s[{self.tensor(stage)}].op.{kind}")
                self.labels.update(zip(axes, labels, strict=True))
        if axis not in self.labels:  # a loop that came along from another stage
            place = next(n for n, one in enumerate(stage.leaf_iter_vars) if one is axis)
            label = self.fresh(f"{self.tensor(stage)}_{axis.var.name}")
            self.attempt("", f"{label} = s[{self.tensor(stage)}].leaf_iter_vars[{place}]")
            self.labels[axis] = label
        return self.labels[axis]

    def extent(self, axis: IterVar) -> int:
        """How many turns the loop may have."""
        if axis not in self.extents:
            if axis.dom is None:
                return 1
            extent = axis.dom.extent
            self.extents[axis] = _number(extent, self.sizes)
        return self.extents[axis]

    def is_fixed(self, axis: IterVar) -> bool:
        """Whether the loop's extent is the same for all sizes."""
        if axis in self.fixed or axis.dom is None:
            return self.fixed.get(axis, False)
        return isinstance(axis.dom.extent, e.Const)


def _number(extent: Any, sizes: dict[str, int]) -> int:
    """``extent`` at ``sizes``; one that other variables decide may be long."""
    binding = {n: sizes.get(n.name) for n in postorder(e.convert(extent)) if isinstance(n, e.Var)}
    return LONG if None in binding.values() else evaluate_dim(extent, binding)  # type: ignore[arg-type]


LONG = 1000


def arrange(arranger: Arranger) -> None:
    """A random schedule: caches, loops, placement."""
    rnd = arranger.rnd
    if rnd.random() < 0.05:
        return
    if rnd.random() < 0.45:
        _caches(arranger)
    for stage in reversed(arranger.stages()):
        for _ in range(rnd.choice((0, 1, 2, 3, 4, 6))):
            weights = [weight for weight, _ in PRIMITIVES.values()]
            name = rnd.choices(list(PRIMITIVES), weights)[0]
            PRIMITIVES[name][1](arranger, stage)
        _factor(arranger, stage)
    _place(arranger)
    for stage in arranger.stages():
        if rnd.random() < 0.4:
            _vectorize_last(arranger, stage)


def _caches(a: Arranger) -> None:
    for stage in a.stages():
        if a.rnd.random() < 0.3:
            names = _outputs(a, stage)
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


def _outputs(a: Arranger, stage: Stage) -> list[str] | None:
    """Names of all the results of a stage."""
    found: dict[int, str] = {}
    for name, value in a.names.items():
        if isinstance(value, te.Tensor) and a.schedule.stage_map.get(value.op) is stage:
            found.setdefault(value.value_index, name)
    count = stage.op.num_outputs
    return [found[n] for n in range(count)] if len(found) == count else None


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


def name_of(a: Arranger, tensor: te.Tensor) -> str | None:
    """The name of what ``tensor`` stands for now, if it has one."""
    for name, value in a.names.items():
        if isinstance(value, te.Tensor) and value.op in a.schedule.stage_map:
            if a.schedule.current(value) is tensor:
                return name
    return None


def readers_of(a: Arranger, stage: Stage) -> list[Stage]:
    """The stages that read what ``stage`` makes."""
    return [one for one in a.schedule.stages if any(o in one.op.inputs for o in stage.op.outputs)]


def _split(a: Arranger, stage: Stage) -> None:
    axis = _leaf(a, stage)
    if axis is None or len(stage.leaf_iter_vars) > 9:
        return
    label, extent = a.label(stage, axis), a.extent(axis)
    outer, inner = a.fresh(f"{label}o"), a.fresh(f"{label}i")
    key = a.rnd.choice(("factor", "factor", "nparts"))
    count = a.rnd.choice((1, 2, 3, 4, 4, 5, 7, 8, 16, max(1, extent // 2), max(1, extent), extent + 1))
    tag = f"split {key}"
    if a.attempt(tag, f"{outer}, {inner} = s[{a.tensor(stage)}].split({label}, {key}={count})"):
        rest, known = max(1, -(-extent // count)), a.is_fixed(axis)
        if key == "factor":
            _note(a, (outer, inner), (rest, count), (known, True))
        else:
            _note(a, (outer, inner), (count, rest), (True, known))


def _note(a: Arranger, labels: tuple[str, ...], extents: tuple[int, ...], fixed: tuple[bool, ...]) -> None:
    for label, extent, known in zip(labels, extents, fixed, strict=True):
        a.labels[a.names[label]] = label
        a.extents[a.names[label]] = extent
        a.fixed[a.names[label]] = known


def _tile(a: Arranger, stage: Stage) -> None:
    leaves = stage.leaf_iter_vars
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
        _note(a, tuple(new), (*outer, *factors), (a.is_fixed(x), a.is_fixed(y), True, True))


def _fuse(a: Arranger, stage: Stage) -> None:
    leaves = stage.leaf_iter_vars
    if not leaves:
        if a.rnd.random() < 0.3:
            name = a.fresh("single")
            if a.attempt("fuse", f"{name} = s[{a.tensor(stage)}].fuse()"):
                _note(a, (name,), (1,), (True,))
        return
    place = a.rnd.randrange(len(leaves))
    axes = leaves[place : place + a.rnd.choice((2, 2, 3))]
    if len(axes) < 2:
        return
    extent = 1
    for axis in axes:
        extent *= a.extent(axis)
    labels = [a.label(stage, axis) for axis in axes]
    name = a.fresh("".join(label.split("_", 1)[-1] for label in labels) + "f")
    if a.attempt("fuse", f"{name} = s[{a.tensor(stage)}].fuse({', '.join(labels)})"):
        _note(a, (name,), (extent,), (all(a.is_fixed(axis) for axis in axes),))


def _reorder(a: Arranger, stage: Stage) -> None:
    leaves = stage.leaf_iter_vars
    if len(leaves) < 2:
        return
    chosen = a.rnd.sample(leaves, a.rnd.randint(2, len(leaves)))
    labels = ", ".join(a.label(stage, axis) for axis in chosen)
    a.attempt("reorder", f"s[{a.tensor(stage)}].reorder({labels})")


def _unroll(a: Arranger, stage: Stage) -> None:
    axis = _leaf(a, stage)
    turns = 1
    for one, kind in stage.loop_kinds.items():
        turns *= a.extent(one) if kind in ("unroll", "vectorize") else 1
    if axis is not None and a.is_fixed(axis) and turns * a.extent(axis) <= UNROLLED:
        a.attempt("unroll", f"s[{a.tensor(stage)}].unroll({a.label(stage, axis)})")


def _parallel(a: Arranger, stage: Stage) -> None:
    axis = _leaf(a, stage, "data")
    if axis is not None:
        a.attempt("parallel", f"s[{a.tensor(stage)}].parallel({a.label(stage, axis)})")


def _vectorize(a: Arranger, stage: Stage) -> None:
    axis = _leaf(a, stage, "data")
    if axis is not None and a.extent(axis) <= LANES and a.is_fixed(axis):
        a.attempt("vectorize", f"s[{a.tensor(stage)}].vectorize({a.label(stage, axis)})")


def _vectorize_last(a: Arranger, stage: Stage) -> None:
    if stage.attach_type == INLINE:
        return
    data = [axis for axis in stage.leaf_iter_vars if axis.kind == "data"]
    if data and data[-1] not in stage.loop_kinds and a.extent(data[-1]) <= LANES:
        if a.is_fixed(data[-1]):
            a.attempt("vectorize", f"s[{a.tensor(stage)}].vectorize({a.label(stage, data[-1])})")


def _pragma(a: Arranger, stage: Stage) -> None:
    axis = _leaf(a, stage)
    if axis is not None:
        step = a.rnd.choice((0, 4, 16))
        line = f's[{a.tensor(stage)}].pragma({a.label(stage, axis)}, "auto_unroll_max_step", {step})'
        a.attempt("pragma", line)


def _factor(a: Arranger, stage: Stage) -> None:
    """``rfactor`` of a reduce axis, at times."""
    reducing = [axis for axis in stage.leaf_iter_vars if axis.kind == "reduce"]
    if not reducing or a.rnd.random() > 0.2:
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


def _place(a: Arranger) -> None:
    """Stages moved into loops of those that read them, or written out where they are read."""
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
            if reader.leaf_iter_vars and reader.attach_type != INLINE:
                axis = a.rnd.choice(reader.leaf_iter_vars)
                line = f"s[{a.tensor(stage)}].compute_at(s[{a.tensor(reader)}], {a.label(reader, axis)})"
                a.attempt("compute_at", line)
        if stage.attach_type == AT and a.rnd.random() < 0.1:
            a.attempt("compute_root", f"s[{a.tensor(stage)}].compute_root()")


def _leaf(a: Arranger, stage: Stage, kind: str = "") -> IterVar | None:
    leaves = [axis for axis in stage.leaf_iter_vars if not kind or axis.kind == kind]
    return a.rnd.choice(leaves) if leaves else None


PRIMITIVES: dict[str, tuple[int, Callable[[Arranger, Stage], None]]] = {  # ``primitives`` adds more
    "split": (5, _split),
    "tile": (2, _tile),
    "fuse": (3, _fuse),
    "reorder": (3, _reorder),
    "unroll": (2, _unroll),
    "parallel": (2, _parallel),
    "vectorize": (2, _vectorize),
    "pragma": (1, _pragma),
}
