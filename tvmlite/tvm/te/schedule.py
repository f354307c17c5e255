"""``tvm.te.schedule``: schedules, their parts, and the individual steps of lowering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder, rewrite
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.extensions import load_primitives
from tvmlite.te.loop import ir
from tvmlite.te.loop.ir import Buffer as Buffer
from tvmlite.te.lowering.bounds import Formula, formula_of, infer
from tvmlite.te.lowering.lower import lower
from tvmlite.te.lowering.widen import Widening
from tvmlite.te.schedule.schedule import Schedule as Schedule
from tvmlite.te.schedule.stage import Stage as Stage
from tvmlite.te.schedule.stage_base import Fuse as Fuse
from tvmlite.te.schedule.stage_base import Singleton as Singleton
from tvmlite.te.schedule.stage_base import Split as Split
from tvmlite.te.schedule.stage_base import loops_around
from tvmlite.te.schedule.tensor_intrin import TensorIntrin as TensorIntrin
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar as IterVar
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.marks import with_marked_constants
from tvmlite.tvm.te.declare import create_schedule as create_schedule
from tvmlite.tvm.te.intrinsic_call import tensorized
from tvmlite.tvm.te.scan_points import ScanFixPointAnalysis as ScanFixPointAnalysis
from tvmlite.tvm.te.tag import is_broadcast, is_injective
from tvmlite.tvm.te.threads import ThreadBounds

load_primitives()


def InferBound(sch: Schedule) -> Mapping[IterVar, t.Range]:
    """Infer the range of every axis of the stages of ``sch``, whose outputs are computed whole. A loop bound
    to a thread axis covers an attached stage in memory that these threads share, by the stage's scope."""
    normal = sch.normalize()
    given = [x.op for x in arguments_of(normal)]
    widening = Widening([n for op in given for n in op.output_shape(0) if isinstance(n, e.Var)])
    computes = [stage.op for stage in normal.stages if isinstance(stage.op, t.ComputeOp)]
    formulas: dict[t.Operation, Formula] = {op: formula_of(op, widening) for op in computes}
    bounds = infer(normal, formulas, given, Analyzer(), widening, kind=ThreadBounds)
    own = {widening.variable(var): var for var in _variables(normal)}
    return {
        axis: t.Range(_as_given(one.min, own), _as_given(one.extent, own))
        for axis, one in bounds.ranges.items()
    }


def _variables(normal: Schedule) -> set[e.Var]:
    """The variables of axes, extents and split factors that the program declared."""
    axes = [axis for stage in normal.stages for axis in stage.all_iter_vars]
    extents = [n for stage in normal.stages for x in stage.op.outputs for n in x.shape]
    factors = [
        n
        for stage in normal.stages
        for relation in stage.relations
        if isinstance(relation, Split)
        for n in (relation.factor, relation.nparts)
    ]
    nodes = [node for n in (*extents, *factors) if isinstance(n, e.Expr) for node in postorder(n)]
    return {axis.var for axis in axes} | {node for node in nodes if isinstance(node, e.Var)}


def _as_given(value: Any, own: Mapping[e.Var, e.Var]) -> e.Expr:
    """``value``, an int64 index from lowering, in the variables and dtypes that the program declared."""

    def rule(node: Any) -> Any:
        if isinstance(node, e.Var):
            return own.get(node, node)
        if isinstance(node, e.Const) and node.dtype == e.INDEX:
            return e.const(node.value)
        if isinstance(node, e.Cast) and node.dtype == e.INDEX:
            return node.value
        return node

    return with_marked_constants(rewrite(e.convert(value), rule))


def CreateReadGraph(ops: Any) -> dict[t.Operation, list[t.Tensor]]:
    """Map ``ops``, and the operations they directly or indirectly read, to the tensors each reads."""
    graph: dict[t.Operation, list[t.Tensor]] = {}
    todo = list(ops)
    while todo:
        op = todo.pop()
        if op not in graph:
            graph[op] = list(op.inputs)
            todo.extend(tensor.op for tensor in op.inputs)
    return graph


def PostDFSOrder(roots: Any, graph: Mapping[t.Operation, Any]) -> list[t.Operation]:
    """Return ``roots`` and the operations they depend on, each after the ones it reads."""
    order: dict[t.Operation, None] = {}

    def visit(op: t.Operation) -> None:
        if op not in order:
            for tensor in graph[op]:
                visit(tensor.op)
            order[op] = None

    for root in roots:
        visit(root)
    return list(order)


def CreateAttachPath(sch: Schedule) -> dict[t.Operation, list[IterVar]]:
    """Map each operation to the loops that its stage is attached in, innermost first."""
    return {stage.op: [axis for _, axis in loops_around(stage)] for stage in sch.normalize().stages}


def ScanGetBody(scan_op: Any) -> list[t.Operation]:
    """Return the operations that each iteration of a scan executes, and the scan itself."""
    return [*scan_op.body(), scan_op]


def ScheduleOps(sch: Schedule, bounds: Mapping[IterVar, t.Range] | None = None, *_: Any) -> ir.Stmt:
    """Return the loops of ``sch`` as one statement. ``bounds`` is ignored: the bounds are inferred again."""
    tensors = arguments_of(sch)
    extents = [n for one in tensors for n in one.shape if isinstance(n, e.Expr)]
    known = {n for n in extents if isinstance(n, e.Var)}
    more = [v for n in extents for v in postorder(n) if isinstance(v, e.Var) and v not in known]
    return lower(tensorized(sch), [*tensors, *dict.fromkeys(more)]).body


def arguments_of(sch: Schedule) -> list[t.Tensor]:
    """The placeholders that ``sch`` reads, then its outputs."""
    outputs = [x for op in sch.outputs for x in op.outputs]
    stages = [stage.op for stage in sch.stages if isinstance(stage.op, t.PlaceholderOp)]
    states = {x.op for stage in sch.stages for x in getattr(stage.op, "state", ())}
    return [op.output(0) for op in stages if op not in states] + outputs


def AutoInlineElemWise(sch: Schedule) -> None:
    """Inline all element-wise stages: those whose reads all have the stage's own axes as indices."""
    _inline(sch, _elementwise)


def AutoInlineBroadcast(sch: Schedule) -> None:
    """Inline all stages that are tagged as a broadcast or are element-wise."""
    _inline(sch, lambda op: is_broadcast(op.tag) or _elementwise(op))


def AutoInlineInjective(sch: Schedule) -> None:
    """Inline all stages without a reduction."""
    _inline(sch, lambda op: is_injective(op.tag) or not op.reduce_axis)


def _inline(sch: Any, which: Any) -> None:
    if not isinstance(sch, Schedule):
        raise ScheduleError("AutoInline: expected a schedule", Span.of_caller())
    for stage in sch.stages:
        op = stage.op
        if isinstance(op, t.ComputeOp) and not stage.is_output and not op.reduce_axis and which(op):
            stage.compute_inline()


def _elementwise(op: t.ComputeOp) -> bool:
    own = [axis.var for axis in op.axis]
    for read in (node for body in op.body for node in postorder(body) if isinstance(node, t.TensorRead)):
        if len(read.indices) != len(own) or any(i is not v for i, v in zip(read.indices, own, strict=True)):
            return False
    return True


__getattr__ = refusing(__name__)
