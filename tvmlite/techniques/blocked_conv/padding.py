"""Padded data with channels in blocks: copied row by row, in whole vectors of neighbouring pixels."""

from __future__ import annotations

from tvmlite.te.schedule.stage import Stage
from tvmlite.te.templates.group import Group, extent_of, number, product, work_of
from tvmlite.te.templates.share import enough, is_even, share, threads_for
from tvmlite.te.tensor.tensor import ComputeOp, IterVar
from tvmlite.techniques.common.borders import padding_before, partition_borders
from tvmlite.techniques.elementwise.injective import ENOUGH_OUTER_ITERATIONS, elementwise_loops

FEW_VECTORS = 8
"""Rows of at most this many vectors are unrolled."""


def schedule_padding(group: Group, pad: ComputeOp, spatial: int, by_rows: bool) -> None:
    """Schedule the padded data ``pad`` of a convolution over ``spatial`` axes. Planes of blocks are divided
    among threads, or rows (of all blocks) if ``by_rows`` or planes are too few. Data whose channels are not
    in blocks, or that has more axes (``small_images.phases``), gets element-wise loops."""
    result = pad.output(0)
    stage, axes = group.stage(pad), group.axes(result)
    threads = threads_for(group.target, None if by_rows else work_of(pad))
    if len(axes) != spatial + 3 or spatial == 1:
        elementwise_loops(group, result)
        return
    images, block, row, *rest = axes
    planes, rows = (product(map(extent_of, pair)) for pair in ((images, block), (images, row)))
    if by_rows or not enough(planes, ENOUGH_OUTER_ITERATIONS, threads):
        if not is_even(rows, threads):
            elementwise_loops(group, result)
            return
        stage.reorder(images, row, block, *rest)
        block = row
    _copy_row(group, stage, pad, *rest[-2:])
    share(stage, stage.fuse(images, block), threads, "a row or a plane")


def _copy_row(group: Group, stage: Stage, pad: ComputeOp, x: IterVar, lane: IterVar) -> None:
    """Copy the pixels ``x`` of a row, of ``lane`` channels each; if there are mask registers, as many at once
    as fill a vector. A short row is unrolled; in a longer one, vectors that contain padding have separate
    loops, so that the others need no masks."""
    width, inside, channels = extent_of(x), number(pad.inputs[0].shape[-2]), extent_of(lane)
    before, few = padding_before(pad, -2), group.target.machine.few_registers
    pixels = 1
    if channels is not None and before is not None and not few:
        pixels = max(1, group.target.lanes(pad.output(0).dtype) // channels)
    vectors, several = stage.split(x, factor=pixels)
    stage.vectorize(stage.fuse(several, lane))
    if width is None or inside is None or before is None:
        return
    count = -(-width // pixels)
    first = min(max(0, -(-before // pixels)), count)
    whole = min(max(0, (before + inside) // pixels - first), count - first)
    if count <= FEW_VECTORS:
        stage.unroll(vectors)
    else:
        partition_borders(stage, vectors, count, first, count - first - whole)
