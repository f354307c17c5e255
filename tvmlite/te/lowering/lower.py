"""Lowering of a schedule to loop IR: the driver, from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import ScheduleError, TensorExpressionError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.extensions import extension
from tvmlite.te.loop import ir
from tvmlite.te.loop.passes.simplify import simplify_once
from tvmlite.te.lowering.bounds import Bounds, Formula, clamp_to_zero, formula_of, infer
from tvmlite.te.lowering.building import Building, index_of
from tvmlite.te.lowering.nest import attach
from tvmlite.te.lowering.widen import Widening
from tvmlite.te.schedule.schedule import Schedule
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.schedule.stage_base import AT, INLINE, SHRINK, Split
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar, Operation, Tensor


def lower(
    schedule: Schedule, args: Sequence[Any], name: str = "main", simple_mode: bool = False
) -> ir.Function:
    """Lower ``schedule`` to a function of loop IR, whose parameters are ``args``: tensors and variables in
    the caller's order.

    Computed tensors among ``args`` are outputs. All outputs of the schedule and all placeholders it reads
    must be among ``args``. A size variable in a shape need not be: it is the extent of an array argument.
    ``simple_mode`` is accepted for compatibility with TVM and has no effect: the printed loops are always
    readable. Raises TensorExpressionError for arguments or variables that do not fit, ScheduleError for a
    schedule that cannot be carried out.
    """
    if not isinstance(schedule, Schedule):
        problem = f"lower: {arguments.shown(schedule)} is not a schedule"
        raise ScheduleError(problem, Span.of_caller(), "te.create_schedule(C.op) makes one")
    arguments.text("lower: name", name)
    args = arguments.listed("lower: args", args, "tensors and te.vars")
    tensors = _arguments(schedule, args)
    normal = schedule.normalize()
    params = {arg: normal.current(x) if x.op in normal.stage_map else x for arg, x in tensors.items()}
    given = frozenset(tensor.op for tensor in params.values())
    _check_at_root(schedule, tensors)
    _check_complete(normal, given)
    if any(stage.has_memory_primitives for stage in schedule.stages):
        extension("memory").check(schedule, normal, given)
    if any(stage.op.kind == "extern" for stage in normal.stages):
        extension("extern").check_layouts(normal.stages)

    widening = Widening(_extent_variables(params.values()))
    formulas: dict[Operation, Formula] = {
        stage.op: formula_of(stage.op, widening)
        for stage in normal.stages
        if isinstance(stage.op, t.ComputeOp)
    }
    building, body = _build(normal, _Inputs(params, given, formulas, widening))
    if _has_scans(normal):
        body = ir.sequence(*extension("scan").room_for_scans(normal, widening), body)

    buffers = building.buffers
    order = [buffers[params[a]] if isinstance(a, Tensor) else widening.variable(a) for a in args]
    outputs = [buffers[x] for x in params.values() if not isinstance(x.op, t.PlaceholderOp)]
    sizes = _sizes(args, params, widening)
    function = ir.Function(name, tuple(order), tuple(outputs), sizes, body)
    _check_bound(function)
    return simplify_once(function)


@dataclass(frozen=True)
class _Inputs:
    """The inputs of lowering that do not depend on how loops are scheduled."""

    params: dict[Tensor, Tensor]
    ops: frozenset[Operation]
    formulas: dict[Operation, Formula]
    widening: Widening


def _build(
    normal: Schedule, given: _Inputs, loop: IterVar | None = None, around: Building | None = None
) -> tuple[Building, ir.Stmt]:
    """Build the loop nests of ``normal``; if only ``loop`` is needed, ``around`` gives what is outside it."""
    known = None if around is None else around.bounds.loops
    bounds = infer(normal, given.formulas, given.ops, Analyzer(), given.widening, known)
    buffers = _buffers(normal, given.params, bounds)
    loops = None
    if loop is not None and around is not None:
        loops, stages = extension("shrink").inside(normal, loop)
        for stage in normal.stages:
            if stage not in stages:
                bounds.ranges.update((a, around.bounds.ranges[a]) for a in _element_axes(stage))
            if stage not in stages or stage.op in given.ops:
                buffers.update((one, around.buffers[one]) for one in stage.op.outputs)
    layouts = {stage.op: stage.layout for stage in normal.stages if stage.layout is not None}
    same = _same_memory(normal)
    whole = given.ops | {tensor.op for tensor in same}
    shared = frozenset(x for x, y in same.items() if x is y or y.op.row_axis(x.op) is not None)
    attached = _attached(normal)
    building = Building(bounds, given.formulas, buffers, whole, attached, normal.current, layouts, shared, {})

    def smaller(variant: Schedule, outer: IterVar) -> ir.Stmt:
        return _build(variant, given, outer, building)[0].loops[outer]

    if any(isinstance(r, Split) and r.tail == SHRINK for stage in normal.stages for r in stage.relations):
        building.after_loop.update(extension("shrink").smaller_tiles(normal, bounds.ranges, loops, smaller))
    roots = [s for s in normal.stages if s.attach_type != AT and not isinstance(s.op, t.PlaceholderOp)]
    return building, attach(building, roots, ir.Seq(()))


def _element_axes(stage: Stage) -> tuple[IterVar, ...]:
    return stage.op.axis if isinstance(stage.op, t.ComputeOp) else ()


def _arguments(schedule: Schedule, args: Sequence[Any]) -> dict[Tensor, Tensor]:
    """The tensors among ``args``, each with the tensor that replaces it in ``schedule`` now."""
    found: dict[Tensor, Tensor] = {}
    seen: set[Any] = set()
    for arg in args:
        if isinstance(arg, Tensor):
            found[arg] = schedule.current(arg) if arg.op in schedule.stage_map else arg
        elif not isinstance(arg, e.Var):
            raise TensorExpressionError(
                f"lower: argument {arguments.shown(arg)} is neither a tensor nor a te.var", Span.of_caller()
            )
        key = found[arg] if isinstance(arg, Tensor) else arg
        if key in seen:
            raise TensorExpressionError(f"lower: argument {arg.name} is given twice", Span.of_caller())
        seen.add(key)
    return found


def _check_at_root(schedule: Schedule, tensors: dict[Tensor, Tensor]) -> None:
    """Check that each tensor that is an argument is computed whole, in its own loops."""
    for tensor in tensors:
        stage = schedule.stage_map.get(tensor.op)
        if stage is not None and stage.attach_type in (AT, INLINE) and not stage.is_computed_with:
            primitive = "compute_at" if stage.attach_type == AT else "compute_inline"
            raise ScheduleError(
                f"{primitive}: {tensor.name} is an argument of the function, so it is computed at the root",
                stage.attach_span,
            )


def _check_complete(normal: Schedule, given: frozenset[Operation]) -> None:
    """Check that placeholders, and for each output operation at least one tensor, are among the arguments."""
    states = {tensor.op for tensor in _same_memory(normal)}
    for stage in normal.stages:
        op = stage.op
        if isinstance(op, t.PlaceholderOp) and op in states:
            continue
        if op not in given and (stage.is_output or isinstance(op, t.PlaceholderOp)):
            what = "an output of the schedule" if stage.is_output else "read"
            raise TensorExpressionError(
                f"lower: {op.name} is {what}, but not among the arguments", Span.of_caller()
            )


def _extent_variables(params: Iterable[Tensor]) -> list[e.Var]:
    """The variables that are the extent of an axis of an array argument, and thus known to be at least 0."""
    return list(dict.fromkeys(n for tensor in params for n in tensor.shape if isinstance(n, e.Var)))


def _buffers(normal: Schedule, params: dict[Tensor, Tensor], bounds: Bounds) -> dict[Tensor, ir.Buffer]:
    """A buffer for each tensor: arguments have the tensor's shape, others that of the computed region."""
    made: dict[Tensor, ir.Buffer] = {}
    taken: set[str] = set()
    widen = bounds.widening.extent

    layouts = {stage.op: stage for stage in normal.stages if stage.layout is not None}

    def add(tensor: Tensor, shape: Iterable[Any], scope: str, strides: Any = None) -> None:
        changed = layouts.get(tensor.op)
        if changed is not None and changed.layout is not None:
            old = list(shape)
            if scope == "param" and not all(isinstance(n, int) for n in old):
                raise ScheduleError(
                    f"transform_layout: {tensor.name} is an argument of unknown extents",
                    changed.span_of("transform_layout"),
                )
            shape = changed.layout.shape(old)
        name, count = tensor.name, 0
        while name in taken:
            count += 1
            name = f"{tensor.name}_{count}"
        taken.add(name)
        extents = tuple(index_of(n) for n in shape)
        steps = () if strides is None else strides(extents)
        made[tensor] = ir.Buffer(name, tensor.dtype, extents, scope, steps)

    for tensor in params.values():
        add(tensor, (widen(n) for n in tensor.shape), "param")
    same = _same_memory(normal)
    for tensor, scanned in same.items():
        if tensor is scanned and tensor not in made:
            add(tensor, (widen(n) for n in tensor.shape), "local")
    for tensor, scanned in same.items():
        if made.setdefault(tensor, made[scanned]) is not made[scanned]:
            raise ScheduleError(
                f"scan: {tensor.name} is a part of {scanned.name}, not an argument",
                getattr(scanned.op, "span", None),
            )
    for stage in normal.stages:
        region = None if isinstance(stage.op, t.PlaceholderOp) else bounds.region(stage.op)
        for tensor in stage.op.outputs:
            if tensor not in made:
                shape = [widen(n) for n in tensor.shape] if region is None else [x.extent for x in region]
                add(tensor, map(clamp_to_zero, shape), "local", _alignment(stage))
    return made


def _alignment(stage: Stage) -> Callable[[tuple[e.Expr, ...]], tuple[e.Expr, ...]] | None:
    """A function from the buffer's shape to its strides, if ``storage_align`` was called on ``stage``."""
    return extension("memory").alignment(stage) if stage.alignments else None


def _has_scans(normal: Schedule) -> bool:
    return any(stage.op.kind == "scan" for stage in normal.stages)


def _same_memory(normal: Schedule) -> dict[Tensor, Tensor]:
    """Map each part of a scan to the result whose memory it uses."""
    return extension("scan").same_memory(normal) if _has_scans(normal) else {}


def _attached(normal: Schedule) -> dict[IterVar, list[Stage]]:
    """The stages that are computed in each loop, producers first."""
    attached: dict[IterVar, list[Stage]] = {}
    for stage in normal.stages:
        if stage.attach_type == AT and stage.attach_ivar is not None:
            attached.setdefault(stage.attach_ivar, []).append(stage)
    return attached


def _sizes(args: Sequence[Any], params: dict[Tensor, Tensor], widening: Widening) -> tuple[e.Var, ...]:
    """The size variables in the shapes of arguments, in order of first appearance, except those that are
    arguments. An error if one of them is never an extent by itself."""
    known = {arg for arg in args if isinstance(arg, e.Var)}
    whole = {widening.variable(v) for v in _extent_variables(params.values())}
    found: dict[e.Var, None] = {}
    for tensor in params.values():
        for extent in tensor.shape:
            for node in postorder(extent) if isinstance(extent, e.Expr) else ():
                if not isinstance(node, e.Var) or node in known:
                    continue
                found[widening.variable(node)] = None
                if widening.variable(node) not in whole:
                    raise TensorExpressionError(
                        f"lower: the size variable {node.name} of {tensor.name}'s shape is not known: no "
                        f"argument has an axis of just that extent",
                        getattr(tensor.op, "span", None),
                        hint=f"give {node.name} as an argument",
                    )
    return tuple(found)


def _check_bound(function: ir.Function) -> None:
    """Check that every variable is a loop variable, a parameter or a size."""
    known: set[Any] = {*function.params, *function.sizes, ir.THREAD, ir.THREADS}
    nodes = list(postorder(function.body))
    shapes = [n for node in nodes if isinstance(node, ir.Allocate) for n in node.buffer.shape]
    nodes += [node for shape in shapes for node in postorder(shape)]
    known.update(node.var for node in nodes if isinstance(node, (ir.For, ir.Let)))
    for node in nodes:
        if isinstance(node, e.Var) and node not in known:
            raise TensorExpressionError(
                f"lower: the variable {node.name} has no value: it is neither an argument nor the extent "
                "of one",
                Span.of_caller(),
            )
