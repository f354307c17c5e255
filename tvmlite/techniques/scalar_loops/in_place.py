"""Convolutions that may write their result in place of their data, because they copy their operands first."""

from __future__ import annotations

from tvmlite.core.node import postorder
from tvmlite.machine.target import Target
from tvmlite.relay.entry.lower import anchor_call
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Expr, Function
from tvmlite.relay.ir.op import Fuse
from tvmlite.relay.ir.types import TensorType, same_shape
from tvmlite.relay.ops import windows

CONVOLUTIONS = {f"nn.conv{rank}d": rank for rank in (1, 2, 3)}


def convolves_in_place(group: Function, position: int, target: Target) -> bool:
    """Whether ``group`` may write its result to parameter ``position``: the data of its convolution, of which
    the schedule copies each pixel (or plane if depthwise) before it stores results there
    (``convolution``)."""
    call = anchor_call(group)
    param = group.params[position]
    rank = CONVOLUTIONS.get(str(call.op))
    if not target.scalar or target.num_cores > 1 or rank is None:
        return False
    first, padded = (call, False) if call.args[0] is param else (call.args[0], True)
    if padded and not (isinstance(first, Call) and first.op == "nn.pad" and first.args == (param,)):
        return False
    data, result, weight = param.type, type_of(group.body), tensor_type_of(call.args[1])
    if not isinstance(data, TensorType) or not isinstance(result, TensorType):
        return False
    alike = data.dtype == result.dtype and same_shape(data.shape, result.shape)
    readers = [node for node in postorder(group.body) if isinstance(node, Expr) and param in node.children()]
    plain = all(windows.spatial_attr(call, name, rank) == (1,) * rank for name in ("strides", "dilation"))
    if not alike or readers != [first] or not plain or not _is_elementwise_epilogue(group, call, result):
        return False
    if call["groups"] == 1:
        is_point = rank > 1 and all(extent == 1 for extent in weight.shape[2:])
        return is_point and not padded and not any(_padding(call, rank))
    depthwise = call["groups"] == weight.shape[0] and weight.shape[1] == 1
    return depthwise and (padded or any(_padding(call, rank)))


def _padding(call: Call, rank: int) -> tuple[int, ...]:
    """The padding before and after each spatial axis."""
    begins, ends = windows.padding_of(call, rank)
    return (*begins, *ends)


def _is_elementwise_epilogue(group: Function, call: Call, result: TensorType) -> bool:
    """Whether all operators after the convolution ``call`` are element-wise, with the shape of ``result``."""
    depends: set[Expr] = {call}
    for node in postorder(group.body):
        if not isinstance(node, Expr) or depends.isdisjoint(node.children()):
            continue
        type_ = type_of(node)
        if not isinstance(node, Call) or not isinstance(node.op, str) or not isinstance(type_, TensorType):
            return False
        if operators.get(node.op).fuse > Fuse.BROADCAST or not same_shape(type_.shape, result.shape):
            return False
        depends.add(node)
    return group.body in depends
