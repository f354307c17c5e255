"""``reverse_compute_at`` and ``compute_with``: compute a stage in loops of a stage that does not read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te.extensions import extend
from tvmlite.te.schedule.derived import move_annotations
from tvmlite.te.schedule.relations import same
from tvmlite.te.schedule.stage_base import AT, ROOT, Fuse, Relation, Singleton, Split, StageBase
from tvmlite.te.schedule.trace import primitive
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar

if TYPE_CHECKING:
    from tvmlite.te.schedule.stage import Stage


class EpiloguePrimitives(StageBase):
    """The primitives that compute a ``Stage`` in loops of a stage that does not read it."""

    @primitive
    def reverse_compute_at(self, producer: StageBase, axis: IterVar) -> None:
        """Compute this stage, which reads ``producer`` element-wise, in the loop ``axis`` of ``producer``: an
        epilogue for each tile of the producer, whose buffer then holds a single tile.

        ::

            for i in range(16):             -->    for i.outer in range(4):
                for k in range(m):                     for i.inner in range(4):
                    B[i] += A[i, k]                        for k in range(m):
            for i in range(16):                                B[i.inner] += A[i.outer * 4 + i.inner, k]
                C[i] = B[i] + 1                        for i.inner in range(4):
                                                           C[i.outer * 4 + i.inner] = B[i.inner] + 1

        This stage takes over the producer's loops down to ``axis``, with their kinds, and the producer is
        computed at the innermost of them; the producer keeps its other loops. Only data loops can be shared.
        Other stages may read ``producer`` only if they are computed in this stage's loops.
        """
        if not isinstance(producer, StageBase):
            raise ScheduleError(
                f"reverse_compute_at: {producer!r} is not a stage", Span.of_caller(), "pass s[tensor]"
            )
        position = producer.require_leaf("reverse_compute_at", axis)
        axis_map = _axes_read(self, producer)
        _check(self, producer)
        shared = producer.leaf_iter_vars[: position + 1]
        for leaf in shared:
            if leaf.kind != "data" or producer.loop_kinds.get(leaf) == "vectorize":
                what = "is vectorised" if leaf.kind == "data" else f"is a {leaf.kind} axis"
                raise producer.error(
                    "reverse_compute_at", f"{what}: {self.name} cannot be computed in it", leaf
                )
        consumer: Stage = self  # type: ignore[assignment]
        loop_map = _replay(consumer, producer, shared, axis_map)
        consumer.reorder(*(loop_map[leaf] for leaf in shared))
        rest = [leaf for leaf in self.leaf_iter_vars if not any(leaf is loop_map[one] for one in shared)]
        self.change(leaf_iter_vars=(*(loop_map[leaf] for leaf in shared), *rest))
        move_annotations(producer, self, {leaf: loop_map[leaf] for leaf in shared})
        producer.attach(AT, self, loop_map[axis])

    @primitive
    def compute_with(self, other: Any, axis: IterVar) -> None:
        """Compute this stage, an output, in the loop ``axis`` of ``other``, a later output of the same shape:
        each iteration computes the same elements of both. What both read can then be computed once, in that
        loop. Halide has a primitive of that name.

        ::

            for i in range(n):          -->    for i in range(n):
                B[i] = f(A[i])                     B[0] = f(A[i])
            for i in range(n):                     C[i] = B[0] + 1
                C[i] = B[i] + 1                    D[i] = B[0] * 2
            for i in range(n):
                D[i] = B[i] * 2                # s[C].compute_with(s[D], i); s[B].compute_at(s[D], i)

        Only ``other`` may read this stage, at the indices of its own axes; the loops down to ``axis`` must be
        data loops.
        """
        span = Span.of_caller()
        if not isinstance(other, StageBase) or self.schedule is None or other.schedule is not self.schedule:
            raise ScheduleError(
                f"compute_with: {other!r} is no stage of this schedule", span, "pass s[tensor]"
            )
        position = other.require_leaf("compute_with", axis)
        problem = reason_not_to_compute_with(self, other)
        if problem:
            raise ScheduleError(f"compute_with: {problem}", span)
        for leaf in other.leaf_iter_vars[: position + 1]:
            if leaf.kind != "data":
                raise other.error("compute_with", f"reduces: {self.name} cannot be computed in it", leaf)
        self.attach(AT, other, axis)
        self.change(is_computed_with=True)


def _axes_read(stage: StageBase, producer: StageBase) -> dict[IterVar, IterVar]:
    """The axis of ``stage`` that indexes each axis of ``producer``."""
    op, made = stage.op, producer.op
    if not isinstance(op, t.ComputeOp) or not isinstance(made, t.ComputeOp) or op.reduce_axis:
        raise ScheduleError(
            f"reverse_compute_at: {stage.name} must be a compute without reduction that reads "
            f"{producer.name}",
            Span.of_caller(),
        )
    axes = {axis.var: axis for axis in op.axis}
    found: list[tuple[Any, ...]] = []
    for root in op.body:
        for node in postorder(root):
            if isinstance(node, t.TensorRead) and node.tensor.op is made:
                found.append(node.indices)
    if not found:
        raise ScheduleError(
            f"reverse_compute_at: {stage.name} does not read {producer.name}", Span.of_caller()
        )
    for place in found:
        alike = all(a is b for a, b in zip(place, found[0], strict=True))
        if not alike or len(set(place)) != len(place) or any(index not in axes for index in place):
            text = ", ".join(map(str, place))
            raise ScheduleError(
                f"reverse_compute_at: {stage.name} reads {producer.name}[{text}], which is not "
                "element-wise: the indices must be its own axes, each once",
                Span.of_caller(),
            )
    return {axis: axes[index] for axis, index in zip(made.axis, found[0], strict=True)}


def _check(stage: StageBase, producer: StageBase) -> None:
    others = [
        one.name
        for one in (() if producer.schedule is None else producer.schedule.stages)
        if any(x.op is producer.op for x in one.op.inputs) and not _is_computed_in(one, stage)
    ]
    problem = ""
    if producer.is_output:
        problem = f"{producer.name} is an output, which must be computed completely"
    elif others:
        problem = f"{others[0]} reads {producer.name} too"
    elif stage.attach_type != ROOT:
        problem = f"{stage.name} is computed {stage.attach_type} another stage already"
    elif stage.relations:
        problem = f"the loops of {stage.name} are arranged already"
    if problem:
        raise ScheduleError(f"reverse_compute_at: {problem}", Span.of_caller())


def _is_computed_in(stage: StageBase, other: StageBase) -> bool:
    """Whether ``stage`` is ``other``, or is computed in a loop of ``other``."""
    while stage is not other:
        if stage.attach_type != AT or stage.attach_stage is None:
            return False
        stage = stage.attach_stage
    return True


def _replay(
    consumer: Stage, producer: StageBase, shared: Sequence[IterVar], axis_map: dict[IterVar, IterVar]
) -> dict[IterVar, IterVar]:
    """Split and fuse the loops of ``consumer`` as ``producer``'s loops were to give the ``shared`` ones."""
    needed: set[IterVar] = set(shared)
    chosen: list[Relation] = []
    for relation in reversed(producer.relations):
        match relation:
            case Split(parent, outer, inner) if outer in needed or inner in needed:
                needed.add(parent)
                chosen.append(relation)
            case Fuse(outer, inner, fused) if fused in needed:
                needed.update((outer, inner))
                chosen.append(relation)
            case Singleton(one) if one in needed:
                chosen.append(relation)
    loop_map = dict(axis_map)
    for relation in reversed(chosen):
        match relation:
            case Split(parent, outer, inner, factor, nparts, tail):
                loop_map[outer], loop_map[inner] = consumer.split(loop_map[parent], factor, nparts, tail)
            case Fuse(outer, inner, fused):
                consumer.reorder(*_with_inner_inside(consumer, loop_map[outer], loop_map[inner]))
                loop_map[fused] = consumer.fuse(loop_map[outer], loop_map[inner])
            case Singleton(one):
                loop_map[one] = consumer.fuse()
    return loop_map


def _with_inner_inside(consumer: Stage, outer: IterVar, inner: IterVar) -> list[IterVar]:
    """The loops of ``consumer``, with ``inner`` moved directly inside ``outer``."""
    rest = [leaf for leaf in consumer.leaf_iter_vars if leaf is not inner]
    place = next(n for n, leaf in enumerate(rest) if leaf is outer)
    return [*rest[: place + 1], inner, *rest[place + 1 :]]


def reason_not_to_compute_with(stage: StageBase, other: StageBase) -> str:
    """The reason why ``stage`` cannot be computed with ``other``; empty if it can."""
    made, op = stage.op, other.op
    schedule = stage.schedule
    assert schedule is not None
    if not isinstance(made, t.ComputeOp) or not isinstance(op, t.ComputeOp):
        return f"{stage.name} and {other.name} must be computes"
    if not (stage.is_output and other.is_output):
        return f"{stage.name} and {other.name} must be outputs of the schedule"
    stages = schedule.stages
    if stages.index(stage) >= stages.index(other):  # type: ignore[arg-type]
        return f"{stage.name} comes after {other.name}, which can be computed with it instead"
    mine, others = made.output_shape(0), op.output_shape(0)
    if len(mine) != len(others) or not all(same(a, b) for a, b in zip(mine, others, strict=True)):
        return f"{stage.name} is {list(mine)}, {other.name} is {list(others)}"
    for reader in stages:
        if reader is not other and any(tensor.op is made for tensor in reader.op.inputs):
            return f"{reader.name} reads {stage.name} too"
    own = tuple(axis.var for axis in op.axis)
    for root in op.body:
        for node in postorder(root):
            if isinstance(node, t.TensorRead) and node.tensor.op is made and node.indices != own:
                places = ", ".join(map(str, node.indices))
                return f"{other.name} reads {stage.name}[{places}], not the element of its own indices"
    return ""


extend(StageBase, EpiloguePrimitives)
