"""Extents that are the elements of a tensor: ``relay.zeros(shape, "float32")`` where ``shape`` is computed.

An attribute that may contain dimensions can also be a tensor of integers with a known number of elements.
The elements are evaluated before the call and become its dimensions; a run where one is negative fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir import op as table
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, show_type
from tvmlite.te import expr as e
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.op.arguments import known_type

_counts = itertools.count(1)


def bound(name: str, build: Callable[..., Any], given: Mapping[str, Any], keys: list[str]) -> Any:
    """Build the call of ``name`` with the arguments ``given``; the attributes ``keys`` are tensors."""
    if not keys:
        known = dict(given)
        if name in _ASSUMING and _is_open(known["data"], known[_SHAPE[name]]):
            known["data"] = _ASSUMING[name](known["data"], known[_SHAPE[name]])
        return build(**known)
    key, *rest = keys
    value = given[key]
    if isinstance(table.get(name).attrs.get(key), int):
        value = make("reshape", value, newshape=())
    if name == "topk":
        return _most(name, build, given, value)
    codes = given["data"] if name == "reshape" else None
    return with_sizes(
        f"{name}: {key}", value, lambda sizes: bound(name, build, {**given, key: sizes}, rest), codes
    )


def _most(name: str, build: Callable[..., Any], given: Mapping[str, Any], value: Any) -> Any:
    """Build a call of ``topk`` with ``k`` from a tensor, clipped to the axis's extent; k < 1 means all."""
    axis = given.get("axis", -1)
    extent = tensor_type(f"{name}: data", given["data"]).shape[axis]
    own = make("take", make("shape_of", given["data"], dtype="int64"), _number(axis), axis=0, mode="wrap")
    whole = make("cast", value, dtype="int64")
    whole = make("where", make("less", whole, _number(1)), own, make("minimum", whole, own))
    return with_sizes(
        f"{name}: k", whole, lambda size: build(**{**given, "k": e.Min(*e.match(size, extent))})
    )


def known_numbers(value: Any) -> Any:
    """The elements of ``value`` as nested tuples, if it is a constant or a known shape (``shape_of``); else
    ``value`` itself."""
    if isinstance(value, nodes.Constant):
        return _nested(np.asarray(value.data).tolist())
    if isinstance(value, nodes.Call) and value.op == "shape_of":
        type_ = known_type(value.args[0])
        if isinstance(type_, TensorType) and type_.is_static:
            return tuple(int(extent) for extent in type_.shape)  # type: ignore[arg-type]
    return value


def whole_numbers(value: Any) -> Any:
    """``value``, a number or nested tuples of numbers, with integral floats converted to ints."""
    if isinstance(value, tuple):
        return tuple(map(whole_numbers, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def with_sizes(what: str, value: Any, build: Callable[[Any], Any], reshaped: Any = None) -> Any:
    """Call ``build`` with the elements of the tensor ``value`` as dimensions, in nested tuples. If
    ``reshaped`` is given, the elements are the ``newshape`` of a reshape of it, whose special values are
    resolved."""
    shape = _shape(what, value)
    dims = tuple(ty.computed(f"size_{next(_counts)}") for _ in range(int(np.prod(shape, dtype=int))))
    vector = make("cast", make("reshape", value, newshape=(-1,)), dtype="int64")
    if reshaped is not None:
        vector = _resolved(vector, reshaped, len(dims))
    made = build(_nested(np.array(dims, dtype=object).reshape(shape).tolist()))
    return nodes.LetDims(dims, vector, made, Span.of_caller())


def _is_open(data: Any, shape: Sequence[Any]) -> bool:
    """Whether ``shape`` has no special values and it is not known that ``data`` fits it."""
    codes = any(isinstance(extent, int) and extent <= 0 for extent in shape)
    type_ = known_type(data)
    if not isinstance(type_, TensorType):
        return False  # type inference reports it
    return not codes and not (type_.is_static and all(isinstance(extent, int) for extent in shape))


def _counted(data: Any, shape: Sequence[Any]) -> Any:
    """``data`` flattened; a run where it does not have as many elements as ``shape`` fails."""
    count: Any = 1
    for extent in shape:
        count = count * extent
    return make("assume_shape", make("reshape", data, newshape=(-1,)), newshape=(count,))


def _broadcast(data: Any, shape: Sequence[Any]) -> Any:
    """``data`` with the extents of ``shape`` on axes that are not 1; a run with others fails."""
    own = list(tensor_type("broadcast_to: data", data).shape)
    behind = list(shape)[len(shape) - len(own) :]
    wanted = [have if have == 1 else want for have, want in zip(own, behind, strict=True)]
    return make("assume_shape", data, newshape=tuple(wanted)) if wanted else data


_ASSUMING: dict[str, Callable[[Any, Any], Any]] = {"reshape": _counted, "broadcast_to": _broadcast}
"""Checks to add to the data of an operator, by its name, if extents are not known."""
_SHAPE = {"reshape": "newshape", "broadcast_to": "shape"}


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else value


def tensor_type(what: str, value: Any) -> TensorType:
    """The type of ``value``; an error that names ``what`` if it is not known to be a tensor."""
    fault = ""
    try:
        type_ = type_of(value)
    except TypeInferError as error:
        type_, fault = None, f": {error.message}"
    if not isinstance(type_, TensorType):
        raise TypeInferError(
            f"{what} has no type of a tensor, which sizes from a tensor need{fault}",
            Span.of_caller(),
            hint='write it: relay.var("n", shape=(2,), dtype="int64")',
        )
    return type_


def _shape(what: str, value: Any) -> tuple[int, ...]:
    type_ = tensor_type(what, value)
    if not type_.is_static:
        raise TypeInferError(
            f"{what} is {show_type(type_)}, expected numbers, or a tensor of known shape",
            Span.of_caller(),
        )
    return tuple(int(extent) for extent in type_.shape)  # type: ignore[arg-type]


def _resolved(wanted: Any, data: Any, count: int) -> Any:
    """The extents that ``wanted`` means: 0 copies that of ``data``, -1 is inferred, -3 merges two."""
    own = make("cast", make("shape_of", data, dtype="int64"), dtype="int64")
    rank = tensor_type("reshape: data", data).ndim
    own = make("nn.pad", own, pad_width=((0, max(0, 2 * count - rank)),), pad_value=0)
    joins = make("equal", wanted, _number(-3))
    taken = make("add", _number(1), make("cast", joins, dtype="int64"))
    first = make("cumsum", taken, axis=0, exclusive=True)
    kept, second = (
        make("take", own, place, axis=0, mode="clip") for place in (first, make("add", first, _number(1)))
    )
    copied = make("where", make("equal", wanted, _number(0)), kept, wanted)
    copied = make("where", joins, make("multiply", kept, second), copied)
    named = make("where", make("equal", copied, _number(-1)), _number(1), copied)
    total = make("prod", make("shape_of", data, dtype="int64"), axis=(0,))
    rest = make("floor_divide", total, make("prod", named, axis=(0,)))
    return make("where", make("equal", copied, _number(-1)), rest, copied)


def _number(value: int) -> nodes.Constant:
    return nodes.Constant(np.asarray(value, np.int64))
