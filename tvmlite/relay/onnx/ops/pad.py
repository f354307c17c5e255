"""ONNX's Pad and CenterCropPad."""

from __future__ import annotations

from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.ir.types import Dim, show_dim
from tvmlite.relay.onnx.graph import axes as told_axes
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.data_dependent_dims import may_be_negative, name_dims, require
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.te import expr as e


@converter("Pad", since=2)
def pad_by_attributes(node: OnnxNode, data: Expr) -> Expr:
    return pad_by(node, data, node.required("pads"), float(node.attr("value", 0.0)), None)


@converter("Pad", since=11)
def pad_by_inputs(
    node: OnnxNode, data: Expr, pads: Expr, value: Expr | None = None, axes: Expr | None = None
) -> Expr:
    widths, fill = node.ints(pads, "pads"), 0 if value is None else value
    if axes is not None and node.is_dynamic(axes):
        return pad_by(
            node, data, _by_axis(node, widths, node.ints(axes, "axes"), node.rank(data)), fill, None
        )
    return pad_by(node, data, widths, fill, None if axes is None else node.static_ints(axes, "axes"))


def _by_axis(node: OnnxNode, pads: list[Dim], along: list[Dim], rank: int) -> list[Dim]:
    """Pads of all axes, from those of ``along``, which a run tells; it stops if one of them is no axis."""
    count = len(along)
    if len(pads) != 2 * count:
        node.bad(f"pads {pads} for {count} axes")
    known = [told_axes.either(told_axes.is_among(axis, along, rank), 1, 0) for axis in range(rank)]
    found = node.make("shape_value", values=(dims.simplify(sum(known)),), dtype="int64")
    require(node, node.make("equal", found, count), "axes_found")
    made: list[Dim] = []
    for side in (pads[:count], pads[count:]):
        for axis in range(rank):
            own: Dim = 0
            for one, width in zip(along, side, strict=True):
                own = told_axes.either(told_axes.is_among(axis, [one], rank), width, own)
            made.append(dims.simplify(own))
    return made


def pad_by(node: OnnxNode, data: Expr, pads: list[Dim], value: Expr | float, axes: list[int] | None) -> Expr:
    """Negative pads crop; ``edge``, ``reflect`` and ``wrap`` repeat what is there."""
    rank = node.rank(data)
    along = list(range(rank)) if axes is None else node.axes(axes, rank)
    if len(pads) != 2 * len(along):
        node.bad(f"pads {pads} for {len(along)} axes")
    mode = node.attr("mode", "constant")
    if mode not in ("constant", "edge", "reflect", *["wrap"][: node.opset >= 19]):
        node.bad(f"mode is {mode!r}, expected constant, edge, reflect, or from opset 19 wrap")
    width: list[list[Dim]] = [[0, 0] for _ in range(rank)]
    for axis, before, after in zip(along, pads[: len(along)], pads[len(along) :], strict=True):
        width[axis] = [before, after]
    data, width = _cropped(node, data, width)
    width = _settled(node, node.shape(data), width)
    if all(dims.equal(p, 0) for pair in width for p in pair):
        return data
    if mode != "constant":
        data = _with_enough(node, data, width, mode)
    pairs = tuple(map(tuple, width))
    if mode != "constant" or not isinstance(value, Expr) or isinstance(value, Constant):
        fill = value.data.reshape(-1)[0].item() if isinstance(value, Constant) else value
        fill = 0 if isinstance(fill, Expr) else fill
        return node.make("nn.pad", data, pad_width=pairs, pad_value=fill, pad_mode=mode)
    inside = node.make("nn.pad", node.full(True, node.shape(data), "bool"), pad_width=pairs, pad_value=0)
    made = node.make("nn.pad", data, pad_width=pairs, pad_value=0)
    return node.make("where", inside, made, node.reshape(value, ()))


def _cropped(node: OnnxNode, data: Expr, width: list[list[Dim]]) -> tuple[Expr, list[list[Dim]]]:
    """What negative widths leave of ``data``, and the widths then; no extent may become negative.

    An open extent must have all that is taken from it, which is checked when the model runs.
    """
    made: list[list[Dim]] = []
    for axis, (extent, pair) in enumerate(zip(node.shape(data), width, strict=True)):
        before, after = pair
        whole = dims.simplify(before + after + extent)
        if isinstance(whole, int) and whole < 0:
            node.bad(f"pads of {before} and {after} leave {whole} of axis {axis}, of {extent} elements")
        crop = [max(-p, 0) if isinstance(p, int) else 0 for p in pair]
        if not any(crop):
            made.append(pair)
        elif isinstance(extent, int) and sum(crop) > extent:  # nothing is left of it: the rest is filled
            data = node.slice(data, [axis], [0], [0])
            made.append([whole, 0])
        else:
            if not dims.non_negative(dims.simplify(extent - sum(crop))):
                message = f"pads take {sum(crop)} elements of axis {axis}, which has fewer"
                enough = e.LessEqual(*e.match(sum(crop), e.convert(extent)))
                data = node.make("assume", data, conditions=(enough,), message=message, always=True)
            data = node.slice(data, [axis], [crop[0]], [dims.simplify(extent - crop[1])])
            made.append([max(p, 0) if isinstance(p, int) else p for p in pair])
    return data, made


def _settled(node: OnnxNode, shape: tuple[Dim, ...], width: list[list[Dim]]) -> list[list[Dim]]:
    """Widths that a run tells, such that their sum with the extent is a dimension, not negative."""
    made: list[list[Dim]] = []
    for extent, (before, after) in zip(shape, width, strict=True):
        whole = before + after + extent
        if may_be_negative(node, whole):
            (total,) = name_dims(node, [whole], "extent")
            after = total - extent - before
        made.append([before, after])
    return made


def _with_enough(node: OnnxNode, data: Expr, width: list[list[Dim]], mode: str) -> Expr:
    """``data``, which must have the elements that are repeated; of open extents a run is asked."""
    for axis, (extent, pair) in enumerate(zip(node.shape(data), width, strict=True)):
        open_ones: list[e.Expr] = []
        for p in pair:
            needed = dims.simplify(p + 1) if mode == "reflect" else 1
            holds = e.any_of([e.convert(p) <= 0, e.convert(needed) <= extent])
            enough = dims.proves(holds)
            if enough is False:
                node.unsupported(f"{mode} by {p} of axis {axis}, of {extent} elements")
            if enough is None:
                open_ones.append(holds)
        if open_ones:
            shown = " and ".join(map(show_dim, pair))
            message = f"mode {mode} by {shown} of axis {axis} needs more elements than it has"
            data = node.make("assume", data, conditions=tuple(open_ones), message=message, always=True)
    return data


@converter("CenterCropPad", since=18)
def center_crop_pad(node: OnnxNode, data: Expr, shape: Expr) -> Expr:
    """``data`` in the middle of zeros, or its middle, axis by axis."""
    wanted = node.extents(shape, "shape")
    rank = node.rank(data)
    axes = node.axes(node.attr("axes", list(range(rank))), rank)
    if len(wanted) != len(axes) or any(isinstance(d, int) and d < 0 for d in wanted):
        node.bad(f"shape is {wanted} for {len(axes)} axes")
    width: list[tuple[Dim, Dim]] = [(0, 0)] * rank
    for axis, extent in zip(axes, wanted, strict=True):
        more = dims.simplify(extent - node.shape(data)[axis])
        before = dims.trunc_div(more, 2)
        width[axis] = (before, dims.simplify(more - before))
    if all(dims.equal(p, 0) for pair in width for p in pair):
        return data
    return node.make("nn.pad", data, pad_width=tuple(width), pad_value=0)
