"""ONNX's reductions; axes are an attribute in older operator sets, an input in newer ones."""

from __future__ import annotations

from collections.abc import Callable

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr
from tvmlite.relay.ir.types import show_dim
from tvmlite.relay.onnx.graph.axes import reduce_dynamic_axes
from tvmlite.relay.onnx.graph.node import OnnxNode
from tvmlite.relay.onnx.reading.registry import converter

ReduceOver = Callable[..., Expr]
"""``over(name, data)``: the reduction ``name`` over a node's axes, if any, which are kept or not."""


def _log_sum_exp(node: OnnxNode, data: Expr, over: ReduceOver) -> Expr:
    """Subtract the maximum first, so that the exponentials stay finite."""
    top = over("max", data, keepdims=True)
    top = node.make("where", node.make("isfinite", top), top, node.const(0, node.dtype(top)))
    made = node.add(
        node.make("log", over("sum", node.make("exp", node.subtract(data, top)), keepdims=True)), top
    )
    return over("squeeze", made)


_PLAIN = {"Sum": "sum", "Mean": "mean", "Prod": "prod", "Max": "max", "Min": "min"}

_FORMULAS: dict[str, Callable[[OnnxNode, Expr, ReduceOver], Expr]] = {
    **{f"Reduce{name}": lambda node, x, over, one=one: over(one, x) for name, one in _PLAIN.items()},
    "ReduceL1": lambda node, x, over: over("sum", node.make("abs", x)),
    "ReduceSumSquare": lambda node, x, over: over("sum", node.multiply(x, x)),
    "ReduceL2": lambda node, x, over: node.make("sqrt", over("sum", node.multiply(x, x))),
    "ReduceLogSum": lambda node, x, over: node.make("log", over("sum", x)),
    "ReduceLogSumExp": _log_sum_exp,
}

_OVER_NO_AXES = {"ReduceL2": "ReduceL1", "ReduceLogSumExp": "ReduceSum"}
"""The equivalent of a reduction over no axes, of each element alone."""

_IN_FLOAT64 = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")
"""Reductions that are computed in float64 for integers."""


@converter(*_FORMULAS)
def reduction(node: OnnxNode, data: Expr, axes: Expr | None = None) -> Expr:
    """Reductions; axes are an attribute or an input; none means all, or nothing with noop_with_empty_axes."""
    rank, keep, dtype = node.rank(data), node.flag("keepdims"), node.dtype(data)

    def reduced(data: Expr, axes: tuple[int, ...], keep: bool) -> Expr:
        def over(kind: str, x: Expr, keepdims: bool = keep) -> Expr:
            if kind == "squeeze":
                return x if keepdims else node.make(kind, x, axis=axes)
            return node.make(kind, x, axis=axes, keepdims=keepdims) if axes else x

        name: str = node.op_type if axes else _OVER_NO_AXES.get(node.op_type) or node.op_type
        work = "uint8" if dtype == "bool" else dtype
        if name in _IN_FLOAT64 and not dtypes.is_float(dtype):
            work = "float64"
        return node.cast(_FORMULAS[name](node, node.cast(data, work), over), dtype)

    if axes is not None and node.is_dynamic(axes):
        return reduce_dynamic_axes(
            node, data, node.ints(axes, "axes"), keep, lambda x, along: reduced(x, along, True)
        )
    given = node.attr("axes") if axes is None else node.static_ints(axes, "axes")
    if not given:
        return reduced(data, () if node.flag("noop_with_empty_axes") else tuple(range(rank)), keep)
    return reduced(data, tuple(sorted(node.axes(given, rank))), keep)


@converter("ArgMax", "ArgMin")
def arg_extreme(node: OnnxNode, data: Expr) -> Expr:
    """ArgMax and ArgMin along one axis, int64; ``select_last_index`` selects among equal elements."""
    axis = node.axis(node.attr("axis"), node.rank(data))
    made = node.make(
        node.op_type.lower(),
        data,
        axis=(axis,),
        keepdims=node.flag("keepdims"),
        select_last_index=node.flag("select_last_index"),
    )
    extent = node.shape(data)[axis]
    if not isinstance(extent, int):
        empty = f"an axis of extent {show_dim(extent)} has no elements"
        made = node.make("assume", made, conditions=(extent > 0,), message=empty)
    return node.cast(made, "int64")
