"""Calls whose operator asks for equal extents where nothing proves them equal: a run checks that they are."""

from __future__ import annotations

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.dims import Dim, Taken, proved_equal, taking_equal
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple
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
        with taking_equal() as taken:  # of a call of its own: types are remembered
            _has_type(Call(fitted.op, fitted.args, fitted.attrs, fitted.span))
        args = tuple(_fitted(arg, taken) for arg in fitted.args)
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


def _fitted(arg: Expr, taken: list[Taken]) -> Expr:
    """``arg`` of the extents that are taken to be those it has."""
    if isinstance(arg, Tuple):
        fields = tuple(_fitted(field, taken) for field in arg.fields)
        return (
            arg if all(a is b for a, b in zip(fields, arg.fields, strict=True)) else Tuple(fields, arg.span)
        )
    type_ = type_of(arg)
    if not isinstance(type_, TensorType):
        return arg
    shape = tuple(_extent(extent, taken) for extent in tensor_type_of(arg).shape)
    if all(a is b for a, b in zip(shape, type_.shape, strict=True)):
        return arg
    return make("assume_shape", arg, newshape=shape, span=getattr(arg, "span", None))


def _extent(extent: Dim, taken: list[Taken]) -> Dim:
    """What ``extent`` is taken to be: a number where there is one, else what was named first."""
    for one, other in taken:
        kept, replaced = (other, one) if isinstance(other, int) else (one, other)
        if not isinstance(extent, int) and proved_equal(extent, replaced):
            return kept
    return extent
