"""Gradients of operators that move, broadcast or reduce elements."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TupleType
from tvmlite.tvm.relay.transform.gradient.rule import Rule, summed_like, whole_extents, zeros_like


def _reshaped(call: nodes.Call, gradient: Any) -> list[Any]:
    return [make("reshape_like", gradient, call.args[0])]


def _repeated(call: nodes.Call, gradient: Any) -> list[Any]:
    rest = [None] * (len(call.args) - 1)
    return [summed_like(gradient, call.args[0]), *rest]


def _transposed(call: nodes.Call, gradient: Any) -> list[Any]:
    rank = tensor_type_of(call.args[0]).ndim
    axes = [axis % rank for axis in call["axes"] or range(rank - 1, -1, -1)]
    return [make("transpose", gradient, axes=tuple(axes.index(axis) for axis in range(rank)))]


def _concatenated(call: nodes.Call, gradient: Any) -> list[Any]:
    (data,) = call.args
    axis = call["axis"]
    type_ = type_of(data)
    assert isinstance(type_, TupleType)
    parts = [nodes.TupleGetItem(data, index) for index in range(len(type_.fields))]
    *ends, _ = accumulate(whole_extents(call, part)[axis] for part in parts)
    pieces = make("split", gradient, indices_or_sections=tuple(ends), axis=axis)
    return [tuple(nodes.TupleGetItem(pieces, index) for index in range(len(parts)))]


def _split(call: nodes.Call, gradients: Any) -> list[Any]:
    parts = [
        zeros_like(nodes.TupleGetItem(call, index)) if one is None else one
        for index, one in enumerate(gradients)
    ]
    return [make("concatenate", nodes.Tuple(tuple(parts)), axis=call["axis"])]


def _reduced_axes(call: nodes.Call) -> list[int]:
    rank = tensor_type_of(call.args[0]).ndim
    given = call["axis"]
    named = range(rank) if given is None else [given] if isinstance(given, int) else given
    axes = {axis % rank for axis in named}
    return [axis for axis in range(rank) if (axis in axes) != bool(call["exclude"])]


def _widened(call: nodes.Call, reduced: Any) -> Any:
    """``reduced``, of the shape of the result of ``call``, broadcast to the shape of its operand."""
    for axis in () if call["keepdims"] else _reduced_axes(call):
        reduced = make("expand_dims", reduced, axis=axis)
    return make("broadcast_to_like", reduced, call.args[0])


def _sum(call: nodes.Call, gradient: Any) -> list[Any]:
    return [_widened(call, gradient)]


def _mean(call: nodes.Call, gradient: Any) -> list[Any]:
    extents = whole_extents(call, call.args[0])
    return [_widened(call, gradient) / float(prod(extents[axis] for axis in _reduced_axes(call)))]


def _variance(call: nodes.Call, gradient: Any) -> list[Any]:
    data, mean = call.args
    extents = whole_extents(call, data)
    count = prod(extents[axis] for axis in _reduced_axes(call)) - bool(call["unbiased"])
    of_data = (data - mean) * _widened(call, gradient) * (2.0 / count)
    return [of_data, summed_like(-of_data, mean)]


def _strided_slice(call: nodes.Call, gradient: Any) -> list[Any]:
    if call["axes"] is not None or call["slice_mode"] != "end":
        raise UnsupportedError("gradient: strided_slice with axes, or of sizes", call.span)
    (data,) = call.args
    where = {name: call[name] for name in ("begin", "end", "strides")}
    return [make("strided_set", zeros_like(data), gradient, **where)]


def _extreme(call: nodes.Call, gradient: Any) -> list[Any]:
    """The elements that equal the extremum share the gradient equally."""
    (x,) = call.args
    among = make("cast", make("equal", x, _widened(call, call)), dtype=tensor_type_of(x).dtype)
    count = make("sum", among, axis=call["axis"], keepdims=call["keepdims"], exclude=call["exclude"])
    return [among * _widened(call, gradient / count)]


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("expand_dims", "nn.batch_flatten", "reshape", "reshape_like", "reverse_reshape", "squeeze"),
        _reshaped,
    ),
    **dict.fromkeys(("broadcast_to", "broadcast_to_like"), _repeated),
    "collapse_sum_like": lambda call, gradient: [make("broadcast_to_like", gradient, call.args[0]), None],
    "concatenate": _concatenated,
    "max": _extreme,
    "mean": _mean,
    "min": _extreme,
    "split": _split,
    "strided_slice": _strided_slice,
    "sum": _sum,
    "transpose": _transposed,
    "variance": _variance,
}
