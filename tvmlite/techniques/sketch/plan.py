"""The plan of the sketch: which stages it schedules, and which are stored for their readers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import StageState
from tvmlite.te.templates.group import Group, cost_of, extent_of, product
from tvmlite.te.tensor.scan import ScanOp
from tvmlite.te.tensor.tensor import ComputeOp, Operation, Tensor
from tvmlite.techniques.sketch.access import elements

LEAST_COSTLY_WORK = 8
"""A formula of at least this much work is not recomputed for several readers."""

LEAST_REUSE = 2
"""An operand of which a reduction reads each element at least this many times may be stored as an array."""


@dataclass
class Plan:
    """The stages of ``group`` without a schedule (``free``), with the prefixes of their knobs."""

    group: Group
    free: dict[Operation, str] = field(default_factory=dict)
    operands: dict[Operation, str] = field(default_factory=dict)
    """Free stages without a reduction that are, or may be, stored for their readers, with the decision:
    "" while it is open, then "inline", "root" or "at"."""

    @staticmethod
    def of(group: Group) -> Plan:
        """Inline stages without a reduction that are cheap or read once; those that reductions read
        repeatedly are operands, which the nest that reads them places."""
        plan = Plan(group)
        bound = set(_scan_operations(group))
        names: dict[str, int] = {}
        for stage in group.schedule.stages:
            op = stage.op
            count = names[op.name] = names.get(op.name, 0) + 1
            if isinstance(op, ComputeOp) and op not in bound and is_untouched(group, stage):
                plan.free[op] = op.name if count == 1 else f"{op.name}{count}"
        for op in list(plan.free):
            if isinstance(op, ComputeOp) and not op.reduce_axis and not group.stage(op).is_output:
                if plan._is_stored(op):
                    plan.operands[op] = ""
                else:
                    group.stage(op).compute_inline()
        return plan

    def _is_stored(self, op: ComputeOp) -> bool:
        readers = self.group.readers(op.output(0))
        if not all(isinstance(reader, ComputeOp) for reader in readers):
            return True
        if any(reader not in self.free for reader in readers):
            return True  # a reader that is scheduled by hand reads it as an array
        points = product(extent_of(axis) for axis in op.axis)
        for reader in readers:
            assert isinstance(reader, ComputeOp)
            reads = product(extent_of(a) for a in (*reader.axis, *reader.reduce_axis))
            if reader.reduce_axis and (None in (points, reads) or reads >= LEAST_REUSE * points):  # type: ignore[operator]
                return True
        return len(readers) > 1 and cost_of(op) >= LEAST_COSTLY_WORK

    def name(self, op: Operation) -> str:
        """The prefix of the knobs of ``op``."""
        return self.free[op]

    def has_only_readers(self, op: ComputeOp, readers: Collection[Operation]) -> bool:
        """Whether only ``readers`` use ``op``, directly or through stages without a reduction."""
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

    def unplaced_operands(self, op: ComputeOp) -> list[ComputeOp]:
        """The operands of ``op`` whose placement is still open."""
        return [
            tensor.op
            for tensor in op.inputs
            if isinstance(tensor.op, ComputeOp) and self.operands.get(tensor.op) == ""
        ]


def _scan_operations(group: Group) -> Iterator[Operation]:
    """The operations in the loops of scans."""
    for stage in group.schedule.stages:
        if isinstance(stage.op, ScanOp):
            yield from stage.op.body()
            yield from (tensor.op for tensor in stage.op.init)


def is_untouched(group: Group, stage: Stage) -> bool:
    """Whether ``stage`` has its initial loops, and no other stage is attached to it."""
    fresh = replace(StageState.of(stage.op, stage.is_output), origin_op=stage.origin_op)
    attached = any(one.attach_stage is stage for one in group.schedule.stages)
    return stage.state == fresh and not attached


def reuse(op: ComputeOp, tensor: Tensor) -> int | None:
    """How many times the reduction ``op`` reads an element of ``tensor`` on average; None if not known."""
    points = product(extent_of(a) for a in (*op.axis, *op.reduce_axis))
    count = elements(tensor)
    return None if points is None or count is None else points // max(1, count)
