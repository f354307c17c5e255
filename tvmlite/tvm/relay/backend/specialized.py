"""Specializes functions with ``Any()`` extents to the shapes of given arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.core.node import postorder, rewrite, substitute
from tvmlite.relay.ir import types
from tvmlite.relay.ir.nodes import Call
from tvmlite.te import expr as e
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import Function, Var, adopt


def has_unknown_extents(function: Any) -> bool:
    """Whether a parameter of ``function`` has a ``relay.Any()`` extent."""
    return any(_is_open(param.type) for param in function.params)


def specialized(function: Any, arrays: Sequence[Any]) -> Any:
    """``function`` with the ``Any()`` extents of its parameters replaced by the extents of ``arrays``.

    An array whose rank differs from its parameter's is an InputError.
    """
    made = {
        param: Var(param.name, _closed(param.type, array, param.name), param.span)
        for param, array in zip(function.params, arrays, strict=True)
        if _is_open(param.type)
    }
    params = [made.get(param, param) for param in function.params]
    extents: dict[Any, set[int]] = {}
    for param in made:
        _bind(param.type, made[param].type, extents)
    body = _with_extents(substitute(function.body, made), extents)
    return Function(params, adopt(body), attrs=function.attrs)


def _bind(own: Any, known: Any, extents: dict[Any, set[int]]) -> None:
    """Enter in ``extents``, for each ``Any()`` in the type ``own``, its extents in the type ``known``."""
    if isinstance(own, types.TupleType):
        for one, other in zip(own.fields, known.fields, strict=True):
            _bind(one, other, extents)
    elif isinstance(own, types.TensorType):
        for one, other in zip(own.shape, known.shape, strict=True):
            if isinstance(one, ty.Any):
                extents.setdefault(one, set()).add(int(other))


def _with_extents(body: Any, extents: dict[Any, set[int]]) -> Any:
    """``body`` with ``extents`` substituted in the attributes of its calls, also in computed extents."""

    def known(extent: Any) -> Any:
        if not ty.is_unknown(extent):
            return extent
        found = {one: extents[one] for one in postorder(extent) if one in extents}
        several = next((sizes for sizes in found.values() if len(sizes) > 1), None)
        if several is not None:
            raise InputError(
                f"one relay.Any() is {' and '.join(map(str, sorted(several)))} in the arguments, and an "
                "extent depends on it: use a separate relay.Any() for each shape"
            )
        return types.normal_dim(
            substitute(extent, {one: e.const(min(sizes), e.INDEX) for one, sizes in found.items()})
        )

    def rule(node: Any) -> Any:
        if not isinstance(node, Call) or not any(map(ty.is_unknown, types.dims_of(node.attrs))):
            return node
        return node._with({"attrs": types.map_dims(node.attrs, known)})

    return rewrite(body, rule)


def _is_open(type_: Any) -> bool:
    if isinstance(type_, types.TupleType):
        return any(map(_is_open, type_.fields))
    return isinstance(type_, types.TensorType) and any(map(ty.is_unknown, type_.shape))


def _closed(type_: Any, array: Any, name: str) -> Any:
    if isinstance(type_, types.TupleType):
        fields = zip(type_.fields, array, strict=True)
        return ty.TupleType(_closed(field, one, f"{name}.{at}") for at, (field, one) in enumerate(fields))
    shape = np.shape(array)
    if len(shape) != len(type_.shape):
        raise InputError(f"{name}: shape is {shape}, expected {types.show_shape(type_.shape)}")
    pairs = zip(type_.shape, shape, strict=True)
    return ty.TensorType([own if ty.is_unknown(extent) else extent for extent, own in pairs], type_.dtype)
