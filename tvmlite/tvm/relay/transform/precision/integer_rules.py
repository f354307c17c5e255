"""The rules that convert float operators to integer operators on quantized tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import is_selection, make
from tvmlite.relay.passes.patterns import is_float
from tvmlite.tvm.relay.transform.precision.affine_type import (
    TensorAffineType,
    TupleAffineType,
    same_type,
)
from tvmlite.tvm.relay.transform.precision.integer_means import (
    adaptive_pool,
    axes_of_mean,
    mean_rule,
    resized,
    spatial_axes,
)
from tvmlite.tvm.relay.transform.precision.integer_sums import (
    bias_add,
    extreme,
    multiply,
    product_rule,
    sum_rule,
)
from tvmlite.tvm.relay.transform.precision.integer_values import (
    BYTES,
    Made,
    Rule,
    Types,
    code,
    is_beyond,
    requantized,
    takes_zero_point,
)


def rule_of(name: str, optional: tuple[str, ...] = ()) -> Rule | None:
    """The rule of an operator. Rules that change results by more than rounding are only used for operators
    named in ``optional``."""
    found = _RULES.get(name) or (_OPTIONAL.get(name) if name in optional else None)
    return found or (_selected if is_selection(name) else None)


def _selected(call: Any, types: Types) -> Made:
    """The rule for operators that only select or move elements of their first argument."""
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
    """The rule for ``topk`` that returns values; indices are not quantized numbers."""
    return _selected(call, types) if call["ret_type"] == "values" else None


def _between(low: Callable[[Any], float], high: Callable[[Any], float | None]) -> Rule:
    """The rule for clipping to the range from ``low(call)`` to ``high(call)``."""

    def rule(call: Any, types: Types) -> Made:
        value = call.args[0]
        given = types.get(value)
        if given is None:
            return None
        rank = len(tensor_type_of(value).shape)
        for name, bound in (("minimum", high(call)), ("maximum", low(call))):
            if bound is not None:
                if is_beyond(bound, given, below=name == "minimum", above=name == "maximum"):
                    return None
                value = make(name, value, code(bound, given, rank), span=call.span)
        return value, given

    return rule


def _pad(call: Any, types: Types) -> Made:
    given = types.get(call.args[0])
    wanted = types.get(call)
    if given is None or not given.is_scalar:
        return None
    if is_beyond(call["pad_value"], given) and (wanted is None or not same_type(given, wanted)):
        return None  # saturating the padding value is right only if the result keeps this type
    padding = code(call["pad_value"], given, 0)
    if not isinstance(padding, nodes.Constant):
        return None
    changed = {**dict(call.attrs), "pad_value": float(np.asarray(padding.data).reshape(()))}
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
    """The rule for an operator that has a quantized version ``name`` with one input scale and one output
    scale. If no result type is requested and ``keeps_scale``, the output scale is the input scale."""

    def rule(call: Any, types: Types) -> Made:
        given = types.get(call.args[0])
        wanted = types.get(call, given if keeps_scale else None)
        if given is None or wanted is None or not (given.is_scalar and wanted.is_scalar):
            return None
        if given.dtype != wanted.dtype or given.dtype not in BYTES or not takes_zero_point(given):
            return None
        named = {key: call[key] for key in attrs}
        scales = (given.scale, given.zero_point, wanted.scale, wanted.zero_point)
        return make(name, call.args[0], *scales, **named, span=call.span), wanted

    return rule


_RULES: dict[str, Rule] = {
    "nn.conv2d": product_rule("qnn.conv2d", "kernel_layout", 1),
    "nn.conv2d_transpose": product_rule("qnn.conv2d_transpose", "kernel_layout", 1),
    "nn.dense": product_rule("qnn.dense", "", 1),
    "nn.batch_matmul": product_rule("qnn.batch_matmul", "", None),
    "nn.bias_add": bias_add,
    "add": sum_rule("add", "qnn.add"),
    "subtract": sum_rule("subtract", "qnn.subtract"),
    "multiply": multiply,
    **dict.fromkeys(("minimum", "maximum"), extreme),
    "nn.relu": _between(lambda call: 0.0, lambda call: None),
    "clip": _between(lambda call: float(call["a_min"]), lambda call: float(call["a_max"])),
    "nn.pad": _pad,
    "topk": _topk,
    "nn.batch_flatten": _selected,
    "concatenate": _concatenate,
    "mean": mean_rule(axes_of_mean),
    "nn.global_avg_pool2d": mean_rule(spatial_axes),
    **dict.fromkeys([f"nn.adaptive_avg_pool{rank}d" for rank in (1, 2, 3)], adaptive_pool),
    "nn.avg_pool2d": _function(
        "qnn.avg_pool2d",
        *"pool_size strides dilation padding layout out_layout ceil_mode count_include_pad".split(),
        keeps_scale=True,
    ),
    "image.resize2d": resized,
    "nn.leaky_relu": _function("qnn.leaky_relu", "alpha"),
    **{name: _function(f"qnn.{name}") for name in "abs erf exp log rsqrt sigmoid sqrt tanh".split()},
}


_OPTIONAL: dict[str, Rule] = {"nn.softmax": _function("qnn.softmax", "axis")}
