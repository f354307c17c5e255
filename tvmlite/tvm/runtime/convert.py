"""Convert Python values to TVM's: numbers to constants, lists to arrays, strings to ``Text``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.tvm.marks import mark
from tvmlite.tvm.runtime.container import Array, Map
from tvmlite.tvm.runtime.values import SHORT_DTYPES, Extent, Text


def convert(value: Any, span: Any = None) -> Any:
    """Convert ``value`` to a TVM object: a number to a constant, a string to a ``Text``, lists, tuples and
    dicts element by element. Functions, tensors, arrays and expressions are returned as they are."""
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, (list, tuple)):
        return Array(convert(one) for one in value)
    if isinstance(value, dict):
        return Map({key: convert(one) for key, one in value.items()})
    if type(value) is int and -(2**31) <= value < 2**31:
        return Extent(value)  # as a dict key and in comparisons it is an int
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return const(value)
    return value


def long_dtype(dtype: Any) -> Any:
    """Return tvmlite's name of ``dtype``: ``"float32"`` for ``"float"``, ``"bool"`` for ``"uint1"``."""
    return SHORT_DTYPES.get(dtype, dtype) if isinstance(dtype, str) else dtype


def const(value: Any, dtype: str | None = None, span: Any = None) -> Any:
    """Return ``value`` as a constant. The default ``dtype`` is the value's own; for Python's numbers int32,
    bool, or float32 (float64 for large values)."""
    if isinstance(value, (np.number, np.bool_)):
        dtype, value = dtype or value.dtype.name, value.item()
    if dtype is None and isinstance(value, float) and math.isfinite(value) and abs(value) > _MOST["float32"]:
        dtype = "float64"
    if dtype is None:
        return mark(e.const(value))
    element, lanes = e.lanes_of(long_dtype(dtype))
    if type(value) is int and dtypes.is_int(element):
        low, high = dtypes.limits(element)
        if not low <= value <= high:
            raise TensorExpressionError(
                f"const: {value} is not a value of {element}, which are {low} to {high}", Span.of_caller()
            )
    if element in _MOST and math.isfinite(value) and abs(value) > _MOST[element]:
        raise TensorExpressionError(
            f"const: {value} is not a value of {element}, which end at {_MOST[element]}", Span.of_caller()
        )
    return mark(e.const(value, element, lanes))


_MOST = {name: float(np.finfo(name).max) for name in ("float16", "float32")}
"""The largest finite values of these dtypes."""
