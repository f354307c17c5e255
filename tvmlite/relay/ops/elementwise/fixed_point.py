"""Multiplication by fixed-point numbers with 31 fraction bits and a shift, as in TVM."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.relay.ir.attributes import INTEGER, INTEGERS, Attribute
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr
from tvmlite.relay.ir.op import REQUIRED, make
from tvmlite.relay.ir.types import same_dim, show_shape
from tvmlite.relay.ops.common import axes_of, fault
from tvmlite.relay.ops.written_out import cast, number, reshaped, written_out

FRACTION_BITS = 31
"""The number of fraction bits of a multiplier."""

_SHIFT = Attribute(REQUIRED, lambda _: INTEGER)


def _check_int32(call: Call, **given: Expr) -> None:
    for name, one in given.items():
        if tensor_type_of(one).dtype != "int32":
            raise fault(call, f"{name} is {tensor_type_of(one).dtype}, expected int32")


def _numpy(call: Call, data: np.ndarray) -> np.ndarray:
    left, right = max(call["shift"], 0), max(-call["shift"], 0)
    product = (data.astype(object) << left) * call["multiplier"]
    rounded = (product + (1 << (FRACTION_BITS + right - 1))) >> (FRACTION_BITS + right)
    return np.asarray(rounded, object).astype(np.int64).astype(np.int32)


@written_out("fixed_point_multiply", reference=_numpy, attrs={"multiplier": _SHIFT, "shift": _SHIFT})
def fixed_point_multiply(call: Call, data: Expr) -> Expr:
    """``data * multiplier * 2 ** (shift - 31)`` in int32, rounded to nearest with halves upwards."""
    _check_int32(call, data=data)
    shift = call["shift"]
    if not -FRACTION_BITS < shift < FRACTION_BITS or not -(2**31) <= call["multiplier"] < 2**31:
        raise fault(
            call,
            f"multiplier is {call['multiplier']}, shift is {shift}, expected an int32 multiplier "
            f"and |shift| < {FRACTION_BITS}",
        )
    wide = cast(data, "int64")
    if shift > 0:
        wide = make("left_shift", wide, number(shift, "int64"))
    total = FRACTION_BITS + max(-shift, 0)
    product = make("multiply", wide, number(call["multiplier"], "int64"))
    rounded = make("add", product, number(1 << (total - 1), "int64"))
    return cast(make("right_shift", rounded, number(total, "int64")), "int32")


def _along(values: np.ndarray, axes: Any, rank: int) -> np.ndarray:
    shape = [1] * rank
    for axis, extent in zip(axes, values.shape, strict=True):
        shape[axis] = extent
    return values.reshape(shape)


def _per_axis_numpy(
    call: Call, data: np.ndarray, multiplier: np.ndarray, lshift: np.ndarray, rshift: np.ndarray
) -> np.ndarray:
    axes, rank = call["axes"], data.ndim
    m, left, right = (_along(one, axes, rank).astype(np.int64) for one in (multiplier, lshift, rshift))
    wide = data.astype(np.int64)
    if call["is_lshift_required"]:
        wide = wide << left
    total = right + FRACTION_BITS if call["is_rshift_required"] else np.full_like(right, FRACTION_BITS)
    return ((wide * m + (np.int64(1) << (total - 1))) >> total).astype(np.int32)


@written_out(
    "fixed_point_multiply_per_axis",
    reference=_per_axis_numpy,
    attrs={
        "is_lshift_required": False,
        "is_rshift_required": False,
        "axes": Attribute((), lambda _: INTEGERS),
    },
)
def fixed_point_multiply_per_axis(
    call: Call, data: Expr, multiplier: Expr, lshift: Expr, rshift: Expr
) -> Expr:
    """``fixed_point_multiply`` by a multiplier and shifts for each position along ``axes``.

    ``lshift`` is applied only if ``is_lshift_required``, ``rshift`` only if ``is_rshift_required``.
    """
    _check_int32(call, data=data, multiplier=multiplier, lshift=lshift, rshift=rshift)
    shape = tensor_type_of(data).shape
    axes = axes_of(call, call["axes"], len(shape), "axes")
    spread = [1] * len(shape)
    for axis in axes:
        spread[axis] = shape[axis]  # type: ignore[call-overload]
    wide: list[Expr] = []
    for name, one in (("multiplier", multiplier), ("lshift", lshift), ("rshift", rshift)):
        own = tensor_type_of(one).shape
        if len(own) != len(axes) or any(not same_dim(n, shape[k]) for n, k in zip(own, axes, strict=True)):
            raise fault(
                call, f"{name} is {show_shape(own)}, data is {show_shape(shape)}, axes are {show_shape(axes)}"
            )
        wide.append(cast(reshaped(one, tuple(spread)), "int64"))
    factor, left, right = wide
    value = cast(data, "int64")
    if call["is_lshift_required"]:
        value = make("left_shift", value, left)
    total: Expr = number(FRACTION_BITS, "int64")
    if call["is_rshift_required"]:
        total = make("add", right, total)
    half = make("left_shift", number(1, "int64"), make("subtract", total, number(1, "int64")))
    rounded = make("add", make("multiply", value, factor), half)
    return cast(make("right_shift", rounded, total), "int32")
