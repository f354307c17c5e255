"""``DynamicToStatic``: replaces sizes given by tensors by numbers, where they are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import same_type
from tvmlite.relay.passes.bind_dimensions import with_numbers
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.visit import rewritten
from tvmlite.tvm.relay.transform.fold_constant import evaluated, folded
from tvmlite.tvm.relay.transform.functions import over_functions

_UPSAMPLINGS = {
    "image.resize2d": ("nn.upsampling", ("scale_h", "scale_w"), "bi"),
    "image.resize3d": ("nn.upsampling3d", ("scale_d", "scale_h", "scale_w"), "tri"),
}
"""For each resize: the operator that takes scale factors instead of sizes, the factors' names in the order of
the sizes, and the prefix of its linear and cubic methods."""


def DynamicToStatic() -> Pass:
    """A pass that replaces sizes given by tensors by numbers, where they depend only on constants and known
    shapes, and folds constants."""

    def static(function: Any) -> Any:
        return adopt(folded(rewritten(function, _with_known_sizes), False))

    return over_functions("DynamicToStatic", 2, static, infer=True, required=())


def _with_known_sizes(node: Any) -> Any:
    if not isinstance(node, nodes.LetDims):
        return node
    value = _evaluated(node.value)
    if not isinstance(value, nodes.Constant):
        return node
    known = dict(zip(node.dims, map(int, value.data.reshape(-1)), strict=True))
    made = with_numbers(node.body, known)
    return rewrite(_upsampling(made, _factors(node.value)) or made, _slice_of_window)


def _evaluated(value: Any) -> Any:
    return rewrite(value, lambda one: evaluated(one) if isinstance(one, nodes.Call) else one)


def _factors(size: Any) -> Any:
    """The constant factors by which the size expression ``size`` multiplies extents, or None."""
    while isinstance(size, nodes.Call) and size.op in ("cast", "reshape", "round"):
        size = size.args[0]
    if not isinstance(size, nodes.Call) or size.op != "multiply":
        return None
    factors = _evaluated(size.args[1])
    return factors if isinstance(factors, nodes.Constant) else None


def _upsampling(node: Any, factors: Any) -> Any:
    """A resize to the extents of the data times ``factors`` as an upsampling; None for other nodes."""
    if factors is None or not isinstance(node, nodes.Call) or str(node.op) not in _UPSAMPLINGS:
        return None
    name, scales, prefix = _UPSAMPLINGS[str(node.op)]
    numbers = np.asarray(factors.data).reshape(-1)
    if len(numbers) != len(scales):
        return None
    mode, method = node["coordinate_transformation_mode"], node["method"]
    method = method if method == "nearest_neighbor" else prefix + method
    how = {"coordinate_transformation_mode": mode}
    if name == "nn.upsampling":
        how = {"align_corners": mode == "align_corners"}
    given = dict(zip(scales, map(float, numbers), strict=True))
    made = make(name, node.args[0], **given, layout=node["layout"], method=method, **how, span=node.span)
    return made if same_type(type_of(made), type_of(node)) else None


def _slice_of_window(node: Any) -> Any:
    """A ``strided_window`` with constant bounds inside its data as a ``strided_slice``; else ``node``."""
    if not isinstance(node, nodes.Call) or node.op != "strided_window":
        return node
    extents = tensor_type_of(node.args[0]).shape
    places = list(zip(node["begin"], node["strides"], node["shape"], extents, strict=True))
    if not all(isinstance(one, int) for place in places for one in place):
        return node
    ends = [first + step * count for first, step, count, _ in places]
    if not all(
        step and 0 <= first < extent and -abs(step) <= end < extent + abs(step)
        for (first, step, _, extent), end in zip(places, ends, strict=True)
    ):
        return node
    begin, strides = ([place[k] for place in places] for k in (0, 1))
    cut = [
        end if end >= 0 else -extent - 1 for end, (_, _, _, extent) in zip(ends, places, strict=True)
    ]  # strided_slice would count a negative end from the end of the axis
    return make("strided_slice", node.args[0], begin=begin, end=cut, strides=strides, span=node.span)
