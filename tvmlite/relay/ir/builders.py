"""Functions that build calls of operators: ``relay.add(a, b)``, ``relay.nn.conv2d(x, w, strides=(2, 2))``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core.errors import TvmliteError, TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir import attributes, op
from tvmlite.relay.ir.nodes import Constant, Expr, Tuple, TupleGetItem

MAX_ATTRIBUTE_ELEMENTS = 1024
"""The largest number of elements of an array that may be given for an attribute."""


@functools.cache
def builder(name: str) -> Callable[..., Any]:
    """The function that builds calls of the operator ``name``.

    It takes arguments and attributes by name, or in the order of TVM's function with that name. An operator
    that takes a tuple also accepts a list of expressions; an attribute may be a ``relay.const`` or an array.
    A wrong argument is a TvmliteError at the caller's line.
    """
    row = op.get(name)

    def build(*args: Any, **attrs: Any) -> Expr:
        span = Span.of_caller()
        given = _arguments_by_name(row, args, attrs, span)
        inputs = [key for key in row.argument_names if key in given]
        exprs = [_argument(row, position, given.pop(key), span) for position, key in enumerate(inputs)]
        call = op.make(name, *exprs, span=span, **_converted_attributes(row, given, span))
        op.check_attributes(row, call)
        return call if row.field is None else TupleGetItem(call, row.field, span)

    build.__name__ = build.__qualname__ = name.rpartition(".")[2]
    build.__doc__ = row.compute.__doc__
    build.__signature__ = _signature(row)  # type: ignore[attr-defined]
    return build


def _signature(row: op.Operator) -> inspect.Signature:
    """The signature of the builder of ``row``, for help and editors."""
    parameters = []
    for name in row.parameters:
        default = row.attrs.get(name, inspect.Parameter.empty)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        if default is inspect.Parameter.empty and any(p.default is not p.empty for p in parameters):
            kind = inspect.Parameter.KEYWORD_ONLY
        if parameters and parameters[-1].kind is inspect.Parameter.KEYWORD_ONLY:
            kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


def _arguments_by_name(
    row: op.Operator, args: Sequence[Any], attrs: dict[str, Any], span: Span
) -> dict[str, Any]:
    """All arguments, positional and named, by the name of the parameter."""
    if len(args) > len(row.parameters):
        raise TvmliteError(
            f"{row.name}: takes at most {len(row.parameters)} arguments, {len(args)} given", span
        )
    given = dict(zip(row.parameters, args, strict=False))
    for name in attrs:
        if name in given:
            raise TvmliteError(f"{row.name}: {name!r} is given twice", span)
    return {**given, **attrs}


def _converted_attributes(row: op.Operator, given: dict[str, Any], span: Span) -> dict[str, Any]:
    """``given`` with attributes in the form of calls; converts constants, arrays, numpy dtypes."""
    found = {}
    for name, default, kind in row.kinds:
        if name not in given:
            continue
        value = given.pop(name)
        if isinstance(value, Constant):
            value = value.data
        if isinstance(value, np.ndarray) and value.size <= MAX_ATTRIBUTE_ELEMENTS:
            value = value.tolist()
        try:
            value = attributes.canonical_value(value)
        except TypeInferError as error:
            raise TypeInferError(f"{row.name}: {name}: {error.message}", span) from None
        unset = value is None or (isinstance(value, str) and not value)
        found[name] = default if unset and default in (None, "") else kind.convert(value)
    return {**found, **given}


def _argument(row: op.Operator, position: int, value: Any, span: Span) -> Expr:
    takes_tuple = row.num_inputs is None or row.argument_names[position] in row.tuples
    if takes_tuple and isinstance(value, (tuple, list)):
        return Tuple(tuple(_expr(row, index, field, span) for index, field in enumerate(value)), span)
    return _expr(row, position, value, span)


def _expr(row: op.Operator, position: int, value: Any, span: Span) -> Expr:
    if not isinstance(value, Expr):
        raise TvmliteError(
            f"{row.name}: argument {position} is {attributes.describe(value)}, expected a relay expression",
            span,
            hint="relay.const(value, dtype) makes one of a number or an array",
        )
    return value


class Namespace:
    """The operators whose names begin with ``prefix``, as attributes: ``relay.nn.relu``."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Callable[..., Any]:
        full = f"{self._prefix}.{name}"
        if not op.is_known(full):
            raise AttributeError(f"relay has no operator {full!r}")
        return builder(full)

    def __dir__(self) -> list[str]:
        start = f"{self._prefix}."
        return sorted(key.removeprefix(start) for key in op.names() if key.startswith(start))

    def __repr__(self) -> str:
        return f"<the relay operators {self._prefix}.*>"
