"""Calls whose operator asks for equal extents where nothing proves them equal: a run checks that they are."""

from __future__ import annotations

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.dims import Assumable, Assumption, Dim, proved_equal, show_dim
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple, Var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType

MOST_ROUNDS = 4
"""How often arguments are looked at again: one extent may be fitted to another that is fitted then."""


def with_equal_extents(call: Call) -> Call:
    """``call``, with ``assume_shape`` around arguments of which its operator asks more than is known::

        add(x: (h // 4 * 2,), y: (h // 2,))   -->   add(x, assume_shape(y, newshape=(h // 4 * 2,)))

    Itself where types follow already, and where no equality of extents would help: then its type is an error.
    """
    fitted = call
    for _ in range(MOST_ROUNDS):
        if _has_type(fitted):
            return fitted
        assumed: list[Assumption] = []
        known: dict[str, Assumable] = {}
        tried = tuple(_assumable(arg, assumed, known) for arg in fitted.args)
        _has_type(Call(fitted.op, tried, fitted.attrs, fitted.span))
        args = tuple(_fitted(arg, assumed) for arg in fitted.args)
        if all(a is b for a, b in zip(args, fitted.args, strict=True)):
            return call
        fitted = Call(call.op, args, call.attrs, call.span)
    return call


def _has_type(call: Call) -> bool:
    try:
        type_of(call)
    except TypeInferError:
        return False
    return True


def _assumable(arg: Expr, assumed: list[Assumption], known: dict[str, Assumable]) -> Expr:
    """A variable like ``arg`` of whose open extents equalities may be ``assumed``, those of one text one
    object; ``arg`` itself if it has none."""
    if isinstance(arg, Tuple):
        return arg.map_children(lambda field: _assumable(field, assumed, known))
    type_ = type_of(arg)
    if not isinstance(type_, TensorType) or type_.is_static:
        return arg

    def extent(value: Dim) -> Dim:
        if isinstance(value, int):
            return value
        text = show_dim(value)
        return known.setdefault(
            text, Assumable(f"assumable{len(known)}", "int64", value=value, assumed=assumed)
        )

    return Var("", TensorType(tuple(map(extent, type_.shape)), type_.dtype))


def _fitted(arg: Expr, assumed: list[Assumption]) -> Expr:
    """``arg`` of the extents that are assumed to be those it has."""
    if isinstance(arg, Tuple):
        return arg.map_children(lambda field: _fitted(field, assumed))
    type_ = type_of(arg)
    if not isinstance(type_, TensorType):
        return arg
    shape = tuple(_extent(extent, assumed) for extent in tensor_type_of(arg).shape)
    if all(a is b for a, b in zip(shape, type_.shape, strict=True)):
        return arg
    return make("assume_shape", arg, newshape=shape, span=getattr(arg, "span", None))


def _extent(extent: Dim, assumed: list[Assumption]) -> Dim:
    """What ``extent`` is assumed to be: a number where there is one, else what was named first."""
    for one, other in assumed:
        kept, replaced = (other, one) if isinstance(other, int) else (one, other)
        if not isinstance(extent, int) and proved_equal(extent, replaced):
            return kept
    return extent
