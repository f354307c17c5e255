"""Folds a scale of the data forward into the weights of the products that read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.tvm.relay.graph.visit import in_order, parts_of, rebuilt
from tvmlite.tvm.relay.transform.scale import axes as ax


@dataclass(frozen=True)
class Wanted:
    """A value whose readers can all absorb a scale of it: along which axes, and whether only if positive."""

    axes: ax.Axes
    positive: bool


def folded_forward(function: Any) -> Any:
    """``function`` with scales of data folded into the weights."""
    order = [node for node in in_order(function) if isinstance(node, nodes.Expr)]
    wanted = _wanted(order, function)
    scales: dict[Any, Any] = {}
    made: dict[Any, Any] = {}

    def rule(old: Any, new: Any) -> Any:
        if not isinstance(old, nodes.Call):
            return new
        return _rewritten(old, new, wanted.get(old), scales, made)

    return rebuilt(function, made, rule)


def _wanted(order: list[Any], root: Any) -> dict[Any, Wanted | None]:
    """The scale that the readers of each value can absorb; None if one of them cannot absorb any."""
    found: dict[Any, Wanted | None] = {root: None}
    for node in reversed(order):
        parts = [part for part in parts_of(node) if isinstance(part, nodes.Expr)]
        asked: list[Wanted | None] = [None] * len(parts)
        if isinstance(node, nodes.Call) and isinstance(node.op, str):
            asked = _asked(node, found.get(node))
        for part, one in zip(parts, asked, strict=True):
            found[part] = _common(found[part], one) if part in found else one
    return found


def _common(one: Wanted | None, other: Wanted | None) -> Wanted | None:
    if one is None or other is None:
        return None
    axes = tuple(axis for axis in one.axes if axis in other.axes)
    return Wanted(axes, one.positive or other.positive) if axes else None


def _asked(call: nodes.Call, own: Wanted | None) -> list[Wanted | None]:
    """The scale of each argument that ``call`` can absorb or pass on, if its readers can absorb ``own``."""
    nothing: list[Wanted | None] = [None] * len(call.args)
    if call.op in ax.PRODUCTS:
        axes = ax.data_axes(call)
        return nothing if axes is None else [Wanted(axes, False), *nothing[1:]]
    if own is None:
        return nothing
    if call.op in ax.PASSING:
        return [Wanted(own.axes, True)]
    if call.op in ax.SUMS:
        left, right = call.args
        if ax.along(left, right, own.axes):
            return [own, None]
        if ax.along(right, left, own.axes):
            return [None, own]
    return nothing


def _rewritten(
    old: nodes.Call, new: Any, wanted: Wanted | None, scales: dict[Any, Any], made: dict[Any, Any]
) -> Any:
    """The replacement for ``old``. ``scales`` has the scale and axes of values that are computed unscaled."""
    if old.op == "multiply" and wanted is not None:
        for place in (0, 1):
            value, factor = old.args[place], old.args[1 - place]
            scale = ax.as_scale(value, factor, wanted.axes, wanted.positive)
            if scale is not None and tensor_type_of(old).shape == tensor_type_of(value).shape:
                scales[old] = scale, wanted.axes
                return made[value]
    scaled = [place for place, arg in enumerate(old.args) if arg in scales]
    if not scaled:
        return new
    place = scaled[0]
    scale, axes = scales[old.args[place]]
    args = list(new.args)
    if old.op in ax.PRODUCTS:
        laid = ax.laid(scale, old.args[1], ax.weight_axes(old, of_data=True))
        args[1] = make("multiply", args[1], laid, span=old.span)
        return new._with({"args": tuple(args)})
    scales[old] = scale, axes
    if old.op in ax.SUMS:
        laid = ax.laid(scale, old.args[place], axes)
        args[1 - place] = make("divide", args[1 - place], laid, span=old.span)
        return new._with({"args": tuple(args)})
    return new
