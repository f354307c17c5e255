"""Evaluate expressions that depend on constants only, at compile time."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ExecutionError
from tvmlite.core.node import rewrite
from tvmlite.core.span import Span
from tvmlite.relay.ir import deferred, op
from tvmlite.relay.ir.deferred import DeferredConstant
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.interpret import Value, call_reference
from tvmlite.relay.ir.nodes import Call, Constant, Expr, If, Tuple, TupleGetItem
from tvmlite.relay.ir.types import TensorType, TupleType, Type, is_symbolic
from tvmlite.relay.passes.graph_pass import graph_pass

LARGE_BYTES = 1 << 20
MAX_GROWTH = 16
"""A result larger than ``LARGE_BYTES`` and than ``MAX_GROWTH`` times its operands is computed at run time."""

WEIGHT_BYTES = 1 << 30
"""Weights are an exception, since kernels read them in their own layouts: they are folded up to this size."""


@graph_pass
def fold_constant(body: Expr) -> Expr:
    """Replace calls of operators on constants by their results, and branches on constants by those taken.

    A large constant that rearranges another, or is computed from it element-wise, is computed at each access.
    """
    return rewrite(body, _Folding().fold)


class _Folding:
    """One run of the pass; ``large`` are the calls that depend on constants only and were not folded."""

    def __init__(self) -> None:
        self.large: set[Expr] = set()

    def fold(self, node: Expr) -> Expr:
        match node:
            case Call(op="shape_of", args=(data,)):
                return _static_shape(node, type_of(data))
            case Call(args=(data, *weights)) if weights and op.is_anchor(node):
                return node.map_children(lambda arg: arg if arg is data else self._weights(arg))
            case Call(op=str()):
                return self._folded_unless_large(node)
            case TupleGetItem(Tuple(fields), index):
                return fields[index]
            case If(Constant(data), then, otherwise):
                return then if bool(data) else otherwise
        return node

    def _folded_unless_large(self, node: Call) -> Expr:
        made = _evaluated(node, LARGE_BYTES)
        if made is node and all(arg in self.large or _is_constant(arg) for arg in node.args):
            self.large.add(node)
        return made

    def _weights(self, arg: Expr) -> Expr:
        """``arg`` as a constant, even a large one, if it depends on constants only."""
        if arg not in self.large:
            return arg
        return rewrite(arg, lambda node: _evaluated(node, WEIGHT_BYTES) if isinstance(node, Call) else node)


def _is_constant(arg: Expr) -> bool:
    fields = arg.fields if isinstance(arg, Tuple) else (arg,)
    return all(isinstance(field, Constant) for field in fields)


def _constant_value(arg: Expr) -> Value:
    if isinstance(arg, Tuple):
        return tuple(field.data for field in arg.fields)  # type: ignore[attr-defined]
    assert isinstance(arg, Constant)
    return arg.data


def _evaluated(node: Call, limit: int) -> Expr:
    """The result of ``node`` if all its arguments are constants and it is not too large; else ``node``."""
    symbolic = any(is_symbolic(value) for _, value in node.attrs)
    size = _type_bytes(type_of(node))
    if symbolic or size is None or not all(map(_is_constant, node.args)):
        return node
    if size > limit and size > MAX_GROWTH * sum(_type_bytes(type_of(arg)) or 0 for arg in node.args):
        return node
    if size >= deferred.LARGE_BYTES and _is_rearrangement(node):
        return DeferredConstant.of_call(node)
    try:
        return _as_constant(call_reference(node, [_constant_value(arg) for arg in node.args]), node.span)
    except ExecutionError:
        return node  # the data is invalid: reported if the call is run


def _is_rearrangement(node: Call) -> bool:
    """Whether each element of the result depends on few elements of one constant: such calls do not fail."""
    fuse = op.fuse_class(node)
    has_one_constant = len(node.args) == 1 and isinstance(node.args[0], Constant)
    return has_one_constant and fuse is not None and fuse <= op.Fuse.INJECTIVE


def _type_bytes(type_: Type) -> int | None:
    """The size of a value of ``type_`` in bytes; None if a dimension is symbolic."""
    if isinstance(type_, TupleType):
        sizes = [_type_bytes(field) for field in type_.fields]
        return None if any(size is None for size in sizes) else sum(sizes)  # type: ignore[arg-type]
    if not isinstance(type_, TensorType):
        return None
    total = dtypes.bytes_of(type_.dtype)
    for extent in type_.shape:
        if not isinstance(extent, int):
            return None
        total *= extent
    return total


def _as_constant(value: Value, span: Span | None) -> Expr:
    if isinstance(value, tuple):
        return Tuple(tuple(_as_constant(field, span) for field in value), span)
    return Constant(np.asarray(value, order="C"), span)


def _static_shape(node: Call, type_: Type) -> Expr:
    """``shape_of`` as a constant, if the type of its argument has a static shape."""
    if isinstance(type_, TensorType) and type_.is_static:
        return Constant(np.array(type_.shape, node["dtype"]), node.span)
    return node
