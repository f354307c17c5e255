"""Convolutions on images that are one pixel wide become convolutions on images that are one pixel high."""

from __future__ import annotations

from typing import Any

from tvmlite.core.node import rewrite
from tvmlite.relay.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir import Call, Expr, canonical
from tvmlite.relay.op import make
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.passes.graph_pass import graph_pass

CONVOLUTIONS = ("nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc")

HEIGHT, WIDTH = 2, 3
"""The axes of data, weights and results, whatever blocks there are behind them."""


@graph_pass
def columns_to_rows(body: Expr) -> Expr:
    """``conv2d(x, w)`` of ``x: (n, c, h, 1)`` becomes ``reshape(conv2d(reshape(x), reshape(w)))`` of
    ``(n, c, 1, h)``.

    Tiles of a convolution are pixels of a row: a column has but one in each. Elements lie in memory as they
    did, so the reshapes are views, and go behind what is fused (``sink_reshapes``). For what
    ``alter_op_layout`` leaves.
    """
    return rewrite(body, _turned)


def _turned(node: Expr) -> Expr:
    match node:
        case Call(op=str() as name, args=(data, weight)) if name in CONVOLUTIONS:
            shapes = [tensor_type_of(one).shape for one in (node, data, weight)]
            narrow = all(is_one(shape[WIDTH]) for shape in shapes)
            if not narrow or all(is_one(shape[HEIGHT]) for shape in shapes):
                return node
            args = tuple(_as_row(one) for one in node.args)
            made = _as_column(Call(name, args, canonical({**dict(node.attrs), **_attrs(node)}), node.span))
            return made if same_type(type_of(made), type_of(node)) else node
    return node


def _attrs(node: Call) -> dict[str, Any]:
    """Those that have a value for each axis of the image, their order reversed."""
    (top, left), (bottom, right) = windows.padding_of(node, 2)
    turned = {name: windows.spatial(node, name, 2)[::-1] for name in ("strides", "dilation")}
    size = node["kernel_size"]
    turned["kernel_size"] = size[::-1] if isinstance(size, tuple) else size
    return {**turned, "padding": (left, top, right, bottom)}


def _as_row(value: Expr) -> Expr:
    shape = tensor_type_of(value).shape
    turned = (*shape[:HEIGHT], 1, shape[HEIGHT], *shape[WIDTH + 1 :])
    return make("reshape", value, newshape=turned, allowzero=True, span=getattr(value, "span", None))


def _as_column(value: Expr) -> Expr:
    shape = tensor_type_of(value).shape
    turned = (*shape[:HEIGHT], shape[WIDTH], 1, *shape[WIDTH + 1 :])
    return make("reshape", value, newshape=turned, allowzero=True, span=getattr(value, "span", None))
