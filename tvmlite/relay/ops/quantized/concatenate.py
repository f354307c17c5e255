"""Concatenation of quantized tensors, each requantized to the scale of the result, as in TVM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import expect, fault
from tvmlite.relay.ops.quantized.parameters import argument_of, check_scale, check_zero_point
from tvmlite.relay.ops.quantized.requantize import requantized_numpy
from tvmlite.relay.ops.written_out import fields_of, quantized, requantized

_DTYPES = "int8, uint8 or int32", lambda dtype: dtype in ("int8", "uint8", "int32")
Types = Sequence[TensorType]
Arrays = Sequence[np.ndarray]


def _plain(call: Call) -> Call:
    return make("concatenate", call, axis=call["axis"], span=call.span)


def _type(
    call: Call, data: Types, scales: Types, zeros: Types, scale: TensorType, zero: TensorType
) -> TensorType:
    if not len(data) == len(scales) == len(zeros):
        raise fault(
            call,
            f"{len(data)} tensors, {len(scales)} input_scales and {len(zeros)} input_zero_points, expected "
            "equal numbers",
        )
    for one in data:
        expect(call, "data is", one.dtype, _DTYPES)
    made = op.get("concatenate").infer(_plain(call), *data)
    for place in range(len(data)):
        check_scale(call, f"input_scale {place}", scales[place], argument=_field(call, "input_scales", place))
        check_zero_point(
            call,
            f"input_zero_point {place}",
            zeros[place],
            made.dtype,
            argument=_field(call, "input_zero_points", place),
        )
    check_scale(call, "output_scale", scale)
    check_zero_point(call, "output_zero_point", zero, made.dtype)
    return made


def _field(call: Call, name: str, place: int) -> Expr:
    """Field ``place`` of the argument ``name``; if it is unknown, the call itself, which is no constant."""
    given = argument_of(call, name)
    return given.fields[place] if isinstance(given, Tuple) else call


def _numpy(
    call: Call, data: Arrays, scales: Arrays, zeros: Arrays, scale: np.ndarray, zero: np.ndarray
) -> np.ndarray:
    parts = zip(data, scales, zeros, strict=True)
    moved = [requantized_numpy(one, (s, z, scale, zero), -1, str(one.dtype)) for one, s, z in parts]
    return np.concatenate(moved, call["axis"])


@quantized(
    "qnn.concatenate",
    infer=_type,
    reference=_numpy,
    attrs={"axis": 0},
    tuples=("data", "input_scales", "input_zero_points"),
)
def concatenate(
    call: Call,
    data: Expr,
    input_scales: Expr,
    input_zero_points: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
) -> Expr:
    """Concatenate ``data`` along ``axis``, each requantized to the result's scale and zero point.

    A tensor that has these already is unchanged.
    """
    made = []
    for parts in zip(*map(fields_of, (data, input_scales, input_zero_points)), strict=True):
        one, *own = parts
        same = all(map(_is_same, own, (output_scale, output_zero_point)))
        parameters = (*own, output_scale, output_zero_point)
        made.append(one if same else requantized(one, parameters, tensor_type_of(one).dtype))
    return make("concatenate", Tuple(tuple(made)), axis=call["axis"], span=call.span)


def _is_same(one: Expr, other: Expr) -> bool:
    """Whether both are the same node, or constants with equal values."""
    if isinstance(one, Constant) and isinstance(other, Constant):
        return np.array_equal(one.data.reshape(-1), other.data.reshape(-1))
    return one is other
