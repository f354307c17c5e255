"""Schedules of products of int8 on targets without vectors: some results at a time by a C function."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.te.templates import anchors
from tvmlite.te.templates.group import Group, extent_of, number
from tvmlite.te.templates.table import template
from tvmlite.te.tensor.tensor import ComputeOp, IterVar, Tensor
from tvmlite.techniques.acle_products.intrinsics import dot_rows, dot_windows
from tvmlite.techniques.common.outermost import parallelize_outermost
from tvmlite.techniques.elementwise.injective import schedule_other_outputs

MOST_ROWS = 4
"""The most results at a time: with their sums in registers, shared operands are loaded once."""


@template("acle_products", anchors.CONVOLUTION)
def convolution(group: Group) -> bool:
    """Copy the window of a pixel, with padding, and multiply it by the weights of some channels per call. A
    depthwise convolution pads each plane and computes a row of results per call.

    False, with nothing scheduled, for other dtypes than int8, dilated windows, and grouped channels.
    """
    found = group.tagged("conv2d", "conv2d_pointwise", "depthwise_conv2d")
    if len(found) != 1 or not _are_bytes(group, found[0].inputs, found[0]):
        return False
    anchor, attrs = found[0], dict(found[0].attrs)
    if any(one != 1 for one in attrs.get("dilation", ())):
        return False
    planes = group.tagged("conv2d_planes")
    result = anchor.output(0)
    host = group.host(planes[-1].output(0) if planes else result)
    if anchor.tag == "depthwise_conv2d":
        return _depthwise(group, anchor, host)
    if attrs["groups"] != 1:
        return False
    return _pixel_by_pixel(group, anchor, host)


@template("acle_products", anchors.DENSE, anchors.BATCH_MATMUL)
def product(group: Group) -> bool:
    """Compute some columns of a row of the result per call. False, with nothing scheduled, for other dtypes
    than int8, and if the operands are not contiguous along the reduction."""
    if not group.target.scalar:
        return False
    computes = [stage.op for stage in group.schedule.stages if isinstance(stage.op, ComputeOp)]
    sums = [op for op in computes if op.reduce_axis]
    if len(sums) != 1 or sums[0].tag != "matmul_packed" or dict(sums[0].attrs).get("paired"):
        return False
    anchor = sums[0]
    panels = group.tagged("pack")
    operands = [anchor.inputs[0], panels[0].inputs[0]] if len(panels) == 1 else []
    if not panels or not dict(panels[0].attrs)["transposed"] or not _are_bytes(group, operands, anchor):
        return False
    host = group.host(group.tagged("matmul_unpack")[-1].output(0))
    columns, terms = number(host.shape[-1]), extent_of(anchor.reduce_axis[0])
    if columns is None or terms is None:
        return False
    group.inline_all_but({host.op})
    count = _results_per_call(columns)
    outer, _ = group.stage(host).split(group.axes(host)[-1], factor=count)
    _tensorize_sums(group, anchor.output(0), host, outer, -1, dot_rows(count, (terms,)))
    parallelize_outermost(group, host, anchor)
    schedule_other_outputs(group, host)
    return True


def _pixel_by_pixel(group: Group, anchor: ComputeOp, host: Tensor) -> bool:
    data, weight = anchor.inputs[0], anchor.inputs[-1]
    channels = number(weight.shape[0])
    terms = tuple(number(n) for n in weight.shape[1:])
    if channels is None or any(n is None for n in terms):
        return False
    result = anchor.output(0)
    group.inline_all_but({host.op, data.op})
    if not isinstance(data.op, ComputeOp):
        data = group.schedule.cache_read(data, "local", [result])
    if anchor.tag == "conv2d_pointwise":
        terms = terms[:1]
    count = _results_per_call(channels)
    stage, (batch, channel, *pixels) = group.stage(host), group.axes(host)
    outer, inner = stage.split(channel, factor=count)
    stage.reorder(batch, *pixels, outer, inner)
    copied = group.stage(data)
    copied.compute_at(stage, pixels[-1])
    window = group.axes(data)
    copied.reorder(window[0], *window[2:], window[1])  # test for the border once for all channels
    _tensorize_sums(group, result, host, outer, 1, dot_rows(count, terms))  # type: ignore[arg-type]
    parallelize_outermost(group, host, anchor)
    schedule_other_outputs(group, host)
    return True


def _depthwise(group: Group, anchor: ComputeOp, host: Tensor) -> bool:
    data, weight = anchor.inputs[0], anchor.inputs[-1]
    sizes = [number(n) for n in (*weight.shape[2:], anchor.output(0).shape[-1])]
    if number(weight.shape[0]) != dict(anchor.attrs)["groups"] or len(sizes) != 3 or None in sizes:
        return False
    height, width, count = sizes
    step = number(dict(anchor.attrs)["strides"][-1])
    group.inline_all_but({host.op, data.op})
    axes = group.axes(host)
    if isinstance(data.op, ComputeOp):
        group.stage(data).compute_at(group.stage(host), axes[1])
    intrinsic = dot_windows(count, step, height, width)  # type: ignore[arg-type]
    _tensorize_sums(group, anchor.output(0), host, axes[-2], -1, intrinsic)
    parallelize_outermost(group, host, anchor)
    schedule_other_outputs(group, host)
    return True


def _tensorize_sums(
    group: Group, result: Tensor, host: Tensor, loop: IterVar, axis: int, intrinsic: object
) -> None:
    """Compute ``result`` at ``loop`` of ``host``, its ``axis`` by one call of ``intrinsic``."""
    sums = group.schedule.cache_write(result, "local") if host is result else result
    stage = group.stage(sums)
    stage.compute_at(group.stage(host), loop)
    op = stage.op
    assert isinstance(op, ComputeOp)
    own = op.axis[axis]
    others = [one for one in op.axis if one is not own]
    stage.reorder(*others, own, *op.reduce_axis)
    stage.tensorize(own, intrinsic)  # type: ignore[arg-type]


def _results_per_call(extent: int) -> int:
    """The largest number of results at a time, up to ``MOST_ROWS``, that divides ``extent``."""
    return max(n for n in range(1, MOST_ROWS + 1) if extent % n == 0)


def _are_bytes(group: Group, operands: Sequence[Tensor], anchor: ComputeOp) -> bool:
    """Whether ``anchor`` sums products of two tensors of int8 in int32, on a target without vectors."""
    kinds = [one.dtype for one in operands]
    return group.target.scalar and kinds == ["int8", "int8"] and anchor.output(0).dtype == "int32"
