"""The loop nest of a reduction with its host, and the knobs of its tiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tvmlite.core.errors import ScheduleError
from tvmlite.te.space.config import VirtualAxis
from tvmlite.te.templates.group import Group, extent_of, lanes_of, product
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor, TensorRead
from tvmlite.techniques.sketch.access import ABSENT, Digit, Fused, access_pattern, elements, have_one_stride
from tvmlite.techniques.sketch.copies import contiguous_reduction_axis, is_packable
from tvmlite.techniques.sketch.plan import Plan, reuse
from tvmlite.techniques.sketch.tiles import Operand, Reduction, Tile

MOST_ORDERED = 4
"""The number of inner loops whose order is a knob; loops before them stay outermost."""

MOST_BLOCK = 16
"""The most tiles of a block along one axis."""

MOST_RARE_USES = 16
"""An operand whose elements are each used at most this often is inlined by default."""


@dataclass(frozen=True)
class Nest:
    """The reduction ``op``, the tensor ``host`` in whose loops it is computed, and how their axes correspond
    (``parts``).

    ``axes`` are the data axes of ``op``, in tuples of neighbours that can be fused for every read.
    """

    plan: Plan
    op: ComputeOp
    host: Tensor
    parts: tuple[Digit | Fused, ...]
    axes: tuple[tuple[IterVar, ...], ...]

    @staticmethod
    def of(plan: Plan, op: ComputeOp, host: Tensor, parts: tuple[Digit | Fused, ...]) -> Nest:
        """The nest, with axes that can be fused in one tuple."""
        axes = plan.group.cached((Nest, op, host, parts), lambda: Nest._axes(plan, op, host, parts))
        return Nest(plan, op, host, parts, axes)

    @staticmethod
    def _axes(
        plan: Plan, op: ComputeOp, host: Tensor, parts: tuple[Digit | Fused, ...]
    ) -> tuple[tuple[IterVar, ...], ...]:
        formula, axes = plan.group.formula(op), [[axis] for axis in op.axis[:1]]
        for place in range(1, len(op.axis)):
            outer, inner = op.axis[place - 1], op.axis[place]
            if _are_adjacent(plan.group, host, parts[place - 1 : place + 1]) and have_one_stride(
                formula, outer, inner
            ):
                axes[-1].append(inner)
            else:
                axes.append([inner])
        return tuple(map(tuple, axes))

    @property
    def group(self) -> Group:
        """The fused group that is being scheduled."""
        return self.plan.group

    def knob(self, what: str) -> str:
        """The name of a knob of this nest."""
        return f"{self.plan.name(self.op)}.{what}"

    def single_axes(self) -> list[IterVar | None]:
        """For each of ``axes``, the axis if it is a single one, else None."""
        return [axes[0] if len(axes) == 1 else None for axes in self.axes]

    def parts_of_axes(self) -> list[Digit | Fused]:
        """The part of the host's axes that each of ``axes`` corresponds to."""
        own = dict(zip(self.op.axis, self.parts, strict=True))
        several = [[part.axis for axis in axes if isinstance(part := own[axis], Digit)] for axes in self.axes]
        return [
            own[axes[0]] if len(axes) == 1 else Fused(tuple(parts))
            for axes, parts in zip(self.axes, several, strict=True)
        ]

    def label(self, place: int) -> str:
        """A name for the axis at ``place``, for knobs."""
        words = ["_".join(axis.var.name for axis in axes) for axes in self.axes]
        return words[place] if words.count(words[place]) == 1 else f"{words[place]}{place}"


def _are_adjacent(group: Group, host: Tensor, parts: Sequence[Digit | Fused]) -> bool:
    """Whether two parts are whole neighbouring axes of the host, both longer than 1."""
    match parts:
        case [Digit(outer, 1, None), Digit(inner, 1, None)]:
            axes = group.axes(host)
            long = extent_of(outer) != 1 and extent_of(inner) != 1
            return long and axes.index(inner) == axes.index(outer) + 1
        case _:
            return False


def reduction_of(nest: Nest, reads: Sequence[TensorRead]) -> Reduction:
    """The properties of the reduction that its tiles depend on; ``reads`` are those of its formula."""
    group = nest.group
    return group.cached(
        (reduction_of, nest.op, nest.host, nest.parts, group.target), lambda: _reduction(nest, reads)
    )


def _reduction(nest: Nest, reads: Sequence[TensorRead]) -> Reduction:
    group, formula = nest.group, nest.group.formula(nest.op)
    lanes, once = lanes_of(formula, nest.group.target), [read.tensor for read in reads]
    operands = tuple(
        Operand(
            tuple(access_pattern(read, axes[-1], lanes) for axes in nest.axes),
            elements(read.tensor),
            tuple(
                once.count(read.tensor) == 1
                and read.tensor in nest.op.inputs
                and len(axes) == 1
                and is_packable(read, axes[0])
                for axes in nest.axes
            ),
        )
        for read in reads
    )
    steps = product(extent_of(axis) for axis in formula.reduce_axis)
    return Reduction(
        tuple(product(extent_of(axis) for axis in axes) for axes in nest.axes),
        1024 if steps is None else max(1, steps),
        operands,
        _stored_along(nest),
        lanes,
        group.target.machine,
    )


def _stored_along(nest: Nest) -> int | None:
    """The index of the axis along which the host stores contiguously; None if there is none."""
    last = nest.group.axes(nest.host)[-1]
    for place, axes in enumerate(nest.axes):
        match nest.parts[nest.op.axis.index(axes[-1])]:
            case Digit(axis, 1) if axis is last:
                return place
            case Fused([*_, axis]) if axis is last:
                return place
    return None


def chosen_tile(nest: Nest, reduction: Reduction, tiles: Sequence[Tile]) -> Tile:
    """Define the knob ``tile`` over ``tiles`` and return its setting; an error if it has no whole vectors."""
    config, name = nest.group.config, nest.knob("tile")
    points = math.prod(extent or 1 for extent in reduction.extents)
    config.define_split(
        name,
        VirtualAxis(points),
        num_outputs=len(reduction.extents) + 1,
        policy="candidate",
        candidate=[[-1, *tile.sizes] for tile in tiles],
    )
    sizes = config[name].size[1:]
    vectors = [
        axis
        for axis in reduction.vector_axes
        if len(sizes) == len(reduction.extents) and sizes[axis] % reduction.lanes_along(axis) == 0
    ]
    if not vectors:
        raise ScheduleError(f"sketch: the tile {list(sizes)} of {nest.op.name} has no axis of whole vectors")
    return Tile(tuple(sizes), vectors[0], reduction.lanes_along(vectors[0]))


def chosen_order(nest: Nest, reduction: Reduction, default: Tile) -> list[int]:
    """The knob ``order``: the axes that have loops, outermost first. By default, tiles that read the same
    vectors are computed one after the other."""
    vectors = [o for o in reduction.operands if o.patterns[default.vector] != ABSENT]
    moving = [n for n, extent in enumerate(reduction.extents) if extent != 1]
    shared = [n for n in moving if n != default.vector and all(o.patterns[n] == ABSENT for o in vectors)]
    own = [n for n in moving if n != default.vector and n not in shared]
    first = [*own, default.vector, *shared]
    fixed, free = first[: max(0, len(first) - MOST_ORDERED)], first[-MOST_ORDERED:]
    places = range(len(fixed), len(first))
    config, name = nest.group.config, nest.knob("order")
    assert len(free) == len(places)
    config.define_reorder(
        name,
        first,
        policy="candidate",
        candidate=[[*range(len(fixed)), *one] for one in itertools.permutations(places)],
    )
    return [first[place] for place in config[name].permutation]


def chosen_blocks(nest: Nest, reduction: Reduction, tiles: Sequence[Tile]) -> dict[int, int]:
    """The knobs ``block_AXIS``: the number of tiles in a block along each axis."""
    config = nest.group.config
    found = {}
    for axis, extent in enumerate(reduction.extents):
        smallest = min(tile.sizes[axis] for tile in tiles)
        count = 64 if extent is None else -(-extent // smallest)
        if extent == 1 or count < 4:
            continue
        name = nest.knob(f"block_{nest.label(axis)}")
        config.define_split(
            name, VirtualAxis(count // 2), num_outputs=2, policy="power2", max_factor=MOST_BLOCK
        )
        found[axis] = config[name].size[1]
    return found


def chosen_copies(
    nest: Nest, reduction: Reduction, reads: Sequence[TensorRead], tile: Tile
) -> dict[Tensor, bool]:
    """The operands that are copied tile by tile, and whether the copy loads vectors. Operands whose vectors
    are not contiguous are copied, others if a knob says so."""
    found: dict[Tensor, bool] = {}
    for read, operand in zip(reads, reduction.operands, strict=True):
        every, transposed = range(len(reduction.extents)), False
        offered = any(_is_worth_a_copy(reduction, operand, n) for n in every)
        needed = any(reduction.copied(operand, n) for n in reduction.vector_axes)
        if (offered or needed) and contiguous_reduction_axis(
            read, nest.single_axes(), reduction.lanes
        ) is not None:
            transposed = nest.group.knob(nest.knob(f"turn_{read.tensor.op.name}"), [True, False])
        if offered and nest.group.knob(nest.knob(f"copy_{read.tensor.op.name}"), [False, True]):
            found[read.tensor] = transposed
        if reduction.copied(operand, tile.vector):
            found[read.tensor] = transposed
    return found


def _is_worth_a_copy(reduction: Reduction, operand: Operand, axis: int) -> bool:
    if not operand.packable[axis] or operand.size is None or reduction.extents[axis] == 1:
        return False
    points = math.prod(extent or 1 for extent in reduction.extents) * reduction.steps
    return points >= 16 * operand.size


def chosen_place(nest: Nest, operand: ComputeOp, copies: dict[Tensor, bool]) -> str:
    """The knob ``place`` of a computed operand: stored before the nest ("root"), per iteration of the
    outermost loop ("at"), or inlined."""
    choices = ["root"]
    if nest.group.readers(operand.output(0)) == [nest.op]:
        uses = reuse(nest.op, operand.output(0))
        rarely = uses is not None and uses <= MOST_RARE_USES
        choices = ["inline", "root", "at"] if rarely else ["root", "inline", "at"]
    where = nest.group.knob(f"{nest.plan.name(operand)}.place", choices)
    return "root" if operand.output(0) in copies else where
