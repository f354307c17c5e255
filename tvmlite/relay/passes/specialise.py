"""Compile graphs for chosen sizes: a dimension is fixed, or has a graph for each of several sizes."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.core.node import reachable, substitute
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.nodes import Expr, If, LetDims, Module, Tuple, TupleGetItem, constant
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType, TupleType, dim, dims_of, same_type
from tvmlite.relay.passes.bind_dimensions import bind_dimensions

Sizes: TypeAlias = Mapping[str, int | Sequence[int]]
"""By dimension: the number that it is fixed to, or the sizes that it often has."""

MOST_VARIANTS = 64


def specialise(module: Module, sizes: Sizes) -> Module:
    """``module`` with separate graphs for chosen ``sizes`` of its open dimensions.

    A number fixes a dimension: the model takes that size only. With a list, the model still takes every size,
    and has a graph for each size in the list (for each combination, if there are several lists); the inputs'
    shapes select the graph at run time. An InputError names a dimension that is not open, or an invalid size.
    """
    pinned: dict[str, int] = {}
    listed: dict[str, list[int]] = {}
    for name, given in sizes.items():
        if isinstance(given, (int, np.integer)):
            pinned[name] = checked_size(name, given)
        elif isinstance(given, Sequence) and not isinstance(given, str):
            listed[name] = list(dict.fromkeys(checked_size(name, one) for one in given))
        else:
            raise InputError(f"dimension {name!r} is {given!r}, expected a number or a list of numbers")
    module = bind_dimensions(pinned)(module)
    bind_dimensions(dict.fromkeys(listed, 1))(module)  # raises the error if a name is unknown
    choices = [dict(zip(listed, one, strict=True)) for one in itertools.product(*listed.values())]
    if not listed or not choices:
        return module
    if len(choices) > MOST_VARIANTS:
        raise InputError(
            f"{len(choices)} combinations of sizes are asked for, at most {MOST_VARIANTS} are made"
        )
    main = module.main
    body = main.body
    lets = [one for one in reachable(body) if isinstance(one, LetDims)]
    from_data = {one for let in lets for one in let.dims}.intersection(dims_of(type_of(body)))
    if from_data:
        raise UnsupportedError(
            f"graphs for chosen sizes of {', '.join(map(repr, listed))}: an output has the extent "
            f"{min(one.name for one in from_data)!r}, which comes from the data",
            hint="give a dimension one number, or none",
        )
    for choice in reversed(choices):
        body = If(_has_sizes(choice), _variant(module, choice), body)
    made = dataclasses.replace(main, body=body)
    return dataclasses.replace(module, functions={**module.functions, "main": made})


def checked_size(name: str, given: object) -> int:
    """``given`` as a size of the dimension ``name``; an InputError if it is not a size."""
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
        raise InputError(f"dimension {name!r}: {given!r} is no size, expected a number from 1 on")
    return int(given)


def _has_sizes(choice: Mapping[str, int]) -> Expr:
    """Whether the dimensions have the sizes of ``choice``."""
    tests = []
    for name, size in choice.items():
        extent = make("reshape", make("shape_value", values=(dim(name),), dtype="int64"), newshape=())
        tests.append(make("equal", extent, constant(size, "int64")))
    result = tests[0]
    for one in tests[1:]:
        result = make("logical_and", result, one)
    return result


def _variant(module: Module, choice: Mapping[str, int]) -> Expr:
    """The body of ``module`` for the sizes in ``choice``, on the same parameters and with the same type."""
    lets = [one for one in reachable(module.main.body) if isinstance(one, LetDims)]
    suffix = "_".join(str(size) for size in choice.values())
    renamed = {one: dim(f"{one.name}_at_{suffix}") for let in lets for one in let.dims}
    bound = bind_dimensions(choice, renamed)(module).main
    pairs = zip(module.main.params, bound.params, strict=True)
    body = substitute(bound.body, {inner: _assume_type(outer, inner.type) for outer, inner in pairs})
    return _assume_type(body, type_of(module.main.body))


def _assume_type(value: Expr, wanted: object) -> Expr:
    """``value`` with the extents of the type ``wanted``, which it is assumed to have."""
    made = type_of(value)
    if isinstance(wanted, TupleType):
        count = range(len(wanted.fields))
        fields = value.fields if isinstance(value, Tuple) else [TupleGetItem(value, i) for i in count]
        return Tuple(
            tuple(_assume_type(one, type_) for one, type_ in zip(fields, wanted.fields, strict=True))
        )
    assert isinstance(wanted, TensorType)
    if isinstance(made, TensorType) and same_type(made, wanted):
        return value
    return make("assume_shape", value, newshape=wanted.shape)
