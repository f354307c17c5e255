"""``FlattenAtrousConv``: a convolution between space-to-batch and batch-to-space is a dilated convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import same_type
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.visit import rewritten
from tvmlite.tvm.relay.transform.algebra.padding import stands_for_zero
from tvmlite.tvm.relay.transform.functions import over_functions


def FlattenAtrousConv() -> Pass:
    """A pass that replaces ``nn.space_to_batch_nd``, a convolution of NHWC data with strides 1, and
    ``nn.batch_to_space_nd`` with the same blocks by one dilated convolution."""
    return over_functions("FlattenAtrousConv", 0, lambda one: adopt(rewritten(one, _dilated)), infer=True)


def _dilated(node: Any) -> Any:
    match node:
        case nodes.Call(
            op="nn.batch_to_space_nd",
            args=(
                nodes.Call(
                    op="nn.conv2d" | "qnn.conv2d",
                    args=(nodes.Call(op="nn.space_to_batch_nd") as apart, *others),
                ) as conv,
            ),
        ):
            padding = _padding(apart, conv, node)
            if padding is None:
                return node
            dilation = [a * b for a, b in zip(conv["dilation"], apart["block_shape"], strict=True)]
            changed = {**dict(conv.attrs), "padding": padding, "dilation": tuple(dilation)}
            made = adopt(conv)._with({"args": (apart.args[0], *others), "attrs": tuple(changed.items())})
            return made if same_type(type_of(made), type_of(node)) else node
    return node


def _padding(apart: nodes.Call, conv: nodes.Call, joined: nodes.Call) -> tuple[int, ...] | None:
    """The padding of the dilated convolution, first before, then after each axis; None if the three calls are
    not one convolution."""
    block = apart["block_shape"]
    plain = conv["data_layout"] == "NHWC" and conv["out_layout"] in ("", "NHWC")
    if not plain or tuple(conv["strides"]) != (1, 1) or not _is_pair(block) or joined["block_shape"] != block:
        return None
    if not stands_for_zero(conv, apart["pad_value"]):
        return None
    own = conv["padding"] if len(conv["padding"]) == 4 else tuple(conv["padding"]) * 2
    ends = ((own[:2], 0), (own[2:], 1))
    made = [
        wide[end] + size * step - cut[end]
        for sizes, end in ends
        for wide, size, step, cut in zip(apart["paddings"], sizes, block, joined["crops"], strict=True)
    ]
    return tuple(made) if min(made) >= 0 else None


def _is_pair(block: Any) -> bool:
    return isinstance(block, Sequence) and len(block) == 2
