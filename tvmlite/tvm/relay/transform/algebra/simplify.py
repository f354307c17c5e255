"""TVM's ``SimplifyExpr``: known shapes and dtypes, chains of casts, reshapes and transposes, and algebra with
constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.visit import rewritten
from tvmlite.tvm.relay.transform.algebra.clips import without_clips
from tvmlite.tvm.relay.transform.algebra.transposes import without_transposes
from tvmlite.tvm.relay.transform.functions import over_functions

_RESHAPES = ("reshape", "contrib_reverse_reshape")
_FULL = ("zeros", "zeros_like", "ones", "ones_like", "full", "full_like")
_NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1}
"""The right operand for which the result of an operator is its left operand."""


def SimplifyExpr() -> Pass:
    """A pass of algebraic simplifications. Chains of additions and multiplications by constants become one
    multiplication and one addition with folded constants; a constant divided by ``sqrt`` becomes a product
    with ``rsqrt``. Float results may change in their last bits."""

    def simple(function: Any) -> Any:
        return adopt(rewritten(function, _simplified))

    return over_functions("SimplifyExpr", 0, simple, infer=True)


def _simplified(node: Any) -> Any:
    """``node`` after applying the rules until none applies, or ``_MOST_STEPS`` times."""
    for _ in range(_MOST_STEPS):
        if not isinstance(node, nodes.Call) or not isinstance(node.op, str):
            return node
        for rule in _RULES:
            made = rule(node)
            if made is not None:
                node = made
                break
        else:
            return node
    return node


_MOST_STEPS = 20


def _tensor(node: Any) -> TensorType | None:
    """The type of ``node`` if it is a tensor of static shape, else None."""
    type_ = type_of(node)
    return type_ if isinstance(type_, TensorType) and type_.is_static else None


def _concrete(call: nodes.Call) -> Any:
    """A ``_like`` operator as the operator with an explicit shape or dtype."""
    if call.op == "cast_like":
        return make("cast", call.args[0], dtype=type_of(call).dtype, span=call.span)  # type: ignore[union-attr]
    type_ = _tensor(call) if str(call.op).endswith("_like") else None
    if type_ is None:
        return None
    shape, dtype = tuple(map(int, type_.shape)), type_.dtype  # type: ignore[arg-type]
    match call.op:
        case "zeros_like" | "ones_like":
            return make(str(call.op).removesuffix("_like"), shape=shape, dtype=dtype, span=call.span)
        case "full_like":
            return make("full", call.args[1], shape=shape, dtype=dtype, span=call.span)
        case "reshape_like":
            return make("reshape", call.args[0], newshape=shape, span=call.span)
        case "collapse_sum_like":
            return make("collapse_sum_to", call.args[0], shape=shape, span=call.span)
        case "broadcast_to_like":
            return make("broadcast_to", call.args[0], shape=shape, span=call.span)
    return None


def _reshaped(call: nodes.Call) -> Any:
    """One reshape instead of two."""
    match call:
        case nodes.Call(op=op, args=(nodes.Call(op=inner) as data,)) if (
            op in _RESHAPES and inner in _RESHAPES
        ):
            type_ = _tensor(call)
            if type_ is not None:
                shape = tuple(map(int, type_.shape))  # type: ignore[arg-type]
                return make("reshape", data.args[0], newshape=shape, span=call.span)
    return None


def _cast(call: nodes.Call) -> Any:
    """Remove a cast to the operand's dtype; merge two casts if the first loses nothing."""
    if call.op != "cast":
        return None
    (data,) = call.args
    if type_of(data).dtype == call["dtype"]:  # type: ignore[union-attr]
        return data
    if isinstance(data, nodes.Call) and data.op == "cast":
        source = type_of(data.args[0]).dtype  # type: ignore[union-attr]
        if _is_passed_on(source, data["dtype"], call["dtype"]):
            return make("cast", data.args[0], dtype=call["dtype"], span=call.span)
    return None


def _is_passed_on(source: str, middle: str, last: str) -> bool:
    """Whether a cast to ``middle`` before one to ``last`` is redundant: it keeps all values, and values
    outside the range of ``last`` still wrap (from integers) or saturate (from floats) as before."""
    if "bfloat16" in (source, middle) or not np.can_cast(source, middle, "safe"):
        return False
    wraps = dtypes.is_int(last) and dtypes.is_float(source) != dtypes.is_float(middle)
    return not wraps or np.can_cast(source, last, "safe")


def _full(call: nodes.Call) -> Any:
    """Replace an operand filled with one value by a scalar constant, if the other has the full shape."""
    if call.op not in _NEUTRAL:
        return None
    result = _tensor(call)
    for place, one in enumerate(call.args):
        value = _value(one)
        other = _tensor(call.args[1 - place])
        if value is None or result is None or other is None or other.shape != result.shape:
            continue
        args = list(call.args)
        args[place] = nodes.Constant(value, call.span)
        return make(str(call.op), *args, span=call.span)
    return None


def _value(node: Any) -> np.ndarray | None:
    """The value that ``node`` fills a tensor with, or None if it does not."""
    if not isinstance(node, nodes.Call) or node.op not in _FULL or not isinstance(type_of(node), TensorType):
        return None
    dtype = type_of(node).dtype  # type: ignore[union-attr]
    if dtype == "bfloat16":
        return None
    if str(node.op).startswith("full"):
        fill = node.args[-1]
        return (
            np.asarray(fill.data, dtype) if isinstance(fill, nodes.Constant) and not fill.data.ndim else None
        )
    return np.asarray(str(node.op).startswith("ones"), dtype)


def _identity(call: nodes.Call) -> Any:
    """``x`` for ``x + 0``, ``0 + x``, ``x * 1``, ``1 * x``, ``x - 0`` and ``x / 1``."""
    neutral = _NEUTRAL.get(str(call.op))
    if neutral is None:
        return None
    places = (1, 0) if call.op in ("add", "multiply") else (1,)
    for place in places:
        constant, other = call.args[place], call.args[1 - place]
        if not isinstance(constant, nodes.Constant) or not constant.data.size:
            continue
        mine, result = _tensor(other), _tensor(call)
        same = mine is not None and result is not None and mine.shape == result.shape
        if same and mine.dtype == result.dtype and (constant.data == neutral).all():  # type: ignore[union-attr]
            return other
    return None


def _by_constant(node: Any, op: str) -> tuple[Any, np.ndarray] | None:
    """``x`` and ``c`` of ``op(x, c)`` or ``op(c, x)``, where ``c`` is a float constant; else None."""
    if not isinstance(node, nodes.Call) or node.op != op or len(node.args) != 2:
        return None
    for place in (1, 0):
        constant, other = node.args[place], node.args[1 - place]
        if isinstance(constant, nodes.Constant) and not isinstance(other, nodes.Constant):
            return (other, constant.data) if str(constant.data.dtype) in _FLOATS else None
    return None


_FLOATS = ("float32", "float64")


def _sums(call: nodes.Call) -> Any:
    """``(x + a) + b`` as ``x + (a + b)``, ``(x * a) * b`` as ``x * (a * b)``, ``(x + a) * b`` as
    ``x * b + (a * b)``."""
    for op, combined in (("add", np.add), ("multiply", np.multiply)):
        outer = _by_constant(call, op)
        inner = None if outer is None else _by_constant(outer[0], op)
        if outer is not None and inner is not None:
            return make(op, inner[0], nodes.Constant(combined(inner[1], outer[1])), span=call.span)
    outer = _by_constant(call, "multiply")
    inner = None if outer is None else _by_constant(outer[0], "add")
    if outer is None or inner is None:
        return None
    product = make("multiply", inner[0], nodes.Constant(outer[1]), span=call.span)
    again = _sums(product)
    shift = nodes.Constant(np.multiply(inner[1], outer[1]))
    return make("add", product if again is None else again, shift, span=call.span)


def _twice(call: nodes.Call) -> Any:
    """``x + x`` as ``x * 2``."""
    match call:
        case nodes.Call(op="add", args=(x, y)) if x is y and not isinstance(x, nodes.Constant):
            dtype = type_of(call).dtype  # type: ignore[union-attr]
            if dtype != "bfloat16":
                return make("multiply", x, nodes.Constant(np.asarray(2, dtype), call.span), span=call.span)
    return None


def _rsqrt(call: nodes.Call) -> Any:
    """``c / sqrt(x)`` as ``c * rsqrt(x)``."""
    match call:
        case nodes.Call(op="divide", args=(nodes.Constant() as top, nodes.Call(op="sqrt", args=(data,)))):
            root = make("rsqrt", data, span=call.span)
            return root if _is_one(top) else make("multiply", top, root, span=call.span)
    return None


def _is_one(value: nodes.Constant) -> bool:
    return value.data.size == 1 and value.data.ndim == 0 and bool(value.data == 1)


def _order(call: nodes.Call) -> Any:
    """``argmax``, ``argmin`` or ``argsort`` of the quantized integers instead of the dequantized values;
    their order is the same if the scale is one positive number."""
    match call:
        case nodes.Call(
            op="argmax" | "argmin" | "argsort",
            args=(nodes.Call(op="qnn.dequantize", args=(data, nodes.Constant() as scale, nodes.Constant())),),
        ) if scale.data.size == 1 and (scale.data > 0).all():
            return make(str(call.op), data, span=call.span, **dict(call.attrs))
    return None


_RULES: tuple[Callable[[nodes.Call], Any], ...] = (
    _concrete,
    _reshaped,
    without_transposes,
    _cast,
    without_clips,
    _full,
    _identity,
    _sums,
    _twice,
    _rsqrt,
    _order,
)
