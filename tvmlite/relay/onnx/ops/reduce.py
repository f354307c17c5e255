"""ONNX's reductions; axes are an attribute in older operator sets, an input in newer ones."""

from __future__ import annotations

from collections.abc import Callable

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import show_dim
from tvmlite.relay.onnx.graph.axes import over_axes
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

Axes = tuple[int, ...]


def _sum(node: OnnxNode, data: Expr, axes: Axes, keep: bool) -> Expr:
    return node.make("sum", data, axis=axes, keepdims=keep)


def _plain(name: str) -> Callable[[OnnxNode, Expr, Axes, bool], Expr]:
    def reduce(node: OnnxNode, data: Expr, axes: Axes, keep: bool) -> Expr:
        return node.make(name, data, axis=axes, keepdims=keep)

    return reduce


def _extreme(name: str) -> Callable[[OnnxNode, Expr, Axes, bool], Expr]:
    def reduce(node: OnnxNode, data: Expr, axes: Axes, keep: bool) -> Expr:
        if node.dtype(data) == "bool":
            return node.cast(reduce(node, node.cast(data, "uint8"), axes, keep), "bool")
        return node.make(name, data, axis=axes, keepdims=keep)

    return reduce


def _l1(node: OnnxNode, data: Expr, axes: Axes, keep: bool) -> Expr:
    return _sum(node, node.make("abs", data), axes, keep)


def _sum_square(node: OnnxNode, data: Expr, axes: Axes, keep: bool) -> Expr:
    return _sum(node, data * data, axes, keep)


def _through_float(node: OnnxNode, data: Expr, function: Callable[[Expr], Expr]) -> Expr:
    """``function`` of the data as floats, in the data's own type."""
    dtype = node.dtype(data)
    if dtypes.is_float(dtype):
        return function(data)
    return node.cast(function(node.cast(data, "float64")), dtype)


def _l2(node: OnnxNode, data: Expr, axes: Axes, keep: bool) -> Expr:
    return _through_float(node, data, lambda x: node.make("sqrt", _sum_square(node, x, axes, keep)))


def _log_sum(node: OnnxNode, data: Expr, axes: Axes, keep: bool) -> Expr:
    return _through_float(node, data, lambda x: node.make("log", _sum(node, x, axes, keep)))


def _log_sum_exp(node: OnnxNode, data: Expr, axes: Axes, keep: bool) -> Expr:
    """Less the maximum first, so that the exponentials stay finite."""

    def compute(x: Expr) -> Expr:
        top = node.make("max", x, axis=axes, keepdims=True)
        top = node.make("where", node.make("isfinite", top), top, node.const(0, node.dtype(top)))
        total = _sum(node, node.make("exp", x - top), axes, True)
        made = node.make("log", total) + top
        return made if keep else node.make("squeeze", made, axis=axes)

    return _through_float(node, data, compute)


_REDUCTIONS: dict[str, Callable[[OnnxNode, Expr, Axes, bool], Expr]] = {
    "ReduceSum": _sum,
    "ReduceMean": _plain("mean"),
    "ReduceProd": _plain("prod"),
    "ReduceMax": _extreme("max"),
    "ReduceMin": _extreme("min"),
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceSumSquare": _sum_square,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
}


@converter(*_REDUCTIONS)
def reduction(node: OnnxNode, data: Expr, axes: Expr | None = None) -> Expr:
    """Axes come as an attribute or an input; none means all, or nothing with noop_with_empty_axes."""
    rank = node.rank(data)
    keep = bool(node.attr("keepdims", 1))
    function = _REDUCTIONS[node.op_type]
    if axes is not None and node.is_dynamic(axes):
        return over_axes(
            node, data, node.ints(axes, "axes"), keep, lambda x, over: function(node, x, over, True)
        )
    given = node.attr("axes") if axes is None else node.static_ints(axes, "axes")
    if not given and node.attr("noop_with_empty_axes", 0):
        over: Axes = ()
    else:
        over = tuple(sorted(node.axes(given, rank))) if given else tuple(range(rank))
    if over:
        return function(node, data, over, keep)
    return _of_each(node, data)


def _of_each(node: OnnxNode, data: Expr) -> Expr:
    """A reduction over no axes: of each element alone."""
    match node.op_type:
        case "ReduceL1" | "ReduceL2":
            return node.make("abs", data)
        case "ReduceSumSquare":
            return data * data
        case "ReduceLogSum":
            return _through_float(node, data, lambda x: node.make("log", x))
    return data


@converter("ArgMax", "ArgMin")
def arg_extreme(node: OnnxNode, data: Expr) -> Expr:
    axis = node.axis(node.attr("axis", 0), node.rank(data))
    made = node.make(
        node.op_type.lower(),
        data,
        axis=(axis,),
        keepdims=bool(node.attr("keepdims", 1)),
        select_last_index=bool(node.attr("select_last_index", 0)),
    )
    extent = node.shape(data)[axis]
    if not isinstance(extent, int):
        empty = f"an axis of extent {show_dim(extent)} has no elements"
        made = node.make("assume", made, conditions=(extent > 0,), message=empty)
    return node.cast(made, "int64")
