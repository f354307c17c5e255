"""How an operator of floats is done in the integers that stand for them.

A rule gets a call whose operands are integers already, and their types by operand, and gives the call of
integers and its type; None if it cannot. Where the type that is wanted of the result is known, because it is
quantized next, ``types`` has it under the call itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import get, is_selection, make
from tvmlite.relay.passes.patterns import is_float
from tvmlite.tvm.relay.transform.layout import names
from tvmlite.tvm.relay.transform.precision.affine_type import (
    TensorAffineType,
    TupleAffineType,
    along,
    folded,
    number,
    product,
    same_numbers,
    same_type,
)

Types: TypeAlias = Mapping[Any, Any]
Made: TypeAlias = "tuple[Any, Any] | None"
Rule: TypeAlias = Callable[[Any, Types], Made]

_BYTES = ("int8", "uint8")


def rule_of(name: str, optional: tuple[str, ...] = ()) -> Rule | None:
    """The rule of an operator; ``optional`` are names of operators whose rule changes results more than by
    rounding, and is asked for by name."""
    found = _RULES.get(name) or (_OPTIONAL.get(name) if name in optional else None)
    return found or (_selected if is_selection(name) else None)


def requantized(value: Any, given: TensorAffineType, wanted: TensorAffineType) -> Any:
    """``value`` of one type in another."""
    if same_type(given, wanted):
        return value
    parameters = (given.scale, given.zero_point, wanted.scale, wanted.zero_point)
    return make("qnn.requantize", value, *parameters, axis=given.axis, out_dtype=wanted.dtype)


def quantized(value: Any, wanted: TensorAffineType) -> Any:
    """A tensor of floats in ``wanted``."""
    scales = (wanted.scale, wanted.zero_point)
    return make("qnn.quantize", value, *scales, axis=wanted.axis, out_dtype=wanted.dtype)


def _whole(value: Any, given: TensorAffineType) -> tuple[Any, TensorAffineType]:
    """``value`` as int32, where 0 stands for 0."""
    made, zero = value, given.zero_point
    if given.dtype != "int32":
        made = make("cast", made, dtype="int32")
    if not same_numbers(zero, number(0, "int32")):
        moved = zero if tensor_type_of(zero).dtype == "int32" else folded(make("cast", zero, dtype="int32"))
        moved = along(moved, given.axis, len(tensor_type_of(value).shape))
        made = make("subtract", made, moved)
    return made, TensorAffineType(given.scale, number(0, "int32"), "int32", given.axis)


def _selected(call: Any, types: Types) -> Made:
    """Operators that choose elements of their first argument choose integers as well."""
    given = types.get(call.args[0])
    others = call.args[1:]
    if not isinstance(given, TensorAffineType) or any(one in types or is_float(one) for one in others):
        return None
    if call.op == "transpose" and not given.is_scalar:
        rank = len(tensor_type_of(call.args[0]).shape)
        order = [axis % rank for axis in call["axes"] or reversed(range(rank))]
        given = TensorAffineType(given.scale, given.zero_point, given.dtype, order.index(given.axis % rank))
    elif not given.is_scalar:
        return None
    if call.op == "split":
        sections = call["indices_or_sections"]
        count = sections if isinstance(sections, int) else len(sections) + 1
        return call, TupleAffineType((given,) * count)
    return call, given


def _topk(call: Any, types: Types) -> Made:
    """The greatest integers; which places they have is no number to quantize."""
    return _selected(call, types) if call["ret_type"] == "values" else None


def _operands(call: Any, types: Types) -> list[TensorAffineType] | None:
    found = [types.get(arg) for arg in call.args]
    return found if all(isinstance(one, TensorAffineType) for one in found) else None  # type: ignore[return-value]


def _product_rule(name: str, kernel: str, axis: int | None) -> Rule:
    """Sums of products: the kernel, whose layout is the attribute ``kernel`` or whose axis 0 is that of the
    results, may have a scale for each of them; ``axis`` is theirs in the result."""

    def rule(call: Any, types: Types) -> Made:
        found = _operands(call, types)
        if found is None or not found[0].is_scalar or not _are_bytes(found):
            return None
        left, right = found
        at, out = 0, axis if axis is not None else -1
        if kernel:
            at = names.parts(call[kernel]).index("O")
            out = names.parts(call["out_layout"] or call["data_layout"]).index("C")
        if not right.is_scalar and (
            axis is None or right.axis % len(tensor_type_of(call.args[1]).shape) != at
        ):
            return None
        if name == "qnn.batch_matmul" and (call["transpose_a"], call["transpose_b"]) != (False, True):
            return None
        attrs = {key: value for key, value in call.attrs if key in get(name).attrs and key != "out_dtype"}
        parameters = (left.zero_point, right.zero_point, left.scale, right.scale)
        made = make(name, *call.args, *parameters, **attrs, span=call.span)
        scale = product(left.scale, right.scale)
        return made, TensorAffineType(scale, number(0, "int32"), "int32", -1 if right.is_scalar else out)

    return rule


def _are_bytes(types: list[TensorAffineType]) -> bool:
    return all(one.dtype in _BYTES for one in types)


def _bias_add(call: Any, types: Types) -> Made:
    data, bias = call.args
    if data not in types:
        return None
    value, given = _whole(data, types[data])
    axis = call["axis"] % len(tensor_type_of(data).shape)
    if not given.is_scalar and given.axis % len(tensor_type_of(data).shape) != axis:
        return None
    wanted = TensorAffineType(given.scale, given.zero_point, "int32", 0)
    own = types.get(bias)
    if own is None:
        added = quantized(bias, wanted)
    elif same_numbers(own.scale, given.scale):
        added = _whole(bias, own)[0]
    elif wanted.is_scalar:
        added = requantized(bias, own, wanted)
    else:
        floats = make("qnn.dequantize", bias, own.scale, own.zero_point, axis=own.axis)
        added = quantized(floats, wanted)
    return make("nn.bias_add", value, added, axis=call["axis"], span=call.span), given


def _sum(name: str, quantized_name: str) -> Rule:
    """Sums and differences: of one scale in int32, and else in that which is wanted of the result."""

    def rule(call: Any, types: Types) -> Made:
        wanted = types.get(call)
        found = _with_constants(call, types, "int32")
        if found is None:
            return None
        values, given = found
        a, b = given
        if same_numbers(a.scale, b.scale) and (a.is_scalar or a.axis == b.axis):
            (left, type_), (right, _) = _whole(values[0], a), _whole(values[1], b)
            return make(name, left, right, span=call.span), type_
        if wanted is None or not wanted.is_scalar:
            return None
        if a.dtype == b.dtype == wanted.dtype and wanted.dtype in _BYTES:
            scales = [part for one in (a, b, wanted) for part in (one.scale, one.zero_point)]
            made = make(quantized_name, *values, *scales, lhs_axis=a.axis, rhs_axis=b.axis, span=call.span)
            return made, wanted
        target = TensorAffineType(wanted.scale, number(0, "int32"), "int32")
        parts = [requantized(*one, target) for one in zip(values, given, strict=True)]
        return make(name, *parts, span=call.span), target

    return rule


def _with_constants(call: Any, types: Types, dtype: str) -> tuple[list[Any], list[TensorAffineType]] | None:
    """The two operands with their types: a constant takes the scale of the other, in ``dtype`` or, if that
    is none, its type."""
    values, given = list(call.args), [types.get(arg) for arg in call.args]
    for index, (one, other) in enumerate(zip(given, reversed(given), strict=True)):
        if one is not None:
            continue
        if other is None or not other.is_scalar:
            return None
        whole = TensorAffineType(other.scale, number(0, "int32"), "int32")
        given[index] = taken = whole if dtype == "int32" else other
        values[index] = quantized(values[index], taken)
    return values, given  # type: ignore[return-value]


def _multiply(call: Any, types: Types) -> Made:
    """The product of integers stands for that of numbers, at the product of the scales."""
    known = [types.get(arg) for arg in call.args]
    if None in known:
        index = known.index(None)
        factor, one = call.args[index], known[1 - index]
        data = np.asarray(factor.data) if isinstance(factor, nodes.Constant) else np.zeros(2)
        rank = len(tensor_type_of(call.args[1 - index]).shape)
        if one is None or data.size != 1 or not data > 0 or data.ndim > rank:
            return None
        scale = product(one.scale, number(float(data.reshape(())), tensor_type_of(one.scale).dtype))
        return call.args[1 - index], TensorAffineType(scale, one.zero_point, one.dtype, one.axis)
    a, b = (one for one in known if one is not None)
    if not _are_bytes([a, b]) or not (a.is_scalar or b.is_scalar or a.axis == b.axis):
        return None
    (left, one), (right, other) = _whole(call.args[0], a), _whole(call.args[1], b)
    axis = one.axis if b.is_scalar else other.axis
    ranks = [len(tensor_type_of(value).shape) for value in (left, right)]
    if not (a.is_scalar and b.is_scalar) and ranks[0] != ranks[1]:
        return None
    made = make("multiply", left, right, span=call.span)
    return made, TensorAffineType(product(a.scale, b.scale), one.zero_point, "int32", axis)


def _extreme(call: Any, types: Types) -> Made:
    """The greater or lesser of two integers of one type; or of the type that is wanted of the result."""
    found = _with_constants(call, types, "")
    if found is None:
        return None
    values, given = found
    target = given[0] if same_type(*given) else types.get(call)
    if target is None or (target is not given[0] and not target.is_scalar):
        return None
    parts = [requantized(*one, target) for one in zip(values, given, strict=True)]
    return make(str(call.op), *parts, span=call.span), target


def _between(low: Callable[[Any], float], high: Callable[[Any], float | None]) -> Rule:
    """The operand, but not below ``low(call)`` nor above ``high(call)``."""

    def rule(call: Any, types: Types) -> Made:
        value = call.args[0]
        given = types.get(value)
        if given is None:
            return None
        rank = len(tensor_type_of(value).shape)
        for name, bound in (("minimum", high(call)), ("maximum", low(call))):
            if bound is not None:
                value = make(name, value, _code(bound, given, rank), span=call.span)
        return value, given

    return rule


def _code(value: float, given: TensorAffineType, rank: int) -> Any:
    """The integer for ``value``, or those along the axis."""
    size = given.scale if tensor_type_of(given.scale).shape else given.zero_point
    shape = tuple(int(extent) for extent in tensor_type_of(size).shape)  # type: ignore[arg-type]
    filled = nodes.Constant(np.full(shape, value, "float32"))
    codes = folded(quantized(filled, TensorAffineType(given.scale, given.zero_point, given.dtype, 0)))
    return along(codes, given.axis, rank)


def _pad(call: Any, types: Types) -> Made:
    given = types.get(call.args[0])
    if given is None or not given.is_scalar:
        return None
    code = _code(call["pad_value"], given, 0)
    if not isinstance(code, nodes.Constant):
        return None
    changed = {**dict(call.attrs), "pad_value": float(np.asarray(code.data).reshape(()))}
    return make("nn.pad", call.args[0], **changed, span=call.span), given


def _concatenate(call: Any, types: Types) -> Made:
    found = types.get(call.args[0])
    if not isinstance(found, TupleAffineType) or not all(one.is_scalar for one in found.types):
        return None
    target = found.types[0]
    if not all(same_type(target, one) for one in found.types):
        target = types.get(call)
        if target is None or not target.is_scalar:
            return None
    parts = [requantized(*one, target) for one in zip(call.args[0].fields, found.types, strict=True)]
    return make("concatenate", nodes.Tuple(tuple(parts)), axis=call["axis"], span=call.span), target


def _function(name: str, *attrs: str, keeps_scale: bool = False) -> Rule:
    """An operator for which there is one of quantized tensors, of one scale in and another out; the same one
    if none is wanted and ``keeps_scale``."""

    def rule(call: Any, types: Types) -> Made:
        given = types.get(call.args[0])
        wanted = types.get(call, given if keeps_scale else None)
        if given is None or wanted is None or not (given.is_scalar and wanted.is_scalar):
            return None
        if given.dtype != wanted.dtype or given.dtype not in _BYTES:
            return None
        named = {key: call[key] for key in attrs}
        scales = (given.scale, given.zero_point, wanted.scale, wanted.zero_point)
        return make(name, call.args[0], *scales, **named, span=call.span), wanted

    return rule


def _mean(axes: Callable[[Any, int], tuple[list[int], bool] | None]) -> Rule:
    """The sum, at a scale that many times smaller."""

    def rule(call: Any, types: Types) -> Made:
        given, type_ = types.get(call.args[0]), tensor_type_of(call.args[0])
        over = axes(call, len(type_.shape))
        if given is None or not given.is_scalar or over is None or not type_.is_static:
            return None
        count = math.prod(int(type_.shape[axis]) for axis in over[0])  # type: ignore[arg-type]
        if given.dtype not in _BYTES or count << 8 > dtypes.limits("int32")[1]:
            return None
        value, whole = _whole(call.args[0], given)
        made = make("sum", value, axis=tuple(over[0]), keepdims=over[1], span=call.span)
        scale = product(whole.scale, number(1 / count, tensor_type_of(whole.scale).dtype))
        return made, TensorAffineType(scale, whole.zero_point, "int32")

    return rule


def _axes_of_mean(call: Any, rank: int) -> tuple[list[int], bool]:
    given = call["axis"]
    named = [given] if isinstance(given, int) else list(given or ())
    chosen = {axis % rank for axis in named}
    left = [axis for axis in range(rank) if (axis in chosen) != bool(call["exclude"])]
    return (left if named or call["exclude"] else list(range(rank))), bool(call["keepdims"])


def _spatial_axes(call: Any, rank: int) -> tuple[list[int], bool] | None:
    parts = names.parts(call["layout"])
    return None if len(parts) != 4 else ([parts.index("H"), parts.index("W")], True)


_RULES: dict[str, Rule] = {
    "nn.conv2d": _product_rule("qnn.conv2d", "kernel_layout", 1),
    "nn.conv2d_transpose": _product_rule("qnn.conv2d_transpose", "kernel_layout", 1),
    "nn.dense": _product_rule("qnn.dense", "", 1),
    "nn.batch_matmul": _product_rule("qnn.batch_matmul", "", None),
    "nn.bias_add": _bias_add,
    "add": _sum("add", "qnn.add"),
    "subtract": _sum("subtract", "qnn.subtract"),
    "multiply": _multiply,
    **dict.fromkeys(("minimum", "maximum"), _extreme),
    "nn.relu": _between(lambda call: 0.0, lambda call: None),
    "clip": _between(lambda call: float(call["a_min"]), lambda call: float(call["a_max"])),
    "nn.pad": _pad,
    "topk": _topk,
    "nn.batch_flatten": _selected,
    "concatenate": _concatenate,
    "mean": _mean(_axes_of_mean),
    "nn.global_avg_pool2d": _mean(_spatial_axes),
    "nn.avg_pool2d": _function(
        "qnn.avg_pool2d",
        *"pool_size strides dilation padding layout out_layout ceil_mode count_include_pad".split(),
        keeps_scale=True,
    ),
    "nn.leaky_relu": _function("qnn.leaky_relu", "alpha"),
    **{name: _function(f"qnn.{name}") for name in "abs erf exp log rsqrt sigmoid sqrt tanh".split()},
}

_OPTIONAL: dict[str, Rule] = {"nn.softmax": _function("qnn.softmax", "axis")}
