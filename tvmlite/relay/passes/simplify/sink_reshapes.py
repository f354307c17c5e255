"""Move the removal and insertion of axes of extent 1 from before to after a convolution's epilogue."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tvmlite.core.node import rewrite
from tvmlite.relay.ir import op as operators
from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import Fuse, is_anchor, is_view, make
from tvmlite.relay.ir.types import Shape, TensorType, same_dim, same_shape
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.passes.graph_pass import graph_pass
from tvmlite.relay.passes.patterns import WITHOUT_AXES
from tvmlite.relay.passes.simplify.simplify_expr import simplified


@graph_pass
def sink_reshapes(body: Expr) -> Expr:
    """Rewrite ``relu(squeeze(conv2d(x, w)) + b)`` to ``squeeze(relu(conv2d(x, w) + expand_dims(b)))``.

    Exporters write a convolution along one axis as one along two: they insert an axis before it and remove it
    afterwards. Between a convolution and its epilogue, the removal prevents fusion; between two convolutions,
    it prevents a common layout. After the epilogue, it cancels with the next convolution's insertion.
    """
    epilogues: set[Expr] = set()  # anchors and their element-wise epilogues

    def sunk(node: Expr) -> Expr:
        if is_view(node):
            return simplified(node) if is_view(node.args[0]) else node  # type: ignore[attr-defined]
        if _is_elementwise(node):
            moved = _sunk(node, epilogues)
            if moved is not None:
                epilogues.add(moved.args[0])
                return moved
            if not epilogues.isdisjoint(node.children()):  # type: ignore[arg-type]
                epilogues.add(node)
        elif is_anchor(node):
            epilogues.add(node)
        return node

    return rewrite(body, sunk)


def _is_elementwise(node: Expr) -> bool:
    """Whether ``node`` is an element-wise operator that treats all axes of its arguments alike."""
    match node:
        case Call(op=str() as name, args=args) if args:
            row = operators.get(name, node.span)
            return row.fuse <= Fuse.BROADCAST and row.attrs.keys() <= WITHOUT_AXES
    return False


def _sunk(node: Expr, epilogues: set[Expr]) -> Call | None:
    """The element-wise call ``node``, moved before the reshape of its arguments. None unless it reads one of
    ``epilogues`` through the reshape and all other arguments can take the same shape."""
    assert isinstance(node, Call)
    views = [arg for arg in node.args if isinstance(arg, Call) and is_view(arg) and arg.args[0] in epilogues]
    if not views or not isinstance(type_of(node), TensorType):
        return None
    shape, source = tensor_type_of(node).shape, tensor_type_of(views[0].args[0]).shape
    positions = _positions(source, shape)
    if positions is None:
        return None
    args = [_reshaped(arg, shape, source, positions) for arg in node.args]
    given = [arg for arg in args if arg is not None]
    if len(given) < len(args):
        return None
    inner = dataclasses.replace(node, args=tuple(given))
    made = make("reshape", inner, newshape=shape, allowzero=True, span=node.span)
    assert isinstance(made, Call)
    return made if same_type(type_of(made), type_of(node)) else None


def _positions(source: Shape, shape: Shape) -> list[int | None] | None:
    """The axis of ``shape`` that corresponds to each axis of ``source``, None for an axis of extent 1 without
    one; None if the shapes differ in more than axes of extent 1."""
    positions: list[int | None] = []
    axis = 0
    for extent in source:
        while axis < len(shape) and not same_dim(extent, shape[axis]) and is_one(shape[axis]):
            axis += 1
        if axis < len(shape) and same_dim(extent, shape[axis]):
            positions.append(axis)
            axis += 1
        elif is_one(extent):
            positions.append(None)
        else:
            return None
    return positions if all(is_one(extent) for extent in shape[axis:]) else None


def _reshaped(arg: Expr, shape: Shape, source: Shape, positions: Sequence[int | None]) -> Expr | None:
    """``arg`` of a call with result ``shape``, for that call with result ``source``; None if unknown."""
    type_ = tensor_type_of(arg)
    if isinstance(arg, Call) and is_view(arg) and same_shape(type_.shape, shape):
        return arg.args[0] if same_shape(tensor_type_of(arg.args[0]).shape, source) else None
    if not isinstance(arg, Constant):
        return None
    full = (1,) * (len(shape) - type_.ndim) + type_.shape
    return make("reshape", arg, newshape=tuple(1 if p is None else full[p] for p in positions), span=arg.span)
