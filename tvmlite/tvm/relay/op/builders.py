"""TVM's Python functions of the operators in the operator table.

The functions of ``tvmlite.relay.ir.builders`` already have TVM's names and order of parameters. This module
accepts the argument forms that TVM's programs pass, and converts the results to nodes of ``relay.expr``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span
from tvmlite.relay.ir import builders, nodes
from tvmlite.relay.ir import op as table
from tvmlite.te import expr as te
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import TupleWrapper, adopt, const
from tvmlite.tvm.relay.graph.attrs import plain_value
from tvmlite.tvm.relay.op.results import results_of
from tvmlite.tvm.relay.op.run_time_sizes import bound, known_numbers, whole_numbers

_FLAGS = (
    "is_ascend",
    "exclude",
    "keepdims",
    "ceil_mode",
    "count_include_pad",
    "transpose_a",
    "transpose_b",
    "exclusive",
)
"""Boolean attributes that may also be given as 0 and 1."""

_BY_AXIS = ("strides", "dilation", "kernel_size", "pool_size")
"""Attributes with a number for each axis, or one number for all axes."""

_RENAMED = {("unique", "is_sorted"): "sorted", ("random.threefry_generate", "shape"): "out_shape"}
"""The attribute names of parameters of TVM's functions, by operator and parameter, where they differ."""

_REAL = ("a_min", "a_max", "scale_d", "scale_h", "scale_w")
"""Attributes that are floats, besides those whose default is a float."""

_UNSET = ("dtype", "out_dtype", "out_layout")
"""Attributes for which None means the default."""


@functools.cache
def function(name: str) -> Callable[..., Any]:
    """TVM's function for the operator ``name``."""
    row, build = table.get(name), builders.builder(name)
    order = row.parameters
    rank = len(row.attrs["strides"]) if isinstance(row.attrs.get("strides"), tuple) else 0

    def call(*args: Any, **options: Any) -> Any:
        values = _spread(args, row)
        if len(values) > len(order):
            raise TvmliteError(
                f"{name}: takes at most {len(order)} arguments, {len(values)} given", Span.of_caller()
            )
        given = {key: _argument(_listed(key, one, row)) for key, one in zip(order, values, strict=False)}
        for key, value in options.items():
            key = _RENAMED.get((name, key), key)
            if key in given:
                raise TvmliteError(f"{name}: {key!r} is given twice", Span.of_caller())
            given[key] = _argument(_listed(key, value, row))
        for key in list(given):
            if (
                given[key] is None
                and key in row.attrs
                and (key in _UNSET or row.attrs[key] != table.REQUIRED)
            ):
                del given[key]
            elif key in row.argument_names and isinstance(given[key], (int, float)):
                given[key] = const(given[key])
            elif key in _BY_AXIS and rank and isinstance(given[key], int):
                given[key] = (given[key],) * rank
            elif key in _FLAGS and type(given[key]) is int and key in row.attrs:
                given[key] = bool(given[key])
            elif key == "axis" and "exclude" in row.attrs and isinstance(given[key], int):
                given[key] = (given[key],)  # a reduction's axes, which TVM keeps as a list
            elif type(given[key]) is int and _is_real(key, row):
                given[key] = _as_float(given[key])
        if "padding" in given and isinstance(row.attrs.get("padding"), tuple):
            given["padding"] = _both_ends(given["padding"], len(row.attrs["padding"]) // 2)
        if rank and isinstance(given.get("output_padding"), tuple):
            given["output_padding"] = given["output_padding"][:rank]  # TVM accepts longer tuples
        tensors = [key for key in row.attrs if isinstance(given.get(key), nodes.Expr)]
        for key in tensors:
            numbers = known_numbers(given[key])
            if _is_real(key, row):
                given[key] = _as_float(numbers) if type(numbers) is int else numbers
            else:
                given[key] = whole_numbers(numbers) if key in row.open_attrs else numbers
        sizes = [key for key in row.open_attrs if isinstance(given.get(key), nodes.Expr)]
        made = adopt(bound(name, build, given, sizes) if tensors else build(**given))
        count = results_of(made)
        return made if count is None or row.any_types else TupleWrapper(made, count)

    functools.update_wrapper(call, build)
    return call


def _spread(args: Sequence[Any], row: table.Operator) -> list[Any]:
    """``args`` with each sparse matrix, a tuple or scipy's object in TVM, replaced by its three arrays."""
    found: list[Any] = []
    for value in args:
        parts = [getattr(value, part, None) for part in ("data", "indices", "indptr")]
        place = len(found)
        takes_one = place < len(row.argument_names) and row.argument_names[place] not in row.tuples
        if row.name.startswith("nn.sparse") and takes_one and isinstance(value, (tuple, list)):
            found += value
        elif row.name.startswith("nn.sparse") and all(isinstance(part, np.ndarray) for part in parts):
            found += map(const, parts)
        else:
            found.append(value)
    return found


def _is_real(key: str, row: table.Operator) -> bool:
    """Whether the attribute ``key`` is a float."""
    return key in _REAL or isinstance(row.attrs.get(key), float)


def _as_float(value: int) -> float | int:
    """``value`` as a float, as TVM keeps it, unless it is above 2^53 in magnitude."""
    return float(value) if abs(value) <= 2**53 else value


def _both_ends(padding: Any, rank: int) -> Any:
    """The padding before and after all axes, where one number is given for all or for both sides."""
    if isinstance(padding, int):
        return (padding,) * (2 * rank)
    if isinstance(padding, (tuple, list)) and len(padding) in (1, rank) and len(padding) != 2 * rank:
        return tuple(padding) * (2 if len(padding) == rank else 2 * rank)
    return padding


def _listed(key: str, value: Any, row: table.Operator) -> Any:
    """``value`` as a tuple of its results, if it has several and ``key`` takes a tuple, as in TVM."""
    takes_several = row.num_inputs is None or key in row.tuples
    several = isinstance(value, TupleWrapper) and takes_several and key in row.argument_names
    return tuple(value) if several else value


def _argument(value: Any) -> Any:
    """An argument in the form that our functions take."""
    if isinstance(value, TupleWrapper):
        return value.tuple_value
    if isinstance(value, (tuple, list)) and any(isinstance(one, (nodes.Expr, TupleWrapper)) for one in value):
        return type(value)(map(_argument, value))
    return value if isinstance(value, nodes.Expr) else _with_dims(plain_value(value))


def _with_dims(value: Any) -> Any:
    """An attribute with the variables of ``te`` in it replaced by dimensions of the same names."""
    if isinstance(value, tuple):
        return tuple(map(_with_dims, value))
    return ty.extent(value) if isinstance(value, te.Expr) else value


class Namespace:
    """A namespace of the operators whose names begin with ``prefix``, as in ``relay.nn.relu``.

    ``others`` has further functions by name, which are not operators of the table.
    """

    def __init__(self, prefix: str, others: Any = None) -> None:
        self._prefix = prefix
        self._others = others or {}

    def __getattr__(self, name: str) -> Any:
        if name in self._others:
            return self._others[name]
        full = f"{self._prefix}.{name}" if self._prefix else name
        if not table.is_known(full):
            raise AttributeError(f"relay has no operator {full!r}")
        return function(full)

    def __dir__(self) -> list[str]:
        start = f"{self._prefix}." if self._prefix else ""
        found = {name.removeprefix(start) for name in table.names() if name.startswith(start)}
        return sorted({*self._others, *(name for name in found if "." not in name)})
