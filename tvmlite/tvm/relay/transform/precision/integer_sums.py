"""Integer rules for sums, products, minima and maxima."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import get, make
from tvmlite.tvm.relay.transform.layout import names
from tvmlite.tvm.relay.transform.precision.affine_type import (
    TensorAffineType,
    number,
    product,
    same_numbers,
    same_type,
)
from tvmlite.tvm.relay.transform.precision.integer_values import (
    BYTES,
    Made,
    Rule,
    Types,
    are_bytes,
    is_beyond,
    operands,
    quantized,
    requantized,
    takes_zero_point,
    whole,
    with_constants,
)


def product_rule(name: str, kernel: str, axis: int | None) -> Rule:
    """The rule for convolutions and matrix products with the quantized version ``name``. The weight may have
    a scale for each output channel, on axis "O" of the layout attribute ``kernel``, or on axis 0 without one.
    ``axis`` is the result's channel axis if there are no layouts; None allows only a single scale."""

    def rule(call: Any, types: Types) -> Made:
        found = operands(call, types)
        if found is None or not found[0].is_scalar or not are_bytes(found):
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
        if all(map(takes_zero_point, found)):
            parameters = (left.zero_point, right.zero_point, left.scale, right.scale)
            made = make(name, *call.args, *parameters, **attrs, span=call.span)
        else:
            values = [whole(*one)[0] for one in zip(call.args, found, strict=True)]
            made = make(str(call.op), *values, **attrs, out_dtype="int32", span=call.span)
        scale = product(left.scale, right.scale)
        return made, TensorAffineType(scale, number(0, "int32"), "int32", -1 if right.is_scalar else out)

    return rule


def bias_add(call: Any, types: Types) -> Made:
    """The rule for ``nn.bias_add``: the bias is converted to int32 with the scale of the data."""
    data, bias = call.args
    if data not in types:
        return None
    value, given = whole(data, types[data])
    axis = call["axis"] % len(tensor_type_of(data).shape)
    if not given.is_scalar and given.axis % len(tensor_type_of(data).shape) != axis:
        return None
    wanted = TensorAffineType(given.scale, given.zero_point, "int32", 0)
    own = types.get(bias)
    if own is None:
        added = quantized(bias, wanted)
    elif same_numbers(own.scale, given.scale):
        added = whole(bias, own)[0]
    elif wanted.is_scalar:
        added = requantized(bias, own, wanted)
    else:
        floats = make("qnn.dequantize", bias, own.scale, own.zero_point, axis=own.axis)
        added = quantized(floats, wanted)
    return make("nn.bias_add", value, added, axis=call["axis"], span=call.span), given


def sum_rule(name: str, quantized_name: str) -> Rule:
    """The rule for sums and differences: in int32 if scales are equal, else in the type of the result."""

    def rule(call: Any, types: Types) -> Made:
        wanted = types.get(call)
        found = with_constants(call, types, "int32")
        if found is None:
            return None
        values, given = found
        a, b = given
        if same_numbers(a.scale, b.scale) and (a.is_scalar or a.axis == b.axis):
            (left, type_), (right, _) = whole(values[0], a), whole(values[1], b)
            return make(name, left, right, span=call.span), type_
        if wanted is None or not wanted.is_scalar:
            return None
        if a.dtype == b.dtype == wanted.dtype in BYTES and all(map(takes_zero_point, given)):
            scales = [part for one in (a, b, wanted) for part in (one.scale, one.zero_point)]
            made = make(quantized_name, *values, *scales, lhs_axis=a.axis, rhs_axis=b.axis, span=call.span)
            return made, wanted
        target = TensorAffineType(wanted.scale, number(0, "int32"), "int32")
        parts = [requantized(*one, target) for one in zip(values, given, strict=True)]
        return make(name, *parts, span=call.span), target

    return rule


def multiply(call: Any, types: Types) -> Made:
    """The rule for products: the product of the integers, with the product of the scales. Multiplication by a
    positive scalar constant only changes the scale."""
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
    if not are_bytes([a, b]) or not (a.is_scalar or b.is_scalar or a.axis == b.axis):
        return None
    (left, one), (right, other) = whole(call.args[0], a), whole(call.args[1], b)
    axis = one.axis if b.is_scalar else other.axis
    ranks = [len(tensor_type_of(value).shape) for value in (left, right)]
    if not (a.is_scalar and b.is_scalar) and ranks[0] != ranks[1]:
        return None
    made = make("multiply", left, right, span=call.span)
    return made, TensorAffineType(product(a.scale, b.scale), one.zero_point, "int32", axis)


def extreme(call: Any, types: Types) -> Made:
    """The rule for minimum and maximum: of integers of one affine type or, if the operands' types differ, of
    the type requested for the result."""
    for arg, other in zip(call.args, map(types.get, reversed(call.args)), strict=True):
        lesser = call.op == "minimum"
        if isinstance(arg, nodes.Constant) and other is not None:
            if is_beyond(arg, other, below=lesser, above=not lesser):
                return None
    found = with_constants(call, types, "")
    if found is None:
        return None
    values, given = found
    target = given[0] if same_type(*given) else types.get(call)
    if target is None or (target is not given[0] and not target.is_scalar):
        return None
    parts = [requantized(*one, target) for one in zip(values, given, strict=True)]
    return make(str(call.op), *parts, span=call.span), target
