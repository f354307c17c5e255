"""Algebraic simplification that never changes a type: neutral elements, views of views, no-op conversions."""

from __future__ import annotations

from tvmlite.core.errors import TypeInferError
from tvmlite.core.node import rewrite
from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple, TupleGetItem
from tvmlite.relay.ir.op import is_view, make
from tvmlite.relay.ir.types import Shape
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.passes.graph_pass import graph_pass

SMALL_ELEMENTS = 1 << 16
"""Constants with more elements are not tested for zeros and ones."""

NO_OPS = ("copy", "cast", "reshape", "expand_dims", "squeeze", "broadcast_to")
"""Operators that do nothing if their result has the type of their argument."""


@graph_pass
def simplify_expr(body: Expr) -> Expr:
    """Apply the rules bottom-up, once to each node.

    ``x * 1``, ``x / 1``, ``x + 0`` and ``x - 0`` become ``x`` if it has the same type; so do copies, casts
    and reshapes to the type of ``x``, padding by 0, and slices of all of ``x``. A reshape of a reshape and a
    transpose of a transpose are merged; a transpose that only moves axes of extent 1 becomes a reshape. A
    layout transform and its inverse are removed.
    """
    return rewrite(body, simplified)


def simplified(node: Expr) -> Expr:
    """``node``, rewritten by the first rule that applies; its arguments are simplified already."""
    match node:
        case TupleGetItem(Tuple(fields), index):
            return fields[index]
        case (
            Call(op="add" | "multiply", args=(x, Constant() as c) | (Constant() as c, x))
            | Call(op="subtract" | "divide", args=(x, Constant() as c))
        ):
            return x if _is_neutral(node, c) and same_type(type_of(x), type_of(node)) else node
        case Call(op="transpose"):
            return _transpose(node)
        case Call(op=str() as name, args=(x, *_)) if name in NO_OPS and same_type(type_of(node), type_of(x)):
            return x
        case Call(args=(Call() as inner,)) if is_view(node) and is_view(inner):
            return _reshape_of_reshape(node)
        case Call(op="layout_transform"):
            return _layout(node)
        case Call(op="strided_slice", args=(x,)) if _takes_all(node, x):
            return x
        case Call(op="nn.pad", args=(x, *_)) if same_type(type_of(node), type_of(x)) and _pads_nothing(node):
            return x
    return node


def _is_neutral(node: Call, c: Constant) -> bool:
    """Whether ``c`` consists of neutral elements of ``node``: zeros or ones."""
    return c.size <= SMALL_ELEMENTS and bool((c.data == (node.op in ("multiply", "divide"))).all())


def _reshape_of_reshape(node: Call) -> Expr:
    (inner,) = node.args
    assert isinstance(inner, Call)
    source = inner.args[0]
    if same_type(type_of(source), type_of(node)):
        return source
    merged = make("reshape", source, newshape=tensor_type_of(node).shape, allowzero=True, span=node.span)
    try:
        return merged if same_type(type_of(merged), type_of(node)) else node
    except TypeInferError:
        return node  # each step has a type, but the merged one cannot be proved


def _layout(node: Call) -> Expr:
    """``node`` without a layout transform that changes nothing or undoes the one before it."""
    (x,) = node.args
    if node["src_layout"] == node["dst_layout"]:
        return x
    if isinstance(x, Call) and x.op == "layout_transform" and x["src_layout"] == node["dst_layout"]:
        source = x.args[0]  # its last block may have been padded: then types differ
        if x["dst_layout"] == node["src_layout"] and same_type(type_of(source), type_of(node)):
            return source
    return node


def _transpose(node: Call) -> Expr:
    (x,) = node.args
    axes = _axes(node)
    if isinstance(x, Call) and x.op == "transpose":
        inner = _axes(x)
        axes = tuple(inner[axis] for axis in axes)
        source = x.args[0]
    else:
        source = x
    if axes == tuple(range(len(axes))):
        return source
    if _keeps_order(tensor_type_of(source).shape, axes):
        shape = tensor_type_of(node).shape
        reshape = make("reshape", source, newshape=shape, allowzero=True, span=node.span)
        return _reshape_of_reshape(reshape) if is_view(source) else reshape
    return node if source is x else make("transpose", source, axes=axes, span=node.span)


def _keeps_order(shape: Shape, axes: tuple[int, ...]) -> bool:
    """Whether the axes with an extent above 1 keep their order."""
    kept = [axis for axis in axes if not is_one(shape[axis])]
    return kept == sorted(kept)


def _axes(node: Call) -> tuple[int, ...]:
    """The permutation of a transpose, with all axes and none negative."""
    rank = tensor_type_of(node).ndim
    given = node["axes"]
    return tuple(axis % rank for axis in given) if given else tuple(reversed(range(rank)))


def _takes_all(node: Call, x: Expr) -> bool:
    """Whether a slice takes all elements of ``x``, in order."""
    strides = node["strides"] if isinstance(node["strides"], tuple) else (node["strides"],)
    return set(strides) <= {None, 1} and same_type(type_of(node), type_of(x))


def _pads_nothing(node: Call) -> bool:
    return all(isinstance(width, int) and width == 0 for pair in node["pad_width"] for width in pair)
