"""``reverse_compute_at``: a stage that reads another element by element shares that one's outer loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tvmlite.core.errors import ScheduleError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te.schedule.stage_base import AT, ROOT, Fuse, Relation, Singleton, Split, StageBase, hand_over
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.tensor import IterVar

if TYPE_CHECKING:
    from tvmlite.te.schedule.stage import Stage


def reverse_compute_at(stage: StageBase, producer: StageBase, axis: IterVar) -> None:
    """See ``Stage.reverse_compute_at``."""
    if not isinstance(producer, StageBase):
        raise ScheduleError(
            f"reverse_compute_at: {producer!r} is not a stage", Span.of_caller(), "pass s[tensor]"
        )
    position = producer.require_leaf("reverse_compute_at", axis)
    image = _axes_read(stage, producer)
    _check(stage, producer)
    shared = producer.leaf_iter_vars[: position + 1]
    for leaf in shared:
        if leaf.kind != "data" or producer.loop_kinds.get(leaf) == "vectorize":
            what = "is vectorised" if leaf.kind == "data" else f"is a {leaf.kind} axis"
            raise producer.error("reverse_compute_at", f"{what}: {stage.name} cannot be computed in it", leaf)
    consumer: Stage = stage  # type: ignore[assignment]
    images = _replay(consumer, producer, shared, image)
    consumer.reorder(*(images[leaf] for leaf in shared))
    rest = [leaf for leaf in stage.leaf_iter_vars if not any(leaf is images[one] for one in shared)]
    stage.change(leaf_iter_vars=(*(images[leaf] for leaf in shared), *rest))
    hand_over(producer, stage, {leaf: images[leaf] for leaf in shared})
    producer.attach(AT, stage, images[axis])


def _axes_read(stage: StageBase, producer: StageBase) -> dict[IterVar, IterVar]:
    """The axis of ``stage`` that runs along each axis of ``producer``."""
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
        same = all(a is b for a, b in zip(place, found[0], strict=True))
        if not same or len(set(place)) != len(place) or any(index not in axes for index in place):
            text = ", ".join(map(str, place))
            raise ScheduleError(
                f"reverse_compute_at: {stage.name} reads {producer.name}[{text}], which is not one element "
                "of it for one of its own: its indices must be the axes",
                Span.of_caller(),
            )
    return {axis: axes[index] for axis, index in zip(made.axis, found[0], strict=True)}


def _check(stage: StageBase, producer: StageBase) -> None:
    others = [
        one.name
        for one in (() if producer.schedule is None else producer.schedule.stages)
        if one is not stage and any(x.op is producer.op for x in one.op.inputs)
    ]
    problem = ""
    if producer.is_output:
        problem = f"{producer.name} is an output, needed whole"
    elif others:
        problem = f"{others[0]} reads {producer.name} too"
    elif stage.attach_type != ROOT:
        problem = f"{stage.name} is computed {stage.attach_type} another stage already"
    elif stage.relations:
        problem = f"the loops of {stage.name} are arranged already"
    if problem:
        raise ScheduleError(f"reverse_compute_at: {problem}", Span.of_caller())


def _replay(
    consumer: Stage, producer: StageBase, shared: Sequence[IterVar], image: dict[IterVar, IterVar]
) -> dict[IterVar, IterVar]:
    """Split and fuse the loops of ``consumer`` as those of ``producer`` that became the ``shared`` ones."""
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
    images = dict(image)
    for relation in reversed(chosen):
        match relation:
            case Split(parent, outer, inner, factor, nparts, tail):
                images[outer], images[inner] = consumer.split(images[parent], factor, nparts, tail)
            case Fuse(outer, inner, fused):
                consumer.reorder(*_neighbours(consumer, images[outer], images[inner]))
                images[fused] = consumer.fuse(images[outer], images[inner])
            case Singleton(one):
                images[one] = consumer.fuse()
    return images


def _neighbours(consumer: Stage, outer: IterVar, inner: IterVar) -> list[IterVar]:
    """The loops of ``consumer`` with ``inner`` just inside ``outer``."""
    rest = [leaf for leaf in consumer.leaf_iter_vars if leaf is not inner]
    place = next(n for n, leaf in enumerate(rest) if leaf is outer)
    return [*rest[: place + 1], inner, *rest[place + 1 :]]
