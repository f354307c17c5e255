"""Helpers for integer rules: conversions of quantized values, and tests of their affine types.

A rule gets a call whose operands are already integers, and the operands' affine types by operand. It returns
the integer call and its affine type, or None if it cannot convert the call. If the type requested for the
result is known, because a quantize follows, ``types`` has it under the call itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.tvm.relay.transform.precision.affine_type import (
    TensorAffineType,
    along,
    folded,
    number,
    same_numbers,
    same_type,
)

Types: TypeAlias = Mapping[Any, Any]
Made: TypeAlias = "tuple[Any, Any] | None"
Rule: TypeAlias = Callable[[Any, Types], Made]

BYTES = ("int8", "uint8")
"""The operand dtypes that quantized operators support."""


def requantized(value: Any, given: TensorAffineType, wanted: TensorAffineType) -> Any:
    """``value`` converted from the affine type ``given`` to ``wanted``."""
    if same_type(given, wanted):
        return value
    parameters = (given.scale, given.zero_point, wanted.scale, wanted.zero_point)
    return make("qnn.requantize", value, *parameters, axis=given.axis, out_dtype=wanted.dtype)


def quantized(value: Any, wanted: TensorAffineType) -> Any:
    """The float tensor ``value`` quantized to the affine type ``wanted``."""
    scales = (wanted.scale, wanted.zero_point)
    return make("qnn.quantize", value, *scales, axis=wanted.axis, out_dtype=wanted.dtype)


def whole(value: Any, given: TensorAffineType) -> tuple[Any, TensorAffineType]:
    """``value`` as int32 with zero point 0, and its affine type."""
    made, zero = value, given.zero_point
    if given.dtype != "int32":
        made = make("cast", made, dtype="int32")
    if not same_numbers(zero, number(0, "int32")):
        moved = zero if tensor_type_of(zero).dtype == "int32" else folded(make("cast", zero, dtype="int32"))
        moved = along(moved, given.axis, len(tensor_type_of(value).shape))
        made = make("subtract", made, moved)
    return made, TensorAffineType(given.scale, number(0, "int32"), "int32", given.axis)


def code(value: float, given: TensorAffineType, rank: int) -> Any:
    """The quantized ``value``: an integer, or a vector along the axis, shaped for ``rank`` axes."""
    size = given.scale if tensor_type_of(given.scale).shape else given.zero_point
    shape = tuple(int(extent) for extent in tensor_type_of(size).shape)  # type: ignore[arg-type]
    filled = nodes.Constant(np.full(shape, value, "float32"))
    codes = folded(quantized(filled, TensorAffineType(given.scale, given.zero_point, given.dtype, 0)))
    return along(codes, given.axis, rank)


def is_beyond(value: Any, given: TensorAffineType, below: bool = True, above: bool = True) -> bool:
    """Whether a number, or an element of a constant, is outside the range that ``given`` can represent:
    ``below`` its lowest or ``above`` its highest value. False if the scale is not known."""
    known = [one.data for one in (given.scale, given.zero_point) if isinstance(one, nodes.Constant)]
    if len(known) < 2:
        return False
    numbers = np.asarray(value.data if isinstance(value, nodes.Constant) else value, np.float64)
    steps = np.rint(np.expand_dims(numbers, -1) / known[0].astype(np.float64)) + known[1]
    low, high = dtypes.limits(given.dtype)
    return bool((below and np.any(steps < low)) or (above and np.any(steps > high)))


def operands(call: Any, types: Types) -> list[TensorAffineType] | None:
    """The affine types of all operands of ``call``; None unless all are known tensor types."""
    found = [types.get(arg) for arg in call.args]
    return found if all(isinstance(one, TensorAffineType) for one in found) else None  # type: ignore[return-value]


def with_constants(call: Any, types: Types, dtype: str) -> tuple[list[Any], list[TensorAffineType]] | None:
    """The two operands and their affine types. An operand without a type is quantized with the other's scale:
    as int32 with zero point 0 if ``dtype`` is "int32", else in the other's type."""
    values, given = list(call.args), [types.get(arg) for arg in call.args]
    for index, (one, other) in enumerate(zip(given, reversed(given), strict=True)):
        if one is not None:
            continue
        if other is None or not other.is_scalar:
            return None
        whole = TensorAffineType(other.scale, number(0, "int32"), "int32")
        given[index] = taken = whole if dtype == "int32" else other
        values[index] = quantized(values[index], taken)
    return values, given  # type: ignore[return-value]


def takes_zero_point(given: TensorAffineType) -> bool:
    """Whether quantized operators support the zero point: it is in the range of the elements' dtype, or not
    known."""
    zero, (low, high) = given.zero_point, dtypes.limits(given.dtype)
    return not isinstance(zero, nodes.Constant) or bool(np.all((low <= zero.data) & (zero.data <= high)))


def are_bytes(types: list[TensorAffineType]) -> bool:
    """Whether all dtypes are supported as operands of quantized operators."""
    return all(one.dtype in BYTES for one in types)
