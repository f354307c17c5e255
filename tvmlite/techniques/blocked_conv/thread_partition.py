"""What of a convolution threads share out: rows of the image, or output channels."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.te.templates.group import Group, extent_of, number, product, work_of
from tvmlite.te.templates.share import threads_for
from tvmlite.te.tensor.tensor import ComputeOp
from tvmlite.techniques.common.dot import is_paired


def by_rows(group: Group, anchor: ComputeOp) -> bool:
    """Whether threads share out rows of the image by default, and each takes all the weights.

    A thread that computes some of the channels reads all of the image, and that was written by other threads
    too: lines in another core's second cache are as far as memory. Of rows it finds its own where it left
    them; but all weights come to every core. So it is where these are the less, and stay near, if shared
    caches are far. Where registers are few, tiles are small and an image is read often: for each panel of
    channels a large one would come from the last cache once more.
    """
    if is_paired(anchor) or threads_for(group.target, work_of(anchor)) == 1:
        return False
    source, weight = (product(map(number, one.shape)) for one in anchor.inputs)
    if source is None or weight is None:
        return False
    machine = group.target.machine
    if machine.shared_cache_is_far:
        near = machine.working_sets.weights
        return weight <= source and weight * dtypes.bytes_of(anchor.inputs[-1].dtype) <= near
    least = machine.working_sets.image
    if least is None:
        return False
    places = product(extent_of(axis) for axis in anchor.reduce_axis[1:])
    large = source * dtypes.bytes_of(anchor.inputs[0].dtype) >= least
    return weight <= source and large and places is not None and places > 1


def image_by_rows(group: Group, anchor: ComputeOp) -> bool:
    """The same of an ``anchor`` that computes each block of channels from that block alone: threads share
    rows where they do so in convolutions of one place that write what it reads, or read what it writes, and
    whose weights are the less where channels are fewer than pixels. Where those take their operands in pairs
    they are by blocks, and so is what is between them."""
    _, block, *places, lane = anchor.axis
    pixels, channels = product(map(extent_of, places)), product(map(extent_of, (block, lane)))
    if pixels is None or channels is None or threads_for(group.target, work_of(anchor)) == 1:
        return False
    if anchor.inputs[0].dtype == "bfloat16" and group.target.has("avx512bf16"):
        return False
    return group.target.machine.shared_cache_is_far and channels <= pixels
