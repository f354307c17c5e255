"""Integers that stand for floats, and what is asked of them: the words that integer rules are written in.

A rule gets a call whose operands are integers already, and their types by operand, and gives the call of
integers and its type; None if it cannot. Where the type that is wanted of the result is known, because it is
quantized next, ``types`` has it under the call itself.
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
"""Dtypes that quantized operators take."""


def requantized(value: Any, given: TensorAffineType, wanted: TensorAffineType) -> Any:
    """``value`` of one type in another."""
    if same_type(given, wanted):
        return value
    parameters = (given.scale, given.zero_point, wanted.scale, wanted.zero_point)
    return make("qnn.requantize", value, *parameters, axis=given.axis, out_dtype=wanted.dtype)


def quantized(value: Any, wanted: TensorAffineType) -> Any:
    """A tensor of floats in ``wanted``."""
    scales = (wanted.scale, wanted.zero_point)
    return make("qnn.quantize", value, *scales, axis=wanted.axis, out_dtype=wanted.dtype)


def whole(value: Any, given: TensorAffineType) -> tuple[Any, TensorAffineType]:
    """``value`` as int32, where 0 stands for 0."""
    made, zero = value, given.zero_point
    if given.dtype != "int32":
        made = make("cast", made, dtype="int32")
    if not same_numbers(zero, number(0, "int32")):
        moved = zero if tensor_type_of(zero).dtype == "int32" else folded(make("cast", zero, dtype="int32"))
        moved = along(moved, given.axis, len(tensor_type_of(value).shape))
        made = make("subtract", made, moved)
    return made, TensorAffineType(given.scale, number(0, "int32"), "int32", given.axis)


def code(value: float, given: TensorAffineType, rank: int) -> Any:
    """The integer for ``value``, or those along the axis."""
    size = given.scale if tensor_type_of(given.scale).shape else given.zero_point
    shape = tuple(int(extent) for extent in tensor_type_of(size).shape)  # type: ignore[arg-type]
    filled = nodes.Constant(np.full(shape, value, "float32"))
    codes = folded(quantized(filled, TensorAffineType(given.scale, given.zero_point, given.dtype, 0)))
    return along(codes, given.axis, rank)


def is_beyond(value: Any, given: TensorAffineType, below: bool = True, above: bool = True) -> bool:
    """Whether a number, or one of a constant, is ``below`` the least or ``above`` the greatest that integers
    of ``given`` stand for, as far as the scale is known."""
    known = [one.data for one in (given.scale, given.zero_point) if isinstance(one, nodes.Constant)]
    if len(known) < 2:
        return False
    numbers = np.asarray(value.data if isinstance(value, nodes.Constant) else value, np.float64)
    steps = np.rint(np.expand_dims(numbers, -1) / known[0].astype(np.float64)) + known[1]
    low, high = dtypes.limits(given.dtype)
    return bool((below and np.any(steps < low)) or (above and np.any(steps > high)))


def operands(call: Any, types: Types) -> list[TensorAffineType] | None:
    """The types of all operands of ``call``; None unless each is a tensor of known type."""
    found = [types.get(arg) for arg in call.args]
    return found if all(isinstance(one, TensorAffineType) for one in found) else None  # type: ignore[return-value]


def with_constants(call: Any, types: Types, dtype: str) -> tuple[list[Any], list[TensorAffineType]] | None:
    """The two operands with their types: a constant takes the scale of the other, in ``dtype`` or, if that
    is none, its type."""
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
    """Whether a quantized operator takes the zero point: it is of the dtype of the elements, as far as is
    known."""
    zero, (low, high) = given.zero_point, dtypes.limits(given.dtype)
    return not isinstance(zero, nodes.Constant) or bool(np.all((low <= zero.data) & (zero.data <= high)))


def are_bytes(types: list[TensorAffineType]) -> bool:
    """Whether all are of dtypes that quantized operators take."""
    return all(one.dtype in BYTES for one in types)
