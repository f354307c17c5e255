"""ONNX's Pad and CenterCropPad."""

from __future__ import annotations

from tvmlite.relay.frontend.onnx import demand, dims
from tvmlite.relay.frontend.onnx.node import OnnxNode
from tvmlite.relay.frontend.onnx.registry import converter
from tvmlite.relay.frontend.onnx.shape import slice_axes
from tvmlite.relay.ir import Constant, Expr
from tvmlite.relay.types import Dim


@converter("Pad", since=2)
def pad_by_attributes(node: OnnxNode, data: Expr) -> Expr:
    return pad_by(node, data, node.required("pads"), float(node.attr("value", 0.0)), None)


@converter("Pad", since=11)
def pad_by_inputs(
    node: OnnxNode, data: Expr, pads: Expr, value: Expr | None = None, axes: Expr | None = None
) -> Expr:
    along = None if axes is None else node.static_ints(axes, "axes")
    return pad_by(node, data, node.ints(pads, "pads"), 0 if value is None else value, along)


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
    for axis, (before, after) in enumerate(width):
        crop = [max(-p, 0) if isinstance(p, int) else 0 for p in (before, after)]
        if any(crop):
            end = dims.simplify(node.shape(data)[axis] - crop[1])
            data = slice_axes(node, data, [axis], [crop[0]], [end])
    width = [[max(p, 0) if isinstance(p, int) else p for p in pair] for pair in width]
    width = _settled(node, node.shape(data), width)
    if all(dims.equal(p, 0) for pair in width for p in pair):
        return data
    if mode == "wrap":
        return _wrapped(node, data, width)
    if mode == "reflect":
        _check_reflection(node, node.shape(data), width)
    pairs = tuple(map(tuple, width))
    if mode != "constant" or not isinstance(value, Expr) or isinstance(value, Constant):
        fill = value.data.reshape(-1)[0].item() if isinstance(value, Constant) else value
        fill = 0 if isinstance(fill, Expr) else fill
        return node.make("nn.pad", data, pad_width=pairs, pad_value=fill, pad_mode=mode)
    inside = node.make("nn.pad", node.full(True, node.shape(data), "bool"), pad_width=pairs, pad_value=0)
    made = node.make("nn.pad", data, pad_width=pairs, pad_value=0)
    return node.make("where", inside, made, node.reshape(value, ()))


def _settled(node: OnnxNode, shape: tuple[Dim, ...], width: list[list[Dim]]) -> list[list[Dim]]:
    """Widths that a run tells, such that their sum with the extent is a dimension, not negative."""
    made: list[list[Dim]] = []
    for extent, (before, after) in zip(shape, width, strict=True):
        whole = before + after + extent
        if demand.is_open(node, whole):
            (total,) = demand.named(node, [whole], "extent")
            after = total - extent - before
        made.append([before, after])
    return made


def _check_reflection(node: OnnxNode, shape: tuple[Dim, ...], width: list[list[Dim]]) -> None:
    for extent, pair in zip(shape, width, strict=True):
        if isinstance(extent, int) and any(isinstance(p, int) and p >= max(extent, 1) for p in pair):
            node.unsupported(f"reflection by {pair} of an extent of {extent}")


def _wrapped(node: OnnxNode, data: Expr, width: list[list[Dim]]) -> Expr:
    """Each axis with its end before it and its beginning after it."""
    for axis, (before, after) in enumerate(width):
        extent = node.shape(data)[axis]
        if not (isinstance(before, int) and isinstance(after, int) and isinstance(extent, int)):
            node.unsupported("mode 'wrap' of a dynamic size")
        if max(before, after) > extent:
            node.unsupported(f"mode 'wrap' by more than the extent {extent}")
        parts = [data]
        if before:
            parts.insert(0, slice_axes(node, data, [axis], [extent - before], [extent]))
        if after:
            parts.append(slice_axes(node, data, [axis], [0], [after]))
        data = node.many("concatenate", parts, axis=axis) if len(parts) > 1 else data
    return data


@converter("CenterCropPad", since=18)
def center_crop_pad(node: OnnxNode, data: Expr, shape: Expr) -> Expr:
    wanted = node.static_ints(shape, "shape")
    rank = node.rank(data)
    axes = node.axes(node.attr("axes", list(range(rank))), rank)
    if len(wanted) != len(axes) or min(wanted, default=0) < 0:
        node.bad(f"shape is {wanted} for {len(axes)} axes")
    for axis, extent in zip(axes, wanted, strict=True):
        have = node.shape(data)[axis]
        if not isinstance(have, int):
            node.unsupported(f"of a dynamic extent {have}")
        if have > extent:
            start = (have - extent) // 2
            data = slice_axes(node, data, [axis], [start], [start + extent])
        elif have < extent:
            before = (extent - have) // 2
            width = [(0, 0)] * rank
            width[axis] = (before, extent - have - before)
            data = node.make("nn.pad", data, pad_width=tuple(width), pad_value=0)
    return data
