"""A quantized graph under construction: values known on sample inputs, and their quantization."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.interpret import call_reference
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import Dim, dim, evaluate_shape

BATCH = dim("n")
"""The first dimension of the inputs, in some graphs."""

SAMPLES = {BATCH: 2}

BYTES = ("uint8", "int8")


@dataclass
class Graph:
    """Parameters and values; ``samples`` has each node's value on sample inputs, to choose scales from."""

    rnd: random.Random
    random: np.random.Generator
    params: list[Var] = field(default_factory=list)
    values: list[Expr] = field(default_factory=list)
    """Tensors of floats, mostly dequantized, that further operators may read."""
    samples: dict[Expr, Any] = field(default_factory=dict)

    def call(self, name: str, *args: Expr | Sequence[Expr], **attrs: Any) -> Expr:
        """Call the operator ``name`` and evaluate it on the samples; a list of arguments is a tuple."""
        given = [one if isinstance(one, Expr) else Tuple(tuple(one)) for one in args]
        made = make(name, *given, **attrs)
        assert isinstance(made, Call)
        self.samples[made] = call_reference(made, [self.sample(one) for one in given], SAMPLES)
        return made

    def reshaped(self, value: Expr, shape: Sequence[Dim]) -> Expr:
        """Reshape ``value`` to ``shape``."""
        return self.call("reshape", value, newshape=tuple(shape), allowzero=True)

    def sample(self, value: Expr) -> Any:
        """Return the value of ``value`` on the samples."""
        match value:
            case Constant(data):
                return data
            case Tuple(fields):
                return tuple(self.sample(one) for one in fields)
        return self.samples[value]

    def shape(self, value: Expr) -> tuple[int, ...]:
        """Return the extents of ``value``'s sample."""
        return self.sample(value).shape

    def fixed_axes(self, value: Expr) -> list[int]:
        """Return the axes whose extents are numbers."""
        return [n for n, extent in enumerate(tensor_type_of(value).shape) if isinstance(extent, int)]

    def param(self, shape: Sequence[Dim], dtype: str = "float32") -> Var:
        """Add a parameter."""
        made = var(f"x{len(self.params)}", tuple(shape), dtype)
        self.params.append(made)
        extents = evaluate_shape(tuple(shape), SAMPLES)
        self.samples[made] = argument(self.random, extents, dtype)
        return made

    def codes(self, shape: Sequence[int], dtype: str) -> np.ndarray:
        """Return random integers: of the whole range, a part, or its ends, whose products are largest."""
        low, high = limits_of(dtype)
        kind = self.rnd.random()
        if kind < 0.15:
            return self.random.choice(np.array([low, high], dtype), tuple(shape))
        if kind < 0.5:
            low, high = (low // 3, high // 3) if low else (high // 3, high // 2)
        return self.random.integers(low, high, tuple(shape), dtype=dtype, endpoint=True)

    def scales(self, count: int | None = None) -> np.ndarray:
        """Return one scale, or a vector of ``count``."""
        made = self.random.uniform(0.002, 0.03, () if count is None else count)
        return np.asarray(made, np.float32)

    def constant(self, shape: Sequence[int]) -> Expr:
        """Return a float constant, quantized or not."""
        if self.rnd.random() < 0.4:
            return constant(np.asarray(self.random.standard_normal(tuple(shape)), np.float32))
        dtype = self.rnd.choice(BYTES)
        zero = constant(int(self.random.integers(*limits_of(dtype))), dtype)
        codes = constant(self.codes(shape, dtype), dtype)
        return self.call("qnn.dequantize", codes, constant(self.scales(), "float32"), zero)

    def weight(self, shape: Sequence[int], axis: int) -> Expr:
        """Return a constant weight, quantized with one scale, or with one for each index along ``axis``.

        Rarely it is of floats, or its integers are a parameter.
        """
        if self.rnd.random() < 0.06:
            return constant(np.asarray(self.random.standard_normal(tuple(shape)) / 4, np.float32))
        dtype, by_channel = self.rnd.choice(("int8", "int8", "uint8")), self.rnd.random() < 0.5
        count = shape[axis] if by_channel else None
        usual = 0 if dtype == "int8" else 128
        zero = np.full(() if count is None else count, usual)
        if self.rnd.random() < 0.2:
            zero = zero + self.random.integers(-4, 5, zero.shape)
        parts = constant(self.scales(count), "float32"), constant(zero, dtype)
        is_param = self.rnd.random() < 0.06
        codes = self.param(shape, dtype) if is_param else constant(self.codes(shape, dtype), dtype)
        return self.call("qnn.dequantize", codes, *parts, axis=axis)

    def quantized(self, value: Expr) -> Expr:
        """Quantize and dequantize ``value``, with a scale that fits or one of the graph's."""
        dtype = self.rnd.choice(BYTES)
        scale, zero = self.scale_and_zero(value, dtype)
        if self.rnd.random() < 0.06 and (axes := self.fixed_axes(value)):
            return self._quantized_per_axis(value, self.rnd.choice(axes), dtype)
        if self.rnd.random() < 0.25 and (others := self.dequantized()):
            other = self.rnd.choice(others)
            dtype, (scale, zero) = tensor_type_of(other.args[0]).dtype, other.args[1:]
        codes = self.call("qnn.quantize", value, scale, zero, out_dtype=dtype)
        return self.call("qnn.dequantize", codes, scale, zero)

    def _quantized_per_axis(self, value: Expr, axis: int, dtype: str) -> Expr:
        """Quantize and dequantize ``value`` with a scale and zero point for each index along ``axis``."""
        pairs = [self.scale_and_zero(value, dtype) for _ in range(self.shape(value)[axis])]
        scale = constant(np.array([self.sample(one) for one, _ in pairs]), "float32")
        zero = constant(np.array([self.sample(one) for _, one in pairs]), "int32")
        codes = self.call("qnn.quantize", value, scale, zero, out_dtype=dtype, axis=axis)
        return self.call("qnn.dequantize", codes, scale, zero, axis=axis)

    def dequantized(self) -> list[Call]:
        """Return the values that are dequantized with one scale."""
        found = [one for one in self.values if isinstance(one, Call) and one.op == "qnn.dequantize"]
        return [one for one in found if self.sample(one.args[1]).size == 1]

    def scale_and_zero(self, value: Expr, dtype: str) -> tuple[Expr, Expr]:
        """Return a scale and a zero point for ``value``, for its range, or a larger or a smaller one."""
        sample = self.sample(value)
        low, high = min(float(sample.min(initial=0.0)), 0.0), max(float(sample.max(initial=0.0)), 0.0)
        width = max(high - low, 1e-3)
        least, most = limits_of(dtype)
        kind = self.rnd.choice(("range", "range", "range", "symmetric", "random", "end"))
        zero = {
            "range": round(least - low / width * 255),
            "symmetric": 0 if dtype == "int8" else 128,
            "random": self.rnd.randint(least, most),
            "end": self.rnd.choice((least, most)),
        }[kind]
        scale = np.float32(width / 255 * self.rnd.uniform(0.5, 1.5))
        zero_dtype = self.rnd.choice((dtype, "int32"))
        return constant(scale, "float32"), constant(min(max(zero, least), most), zero_dtype)


def limits_of(dtype: str) -> tuple[int, int]:
    """Return the least and the greatest integer of ``dtype``."""
    least, most = dtypes.limits(dtype)
    return int(least), int(most)


def have_same_type(one: Expr, other: Expr) -> bool:
    """Whether both have the same type."""
    return str(tensor_type_of(one)) == str(tensor_type_of(other))


def argument(source: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return random elements of ``dtype`` for a parameter."""
    if dtype == "bool":
        return source.integers(0, 2, shape).astype(bool)
    if dtypes.is_float(dtype):
        return np.asarray(source.standard_normal(shape), dtype)
    if source.random() < 0.2:
        return source.choice(np.array(limits_of(dtype), dtype), shape)
    return np.asarray(source.integers(*limits_of(dtype), shape, dtype=dtype, endpoint=True))
