"""``FoldExplicitPadding``: zeros that stand around the data of a convolution become its own padding."""

from __future__ import annotations

from typing import Any

from tvmlite.core.node import rewrite
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.op import make
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.transform.functions import over_functions

_CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")


def FoldExplicitPadding() -> Pass:
    """The pass that takes ``nn.pad`` with zeros, of spatial axes only, into the convolution that reads it."""

    def rule(node: Any) -> Any:
        match node:
            case nodes.Call(op=op, args=(nodes.Call(op="nn.pad") as pad, weight)) if op in _CONVOLUTIONS:
                padding = _with_padding(node, pad)
                if padding is not None:
                    attrs = {**dict(node.attrs), "padding": padding}
                    return make(str(op), pad.args[0], weight, span=node.span, **attrs)
        return node

    def folded(function: Any) -> Any:
        return adopt(rewrite(function, rule))

    return over_functions("FoldExplicitPadding", 0, folded, infer=True)


def _with_padding(conv: nodes.Call, pad: nodes.Call) -> tuple[Any, ...] | None:
    """The padding of ``conv`` and ``pad`` together; None if it would not be the same."""
    layout, widths = conv["data_layout"], pad["pad_width"]
    plain = layout.isupper() and len(layout) == len(widths)
    if not plain or pad["pad_mode"] != "constant" or pad["pad_value"] != 0:
        return None
    if any(tuple(width) != (0, 0) for axis, width in zip(layout, widths, strict=True) if axis in "NC"):
        return None
    own = conv["padding"]
    rank = len(layout) - 2
    own = own if len(own) == 2 * rank else tuple(own) * 2
    spatial = [width for axis, width in zip(layout, widths, strict=True) if axis not in "NC"]
    before = [one + width[0] for one, width in zip(own[:rank], spatial, strict=True)]
    behind = [one + width[1] for one, width in zip(own[rank:], spatial, strict=True)]
    return (*before, *behind)
