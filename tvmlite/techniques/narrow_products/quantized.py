"""Quantized tensors in a graph: the codes that a tensor of floats was dequantized from, and scaled sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, constant
from tvmlite.relay.ir.op import is_view, make
from tvmlite.relay.ir.types import Shape, same_shape
from tvmlite.relay.ops.convolutions.conv import WEIGHT_LAYOUTS
from tvmlite.relay.passes.patterns import selects, through_views

SIGN_OFFSET = 128
"""The difference of uint8 and int8 codes for the same value, which differ in the highest bit only."""


CONVOLUTIONS = {f"nn.conv{rank}d": rank for rank in WEIGHT_LAYOUTS}
"""The convolutions, with the number of their spatial axes."""

LARGEST_EXACT = 1 << 24
"""Integers up to this magnitude are exact in float32."""


@dataclass(frozen=True)
class Quantized:
    """``(codes - zero) * scale``; ``scale`` and ``zero`` have one element, or one per index of ``axis``."""

    codes: Expr
    scale: np.ndarray
    zero: np.ndarray
    axis: int

    @property
    def is_uniform(self) -> bool:
        """Whether one scale and zero point hold for all elements."""
        return self.scale.size == self.zero.size == 1


def quantized(value: Expr) -> Quantized | None:
    """The codes that ``value`` was dequantized from, with their scale; None if it was not. Views and
    operators that select elements, such as a transposition, may be in between if there is one scale for
    all."""
    selecting: list[Call] = []
    base = through_views(value)
    while selects(base):
        assert isinstance(base, Call)
        selecting.append(base)
        base = through_views(base.args[0])
    match base:
        case Call("qnn.dequantize", (codes, scale, zero)):
            parts = constant_elements(scale), constant_elements(zero)
            if parts[0] is None or parts[1] is None:
                return None
            found = Quantized(codes, parts[0], parts[1], base["axis"])
            if base is value:
                return found
            return _selected(found, selecting) if found.is_uniform else None
    return None


def _selected(found: Quantized, selecting: Sequence[Call]) -> Quantized:
    """``found`` after the operators ``selecting``, which are listed from the last to the first."""
    codes = found.codes
    for one in reversed(selecting):
        shape = tensor_type_of(one.args[0]).shape
        if not same_shape(tensor_type_of(codes).shape, shape):
            codes = make("reshape", codes, newshape=shape, allowzero=True, span=one.span)
        codes = Call(one.op, (codes, *one.args[1:]), one.attrs, one.span)
    return Quantized(codes, found.scale, found.zero, found.axis)


def constant_elements(value: Expr) -> np.ndarray | None:
    """The elements of ``value`` if it is a constant, perhaps cast or reshaped; else None."""
    changes = []
    while isinstance(value, Call) and (value.op == "cast" or is_view(value)):
        changes.append(value)
        (value,) = value.args
    if not isinstance(value, Constant):
        return None
    elements = value.data
    for change in reversed(changes):
        shape = known_shape(tensor_type_of(change).shape)
        if shape is None:
            return None
        elements = elements.astype(dtypes.numpy_of(tensor_type_of(change).dtype)).reshape(shape)
    return elements


def known_shape(shape: Shape) -> tuple[int, ...] | None:
    """``shape`` if all its extents are numbers, else None."""
    numbers = tuple(extent for extent in shape if isinstance(extent, int))
    return numbers if len(numbers) == len(shape) else None


def with_sign(value: Quantized, dtype: str) -> Quantized | None:
    """``value`` with codes of ``dtype``, uint8 or int8. Codes of the other signedness are offset by 128,
    where they are quantized if that is in the graph. None if codes are wider."""
    if (own := tensor_type_of(value.codes).dtype) == dtype:
        return value
    if own not in ("uint8", "int8"):
        return None
    by = SIGN_OFFSET if dtype == "uint8" else -SIGN_OFFSET
    zero = value.zero.astype(np.int32) + by
    return Quantized(codes_with_sign(value.codes, dtype), value.scale, zero, value.axis)


def codes_with_sign(codes: Expr, dtype: str) -> Expr:
    """``codes`` of the other signedness, offset by 128 to ``dtype``, uint8 or int8."""
    span, by = getattr(codes, "span", None), SIGN_OFFSET if dtype == "uint8" else -SIGN_OFFSET
    match codes:
        case Call("qnn.quantize", (data, scale, Constant(zero))):
            point = constant(zero.astype(np.int32) + by, "int32")
            attrs = {"axis": codes["axis"], "out_dtype": dtype}
            return make("qnn.quantize", data, scale, point, span=span, **attrs)
    wide = make("add", make("cast", codes, dtype="int16", span=span), constant(by, "int16"), span=span)
    return make("cast", wide, dtype=dtype, span=span)


def scaled_sums(sums: Expr, scale: np.ndarray) -> Expr:
    """``sums``, integers in int32 or float32, times ``scale`` in float32."""
    span = getattr(sums, "span", None)
    if tensor_type_of(sums).dtype != "float32":
        sums = make("cast", sums, dtype="float32", span=span)
    return make("multiply", sums, constant(scale, "float32"), span=span)


def as_scaled_sums(value: Expr) -> tuple[Expr, np.ndarray] | None:
    """The arguments of ``scaled_sums`` that give ``value``; None if ``value`` has another form."""
    match value:
        case Call("multiply", (Call("cast", (sums,)), Constant(scale))) if (
            tensor_type_of(sums).dtype == "int32" and scale.dtype == np.float32
        ):
            return sums, scale
        case Call("multiply", (sums, Constant(scale))) if scale.dtype == np.float32 and _is_integral(sums):
            return sums, scale
    return None


def _is_integral(value: Expr) -> bool:
    """Whether ``value`` is a convolution of bytes in float32, which is exact, plus perhaps integers."""
    match value:
        case Call("add", (inner, Constant(moved))) if moved.dtype == np.float32:
            return _is_integral(inner) and bool((moved == np.rint(moved)).all())
        case Call(op=str() as name, args=(data, _)) if name in CONVOLUTIONS:
            kinds = tensor_type_of(data).dtype, tensor_type_of(value).dtype
            return kinds in (("uint8", "float32"), ("int8", "float32"))
    return False
