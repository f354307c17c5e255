"""Which loops of a convolution are divided among threads: rows of the image, or output channels."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.te.templates.group import Group, extent_of, number, product, work_of
from tvmlite.te.templates.share import threads_for
from tvmlite.te.tensor.tensor import ComputeOp
from tvmlite.techniques.common.dot import is_paired


def divides_rows(group: Group, anchor: ComputeOp) -> bool:
    """Whether rows of the image are divided among threads by default, each with all weights.

    A thread that computes some of the channels reads the whole image, which other threads wrote in part:
    reading lines from another core's second cache is as slow as memory. A thread that computes some rows
    finds them in its own cache, but every core reads all weights. So, if shared caches are far, rows are
    divided if the weights are smaller than the image and stay in a near cache. With few registers, tiles are
    small and an image is read often: rows are divided if it is large, as else each panel of channels would
    read it from the last cache.
    """
    if is_paired(anchor) or threads_for(group.target, work_of(anchor)) == 1:
        return False
    source, weight = (product(map(number, one.shape)) for one in anchor.inputs)
    if source is None or weight is None:
        return False
    machine = group.target.machine
    if machine.shared_cache_is_far:
        near = machine.working_sets.convolution_weights
        return weight <= source and weight * dtypes.bytes_of(anchor.inputs[-1].dtype) <= near
    least = machine.working_sets.whole_image
    if least is None:
        return False
    places = product(extent_of(axis) for axis in anchor.reduce_axis[1:])
    large = source * dtypes.bytes_of(anchor.inputs[0].dtype) >= least
    return weight <= source and large and places is not None and places > 1


def divides_image_rows(group: Group, anchor: ComputeOp) -> bool:
    """``divides_rows`` for an ``anchor`` that computes each block of channels from that block alone. It
    follows the 1x1 convolutions that write its input or read its result: these divide rows if their weights
    are smaller than the image, that is if there are fewer channels than pixels, and blocks if their operands
    are paired."""
    _, block, *places, lane = anchor.axis
    pixels, channels = product(map(extent_of, places)), product(map(extent_of, (block, lane)))
    if pixels is None or channels is None or threads_for(group.target, work_of(anchor)) == 1:
        return False
    if anchor.inputs[0].dtype == "bfloat16" and group.target.has("avx512bf16"):
        return False
    return group.target.machine.shared_cache_is_far and channels <= pixels
