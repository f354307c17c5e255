"""The types of unannotated arguments of an operator, from its attributes and the type of its first argument.

TVM's programs write ``relay.var("weight")`` without a type: a convolution's weight follows from its channels
and kernel size, and a normalization's scale has one element per channel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.types import TensorType

Types: TypeAlias = "Sequence[Any]"
Rule: TypeAlias = "Callable[[nodes.Call, TensorType], Mapping[int, TensorType]]"


def solved(call: nodes.Call, types: Types) -> dict[int, TensorType]:
    """The types, by index, of the arguments of ``call`` that have no tensor type in ``types``, as far as the
    type of the first argument and the attributes determine them."""
    rule = _RULES.get(str(call.op))
    if rule is None or not types or not isinstance(types[0], TensorType):
        return {}
    return {
        index: type_
        for index, type_ in rule(call, types[0]).items()
        if index < len(types) and not isinstance(types[index], TensorType)
    }


def _convolution(call: nodes.Call, data: TensorType) -> Mapping[int, TensorType]:
    """The kernel's type, from ``channels`` and ``kernel_size``."""
    if call["channels"] is None or call["kernel_size"] is None:
        return {}
    return _kernel(call, data, {"O": call["channels"], "I": _channels(call, data) // call["groups"]})


def _transposed(call: nodes.Call, data: TensorType) -> Mapping[int, TensorType]:
    """The type of a transposed convolution's kernel, which has all inputs and one group's outputs."""
    if call["channels"] is None or call["kernel_size"] is None:
        return {}
    return _kernel(call, data, {"I": _channels(call, data), "O": call["channels"] // call["groups"]})


def _kernel(call: nodes.Call, data: TensorType, extents: dict[str, Any]) -> Mapping[int, TensorType]:
    size = call["kernel_size"]
    extents |= dict(zip("DHW"[3 - len(size) :], size, strict=True))
    axes = _axes_of(call["kernel_layout"])
    if not {axis for axis, _ in axes} <= {*extents, *map(str.lower, extents)}:
        return {}
    blocks = {axis.upper(): block for axis, block in axes if block}
    shape = [block or extents[axis] // blocks.get(axis, 1) for axis, block in axes]
    return {1: TensorType(tuple(shape), data.dtype)}


def _axes_of(layout: str) -> list[tuple[str, int]]:
    """The axes of ``layout`` with their block sizes, 0 for whole axes: ``"OI4o"`` has 4 for ``"o"``."""
    return [(axis, int(block or 0)) for block, axis in re.findall(r"(\d*)([A-Za-z])", layout)]


def _channels(call: nodes.Call, data: TensorType) -> Any:
    axes = _axes_of(call["data_layout"])
    whole = next(at for at, (axis, _) in enumerate(axes) if axis == "C")
    return data.shape[whole] * dict(axes).get("c", 1)


def _deformable(call: nodes.Call, data: TensorType) -> Mapping[int, TensorType]:
    """The types of the kernel and of the offsets: two for each kernel element and result position."""
    if call["channels"] is None or call["kernel_size"] is None:
        return {}
    layout = call["data_layout"]
    inside, first = layout.index("C"), layout.index("H")
    padding = call["padding"] if len(call["padding"]) == 4 else call["padding"] * 2
    out = []
    for axis in range(2):
        span = (call["kernel_size"][axis] - 1) * call["dilation"][axis] + 1
        extent = data.shape[first + axis] + padding[axis] + padding[2 + axis] - span
        out.append(extent // call["strides"][axis] + 1)
    offsets = 2 * call["kernel_size"][0] * call["kernel_size"][1] * call["deformable_groups"]
    own = (data.shape[0], offsets, *out) if inside == 1 else (data.shape[0], *out, offsets)
    found = {1: TensorType(own, data.dtype)}
    kernel = _kernel(call, data, {"O": call["channels"], "I": data.shape[inside] // call["groups"]})
    return found | dict(zip((2,), kernel.values(), strict=False))


def _dense(call: nodes.Call, data: TensorType) -> Mapping[int, TensorType]:
    """The type of the weight, from ``units``."""
    if call["units"] is None:
        return {}
    return {1: TensorType((call["units"], data.shape[-1]), data.dtype)}


def _matmul(call: nodes.Call, data: TensorType) -> Mapping[int, TensorType]:
    if call["units"] is None:
        return {}
    terms = data.shape[-2 if call["transpose_a"] else -1]
    shape = (call["units"], terms) if call["transpose_b"] else (terms, call["units"])
    return {1: TensorType(shape, data.dtype)}


def _along_axis(call: nodes.Call, data: TensorType) -> Mapping[int, TensorType]:
    """Vectors with one element for each index of ``axis``."""
    axis = call["axis"]
    if not isinstance(axis, int) or not -len(data.shape) <= axis < len(data.shape):
        return {}  # the operator's type relation reports it
    one = TensorType((data.shape[axis],), data.dtype)
    return dict.fromkeys(range(1, len(call.args)), one)


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.conv3d"), _convolution),
    **dict.fromkeys((f"nn.conv{rank}d_transpose" for rank in (1, 2, 3)), _transposed),
    "nn.deformable_conv2d": _deformable,
    "nn.dense": _dense,
    "nn.matmul": _matmul,
    **dict.fromkeys(
        ("nn.bias_add", "nn.prelu", "nn.batch_norm", "nn.layer_norm", "nn.instance_norm", "nn.group_norm"),
        _along_axis,
    ),
}
