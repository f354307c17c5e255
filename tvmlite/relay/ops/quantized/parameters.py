"""Scales and zero points of TVM's quantized operators: checks of their types and of constant values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir import op
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.types import Dim, TensorType
from tvmlite.relay.ops.common import Dtypes, axis_of, expect, expect_extent, fault, is_one

BYTES: Dtypes = "int8 or uint8", lambda dtype: dtype in ("int8", "uint8")


def extent_along(call: Call, data: TensorType, parameters: Sequence[TensorType], axis: str = "axis") -> Dim:
    """Return the number of scales and zero points that ``data`` may have along the attribute ``axis``.

    The attribute is ignored, and the number is 1, if there is one scale and one zero point.
    """
    if all(one.ndim != 1 or is_one(one.shape[0]) for one in parameters) or not data.ndim:
        return 1
    return data.shape[axis_of(call, call[axis], data.ndim, axis)]


def check_scale(
    call: Call, name: str, given: TensorType, extent: Dim = 1, argument: Expr | None = None
) -> None:
    """Raise a type error unless a scale is float32, a number or of ``extent``; constants must be above 0.

    ``argument`` is the argument called ``name``, by default that of the call.
    """
    _check_shape(call, name, given, extent, "float32")
    value = constant_values(argument or argument_of(call, name))
    if value is not None and not (np.isfinite(value).all() and (value > 0).all()):
        raise fault(call, f"{name} is {value[~(np.isfinite(value) & (value > 0))][0]}, expected above 0")


def check_zero_point(
    call: Call, name: str, given: TensorType, dtype: str, extent: Dim = 1, argument: Expr | None = None
) -> None:
    """Raise a type error unless a zero point is int32, a number or of ``extent``; constants fit ``dtype``.

    ``argument`` is as in ``check_scale``.
    """
    _check_shape(call, name, given, extent, "int32")
    value, (low, high) = constant_values(argument or argument_of(call, name)), dtypes.limits(dtype)
    if value is not None and value.size and (value.min() < low or value.max() > high):
        wrong = value[(value < low) | (value > high)][0]
        raise fault(call, f"{name} is {wrong}, which is no {dtype}: expected {low} to {high}")


def _check_shape(call: Call, name: str, given: TensorType, extent: Dim, dtype: str) -> None:
    if given.dtype != dtype:
        raise fault(call, f"{name} is {given.dtype}, expected {dtype}")
    if given.ndim > 1:
        raise fault(call, f"{name} has {given.ndim} axes, expected none or one")
    if given.ndim == 1 and not is_one(given.shape[0]):
        expect_extent(call, f"the extent of {name}", given.shape[0], extent)


def argument_of(call: Call, name: str) -> Expr | None:
    """Return the argument ``name`` of ``call``."""
    names = op.get(str(call.op)).argument_names
    return call.args[names.index(name)] if len(call.args) == len(names) else None


def constant_values(argument: Expr | None) -> np.ndarray | None:
    """The elements of ``argument`` as a vector, if it is constant."""
    return argument.data.reshape(-1) if isinstance(argument, Constant) else None


def check_one_in_one_out(
    call: Call, names: Sequence[str], data: TensorType, *parameters: TensorType, out_dtype: str = ""
) -> None:
    """Check 8-bit data with one scale and zero point, and those of the result; ``names`` names the four."""
    expect(call, "data is", data.dtype, BYTES)
    for name, one, dtype in zip(
        names, parameters, (data.dtype, data.dtype, "", out_dtype or data.dtype), strict=True
    ):
        if name.endswith("scale"):
            check_scale(call, name, one)
        else:
            check_zero_point(call, name, one, dtype)
