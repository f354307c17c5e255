"""ONNX's Pad and CenterCropPad."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.relay.ir.nodes import Constant, Expr
from tvmlite.relay.ir.types import Dim, show_dim
from tvmlite.relay.onnx.graph import axes as along
from tvmlite.relay.onnx.graph import dims
from tvmlite.relay.onnx.graph.data_dependent_dims import may_be_negative, name_dims
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter
from tvmlite.te import expr as e


@converter("Pad")
def pad(
    node: OnnxNode, data: Expr, pads: Expr | None = None, value: Expr | None = None, axes: Expr | None = None
) -> Expr:
    """Pad; widths and value are attributes in older operator sets."""
    widths = node.ints_or_attr(pads, "pads" if node.opset > 1 else "paddings") or []
    fill = node.attr("value", 0) if value is None else value
    return _padded(node, data, widths, fill, None if axes is None else node.ints(axes, "axes"))


def _padded(
    node: OnnxNode, data: Expr, pads: list[Dim], value: Expr | float, axes: Sequence[Dim] | None
) -> Expr:
    """Pad ``data``: negative pads crop; ``edge``, ``reflect`` and ``wrap`` repeat elements."""
    rank = node.rank(data)
    over = list(range(rank)) if axes is None else along.check_axes(node, axes, rank)
    if len(pads) != 2 * len(over):
        node.bad(f"pads {pads} for {len(over)} axes")
    mode = node.choice("mode", "constant", "edge", "reflect", *["wrap"][: node.opset >= 19])
    width: list[list[Dim]] = [[0, 0] for _ in range(rank)]
    for axis, pair in enumerate(width):
        for one, *own in zip(over, pads[: len(over)], pads[len(over) :], strict=True):
            here = along.is_among(axis, [one], rank)
            pair[:] = [dims.simplify(along.select(here, a, b)) for a, b in zip(own, pair, strict=True)]
    data, width = _cropped(node, data, width)
    width = _bind_extents(node, node.shape(data), width)
    if all(dims.equal(p, 0) for pair in width for p in pair):
        return data
    if mode != "constant":
        data = _require_elements(node, data, width, mode)
    pairs = tuple(map(tuple, width))
    if mode != "constant" or not isinstance(value, Expr) or isinstance(value, Constant):
        fill = value.data.reshape(-1)[0].item() if isinstance(value, Constant) else value
        fill = 0 if isinstance(fill, Expr) else fill
        return node.make("nn.pad", data, pad_width=pairs, pad_value=fill, pad_mode=mode)
    inside = node.make("nn.pad", node.full(True, node.shape(data), "bool"), pad_width=pairs, pad_value=0)
    made = node.make("nn.pad", data, pad_width=pairs, pad_value=0)
    return node.make("where", inside, made, node.reshape(value, ()))


def _cropped(node: OnnxNode, data: Expr, width: list[list[Dim]]) -> tuple[Expr, list[list[Dim]]]:
    """Crop ``data`` by negative widths, and return the remaining widths; no extent may become negative.

    An open extent must have all elements that are cropped, which is checked at run time.
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
        elif isinstance(extent, int) and sum(crop) > extent:  # nothing remains, and all is filled
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


def _bind_extents(node: OnnxNode, shape: tuple[Dim, ...], width: list[list[Dim]]) -> list[list[Dim]]:
    """``width`` with a new dimension for the padded extent, if it may be negative: then a run stops."""
    made: list[list[Dim]] = []
    for extent, (before, after) in zip(shape, width, strict=True):
        whole = before + after + extent
        if may_be_negative(node, whole):
            (total,) = name_dims(node, [whole], "extent")
            after = total - extent - before
        made.append([before, after])
    return made


def _require_elements(node: OnnxNode, data: Expr, width: list[list[Dim]], mode: str) -> Expr:
    """Check that ``data`` has the elements that are repeated; at run time for open extents."""
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
    """CenterCropPad: ``data`` centred in zeros, or its centre, axis by axis."""
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
