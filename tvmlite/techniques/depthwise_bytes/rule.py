"""The pass that computes depthwise convolutions of bytes four taps at a time, if the target can."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, Module, canonical
from tvmlite.relay.ir.op import make
from tvmlite.relay.ops import windows
from tvmlite.techniques.depthwise_bytes.instruction import channels_at_once
from tvmlite.techniques.depthwise_bytes.operator import DEPTHWISE, DTYPES, weight_layout

BLOCKED = "nn.contrib_depthwise_conv2d_NCHWc"
"""The operator that is replaced, with the layouts ``NCHW16c`` and ``OIHW1i16o``."""


def depthwise_bytes(target: Target) -> Callable[[Module], Module]:
    """The pass for ``target``; it does nothing if ``target`` lacks the instruction."""
    lanes = channels_at_once(target)

    def depthwise_bytes(module: Module) -> Module:
        main = module.main
        body = rewrite(main.body, lambda node: _by_taps(node, lanes)) if lanes else main.body
        return module if body is main.body else module.with_main(dataclasses.replace(main, body=body))

    return depthwise_bytes


def _by_taps(node: Expr, lanes: int) -> Expr:
    """``node`` with taps in groups of four, if it is a depthwise convolution of uint8 by int8 in blocks of
    ``lanes`` channels; else ``node`` itself."""
    match node:
        case Call(op, (data, weight)) if op == BLOCKED and _fits(node, lanes):
            layouts = {"src_layout": node["kernel_layout"], "dst_layout": weight_layout(lanes)}
            packed = make("layout_transform", weight, span=node.span, **layouts)
            own = {
                "kernel_layout": weight_layout(lanes),
                "kernel_size": tensor_type_of(weight).shape[2:4],
                "out_dtype": tensor_type_of(node).dtype,
            }
            return Call(DEPTHWISE, (data, packed), canonical({**dict(node.attrs), **own}), node.span)
    return node


def _fits(node: Call, lanes: int) -> bool:
    """Whether dtypes and block are the instruction's, rows are not dilated, and extents are known."""
    kinds = *(tensor_type_of(arg).dtype for arg in node.args), tensor_type_of(node).dtype
    block, (_, along) = (
        windows.channel_block(node, "data_layout", 2),
        windows.spatial_attr(node, "dilation", 2),
    )
    extents = (*tensor_type_of(node.args[0]).shape[2:4], *tensor_type_of(node.args[1]).shape[2:4])
    known = all(isinstance(extent, int) for extent in extents)
    begins, ends = windows.padding_of(node, 2)
    return kinds in DTYPES and block == lanes and along == 1 and known and min(*begins, *ends) >= 0
