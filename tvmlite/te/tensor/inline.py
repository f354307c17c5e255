"""Replacement of what operations read: by other tensors, or by the formulas of inlined ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import Node, rewrite, substitute
from tvmlite.te import expr as e
from tvmlite.te.schedule.stage_base import INLINE
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import Operation, Tensor, TensorRead

if TYPE_CHECKING:
    from tvmlite.te.schedule.schedule import Schedule


def inject(schedule: Schedule) -> None:
    """Remove the inlined stages of ``schedule`` and insert their formulas where they are read.

    A single pass, producers first, so that chains of inlined stages are expanded one by one.
    """
    formulas: dict[Tensor, t.ComputeOp] = {}
    replacements: dict[Tensor, Tensor] = {}
    kept = []
    for stage in schedule.stages:
        before = stage.op
        op = _rebuild(before, formulas, replacements)
        if stage.attach_type == INLINE:
            assert isinstance(op, t.ComputeOp)
            formulas.update(dict.fromkeys(before.outputs, op))
            continue
        if op is not before:
            replacements.update(zip(before.outputs, op.outputs, strict=True))
            schedule.set_op(stage, op)
        kept.append(stage)
    schedule.keep(kept)


def replace_reads(op: Operation, mapping: Mapping[Tensor, Tensor]) -> Operation:
    """``op`` with reads of ``mapping``'s keys replaced by its values; the same object if there are none."""
    return _rebuild(op, {}, mapping)


def _rebuild(
    op: Operation, formulas: Mapping[Tensor, t.ComputeOp], replacements: Mapping[Tensor, Tensor]
) -> Operation:
    read = op.inputs
    if not any(tensor in formulas or tensor in replacements for tensor in read):
        return op
    if not isinstance(op, t.ComputeOp):
        for tensor in op.inputs:
            if tensor in formulas:
                raise ScheduleError(
                    f"compute_inline: {tensor.name} is {op.takes_inputs} {op.name}, "
                    "which needs it as an array",
                    getattr(op, "span", None),
                )
        return op.with_inputs(replacements)

    unfolded: dict[tuple[Tensor, tuple[e.Expr, ...]], e.Expr] = {}

    def rule(node: Node) -> Node:
        if not isinstance(node, TensorRead):
            return node
        if node.tensor in formulas:  # sharing the formula of an element avoids exponential growth
            key = (node.tensor, node.indices)
            if key not in unfolded:
                unfolded[key] = _formula(formulas[node.tensor], node)
            return unfolded[key]
        if node.tensor in replacements:
            return TensorRead(replacements[node.tensor], node.indices)
        return node

    whole = rewrite(Bodies(op.body), rule)
    return dataclasses.replace(op, body=whole.body)


def _formula(op: t.ComputeOp, read: TensorRead) -> e.Expr:
    """The element that ``read`` reads, computed by ``op``'s formula."""
    places = zip(op.axis, read.indices, strict=True)
    mapping = {axis.var: e.cast(axis.var.dtype, index) for axis, index in places}
    return substitute(op.body[read.tensor.value_index], mapping)


@dataclasses.dataclass(frozen=True, eq=False)
class Bodies(Node):
    """Several bodies as one node, to preserve sharing between them."""

    body: tuple[e.Expr, ...]
    children_in = ("body",)
