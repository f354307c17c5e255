"""ONNX's operators on images and regions: GridSample, AffineGrid, RoiAlign, DeformConv, Col2Im, MaxUnpool."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import Dim, show_shape
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.broadcast import assume_shape
from tvmlite.relay.onnx.graph.data_dependent_dims import depends_on_data, name_dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.ops import nn
from tvmlite.relay.onnx.reading.registry import converter

_METHODS = {"linear": "bilinear", "cubic": "bicubic"}
"""Relay's names of modes of GridSample, if other than ONNX's, or ONNX's before opset 20."""


@converter("GridSample", since=16)
def grid_sample(node: OnnxNode, data: Expr, grid: Expr) -> Expr:
    """GridSample: the grid's coordinates are in its last axis; image.grid_sample has them in the second."""
    rank = node.rank(data) - 2
    if rank not in (2, 3) or node.rank(grid) != rank + 2:
        node.unsupported(f"data of rank {rank + 2} and a grid of rank {node.rank(grid)}; both must be 4 or 5")
    mode = node.choice("mode", "nearest", "linear", "bilinear", "cubic", "bicubic")
    return node.make(
        "image.grid_sample",
        data,
        node.transpose(grid, (0, rank + 1, *range(1, rank + 1))),
        method=_METHODS.get(mode, mode),
        layout="NCHW" if rank == 2 else "NCDHW",
        padding_mode=node.choice("padding_mode", "zeros", "border", "reflection"),
        align_corners=node.flag("align_corners"),
    )


@converter("AffineGrid", since=20)
def affine_grid(node: OnnxNode, theta: Expr, size: Expr) -> Expr:
    """AffineGrid: the points of an image of ``size``, in -1 ... 1, transformed by ``theta``, for
    GridSample."""
    extents = node.extents(size, "size")[2:]
    rank = len(extents)
    if node.rank(theta) != 3 or rank not in (2, 3) or not dims.equal(node.shape(theta)[1], rank):
        node.bad(f"theta is {show_shape(node.shape(theta))} for {len(extents)} spatial axes")
    batch, ones = node.shape(theta)[0], [1] * rank

    def column(index: int) -> Expr:
        cut = node.slice(theta, [2], [index], [index + 1])
        return node.reshape(cut, (batch, *ones, rank))

    made = column(rank)
    for axis, extent in enumerate(extents):  # the last axis is x, the first row
        line = _pixel_coordinates(node, extent, node.dtype(theta), node.flag("align_corners"))
        shaped = node.reshape(line, (1, *ones[:axis], extent, *ones[axis + 1 :], 1))
        made = node.add(made, node.multiply(column(rank - 1 - axis), shaped))
    return made


def _pixel_coordinates(node: OnnxNode, extent: Dim, dtype: str, aligned: bool) -> Expr:
    """The coordinates of ``extent`` pixels: their centres, or with ``aligned`` from end to end."""
    places = node.arange(extent)
    parts = node.make("shape_value", values=(dims.maximum(extent - aligned, 1),), dtype="int64")
    double = node.add(node.multiply(places, 2), 0 if aligned else 1)
    return node.subtract(node.divide(node.cast(double, dtype), node.cast(parts, dtype)), 1)


@converter("RoiAlign", since=10)
def roi_align(node: OnnxNode, data: Expr, rois: Expr, batches: Expr) -> Expr:
    """RoiAlign: before opset 16 regions are not shifted by half a pixel."""
    mode = node.choice("coordinate_transformation_mode", "half_pixel", "output_half_pixel")
    mode = mode if node.opset >= 16 else "output_half_pixel"
    if node.rank(rois) != 2 or node.rank(batches) != 1:
        node.bad(f"rois of rank {node.rank(rois)} and batch_indices of rank {node.rank(batches)}")
    kind = node.choice("mode", "avg", "max")
    column = node.cast(node.reshape(batches, (*node.shape(batches), 1)), node.dtype(rois))
    return node.make(
        "vision.roi_align",
        data,
        node.many("concatenate", [column, rois], axis=1),
        pooled_size=(node.attr("output_height"), node.attr("output_width")),
        spatial_scale=node.attr("spatial_scale"),
        sample_ratio=node.attr("sampling_ratio"),
        mode="weighted_max" if kind == "max" else "avg",  # as in ONNX Runtime and onnx's reference
        aligned=mode == "half_pixel",
    )


@converter("DeformConv", since=19)
def deform_conv(
    node: OnnxNode,
    data: Expr,
    weight: Expr,
    offset: Expr,
    bias: Expr | None = None,
    mask: Expr | None = None,
) -> Expr:
    """DeformConv: windows read at shifted positions, then one matrix product for each group."""
    if node.rank(data) != 4 or node.rank(weight) != 4:
        node.unsupported(f"data of rank {node.rank(data)}, expected 4")
    outputs, inputs, *kernel = node.shape(weight)
    batch, channels = node.shape(data)[:2]
    groups, moved = node.attr("group"), node.attr("offset_group")
    if not all(isinstance(d, int) for d in (outputs, inputs, channels, *kernel)):
        node.unsupported("a kernel of dynamic size")
    if channels != inputs * groups or outputs % groups or channels % moved:
        node.bad(f"{channels} channels, weight {show_shape(node.shape(weight))}, {groups} groups")
    window = nn.window_of(node, 2, kernel)  # type: ignore[arg-type]
    taps, spatial = kernel[0] * kernel[1], node.shape(offset)[2:]
    if mask is None:
        mask = node.full(1, (batch, moved * taps, *spatial), node.dtype(data))
    columns = node.make(
        "nn.deformable_im2col",
        data,
        offset,
        mask,
        kernel_size=window.kernel,
        **window.attrs,
        padding=tuple(node.attr("pads") or [0] * 4),
        deformable_groups=moved,
    )
    rows, pixels = inputs * taps, node.product(spatial)
    flat = node.reshape(columns, (dims.simplify(batch * groups), rows, pixels))
    filters = node.reshape(weight, (groups, outputs // groups, rows))
    if groups > 1 and not dims.equal(batch, 1):
        wide = node.broadcast_to(
            node.reshape(filters, (1, groups, outputs // groups, rows)),
            (batch, groups, outputs // groups, rows),
        )
        filters = node.reshape(wide, (dims.simplify(batch * groups), outputs // groups, rows))
    made = node.make("nn.batch_matmul", filters, flat, transpose_a=False, transpose_b=False)
    return nn.add_bias(node, node.reshape(made, (batch, outputs, *spatial)), bias)


@converter("Col2Im", since=18)
def col2im(node: OnnxNode, data: Expr, image: Expr, block: Expr) -> Expr:
    """Col2Im: windows of ``block`` added up into images."""
    extents, kernel = node.extents(image, "image_shape"), node.extents(block, "block_shape")
    rank = len(extents)
    if len(kernel) != rank or node.rank(data) != 3:
        node.bad(f"data of rank {node.rank(data)}, image_shape of {rank}, block_shape of {len(kernel)}")
    pads = tuple(node.attr("pads") or [0] * (2 * rank))
    if min(pads) < 0:
        node.unsupported(f"pads {list(pads)}")
    window = nn.window_of(node, rank, ())
    if any(depends_on_data(node, d) for d in (*extents, *kernel)):
        data, extents, kernel = _match_windows(node, data, extents, kernel, window, pads)
    return node.make(
        "nn.col2im",
        data,
        image_shape=tuple(extents),
        kernel_size=tuple(kernel),
        **window.attrs,
        padding=pads,
    )


def _match_windows(
    node: OnnxNode,
    data: Expr,
    extents: list[Dim],
    kernel: list[Dim],
    window: nn.Window,
    pads: Sequence[int],
) -> tuple[Expr, list[Dim], list[Dim]]:
    """Windows, image and kernel that match; a run in which they do not stops."""
    rank = len(extents)
    more = iter(name_dims(node, [d - 1 for d in kernel if not isinstance(d, int)], "beyond_one"))
    kernel = [d if isinstance(d, int) else 1 + next(more) for d in kernel]
    net_windows = [
        (k - 1) * d + 1 - pads[i] - pads[rank + i]
        for i, (k, d) in enumerate(zip(kernel, window.dilations, strict=True))
    ]
    slack = name_dims(node, [n - b for n, b in zip(extents, net_windows, strict=True)], "room")
    extents = [dims.simplify(r + b) for r, b in zip(slack, net_windows, strict=True)]
    blocks = [r // s + 1 for r, s in zip(slack, window.strides, strict=True)]
    batch, rows, _ = node.shape(data)
    taps = node.product(kernel)
    data = assume_shape(node, data, (batch, rows // taps * taps, node.product(blocks)))
    return data, extents, kernel


@converter("MaxUnpool", since=9)
def max_unpool(node: OnnxNode, data: Expr, indices: Expr, output_shape: Expr | None = None) -> Expr:
    """MaxUnpool: each element at the position that MaxPool's second output gives, zeros elsewhere."""
    rank = nn.spatial_rank(node, data)
    kernel = nn.per_axis(node, "kernel_shape", rank)
    strides, pads = nn.per_axis(node, "strides", rank), node.attr("pads") or [0] * (2 * rank)
    sizes = [
        dims.simplify((n - 1) * s + k - pads[i] - pads[rank + i])
        for i, (n, s, k) in enumerate(zip(node.shape(data)[2:], strides, kernel, strict=True))
    ]
    shape = (*node.shape(data)[:2], *sizes)
    count = node.product(node.shape(data))
    made = node.make(
        "scatter_elements",
        node.full(0, (node.product(shape),), node.dtype(data)),
        node.reshape(indices, (count,)),
        node.reshape(data, (count,)),
        axis=0,
        reduction="update",
    )
    made = node.reshape(made, shape)
    if output_shape is None:
        return made
    wanted = node.ints(output_shape, "output_shape")
    if len(wanted) != rank + 2:
        node.bad(f"output_shape has {len(wanted)} numbers, expected {rank + 2}")
    more = [dims.simplify(w - have) for w, have in zip(wanted, shape, strict=True)]
    if any(isinstance(d, int) and d < 0 for d in more):
        node.bad(f"output_shape is {show_shape(tuple(wanted))}, less than {show_shape(shape)}")
    return node.make("nn.pad", made, pad_width=tuple((0, d) for d in more), pad_value=0.0)


@converter("MaxPool")
def max_pool(node: OnnxNode, data: Expr) -> list[Expr]:
    """MaxPool: the maximum of each window and, if requested, its position in the flattened data."""
    dtype = node.dtype(data)
    low = -math.inf if dtypes.is_float(dtype) else dtypes.limits(dtype)[0]
    values = nn.pool(node, data, "max", low)
    if not node.has_output(1):
        return [values]
    window = nn.window_of(node, nn.spatial_rank(node, data))
    padding = window.pooled_padding(data)
    if not all(isinstance(p, int) for pair in padding for p in pair):
        node.unsupported("indices with a padding that depends on a dynamic size")
    places = node.make(
        "nn.max_pool_indices",
        data,
        pool_size=window.kernel,
        **window.attrs,
        padding=nn.flat(padding),
        ceil_mode=nn.is_ceil_mode(node),
        starts_inside=nn.is_ceil_mode(node),
        column_major=node.flag("storage_order"),
    )
    return [values, places]
