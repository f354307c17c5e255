"""Long reductions in parts: the operands that a thread's tiles read for one part stay in the near caches."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import Group, extent_of, product, reduction_loops
from tvmlite.te.templates.tile import RegisterTile, vectors_first
from tvmlite.te.tensor.tensor import ComputeOp, PlaceholderOp
from tvmlite.techniques.common.nest import in_registers, shared_loops
from tvmlite.techniques.common.prefetch import STEPS_PER_REQUEST

DEPTHS = (128, 192, 256, 384, 512, 768, 1024)
"""The numbers of reduction steps that one part may have."""

DEFAULT_DEPTH = 384
"""The most steps of a part by default; with 128, storing and reloading sums takes as long as is saved."""


def depths(anchor: ComputeOp) -> list[int]:
    """The lengths of equal parts that the reduction of ``anchor`` may be cut into; 0 means no parts."""
    *_, row, _, _ = anchor.axis
    steps = extent_of(anchor.reduce_axis[0])
    if steps is None or extent_of(row) is None:
        return [0]
    return [0, *(n for n in DEPTHS if steps > n and steps % n == 0)]


def default_depth(group: Group, anchor: ComputeOp) -> int:
    """The default number of steps of a part. Parts are profitable if the shared cache is far and the matrix
    of scalars does not fit in the second cache beside two panels of weights."""
    *_, row, _, _ = anchor.axis
    machine, moved = group.target.machine, product([extent_of(row), extent_of(anchor.reduce_axis[0])])
    if moved is None or moved * dtypes.bytes_of(anchor.output(0).dtype) < machine.working_sets.matrix_operand:
        return 0
    return max(n for n in depths(anchor) if n <= DEFAULT_DEPTH) if machine.shared_cache_is_far else 0


def split_reduction(
    group: Group,
    anchor: ComputeOp,
    host: Stage,
    tile: RegisterTile,
    depth: int,
    several: int,
    ahead: int | str,
) -> None:
    """Compute ``anchor`` at the parallel loop of ``host``, with its sums in memory. For each part, ``depth``
    steps are added to the sums of one tile after the other, in registers, ``several`` steps per iteration.

    Weights are prefetched ``ahead`` iterations before their use; if it is "panel", the next part's are
    prefetched while one part is used.
    """
    shared = shared_loops(host)
    part, _ = group.stage(anchor).split(anchor.reduce_axis[0], factor=depth)
    sums = group.schedule.rfactor(anchor.output(0), part, factor_axis=0)
    whole, inner = group.stage(anchor), group.stage(sums)
    whole.compute_at(host, shared[-1])
    *batch, row, block, lane = group.axes(anchor.output(0))
    (part,) = reduction_loops(whole)
    blocks, block = whole.split(block, factor=tile.blocks)
    rows, row = whole.split(row, factor=tile.rows)
    in_registers(whole, [row, block], lane, [*batch, part, blocks, rows])
    inner.compute_at(whole, rows)
    place, *batch, row, block, lane = group.axes(sums)
    (iteration,) = reduction_loops(inner)
    iteration, step = inner.split(iteration, factor=several)
    by_vectors = vectors_first(tile, extent_of(lane), group.target, anchor.output(0).dtype)
    sums_of = [block, row] if by_vectors else [row, block]
    in_registers(inner, [step, *sums_of], lane, [place, *batch, iteration])
    if not isinstance(anchor.inputs[-1].op, PlaceholderOp):
        return
    if ahead == "panel":
        at_once = max(n for n in range(1, STEPS_PER_REQUEST + 1) if depth // several % n == 0)
        outer, _ = inner.split(iteration, factor=at_once)
        inner.prefetch(anchor.inputs[-1], part, share=[rows, outer])
    elif ahead:
        inner.prefetch(anchor.inputs[-1], iteration, ahead)
