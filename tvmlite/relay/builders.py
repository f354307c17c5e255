"""Operators as functions from the table: ``relay.add(a, b)``, ``relay.nn.conv2d(x, w, strides=(2, 2))``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core.errors import TvmliteError
from tvmlite.core.span import Span
from tvmlite.relay import op
from tvmlite.relay.ir import Call, Expr, Tuple


@functools.cache
def builder(name: str) -> Callable[..., Call]:
    """The function that builds calls of the operator ``name``.

    It takes the arguments, then attributes in the table's order or by name. An operator that takes a tuple
    takes a list of expressions, too. A wrong argument is a TvmliteError at the caller's line.
    """
    row = op.get(name)

    def build(*args: Any, **attrs: Any) -> Call:
        count = 1 if row.num_inputs is None else row.num_inputs
        inputs, further = list(args[:count]), args[count:]
        inputs += [attrs.pop(key) for key in row.argument_names[len(inputs) :] if key in attrs]
        names = list(row.attrs)
        span = Span.of_caller()
        if len(further) > len(names):
            given = len(inputs) + len(further)
            raise TvmliteError(f"{name}: takes at most {count + len(names)} arguments, {given} given", span)
        for key, value in zip(names, further, strict=False):
            if key in attrs:
                raise TvmliteError(f"{name}: attribute {key!r} is given twice", span)
            attrs[key] = value
        exprs = [_argument(name, position, value, row, span) for position, value in enumerate(inputs)]
        return op.make(name, *exprs, span=span, **attrs)

    build.__name__ = build.__qualname__ = name.rpartition(".")[2]
    build.__doc__ = row.compute.__doc__
    return build


def _argument(name: str, position: int, value: Any, row: op.Operator, span: Span) -> Expr:
    if row.num_inputs is None and isinstance(value, Sequence) and not isinstance(value, str):
        fields = [_expr(name, index, field, span) for index, field in enumerate(value)]
        return Tuple(tuple(fields), span)
    return _expr(name, position, value, span)


def _expr(name: str, position: int, value: Any, span: Span) -> Expr:
    if not isinstance(value, Expr):
        raise TvmliteError(
            f"{name}: argument {position} is a {type(value).__name__}, expected a relay expression",
            span,
            hint="relay.const(value, dtype) makes one of a number or an array",
        )
    return value


class Namespace:
    """The operators whose names begin with ``prefix``, as attributes: ``relay.nn.relu``."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Callable[..., Call]:
        full = f"{self._prefix}.{name}"
        if full not in op.OPERATORS:
            raise AttributeError(f"relay has no operator {full!r}")
        return builder(full)

    def __dir__(self) -> list[str]:
        start = f"{self._prefix}."
        return sorted(key.removeprefix(start) for key in op.OPERATORS if key.startswith(start))

    def __repr__(self) -> str:
        return f"<the relay operators {self._prefix}.*>"
