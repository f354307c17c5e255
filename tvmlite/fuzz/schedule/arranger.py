"""A schedule under construction: primitives are tried on the live schedule, and kept as text if accepted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tvmlite import te
from tvmlite.core.errors import ScheduleError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.fuzz.expected.check import Wrong
from tvmlite.fuzz.program import run
from tvmlite.relay.ir.dims import evaluate_dim
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar

ASSUMED_EXTENT = 1000
"""The assumed value of an unknown extent."""


@dataclass
class Arranger:
    """A schedule under construction: the program's names, its statements so far, and facts about axes."""

    rnd: random.Random
    names: dict[str, Any]
    lines: list[str]
    sizes: dict[str, int]
    tags: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    labels: dict[IterVar, str] = field(default_factory=dict)
    extents: dict[IterVar, int] = field(default_factory=dict)
    fixed: dict[IterVar, bool] = field(default_factory=dict)
    defined: frozenset[t.Operation] = frozenset()
    count: int = 0

    def __post_init__(self) -> None:
        self.defined = frozenset(stage.op for stage in self.schedule.stages)

    @property
    def schedule(self) -> te.Schedule:
        """The live schedule, which is ``s`` in the program."""
        return self.names["s"]

    def attempt(self, tag: str, line: str) -> bool:
        """Run ``line``; keep it unless it is refused. Raise Wrong if a refusal changed the schedule."""
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
        """Return an unused name that is similar to ``base``."""
        name = "".join(c if c.isalnum() else "_" for c in base)
        while name in self.names:
            self.count += 1
            name = f"{name.rstrip('0123456789')}{self.count}"
        return name

    def stages(self) -> list[Stage]:
        """Return the stages that have loops to schedule."""
        return [stage for stage in self.schedule.stages if isinstance(stage.op, t.ComputeOp)]

    def tensor(self, stage: Stage) -> str:
        """Return the name of a tensor that ``stage`` computes."""
        for name, value in self.names.items():
            if isinstance(value, te.Tensor) and self.schedule.stage_map.get(value.op) is stage:
                return name
        raise AssertionError(f"no name for {stage.name}")

    def label(self, stage: Stage, axis: IterVar) -> str:
        """Return the name of ``axis``, one of the stage's loops.

        The program defines names when they are first needed, for all axes of an operation at once.
        """
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

    def note(self, labels: Sequence[str], extents: Sequence[int], fixed: Sequence[bool]) -> None:
        """Record the extents of the loops called ``labels``, and whether they are ``fixed`` for all sizes."""
        for label, extent, known in zip(labels, extents, fixed, strict=True):
            self.labels[self.names[label]] = label
            self.extents[self.names[label]] = extent
            self.fixed[self.names[label]] = known

    def extent(self, axis: IterVar) -> int:
        """Return the number of iterations that the loop may have."""
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
    """Evaluate ``extent`` at ``sizes``; one that depends on other variables may be long."""
    binding = {n: sizes.get(n.name) for n in postorder(e.convert(extent)) if isinstance(n, e.Var)}
    return ASSUMED_EXTENT if None in binding.values() else evaluate_dim(extent, binding)  # type: ignore[arg-type]


def name_of(a: Arranger, tensor: te.Tensor) -> str | None:
    """Return the name of a tensor that ``tensor`` currently represents, if it has one."""
    for name, value in a.names.items():
        if isinstance(value, te.Tensor) and value.op in a.schedule.stage_map:
            if a.schedule.current(value) is tensor:
                return name
    return None


def readers_of(a: Arranger, stage: Stage) -> list[Stage]:
    """Return the stages that read a result of ``stage``."""
    return [one for one in a.schedule.stages if any(o in one.op.inputs for o in stage.op.outputs)]


def outputs_of(a: Arranger, stage: Stage) -> list[str] | None:
    """Return the names of all results of a stage; None unless each has one."""
    found: dict[int, str] = {}
    for name, value in a.names.items():
        if isinstance(value, te.Tensor) and a.schedule.stage_map.get(value.op) is stage:
            found.setdefault(value.value_index, name)
    count = stage.op.num_outputs
    return [found[n] for n in range(count)] if len(found) == count else None


def free_leaves(stage: Stage, kind: str = "") -> list[IterVar]:
    """Return the stage's loops, of a kind if one is given, except those that an intrinsic replaces."""
    leaves = stage.leaf_iter_vars
    if stage.tensorized is not None:
        inner = stage.tensorized[0]
        leaves = leaves[: next((n for n, leaf in enumerate(leaves) if leaf is inner), len(leaves))]
    return [leaf for leaf in leaves if not kind or leaf.kind == kind]


def some_leaf(a: Arranger, stage: Stage, kind: str = "") -> IterVar | None:
    """Return one of the stage's free loops."""
    leaves = free_leaves(stage, kind)
    return a.rnd.choice(leaves) if leaves else None
