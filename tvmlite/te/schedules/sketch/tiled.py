"""A reduction with vectors of neighbouring results: levels of tiles around accumulators in registers.

The levels are Ansor's for a CPU (Zheng et al., OSDI 2020): loops over blocks, over the tiles of a block, the
reduction, a few of its steps unrolled, and the tile itself. The tile's accumulators never leave the registers
before they are done; what is fused behind is computed as they are stored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tvmlite.core.errors import ScheduleError
from tvmlite.te.schedules.group import (
    Group,
    extent_of,
    lanes_of,
    product,
    work_of,
    worth_threads,
)
from tvmlite.te.schedules.injective import elementwise_loops, vectorize
from tvmlite.te.schedules.sketch.access import (
    ABSENT,
    Digit,
    Fused,
    elements,
    loops_of,
    together,
    walk,
)
from tvmlite.te.schedules.sketch.copies import copy_operand, is_packable, lies_along
from tvmlite.te.schedules.sketch.plan import Plan, reuse
from tvmlite.te.schedules.sketch.tiles import Operand, Reduction, Tile
from tvmlite.te.space.config import VirtualAxis
from tvmlite.te.space.knobs import divisors
from tvmlite.te.stage import Stage
from tvmlite.te.tensor import ComputeOp, IterVar, Tensor, TensorRead

MOST_ORDERED = 4
"""So many loops are put in any order; those before them stay outermost."""

MOST_BLOCK = 16
"""Tiles of a block along one axis."""

LONGEST_TURN = 256
"""Multiply-adds of vectors in one turn of the reduction's loop, steps unrolled: longer bodies are no quicker
and take the compiler long."""

SELDOM = 16
"""An operand of which each element is used no more often than this is best computed where it is read."""

UNROLLED_STORES = 160
"""Tiles of more stores are stored in loops."""


@dataclass(frozen=True)
class Nest:
    """The reduction ``op``, the tensor in whose loops it is computed, and how their axes go together.

    ``axes`` are its data axes, neighbours that every read walks as one together.
    """

    plan: Plan
    op: ComputeOp
    host: Tensor
    parts: tuple[Digit | Fused, ...]
    axes: tuple[tuple[IterVar, ...], ...]

    @staticmethod
    def of(plan: Plan, op: ComputeOp, host: Tensor, parts: tuple[Digit | Fused, ...]) -> Nest:
        """The nest with what can be one axis as one."""
        formula, axes = plan.group.formula(op), [[axis] for axis in op.axis[:1]]
        for place in range(1, len(op.axis)):
            outer, inner = op.axis[place - 1], op.axis[place]
            if _next_to(plan.group, host, parts[place - 1 : place + 1]) and together(formula, outer, inner):
                axes[-1].append(inner)
            else:
                axes.append([inner])
        return Nest(plan, op, host, parts, tuple(map(tuple, axes)))

    @property
    def group(self) -> Group:
        return self.plan.group

    def knob(self, what: str) -> str:
        """The name of a knob of this nest."""
        return f"{self.plan.name(self.op)}.{what}"

    def single_axes(self) -> list[IterVar | None]:
        """Each of ``axes`` that is one axis of the operation, else None."""
        return [axes[0] if len(axes) == 1 else None for axes in self.axes]

    def parts_of_axes(self) -> list[Digit | Fused]:
        """What each of ``axes`` is of the axes of the host."""
        own = dict(zip(self.op.axis, self.parts, strict=True))
        several = [[part.axis for axis in axes if isinstance(part := own[axis], Digit)] for axes in self.axes]
        return [
            own[axes[0]] if len(axes) == 1 else Fused(tuple(parts))
            for axes, parts in zip(self.axes, several, strict=True)
        ]

    def label(self, place: int) -> str:
        """A word for the axis at ``place``."""
        words = ["_".join(axis.var.name for axis in axes) for axes in self.axes]
        return words[place] if words.count(words[place]) == 1 else f"{words[place]}{place}"


def _next_to(group: Group, host: Tensor, parts: Sequence[Digit | Fused]) -> bool:
    """Whether two parts are two whole neighbouring axes of the host, both longer than 1."""
    match parts:
        case [Digit(outer, 1, None), Digit(inner, 1, None)]:
            axes = group.axes(host)
            long = extent_of(outer) != 1 and extent_of(inner) != 1
            return long and axes.index(inner) == axes.index(outer) + 1
        case _:
            return False


def reduction_of(nest: Nest, reads: Sequence[TensorRead]) -> Reduction:
    """What the tiles of the reduction depend on; ``reads`` are those of its formula."""
    group, formula = nest.group, nest.group.formula(nest.op)
    lanes, once = lanes_of(formula, nest.group.target), [read.tensor for read in reads]
    operands = tuple(
        Operand(
            tuple(walk(read, axes[-1], lanes) for axes in nest.axes),
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
        group.target.vector_registers,
    )


def _stored_along(nest: Nest) -> int | None:
    """The axis along whose results the host stores side by side."""
    last = nest.group.axes(nest.host)[-1]
    for place, axes in enumerate(nest.axes):
        match nest.parts[nest.op.axis.index(axes[-1])]:
            case Digit(axis, 1) if axis is last:
                return place
            case Fused([*_, axis]) if axis is last:
                return place
    return None


def tiled(nest: Nest, reads: Sequence[TensorRead], reduction: Reduction, tiles: Sequence[Tile]) -> None:
    """Arrange the reduction, whose formula has ``reads``, and its host; ``tiles`` are on offer."""
    group, op, config = nest.group, nest.op, nest.group.config
    tile = _chosen_tile(nest, reduction, tiles)
    order = _chosen_order(nest, reduction, tiles[0])
    blocks = _chosen_blocks(nest, reduction, tiles)
    copies = _chosen_copies(nest, reduction, reads, tile)
    placed = {operand: _chosen_place(nest, operand, copies) for operand in nest.plan.open_operands(op)}
    for operand, place in placed.items():
        nest.plan.operands[operand] = place
        if place == "inline":
            group.stage(operand).compute_inline()
    config.define_knob(nest.knob("chunks"), [16, 4, 64] if worth_threads(work_of(group.formula(op))) else [1])
    inner, made = _accumulators(nest, reduction, tile)
    turned = None
    if reduction.stored not in (None, tile.vector):
        turned, inner = inner, group.stage(group.schedule.cache_write(inner.op.output(0), "local"))
    host = group.stage(nest.host)
    outer = _outer_loops(host, made, reduction, tile, order, blocks)
    outer = _in_parallel(host, outer, config[nest.knob("chunks")].val)
    _store(host, made, reduction, tile)
    place = outer[-1][0] if outer else host.fuse()
    if turned is not None:
        turned.compute_at(host, place)
        _in_vectors(turned, _data_axes(turned), tile)
    inner.compute_at(host, place)
    _accumulate(nest, inner, tile)
    for read in reads:
        if read.tensor in copies:
            copy_operand(nest.plan, inner, read, tile, nest.single_axes(), copies[read.tensor])
    for operand, where in placed.items():
        if operand.output(0) in copies:
            continue
        if where == "at" and len(outer) > 1:
            stage = group.stage(operand)
            stage.compute_at(host, outer[0][0])
            vectorize(stage, operand.axis[-1], extent_of(operand.axis[-1]), reduction.lanes)
        elif where != "inline":
            elementwise_loops(group, operand.output(0))


def _inside(reduction: Reduction, tile: Tile) -> list[int]:
    """The other axes in the order in which a step goes along them: those that vectors depend on innermost, so
    that a scalar, once loaded, meets them all and is needed no more."""
    vectors = [o for o in reduction.operands if o.walks[tile.vector] != ABSENT]
    others = [n for n in range(len(reduction.extents)) if n != tile.vector]
    return sorted(others, key=lambda n: any(o.walks[n] != ABSENT for o in vectors))


def _accumulators(nest: Nest, reduction: Reduction, tile: Tile) -> tuple[Stage, list[IterVar | None]]:
    """The stage that sums up, with one axis for each of the nest's, its vector last; and the loops of the
    host for them, in the nest's order."""
    group, stage = nest.group, nest.group.stage(nest.op)
    loops = [stage.fuse(*axes) for axes in nest.axes]
    places = [*_inside(reduction, tile), tile.vector]
    stage.reorder(*(loops[n] for n in places))
    sums = group.schedule.cache_write(nest.op.output(0), "local")
    if nest.host.op is nest.op:
        return group.stage(sums), list(loops)
    stage.compute_inline()
    return group.stage(sums), loops_of(group.stage(nest.host), nest.parts_of_axes())


# --- the knobs ----------------------------------------------------------------------------------


def _chosen_tile(nest: Nest, reduction: Reduction, tiles: Sequence[Tile]) -> Tile:
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


def _chosen_order(nest: Nest, reduction: Reduction, default: Tile) -> list[int]:
    """The axes that have loops, outermost first. By default the tiles that use the same vectors follow each
    other."""
    vectors = [o for o in reduction.operands if o.walks[default.vector] != ABSENT]
    moving = [n for n, extent in enumerate(reduction.extents) if extent != 1]
    shared = [n for n in moving if n != default.vector and all(o.walks[n] == ABSENT for o in vectors)]
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


def _chosen_blocks(nest: Nest, reduction: Reduction, tiles: Sequence[Tile]) -> dict[int, int]:
    """How many tiles along each axis make a block."""
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


def _chosen_copies(
    nest: Nest, reduction: Reduction, reads: Sequence[TensorRead], tile: Tile
) -> dict[Tensor, bool]:
    """The operands that are copied tile by tile, those whose vectors lie apart and others if so chosen; and
    whether each is copied by loads of vectors."""
    config = nest.group.config
    found: dict[Tensor, bool] = {}
    for read, operand in zip(reads, reduction.operands, strict=True):
        every, turned = range(len(reduction.extents)), False
        offered = any(_is_worth_a_copy(reduction, operand, n) for n in every)
        needed = any(reduction.copied(operand, n) for n in reduction.vector_axes)
        if (offered or needed) and lies_along(read, nest.single_axes(), reduction.lanes) is not None:
            config.define_knob(nest.knob(f"turn_{read.tensor.op.name}"), [True, False])
            turned = bool(config[nest.knob(f"turn_{read.tensor.op.name}")].val)
        if offered:
            config.define_knob(nest.knob(f"copy_{read.tensor.op.name}"), [False, True])
            if config[nest.knob(f"copy_{read.tensor.op.name}")].val:
                found[read.tensor] = turned
        if reduction.copied(operand, tile.vector):
            found[read.tensor] = turned
    return found


def _is_worth_a_copy(reduction: Reduction, operand: Operand, axis: int) -> bool:
    if not operand.packable[axis] or operand.size is None or reduction.extents[axis] == 1:
        return False
    points = math.prod(extent or 1 for extent in reduction.extents) * reduction.steps
    return points >= 16 * operand.size


def _chosen_place(nest: Nest, operand: ComputeOp, copies: dict[Tensor, bool]) -> str:
    """Whether an operand that is computed stands on its own, in the outermost loop, or where it is read."""
    config, name = nest.group.config, f"{nest.plan.name(operand)}.place"
    choices = ["root"]
    if nest.group.readers(operand.output(0)) == [nest.op]:
        uses = reuse(nest.op, operand.output(0))
        rarely = uses is not None and uses <= SELDOM
        choices = ["inline", "root", "at"] if rarely else ["root", "inline", "at"]
    config.define_knob(name, choices)
    return "root" if operand.output(0) in copies else str(config[name].val)


# --- the loops ----------------------------------------------------------------------------------


def _outer_loops(
    host: Stage,
    loops: list[IterVar | None],
    reduction: Reduction,
    tile: Tile,
    order: Sequence[int],
    blocks: dict[int, int],
) -> list[tuple[IterVar, int | None]]:
    """The loops over blocks and over the tiles of a block, with their turns; in ``loops`` those of the tile
    remain."""
    over_blocks: list[tuple[IterVar, int | None]] = []
    over_tiles: list[tuple[IterVar, int | None]] = []
    for axis in order:
        extent, size = reduction.extents[axis], tile.sizes[axis]
        loop = loops[axis]
        assert loop is not None
        count = None if extent is None else -(-extent // size)
        loops[axis] = None
        if size > 1:
            loop, loops[axis] = host.split(loop, factor=size)
        block = blocks.get(axis, 1)
        if block > 1 and (count is None or count > block):
            loop, within = host.split(loop, factor=block)
            over_tiles.append((within, block))
            count = None if count is None else -(-count // block)
        if count != 1:
            over_blocks.append((loop, count))
    rest = [leaf for leaf in host.leaf_iter_vars if not any(leaf is one for one in loops if one is not None)]
    outer = [*over_blocks, *over_tiles]
    single = [leaf for leaf in rest if not any(leaf is one for one, _ in outer)]
    host.reorder(*single, *(loop for loop, _ in outer), *(one for one in loops if one is not None))
    return outer or [(one, 1) for one in single]


def _in_parallel(
    host: Stage, outer: list[tuple[IterVar, int | None]], chunks: int
) -> list[tuple[IterVar, int | None]]:
    """The outermost loops as one parallel loop of at least ``chunks`` turns, if there are so many."""
    if chunks <= 1 or not outer:
        return outer
    total, taken = 1, 0
    for _, count in outer:
        taken += 1
        total = total if count is None else total * count
        if count is None or total >= chunks:
            break
    if len(outer) > 1 and taken == len(outer) and total > 1:
        taken = max(1, taken - 1) if outer[-1][1] is not None and total // outer[-1][1] >= 2 else taken
    whole = host.fuse(*(loop for loop, _ in outer[:taken]))
    host.parallel(whole)
    turns = product(count for _, count in outer[:taken])
    return [(whole, turns), *outer[taken:]]


def _store(host: Stage, loops: list[IterVar | None], reduction: Reduction, tile: Tile) -> None:
    """The results of a tile: in vectors where they lie side by side."""
    along = reduction.stored if reduction.stored is not None and loops[reduction.stored] else None
    vector, rest = None, [n for n, loop in enumerate(loops) if loop is not None and n != along]
    inside = [loops[n] for n in rest]
    count = math.prod(tile.sizes)
    if along is not None:
        size = tile.sizes[along]
        lanes = max(d for d in divisors(size) if d <= reduction.lanes)
        whole = loops[along]
        assert whole is not None
        if lanes < size:
            several, vector = host.split(whole, factor=lanes)
            inside.append(several)
        else:
            vector = whole
        count //= lanes
        inside.append(vector)
    loops_inside = [loop for loop in inside if loop is not None]
    if loops_inside:
        host.reorder(*loops_inside)
    for loop in loops_inside:
        if loop is vector:
            host.vectorize(loop)
        elif along == tile.vector and count <= UNROLLED_STORES:
            host.unroll(loop)


def _accumulate(nest: Nest, stage: Stage, tile: Tile) -> None:
    """A tile: some steps of the reduction at a time, all sums of each side by side."""
    op = stage.op
    assert isinstance(op, ComputeOp)
    steps, several = _steps(nest, stage, op, tile)
    stage.reorder(*steps, *([] if several is None else [several]), *op.axis)
    if several is not None:
        stage.unroll(several)
    _in_vectors(stage, op.axis, tile)


def _in_vectors(stage: Stage, axes: Sequence[IterVar], tile: Tile) -> None:
    """The elements of a tile: vectors along the last axis, all written out."""
    *rest, lane = axes
    if tile.sizes[tile.vector] > tile.lanes:
        vectors, lane = stage.split(lane, factor=tile.lanes)
        rest.append(vectors)
    for loop in rest:
        stage.unroll(loop)
    stage.vectorize(lane)


def _data_axes(stage: Stage) -> tuple[IterVar, ...]:
    assert isinstance(stage.op, ComputeOp)
    return stage.op.axis


def _steps(nest: Nest, stage: Stage, op: ComputeOp, tile: Tile) -> tuple[list[IterVar], IterVar | None]:
    """The loops of the reduction, and the one over steps that are unrolled, if there are several."""
    config = nest.group.config
    moving = [axis for axis in op.reduce_axis if extent_of(axis) != 1]
    still = [axis for axis in op.reduce_axis if extent_of(axis) == 1]
    if len(moving) > 1:
        fixed = max(0, len(moving) - 3)
        orders = [[*range(fixed), *one] for one in itertools.permutations(range(fixed, len(moving)))]
        config.define_reorder(nest.knob("reduce"), moving, policy="candidate", candidate=orders)
        config.define_knob(nest.knob("fuse"), [True, False])
        moving = [moving[place] for place in config[nest.knob("reduce")].permutation]
    stage.reorder(*still, *moving)
    config.define_knob(nest.knob("steps"), [1, 2, 4, 8])
    if not moving:
        return still, None
    extents = [extent_of(axis) for axis in moving]
    if len(moving) > 1 and config[nest.knob("fuse")].val:
        moving, extents = [stage.fuse(*moving)], [product(extents)]
    turns = extents[-1]
    most = min(config[nest.knob("steps")].val, max(1, LONGEST_TURN // tile.sums))
    unrolled = 1 if turns is None else max(d for d in divisors(turns) if d <= most)
    if unrolled == 1:
        return [*still, *moving], None
    if unrolled == turns and len(moving) > 1:
        return [*still, *moving[:-1]], moving[-1]
    outer, inner = stage.split(moving[-1], factor=unrolled)
    return [*still, *moving[:-1], outer], inner
