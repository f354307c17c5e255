"""The operators that ``ToMixedPrecision`` computes in the narrow dtype: TVM's lists, and registered rules.

A rule, ``rule(call, mixed_precision_type)``, returns one of the three categories, the accumulator's dtype and
the result's dtype. ``relay.op.register_mixed_precision_conversion`` registers one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.tvm.relay.op.op import Op

MIXED_PRECISION_ALWAYS = 0
"""The category of expensive operators, whose operands are always converted to the narrow dtype."""
MIXED_PRECISION_FOLLOW = 1
"""The category of operators that are computed in the narrow dtype if all operands have it."""
MIXED_PRECISION_NEVER = 2
"""The category of operators whose operands are converted to float32, for the sake of accuracy."""

DEFAULT_ALWAYS_LIST = (
    "nn.conv1d nn.conv2d nn.conv3d nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose "
    "nn.dense nn.batch_matmul"
).split()

DEFAULT_FOLLOW_LIST = (
    "nn.pad nn.batch_flatten concatenate zeros split squeeze transpose expand_dims reshape dyn.reshape "
    "broadcast_to_like dyn.broadcast_to strided_slice dyn.strided_slice take argwhere where tile dyn.tile "
    "scatter scatter_elements scatter_nd full dyn.full nn.depth_to_space "
    "less greater less_equal greater_equal copy cast cast_like "
    "add subtract multiply divide nn.bias_add nn.batch_norm sqrt shape_of "
    "max min maximum minimum argmax argmin nn.relu nn.leaky_relu nn.prelu nn.dropout "
    "sigmoid tanh fast_tanh fast_exp fast_erf clip "
    "nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d "
    "nn.global_max_pool2d nn.adaptive_max_pool1d nn.adaptive_max_pool2d nn.adaptive_max_pool3d image.resize2d"
).split()

DEFAULT_NEVER_LIST = (
    "exp power nn.cross_entropy nn.cross_entropy_with_logits nn.softmax nn.l2_normalize erf arange "
    "nn.global_avg_pool2d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d "
    "sum mean variance nn.layer_norm"
).split()

RULE = "FTVMMixedPrecisionConversionType"
"""The operator attribute that holds a registered rule."""


def get_generic_out_dtypes(call_node: Any, mixed_precision_type: str) -> list[str]:
    """The dtypes of the accumulator and the result: both are the narrow dtype."""
    return [mixed_precision_type, mixed_precision_type]


def generic_always_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """The rule of operators that are always computed in the narrow dtype."""
    return [MIXED_PRECISION_ALWAYS, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_follow_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """The rule of operators that are computed in the narrow dtype if their operands have it."""
    return [MIXED_PRECISION_FOLLOW, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_never_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """The rule of operators that are never computed in the narrow dtype."""
    return [MIXED_PRECISION_NEVER, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def clip_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """The rule of ``clip``: "follow" if its bounds are in the narrow dtype's range, else "never"."""
    largest = float(dtypes.limits(mixed_precision_type)[1])
    fits = all(abs(call_node.attrs[name]) <= largest for name in ("a_min", "a_max"))
    return (generic_follow_op if fits else generic_never_op)(call_node, mixed_precision_type)


_DEFAULTS: dict[str, Callable[[Any, str], list[Any]]] = {
    **dict.fromkeys(DEFAULT_ALWAYS_LIST, generic_always_op),
    **dict.fromkeys(DEFAULT_FOLLOW_LIST, generic_follow_op),
    **dict.fromkeys(DEFAULT_NEVER_LIST, generic_never_op),
    "clip": clip_op,
}


def rule_of(op: str) -> Callable[[Any, str], list[Any]] | None:
    """The rule of an operator, or None if it has none; such an operator is in the "follow" category."""
    return Op(op).get_attr(RULE) or _DEFAULTS.get(op)
