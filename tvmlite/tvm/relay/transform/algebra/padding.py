"""``FoldExplicitPadding``: folds an ``nn.pad`` before a convolution or pooling into its own padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.tvm.ir.transform import Pass
from tvmlite.tvm.relay.expr import adopt
from tvmlite.tvm.relay.graph.visit import rewritten
from tvmlite.tvm.relay.transform.functions import over_functions


def stands_for_zero(conv: nodes.Call, value: float) -> bool:
    """Whether a convolution pads its data with ``value``: the zero point of quantized data, else 0."""
    if conv.op != "qnn.conv2d":
        return value == 0
    zero_point = conv.args[2]
    if not isinstance(zero_point, nodes.Constant) or zero_point.data.size != 1:
        return False
    return bool((zero_point.data == value).all())


def _zeros(conv: nodes.Call, pad: nodes.Call) -> bool:
    return stands_for_zero(conv, pad["pad_value"])


def _least(pool: nodes.Call, pad: nodes.Call) -> bool:
    """Whether ``pad`` pads with its dtype's lowest value, and the pool's windows do not change."""
    dtype = np.dtype(tensor_type_of(pad).dtype)
    least = np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min
    return not pool["ceil_mode"] and pad["pad_value"] in (least, -np.inf)


def _counted(pool: nodes.Call, pad: nodes.Call) -> bool:
    """Whether ``pad`` pads with zeros, and the pool has no padding of its own or includes it in the mean."""
    counts = pool["count_include_pad"] or not any(pool["padding"])
    return _zeros(pool, pad) and counts and not pool["ceil_mode"]


_NEUTRAL: dict[Any, Callable[[nodes.Call, nodes.Call], bool]] = {
    **{f"nn.conv{rank}d": _zeros for rank in (1, 2, 3)},
    **{f"nn.max_pool{rank}d": _least for rank in (1, 2, 3)},
    **{f"nn.avg_pool{rank}d": _counted for rank in (1, 2, 3)},
    "qnn.conv2d": _zeros,
}
"""For each operator, the test whether ``nn.pad`` pads with the value that the operator's own padding has."""


def FoldExplicitPadding() -> Pass:
    """A pass that folds an ``nn.pad`` of spatial axes into the convolution or pooling that reads it, if it
    pads with zeros, with the zero point of quantized data or, for a maximum, with the lowest value."""

    def rule(node: Any) -> Any:
        match node:
            case nodes.Call(op=op, args=(nodes.Call(op="nn.pad") as pad, *others)) if op in _NEUTRAL:
                padding = _with_padding(node, pad)
                if padding is not None and _NEUTRAL[op](node, pad):  # type: ignore[index]
                    attrs = {**dict(node.attrs), "padding": padding}
                    if "count_include_pad" in attrs:
                        attrs["count_include_pad"] = True
                    return make(str(op), pad.args[0], *others, span=node.span, **attrs)
        return node

    def folded(function: Any) -> Any:
        return adopt(rewritten(function, rule))

    return over_functions("FoldExplicitPadding", 0, folded, infer=True)


def _with_padding(conv: nodes.Call, pad: nodes.Call) -> tuple[Any, ...] | None:
    """The sum of the paddings of ``conv`` and ``pad``; None if they cannot be combined."""
    attrs = dict(conv.attrs)
    layout: str = attrs["data_layout"] if "data_layout" in attrs else attrs["layout"]
    widths = pad["pad_width"]
    plain = layout.isupper() and len(layout) == len(widths)
    if not plain or pad["pad_mode"] != "constant":
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
