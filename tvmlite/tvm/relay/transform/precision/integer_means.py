"""Integer rules for means and resizes, which average elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.tvm.relay.transform.layout import names
from tvmlite.tvm.relay.transform.precision.affine_type import (
    TensorAffineType,
    number,
    product,
)
from tvmlite.tvm.relay.transform.precision.integer_values import (
    BYTES,
    Made,
    Rule,
    Types,
    whole,
)


def mean_rule(axes: Callable[[Any, int], tuple[list[int], bool] | None]) -> Rule:
    """The rule for a mean over the axes that ``axes`` returns: the sum, at the scale divided by the count."""

    def rule(call: Any, types: Types) -> Made:
        given, type_ = types.get(call.args[0]), tensor_type_of(call.args[0])
        over = axes(call, len(type_.shape))
        if given is None or not given.is_scalar or over is None or not type_.is_static:
            return None
        count = math.prod(int(type_.shape[axis]) for axis in over[0])  # type: ignore[arg-type]
        if given.dtype not in BYTES or count << 8 > dtypes.limits("int32")[1]:
            return None
        value, sums = whole(call.args[0], given)
        made = make("sum", value, axis=tuple(over[0]), keepdims=over[1], span=call.span)
        scale = product(sums.scale, number(1 / count, tensor_type_of(sums.scale).dtype))
        return made, TensorAffineType(scale, sums.zero_point, "int32")

    return rule


def axes_of_mean(call: Any, rank: int) -> tuple[list[int], bool]:
    """The axes that a reduction reduces, and whether it keeps them with extent 1."""
    given = call["axis"]
    named = [given] if isinstance(given, int) else list(given or ())
    chosen = {axis % rank for axis in named}
    left = [axis for axis in range(rank) if (axis in chosen) != bool(call["exclude"])]
    return (left if named or call["exclude"] else list(range(rank))), bool(call["keepdims"])


def spatial_axes(call: Any, rank: int) -> tuple[list[int], bool] | None:
    """The axes of height and width, which are kept with extent 1; None unless the layout has four axes."""
    parts = names.parts(call["layout"])
    return None if len(parts) != 4 else ([parts.index("H"), parts.index("W")], True)


def adaptive_pool(call: Any, types: Types) -> Made:
    """The rule for an adaptive pooling that reduces axes to one element: a mean; or, if the shape does not
    change, the operand."""
    value = call.args[0]
    if tensor_type_of(value).shape == tensor_type_of(call).shape:
        return (value, types[value]) if value in types else None
    return mean_rule(_axes_of_one)(call, types)


def _axes_of_one(call: Any, rank: int) -> tuple[list[int], bool] | None:
    given, made = tensor_type_of(call.args[0]).shape, tensor_type_of(call).shape
    changed = [axis for axis in range(rank) if given[axis] != made[axis]]
    return (changed, True) if all(made[axis] == 1 for axis in changed) else None


def resized(call: Any, types: Types) -> Made:
    """The rule for a resize: interpolate the integers and round. A mean of codes is the code of the mean."""
    value = call.args[0]
    given = types.get(value)
    if given is None or not given.is_scalar or call["method"] == "cubic" or call["extrapolation_value"]:
        return None
    if call["method"] == "nearest_neighbor":
        return call, given
    floats = call._with({"args": (make("cast", value, dtype="float32"),)})
    return make("cast", make("round", floats), dtype=given.dtype, span=call.span), given
