"""Convolutions on targets without vectors: the window of a pixel is copied once for all output channels."""

from __future__ import annotations

from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, extent_of, number
from tvmlite.te.templates.table import template
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor
from tvmlite.techniques.common.outermost import parallelize_outermost
from tvmlite.techniques.elementwise.injective import schedule_other_outputs
from tvmlite.techniques.scalar_loops.reduction import sum_in_register

_PLAIN = ("conv2d", "conv2d_pointwise", "depthwise_conv2d")
"""Tags of channels-first convolutions."""


@template("scalar_loops", anchors.CONVOLUTION)
def convolution(group: Group) -> bool:
    """Copy the window of each pixel, with padding, and multiply it by the weights of each channel, which have
    the same order. A depthwise convolution pads each plane and slides its window over it.

    The window fits in any memory, unlike a padded image, and the innermost loop is contiguous and without
    guards. False, with nothing scheduled, for targets with vectors and for other layouts.
    """
    found = group.tagged(*_PLAIN)
    if not group.target.scalar or len(found) != 1:
        return False
    anchor = found[0]
    planes = group.tagged("conv2d_planes")
    result = anchor.output(0)
    host = group.host(planes[-1].output(0) if planes else result)
    data, weight = anchor.inputs[0], anchor.inputs[-1]
    depthwise = anchor.tag == "depthwise_conv2d" and _multiplier(anchor, weight) == 1
    group.inline_all_but({host.op, data.op})
    if not isinstance(data.op, ComputeOp) and not depthwise:
        data = group.schedule.cache_read(data, "local", [result])
    axes = group.axes(host)
    if depthwise:
        if isinstance(data.op, ComputeOp):
            group.stage(data).compute_at(group.stage(host), axes[1])
    else:
        axes, pixel = _channels_innermost(group, anchor, host, axes)
        group.stage(data).compute_at(group.stage(host), pixel)
    sum_in_register(group, result, host, axes, one_loop=not depthwise)
    parallelize_outermost(group, host, anchor)
    schedule_other_outputs(group, host)
    return True


def _multiplier(anchor: ComputeOp, weight: Tensor) -> int | None:
    """The number of output channels per group of a depthwise convolution; None if not known."""
    channels, groups = number(weight.shape[0]), dict(anchor.attrs)["groups"]
    return None if channels is None else channels // groups


def _channels_innermost(
    group: Group, anchor: ComputeOp, host: Tensor, axes: list[IterVar]
) -> tuple[list[IterVar], IterVar]:
    """Reorder the loops of ``host`` so that the output channels of a group are innermost; return the loops,
    and the one just outside the channels."""
    stage, groups = group.stage(host), dict(anchor.attrs)["groups"]
    batch, channel, *pixels = axes
    outer = [batch]
    if groups > 1:
        extent = extent_of(channel)
        assert extent is not None, "the channels of a convolution in groups are known"
        one, channel = stage.split(channel, factor=extent // groups)
        outer.append(one)
    stage.reorder(*outer, *pixels, channel)
    return [*outer, *pixels, channel], pixels[-1]
