"""Add run-time checks to calls that require equal extents where they are not proved equal."""

from __future__ import annotations

from tvmlite.core.errors import TypeInferError
from tvmlite.relay.ir.dims import Assumable, Assumption, Dim, proved_equal, show_dim
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple, Var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType

MOST_ROUNDS = 4
"""The maximum number of rounds: an extent may be replaced by one that the next round replaces again."""


def with_equal_extents(call: Call) -> Call:
    """Wrap arguments of ``call`` in ``assume_shape`` where its operator requires unproved equalities::

        add(x: (h // 4 * 2,), y: (h // 2,))   -->   add(x, assume_shape(y, newshape=(h // 4 * 2,)))

    Return ``call`` itself if it has a type, or if no equality would help: then its type is an error.
    """
    candidate = call
    for _ in range(MOST_ROUNDS):
        if _has_type(candidate):
            return candidate
        assumed: list[Assumption] = []
        known: dict[str, Assumable] = {}
        assumable_args = tuple(_assumable(arg, assumed, known) for arg in candidate.args)
        _has_type(Call(candidate.op, assumable_args, candidate.attrs, candidate.span))
        args = tuple(_with_assumed_shape(arg, assumed) for arg in candidate.args)
        if all(a is b for a, b in zip(args, candidate.args, strict=True)):
            return call
        candidate = Call(call.op, args, call.attrs, call.span)
    return call


def _has_type(call: Call) -> bool:
    try:
        type_of(call)
    except TypeInferError:
        return False
    return True


def _assumable(arg: Expr, assumed: list[Assumption], known: dict[str, Assumable]) -> Expr:
    """A variable with the type of ``arg`` in which each open extent is an ``Assumable``, one per distinct
    text, that adds to ``assumed``; ``arg`` itself if it has no open extents."""
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


def _with_assumed_shape(arg: Expr, assumed: list[Assumption]) -> Expr:
    """``arg`` with the extents that are assumed to equal its own."""
    if isinstance(arg, Tuple):
        return arg.map_children(lambda field: _with_assumed_shape(field, assumed))
    type_ = type_of(arg)
    if not isinstance(type_, TensorType):
        return arg
    shape = tuple(_assumed_extent(extent, assumed) for extent in tensor_type_of(arg).shape)
    if all(a is b for a, b in zip(shape, type_.shape, strict=True)):
        return arg
    return make("assume_shape", arg, newshape=shape, span=getattr(arg, "span", None))


def _assumed_extent(extent: Dim, assumed: list[Assumption]) -> Dim:
    """The extent that ``extent`` is assumed to equal: the number of the two, if any, else the first."""
    for one, other in assumed:
        kept, replaced = (other, one) if isinstance(other, int) else (one, other)
        if not isinstance(extent, int) and proved_equal(extent, replaced):
            return kept
    return extent
