"""TVM's quantized convolutions and matrix products: int32 products of operands less their zero points."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import Dim, TensorType
from tvmlite.relay.ops import windows
from tvmlite.relay.ops.common import along_axis, expect, fault
from tvmlite.relay.ops.convolutions import conv, conv_transpose
from tvmlite.relay.ops.quantized.parameters import BYTES, check_scale, check_zero_point
from tvmlite.relay.ops.written_out import binary, broadcast_along, cast, minus, number, quantized, reshaped

WEIGHT_NAMES = ("data", "kernel", "input_zero_point", "kernel_zero_point", "input_scale", "kernel_scale")


def _plain(name: str, call: Call, attrs: tuple[str, ...], out_dtype: str = "int32") -> Call:
    """The plain operator ``name`` with the attributes of ``call``, for its type relation and reference."""
    named = {key: call[key] for key in attrs}
    return make(name, call, call, span=call.span, out_dtype=out_dtype, **named)


def _product_type(
    name: str, attrs: tuple[str, ...], axes: tuple[int, int], names: tuple[str, ...] = WEIGHT_NAMES
) -> Callable[..., TensorType]:
    """Return the type relation; ``axes``: the axes of weight and result that scales follow, or (-1, -1)."""

    def infer(call: Call, data: TensorType, weight: TensorType, *parameters: TensorType) -> TensorType:
        expect(call, f"{names[0]} is", data.dtype, BYTES)
        expect(call, f"{names[1]} is", weight.dtype, BYTES)
        expect(call, "out_dtype is", call["out_dtype"], ("int32", lambda dtype: dtype == "int32"))
        made = op.get(name).infer(_plain(name, call, attrs), data, weight)
        extent: Dim = made.shape[axes[1]] if axes[0] >= 0 else 1
        check_zero_point(call, names[2], parameters[0], data.dtype)
        check_zero_point(call, names[3], parameters[1], weight.dtype, extent)
        check_scale(call, names[4], parameters[2])
        check_scale(call, names[5], parameters[3], extent)
        return made

    return infer


def _product_numpy(name: str, attrs: tuple[str, ...], axis: int) -> Callable[..., np.ndarray]:
    """Return the reference, in int32; zero points may follow the weight's axis ``axis``."""

    def reference(call: Call, data: np.ndarray, weight: np.ndarray, *p: np.ndarray) -> np.ndarray:
        zero = p[1].reshape(()) if p[1].size == 1 else along_axis(p[1], axis, weight.ndim)
        left, right = data.astype(np.int32) - p[0].reshape(()), weight.astype(np.int32) - zero
        return op.get(name).reference(_plain(name, call, attrs), left, right)

    return reference


def _int32_product(
    name: str,
    attrs: tuple[str, ...],
    axis: int,
    call: Call,
    operands: tuple[Expr, Expr],
    zeros: tuple[Expr, Expr],
) -> Expr:
    """Write out the plain operator in int32, on operands less their zero points."""
    rank = tensor_type_of(operands[1]).ndim
    left = minus(cast(operands[0], "int32"), broadcast_along(zeros[0], 0, 1))
    right = minus(cast(operands[1], "int32"), broadcast_along(zeros[1], axis, rank))
    named = {key: call[key] for key in attrs}
    return make(name, left, right, span=call.span, out_dtype="int32", **named)


def _int8_weight(weight: Expr, zero: Expr, channels: int) -> tuple[np.ndarray, np.ndarray] | None:
    """A constant weight as int8 and its zero point for each output channel, shifted alike; else None."""
    if not (isinstance(weight, Constant) and isinstance(zero, Constant)):
        return None
    offset = 128 if weight.data.dtype == np.uint8 else 0
    zeros = np.broadcast_to(zero.data.astype(np.int32).reshape(-1) - offset, (channels,))
    return (weight.data.astype(np.int32) - offset).astype(np.int8), zeros


def _as_uint8(data: Expr, zero: Expr) -> tuple[Expr, Expr]:
    """Data as uint8, which processors multiply by int8, and its zero point as a scalar, shifted alike."""
    zero = broadcast_along(zero, 0, 1)
    if tensor_type_of(data).dtype == "uint8":
        return data, zero
    moved = binary("add", cast(data, "int32"), number(128))
    return cast(moved, "uint8"), binary("add", zero, number(128))


def _times_constant(value: Expr, factors: np.ndarray, shape: tuple[int, ...], span: Any) -> Expr:
    return binary("multiply", value, Constant(factors.astype(np.int32).reshape(shape), span))


# Convolutions

CONVOLUTION = conv.conv_attrs(2) | {"out_dtype": "int32"}
_CONVOLUTION_NAMES = tuple(name for name in CONVOLUTION if name != "out_dtype")
_CONVOLUTION_ORDER = (
    *WEIGHT_NAMES,
    *("kernel_size", "channels", "strides", "padding", "dilation", "groups"),
    *("data_layout", "kernel_layout", "out_layout", "out_dtype"),
)


@quantized(
    "qnn.conv2d",
    infer=_product_type("nn.conv2d", _CONVOLUTION_NAMES, (0, 1)),
    reference=_product_numpy("nn.conv2d", _CONVOLUTION_NAMES, 0),
    attrs=CONVOLUTION,
    parameters=_CONVOLUTION_ORDER,
)
def conv2d(
    call: Call,
    data: Expr,
    kernel: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
) -> Expr:
    """The convolution in int32 of ``data - input_zero_point`` with ``kernel - kernel_zero_point``.

    Padding adds 0. The scales change nothing here: the scale of the result is their product.
    """
    channels = tensor_type_of(kernel).shape[0]
    known = _int8_weight(kernel, kernel_zero_point, channels) if isinstance(channels, int) else None
    if known is None or (known[1].any() and call["groups"] != 1):
        zeros = input_zero_point, kernel_zero_point
        return _int32_product("nn.conv2d", _CONVOLUTION_NAMES, 0, call, (data, kernel), zeros)
    return _convolve_bytes(call, data, input_zero_point, *known)


def _convolve_bytes(call: Call, data: Expr, zero: Expr, weight: np.ndarray, zeros: np.ndarray) -> Expr:
    """Convolve uint8 by int8, and subtract the zero points' part; padding is the data's zero point."""
    span = call.span
    data, zero = _as_uint8(data, zero)
    geometry = windows.geometry(call, weight.shape[2:], 2)
    named = {key: call[key] for key in _CONVOLUTION_NAMES}
    if any((*geometry.begins, *geometry.ends)) and not (isinstance(zero, Constant) and not zero.data.any()):
        data = _padded(data, zero, list(zip(geometry.begins, geometry.ends, strict=True)))
        named["padding"] = (0, 0, 0, 0)
    made: Expr = make("nn.conv2d", data, Constant(weight, span), span=span, out_dtype="int32", **named)
    sums = weight.reshape(len(zeros), -1).sum(1, dtype=np.int32) - zeros * math.prod(weight.shape[1:])
    if not (isinstance(zero, Constant) and not zero.data.any()):
        made = binary("subtract", made, _times_constant(zero, sums, (-1, 1, 1), span))
    if zeros.any():
        total = make("sum", cast(data, "int32"), axis=(1,), keepdims=True, span=span)
        window = Constant(np.ones((1, 1, *weight.shape[2:]), np.int32), span)
        one = named | {"channels": None, "groups": 1}
        whole = make("nn.conv2d", total, window, span=span, out_dtype="int32", **one)
        made = binary("subtract", made, _times_constant(whole, zeros, (1, -1, 1, 1), span))
    return made


def _padded(data: Expr, zero: Expr, padding: list[tuple[int, int]]) -> Expr:
    """Pad ``data`` with ``zero``."""
    width = ((0, 0), (0, 0), *padding)
    if isinstance(zero, Constant):
        return make("nn.pad", data, pad_width=width, pad_value=float(zero.data.item()))
    shape = tensor_type_of(data).shape
    inside = make("zeros", shape=(1, 1, *shape[2:]), dtype="uint8")
    border = make("nn.pad", inside, pad_width=width, pad_value=1.0)
    around = binary("multiply", border, cast(zero, "uint8"))
    return binary("add", make("nn.pad", data, pad_width=width, pad_value=0.0), around)


TRANSPOSED = dict(op.get("nn.conv2d_transpose").attrs) | {"out_dtype": "int32"}
_TRANSPOSED_NAMES = tuple(name for name in TRANSPOSED if name != "out_dtype")
_TRANSPOSED_ORDER = (
    *("data", "weight", *WEIGHT_NAMES[2:]),
    *("strides", "padding", "dilation", "groups", "channels", "kernel_size"),
    *("data_layout", "kernel_layout", "out_layout", "output_padding", "out_dtype"),
)
assert conv_transpose.WEIGHT_LAYOUTS[2] == TRANSPOSED["kernel_layout"]


@quantized(
    "qnn.conv2d_transpose",
    infer=_product_type(
        "nn.conv2d_transpose", _TRANSPOSED_NAMES, (1, 1), ("data", "weight", *WEIGHT_NAMES[2:])
    ),
    reference=_product_numpy("nn.conv2d_transpose", _TRANSPOSED_NAMES, 1),
    attrs=TRANSPOSED,
    parameters=_TRANSPOSED_ORDER,
)
def conv2d_transpose(
    call: Call,
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
) -> Expr:
    """The transposed convolution in int32 of operands less their zero points, as in ``qnn.conv2d``."""
    zeros = input_zero_point, kernel_zero_point
    return _int32_product("nn.conv2d_transpose", _TRANSPOSED_NAMES, 1, call, (data, weight), zeros)


# Matrix products


@quantized(
    "qnn.dense",
    infer=_product_type("nn.dense", ("units",), (0, -1), ("data", "weight", *WEIGHT_NAMES[2:])),
    reference=_product_numpy("nn.dense", ("units",), 0),
    attrs={"units": None, "out_dtype": "int32"},
)
def dense(
    call: Call,
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
) -> Expr:
    """``data @ weight.T`` of operands less their zero points, in int32."""
    units = tensor_type_of(weight).shape[0]
    known = _int8_weight(weight, kernel_zero_point, units) if isinstance(units, int) else None
    if known is None:
        return _int32_product(
            "nn.dense", ("units",), 0, call, (data, weight), (input_zero_point, kernel_zero_point)
        )
    values, zeros = known
    sums = values.sum(1, dtype=np.int32) - zeros * values.shape[1]
    return _multiply_bytes("nn.dense", ("units",), call, (data, input_zero_point), known, sums)


def _multiply_bytes(
    name: str,
    attrs: tuple[str, ...],
    call: Call,
    rows: tuple[Expr, Expr],
    weight: tuple[np.ndarray, np.ndarray],
    sums: np.ndarray,
) -> Expr:
    """Multiply rows of uint8 by a constant int8 weight, and subtract the zero points' part from the sums.

    ``sums`` are the sums of the weight's columns, less their zero points.
    """
    span, (values, zeros) = call.span, weight
    data, zero = _as_uint8(*rows)
    named = {key: call[key] for key in attrs}
    made: Expr = make(name, data, Constant(values, span), out_dtype="int32", span=span, **named)
    if not (isinstance(zero, Constant) and not zero.data.any()):
        made = binary("subtract", made, _times_constant(reshaped(zero, (1,)), sums, (-1,), span))
    if zeros.any():
        total = make("sum", cast(data, "int32"), axis=(-1,), keepdims=True, span=span)
        made = binary("subtract", made, _times_constant(total, zeros, (-1,), span))
    return made


_PACKED = ("units", "weight_layout")


@quantized(
    "qnn.contrib_dense_pack",
    infer=_product_type("nn.contrib_dense_pack", _PACKED, (-1, -1), ("data", "weight", *WEIGHT_NAMES[2:])),
    reference=_product_numpy("nn.contrib_dense_pack", _PACKED, 0),
    attrs={"weight_layout": "NC16n", "units": None, "out_dtype": "int32"},
)
def dense_pack(
    call: Call,
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
) -> Expr:
    """``qnn.dense`` with a weight whose columns are packed in blocks, and one zero point.

    With several rows stored together, as in ``NC16n4c``, weight and zero point must be constant.
    """
    if not (isinstance(weight, Constant) and isinstance(kernel_zero_point, Constant)):
        if tensor_type_of(weight).ndim > 3:
            raise fault(call, f"weight_layout is {call['weight_layout']}, expected a constant weight")
        zeros = input_zero_point, kernel_zero_point
        return _int32_product("nn.contrib_dense_pack", _PACKED, 0, call, (data, weight), zeros)
    units = tensor_type_of(call).shape[-1]
    assert isinstance(units, int)
    found = _int8_weight(weight, kernel_zero_point, units)
    assert found is not None
    values, zeros = found
    columns = values.sum(1, dtype=np.int32) if values.ndim == 3 else values.sum((1, 3), dtype=np.int32)
    depth = values[0].size // columns.shape[1]
    sums = columns.reshape(-1)[:units] - zeros * depth
    return _multiply_bytes("nn.contrib_dense_pack", _PACKED, call, (data, input_zero_point), found, sums)


_BATCH_NAMES = ("x", "y", "x_zero_point", "y_zero_point", "x_scale", "y_scale")


def _batch_type(call: Call, x: TensorType, y: TensorType, *parameters: TensorType) -> TensorType:
    return _product_type("nn.batch_matmul", (), (-1, -1), _BATCH_NAMES)(call, x, y, *parameters)


@quantized(
    "qnn.batch_matmul",
    infer=_batch_type,
    reference=_product_numpy("nn.batch_matmul", (), 0),
    attrs={"out_dtype": "int32"},
)
def batch_matmul(
    call: Call, x: Expr, y: Expr, x_zero_point: Expr, y_zero_point: Expr, x_scale: Expr, y_scale: Expr
) -> Expr:
    """Each matrix of ``x`` times the transpose of that of ``y``, less their zero points, in int32."""
    return _int32_product("nn.batch_matmul", (), 0, call, (x, y), (x_zero_point, y_zero_point))
