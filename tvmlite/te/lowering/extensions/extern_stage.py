"""The statement of an extern stage, on the buffers of the tensors that it uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import Node, postorder, rewrite
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr
from tvmlite.te.loop import ir
from tvmlite.te.lowering.building import Building
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.tensor.extern import ExternOp
from tvmlite.te.tensor.tensor import Operation, Tensor


def loop_nest(stage: Stage, building: Building) -> ir.Stmt:
    """The statement of an extern stage with int64 indices. Elements that it accesses by one index for each
    axis are found in any layout of their producer."""
    op = stage.op
    assert isinstance(op, ExternOp)
    tensor_of = _tensors(op)
    widening = building.bounds.widening
    for one in postorder(op.body):
        if isinstance(one, ir.Let):
            widening.keep(one.var)

    def widen(node: Any) -> Any:
        return widening.value(node) if isinstance(node, Expr) else node

    def place(tensor: Tensor, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        if tensor.op not in building.layouts:
            return tuple(indices)
        return building.place(tensor, [widening.value(index) for index in indices])

    def rule(node: Node) -> Any:
        match node:
            case ir.For(var=var, min=first, extent=extent) if var.dtype != e.INDEX:
                wide = widening.variable(var), widening.index(first), widening.index(extent)
                return replace(node, var=wide[0], min=wide[1], extent=wide[2])
            case ir.Store(buffer, indices, value, predicate) if buffer in tensor_of:
                one = tensor_of[buffer]
                node = ir.Store(building.buffers[one], place(one, indices), value, predicate)
            case ir.Load(buffer, indices, predicate) if buffer in tensor_of:
                one = tensor_of[buffer]
                node = ir.Load(building.buffers[one], place(one, indices), predicate)
        return node.map_children(widen) if isinstance(node, ir.Stmt) else node

    return rewrite(op.body, rule)


def check_layouts(stages: Iterable[Stage]) -> None:
    """Raise a ScheduleError if an extern stage accesses memory directly whose layout a primitive has changed,
    which the extern stage does not know."""
    stage_of: dict[Operation, Stage] = {stage.op: stage for stage in stages}
    for stage in stage_of.values():
        if not isinstance(stage.op, ExternOp):
            continue
        for tensor in _directly_accessed(stage.op):
            producer = stage_of.get(tensor.op)
            if producer is None:
                continue
            for primitive, asked in (
                ("transform_layout", producer.layout),
                ("storage_align", producer.alignments),
            ):
                if asked:
                    raise ScheduleError(
                        f"{primitive}: {producer.name} must stay as it is, because the extern stage "
                        f"{stage.name} takes its memory, by its address or with one index for all axes",
                        producer.span_of(primitive),
                    )


def _tensors(op: ExternOp) -> dict[ir.Buffer, Tensor]:
    """The tensor that each buffer of ``op`` represents."""
    found = dict(zip(op.output_buffers, op.outputs, strict=True))
    return found | dict(zip(op.input_buffers, op.input_tensors, strict=True))


def _directly_accessed(op: ExternOp) -> list[Tensor]:
    """The tensors whose address ``op`` takes, or that it accesses other than by one index for each axis."""
    tensor_of = _tensors(op)
    found: dict[Tensor, None] = {}
    for node in postorder(op.body):
        match node:
            case e.Call("address_of", (ir.Load(buffer),)) if buffer in tensor_of:
                found[tensor_of[buffer]] = None
            case ir.Load(buffer, indices) | ir.Store(buffer, indices) if buffer in tensor_of:
                if len(indices) != len(buffer.shape):
                    found[tensor_of[buffer]] = None
    return list(found)
