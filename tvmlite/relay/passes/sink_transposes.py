"""Move transposes after convolutions and poolings down, past operators that do not depend on positions.

A network in another layout (``NHWC``) is written as channels-first operators between transposes. The
operators after a convolution (the bias, the activation, the sum with another branch) are computed before its
transpose, which then cancels with the transpose before the next convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.core.node import rewrite
from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple
from tvmlite.relay.ir.op import Fuse, make
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.ops.reductions.reduce import reduced_axes
from tvmlite.relay.ops.written_out import LAYOUT_RULES
from tvmlite.relay.passes.graph_pass import graph_pass

REDUCTIONS = ("sum", "mean", "max", "min", "prod")
CHANNEL_AXIS = 1
"""The channel axis of a convolution's result. A reduction over it that keeps the axis begins a normalization,
which reads elements contiguously along the last axis: transposes are not moved past it."""

Axes = tuple[int, ...]


@graph_pass
def sink_transposes(body: Expr) -> Expr:
    """Rewrite ``relu(transpose(conv2d(x)))`` to ``transpose(relu(conv2d(x)))``, and similar."""
    pass_ = _Pass()
    return rewrite(body, pass_.moved)


class _Pass:
    """One run; ``sunk`` are moved transposes, which may move on, like those of convolutions and poolings."""

    def __init__(self) -> None:
        self.sunk: set[Expr] = set()

    def moved(self, node: Expr) -> Expr:
        """``node``, whose arguments have been processed, with their transposes moved after it."""
        if not isinstance(node, Call) or not isinstance(node.op, str) or node.op == "transpose":
            return node
        made = self._sunk_through(node)
        return node if made is None else made

    def _source(self, value: Expr) -> tuple[Expr, Axes] | None:
        """The operand of ``value`` and its axes, if ``value`` is a transpose that may be moved."""
        if not isinstance(value, Call) or value.op != "transpose":
            return None
        (x,) = value.args
        of_convolution = isinstance(x, Call) and isinstance(x.op, str) and x.op in LAYOUT_RULES
        if not of_convolution and value not in self.sunk:
            return None
        rank = tensor_type_of(x).ndim
        axes = value["axes"] or tuple(reversed(range(rank)))
        return x, tuple(axis % rank for axis in axes)

    def _transposed(self, made: Call, axes: Axes, node: Call) -> Expr:
        result = make("transpose", made, axes=axes, span=node.span)
        self.sunk.add(result)
        return result

    def _sunk_through(self, node: Call) -> Expr | None:
        row = op.get(str(node.op))
        if row.fuse in (Fuse.ELEMWISE, Fuse.BROADCAST) and "axis" not in row.attrs and row.num_inputs:
            return self._elementwise(node, row)
        first = self._source(node.args[0]) if node.args else None
        if node.op == "concatenate":
            return self._concatenated(node)
        if first is None:
            return None
        if node.op == "nn.pad":
            x, axes = first
            widths = tuple(node["pad_width"][axes.index(k)] for k in range(len(axes)))
            return self._transposed(_with_args(node, (x,), pad_width=widths), axes, node)
        return self._reduced(node, *first) if node.op in REDUCTIONS else None

    def _elementwise(self, node: Call, row: op.Operator) -> Expr | None:
        if row.open_attrs or row.mark:
            return None
        found = [self._source(arg) for arg in node.args]
        orders = {one[1] for one in found if one is not None}
        if len(orders) != 1:
            return None
        (axes,) = orders
        if tensor_type_of(node).ndim != len(axes):
            return None
        arguments = []
        for arg, one in zip(node.args, found, strict=True):
            before = one[0] if one is not None else _untransposed(arg, axes, node)
            if before is None:
                return None
            arguments.append(before)
        return self._transposed(_with_args(node, arguments), axes, node)

    def _concatenated(self, node: Call) -> Expr | None:
        if not isinstance(node.args[0], Tuple):
            return None
        found = [self._source(one) for one in node.args[0].fields]
        if not found or any(one is None for one in found):
            return None
        pairs = [one for one in found if one is not None]
        axes = pairs[0][1]
        if any(one[1] != axes for one in pairs):
            return None
        joined = Tuple(tuple(x for x, _ in pairs), node.args[0].span)
        made = _with_args(node, (joined,), axis=axes[node["axis"] % len(axes)])
        return self._transposed(made, axes, node)

    def _reduced(self, node: Call, x: Expr, axes: Axes) -> Expr | None:
        over = tuple(axes[k] for k in reduced_axes(node, len(axes)))
        if node["keepdims"] and CHANNEL_AXIS in over:
            return None
        made = _with_args(node, (x,), axis=tuple(sorted(over)), exclude=False)
        if node["keepdims"]:
            return self._transposed(made, axes, node)
        kept = [axis for axis in axes if axis not in over]
        order = tuple(sorted(kept).index(axis) for axis in kept)
        return made if order == tuple(range(len(order))) else self._transposed(made, order, node)


def _with_args(node: Call, args: Sequence[Expr], **attrs: Any) -> Call:
    """``node`` with other arguments and with ``attrs`` changed."""
    return make(str(node.op), *args, span=node.span, **{**dict(node.attrs), **attrs})


def _untransposed(value: Expr, axes: Axes, node: Call) -> Expr | None:
    """The tensor that a transpose with ``axes`` turns into ``value``, broadcast to the same rank.

    None if ``value`` is not constant and more than one of its extents may differ from 1.
    """
    shape = tensor_type_of(value).shape
    if not shape:
        return value
    if not isinstance(value, Constant) and sum(not is_one(extent) for extent in shape) > 1:
        return None
    wide: tuple[Any, ...] = (*(1,) * (len(axes) - len(shape)), *shape)
    inverse = tuple(int(axis) for axis in np.argsort(axes))
    wanted = [wide[axis] for axis in inverse]
    while wanted and is_one(wanted[0]):
        wanted.pop(0)
    if isinstance(value, Constant):
        data = value.data.reshape(wide).transpose(inverse)
        return Constant(np.ascontiguousarray(data).reshape(wanted), value.span)
    return make("reshape", value, newshape=tuple(wanted), allowzero=True, span=node.span)
