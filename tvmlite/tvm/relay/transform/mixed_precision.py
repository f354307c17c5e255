"""Which operators ``ToMixedPrecision`` does in the narrow dtype: TVM's lists, and rules of programs.

A rule, ``rule(call, mixed_precision_type)``, gives one of the three categories, the dtype in which an
operator adds up and the dtype of its result. ``relay.op.register_mixed_precision_conversion`` enters one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.tvm.relay.op.op import Op

MIXED_PRECISION_ALWAYS = 0
"""Its operands are made narrow: what takes the time."""
MIXED_PRECISION_FOLLOW = 1
"""It is narrow if all it reads is."""
MIXED_PRECISION_NEVER = 2
"""Its operands are made wide: narrow ones would lose too much."""

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
"""The attribute of an operator that a rule of a program's own is."""


def get_generic_out_dtypes(call_node: Any, mixed_precision_type: str) -> list[str]:
    """The dtypes to add up in and of the result: both the narrow one."""
    return [mixed_precision_type, mixed_precision_type]


def generic_always_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """The rule of what is always narrow."""
    return [MIXED_PRECISION_ALWAYS, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_follow_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """The rule of what is narrow if what it reads is."""
    return [MIXED_PRECISION_FOLLOW, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_never_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """The rule of what is never narrow."""
    return [MIXED_PRECISION_NEVER, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def clip_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """The rule of ``clip``, which follows if the narrow dtype has its bounds."""
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
    """The rule of an operator; None if it has none, and then follows."""
    return Op(op).get_attr(RULE) or _DEFAULTS.get(op)
