"""What the sketch is about to do: which stages are its to arrange, and what each of its nests makes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import StageState
from tvmlite.te.templates.group import Group, cost_of, extent_of, product
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.te.tensor.tensor import ComputeOp, Operation, Tensor
from tvmlite.techniques.sketch.access import elements

COSTLY = 8
"""A formula of so much work is not done twice without need."""

REUSED = 2
"""A reduction that reads each element of an operand so many times is better off with it in an array."""


@dataclass
class Plan:
    """The stages of ``group`` that nobody has arranged yet, and the words that name their knobs."""

    group: Group
    free: dict[Operation, str] = field(default_factory=dict)
    operands: dict[Operation, str] = field(default_factory=dict)
    """Free stages without a reduction that stay arrays for their readers, or may; what is done with each:
    "" as long as that is open, then "inline", "root" or "at"."""

    @staticmethod
    def of(group: Group) -> Plan:
        """Plain stages that are cheap or read once are inlined; those that reductions read again and again
        are operands, to be placed by the nest that reads them."""
        plan = Plan(group)
        bound = set(_bound(group))
        names: dict[str, int] = {}
        for stage in group.schedule.stages:
            op = stage.op
            count = names[op.name] = names.get(op.name, 0) + 1
            if isinstance(op, ComputeOp) and op not in bound and is_untouched(group, stage):
                plan.free[op] = op.name if count == 1 else f"{op.name}{count}"
        for op in list(plan.free):
            if isinstance(op, ComputeOp) and not op.reduce_axis and not group.stage(op).is_output:
                if plan._stays(op):
                    plan.operands[op] = ""
                else:
                    group.stage(op).compute_inline()
        return plan

    def _stays(self, op: ComputeOp) -> bool:
        readers = self.group.readers(op.output(0))
        if not all(isinstance(reader, ComputeOp) for reader in readers):
            return True
        if any(reader not in self.free for reader in readers):
            return True  # what was arranged by hand reads arrays, as it stands
        points = product(extent_of(axis) for axis in op.axis)
        for reader in readers:
            assert isinstance(reader, ComputeOp)
            reads = product(extent_of(a) for a in (*reader.axis, *reader.reduce_axis))
            if reader.reduce_axis and (None in (points, reads) or reads >= REUSED * points):  # type: ignore[operator]
                return True
        return len(readers) > 1 and cost_of(op) >= COSTLY

    def name(self, op: Operation) -> str:
        """The word that the knobs of ``op`` begin with."""
        return self.free[op]

    def serves(self, op: ComputeOp, readers: Collection[Operation]) -> bool:
        """Whether ``op`` is needed for ``readers`` only, directly or through stages without a reduction."""
        todo = [reader for tensor in op.outputs for reader in self.group.readers(tensor)]
        while todo:
            one = todo.pop()
            if one in readers:
                continue
            between = isinstance(one, ComputeOp) and not one.reduce_axis and one in self.free
            if not between or self.group.stage(one).is_output:
                return False
            todo.extend(reader for tensor in one.outputs for reader in self.group.readers(tensor))
        return True

    def open_operands(self, op: ComputeOp) -> list[ComputeOp]:
        """The operands that ``op`` reads and that are still to be placed."""
        return [
            tensor.op
            for tensor in op.inputs
            if isinstance(tensor.op, ComputeOp) and self.operands.get(tensor.op) == ""
        ]


def _bound(group: Group) -> Iterator[Operation]:
    """The stages that stand in the loops of a scan."""
    for stage in group.schedule.stages:
        if isinstance(stage.op, ScanOp):
            yield from stage.op.body()
            yield from (tensor.op for tensor in stage.op.init)


def is_untouched(group: Group, stage: Stage) -> bool:
    """Whether nobody has arranged the loops of ``stage`` or placed anything in them."""
    fresh = replace(StageState.of(stage.op, stage.is_output), origin_op=stage.origin_op)
    attached = any(one.attach_stage is stage for one in group.schedule.stages)
    return stage.state == fresh and not attached


def reuse(op: ComputeOp, tensor: Tensor) -> int | None:
    """How many times the reduction ``op`` uses an element of ``tensor`` on average."""
    points = product(extent_of(a) for a in (*op.axis, *op.reduce_axis))
    count = elements(tensor)
    return None if points is None or count is None else points // max(1, count)
