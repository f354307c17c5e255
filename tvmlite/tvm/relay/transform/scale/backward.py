"""Folds a scale of a product's result backward into its weights, past sums and activations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import same_dim
from tvmlite.tvm.relay.graph.visit import in_order, parts_of, rebuilt
from tvmlite.tvm.relay.transform.scale import axes as ax


@dataclass(frozen=True)
class Taking:
    """A value whose computation can absorb a scale: along which axes, and whether only a positive one."""

    axes: ax.Axes
    positive: bool


def folded_backward(function: Any) -> Any:
    """``function`` with scales of results folded into the weights."""
    order = [node for node in in_order(function) if isinstance(node, nodes.Expr)]
    readers = Counter(part for node in order for part in parts_of(node) if isinstance(part, nodes.Expr))
    taking: dict[Any, Taking] = {}
    for node in order:
        if isinstance(node, nodes.Call) and readers[node] == 1:
            found = _taking(node, taking)
            if found is not None:
                taking[node] = found
    dropped: dict[Any, Any] = {}
    scales: dict[Any, Any] = {}
    for node in reversed(order):
        if isinstance(node, nodes.Call) and node.op == "multiply":
            _push(node, taking, dropped, scales)
    if not dropped:
        return function
    made: dict[Any, Any] = {}

    def rule(old: Any, new: Any) -> Any:
        if old in dropped:
            return made[dropped[old]]
        return _scaled(old, new, taking, scales[old]) if old in scales else new

    return rebuilt(function, made, rule)


def _taking(call: nodes.Call, taking: dict[Any, Taking]) -> Taking | None:
    if call.op in ax.PRODUCTS:
        found = ax.result_axes(call)
        return None if found is None else Taking(found, False)
    inner = [taking.get(arg) for arg in call.args]
    first = inner[0] if inner else None
    if call.op in ax.PASSING:
        return None if first is None else Taking(first.axes, True)
    if call.op == "nn.bias_add" and first is not None:
        return first if first.axes == (call["axis"] % tensor_type_of(call).ndim,) else None
    if call.op not in ax.SUMS:
        return None
    left, right = call.args
    if inner[0] is not None and inner[1] is None and ax.along(left, right, inner[0].axes):
        return inner[0]
    if inner[1] is not None and inner[0] is None and ax.along(right, left, inner[1].axes):
        return inner[1]
    both = inner[0] is not None and inner[1] is not None and inner[0].axes == inner[1].axes
    shapes = [tensor_type_of(arg).shape for arg in call.args]
    same = len(shapes[0]) == len(shapes[1]) and all(map(same_dim, *shapes))
    if both and same:
        return Taking(inner[0].axes, inner[0].positive or inner[1].positive)  # type: ignore[union-attr]
    return None


def _push(
    node: nodes.Call, taking: dict[Any, Taking], dropped: dict[Any, Any], scales: dict[Any, Any]
) -> None:
    """If the multiplication ``node`` can be folded, enter it in ``dropped``, and its scale in ``scales`` for
    every call up to the products that absorb it."""
    for place in (0, 1):
        value, factor = node.args[place], node.args[1 - place]
        found = taking.get(value)
        if found is None:
            continue
        scale = ax.as_scale(value, factor, found.axes, found.positive)
        same = tensor_type_of(node).shape == tensor_type_of(value).shape
        if scale is not None and same:
            dropped[node] = value
            stack: list[Any] = [value]
            while stack:
                part = stack.pop()
                scales[part] = scale
                if part.op not in ax.PRODUCTS:
                    stack += [arg for arg in part.args if arg in taking]
        return


def _scaled(old: nodes.Call, new: Any, taking: dict[Any, Taking], scale: Any) -> Any:
    """``new``, the rebuilt ``old``, with ``scale`` applied to its weights, bias or other summand."""
    args = list(new.args)
    if old.op in ax.PRODUCTS:
        weight = old.args[1]
        laid = ax.laid(scale, weight, ax.weight_axes(old, of_data=False))
        args[1] = make("multiply", args[1], laid, span=old.span)
    elif old.op == "nn.bias_add":
        args[1] = make("multiply", args[1], scale, span=old.span)
    elif old.op in ax.SUMS:
        for place, arg in enumerate(old.args):
            if arg not in taking:
                whole = old.args[1 - place]
                laid = ax.laid(scale, whole, taking[old].axes)
                args[place] = make("multiply", args[place], laid, span=old.span)
    return new._with({"args": tuple(args)}) if args != list(new.args) else new
