"""Functions with extents of ``Any()``, made for the shapes of the arrays they are called with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.core.node import substitute
from tvmlite.relay.ir import types
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import Function, Var, adopt


def has_unknown_extents(function: Any) -> bool:
    """Whether a parameter of ``function`` has an extent that is ``relay.Any()``."""
    return any(_is_open(param.type) for param in function.params)


def specialized(function: Any, arrays: Sequence[Any]) -> Any:
    """``function`` with extents of ``arrays`` in place of those of its parameters that are ``Any()``.

    An InputError if an array has another rank than its parameter.
    """
    made = {
        param: Var(param.name, _closed(param.type, array, param.name), param.span)
        for param, array in zip(function.params, arrays, strict=True)
        if _is_open(param.type)
    }
    params = [made.get(param, param) for param in function.params]
    return Function(params, adopt(substitute(function.body, made)), attrs=function.attrs)


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
