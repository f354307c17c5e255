"""Random tensors of given shapes: parameters, or results of operators on parameters."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Expr, Tuple, Var, constant, var
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import Dim, Shape, normal_dim
from tvmlite.te import expr as te


def call(name: str, *args: Any, **attrs: Any) -> Expr:
    """Call the operator ``name``; a list of arguments is a tuple."""
    return make(name, *(Tuple(tuple(a)) if isinstance(a, (list, tuple)) else a for a in args), **attrs)


def reshaped(value: Expr, shape: Shape) -> Expr:
    """Reshape ``value`` to ``shape``, in which 0 is an extent: extents may be empty here."""
    return call("reshape", value, newshape=shape, allowzero=True)


@dataclass
class Inputs:
    """The parameters of a graph under construction, and all extents that must stay small."""

    rnd: random.Random
    params: list[Var] = field(default_factory=list)
    extents: list[Dim] = field(default_factory=list)

    def param(self, shape: Sequence[Dim], dtype: str = "float32") -> Var:
        """Add a parameter."""
        made = var(f"x{len(self.params)}", tuple(shape), dtype)
        self.params.append(made)
        self.extents += shape
        return made

    def weight(self, shape: Sequence[int], dtype: str = "float32") -> Expr:
        """Return a constant or, sometimes, a parameter."""
        if self.rnd.random() < 0.2:
            return self.param(shape, dtype)
        data = np.random.default_rng(self.rnd.randrange(1 << 30))
        if dtypes.is_float(dtype):
            return constant(data.standard_normal(shape).astype(dtype) / 2)
        low, high = (0, 20) if dtype.startswith("u") else (-9, 9)
        return constant(data.integers(low, high, shape).astype(dtype))

    def tensor(self, shape: Sequence[Dim], dtype: str = "float32") -> Expr:
        """Return a tensor of ``shape``: a parameter, or the result of an operator on one."""
        constructors = [self.param] * 3 + [
            self._sliced,
            self._concatenated,
            self._reshaped,
            self._padded,
            self._rotated,
        ]
        made = self.rnd.choice(constructors)(tuple(shape), dtype)
        if dtypes.is_float(dtype) and self.rnd.random() < 0.4:
            made = call(self.rnd.choice(("nn.relu", "tanh", "negative", "abs")), made)
        return made

    def _axis(self, shape: Shape) -> int:
        """Return one of the axes, preferably an open one."""
        open_axes = [n for n, one in enumerate(shape) if not isinstance(one, int)]
        return self.rnd.choice(open_axes or range(len(shape)))

    def _sliced(self, shape: Shape, dtype: str) -> Expr:
        """Slice a longer tensor, with a stride of 1 or 2."""
        axis, before = self._axis(shape), self.rnd.randint(0, 2)
        longer, stride = list(shape), self.rnd.choice((1, 1, 2))
        longer[axis] = normal_dim(shape[axis] * stride + before)
        data = self.param(longer, dtype)
        end = normal_dim(longer[axis])
        return call("strided_slice", data, begin=(before,), end=(end,), strides=(stride,), axes=(axis,))

    def _concatenated(self, shape: Shape, dtype: str) -> Expr:
        """Concatenate two tensors; where the extent is no sum, slice the front of the result."""
        axis = self._axis(shape)
        extent = shape[axis]
        first, second = (
            (extent.a, extent.b) if isinstance(extent, te.Add) else (extent, self.rnd.randint(1, 3))
        )
        one, other = list(shape), list(shape)
        one[axis], other[axis] = normal_dim(first), normal_dim(second)
        both = call("concatenate", [self.param(one, dtype), self.param(other, dtype)], axis=axis)
        if isinstance(extent, te.Add):
            return both
        return call("strided_slice", both, begin=(0,), end=(normal_dim(extent),), axes=(axis,))

    def _reshaped(self, shape: Shape, dtype: str) -> Expr:
        """Reshape a tensor with an axis split, if its extent is a product, or else with two axes merged."""
        for axis, extent in enumerate(shape):
            if isinstance(extent, te.Mul):
                split_shape = (*shape[:axis], normal_dim(extent.a), normal_dim(extent.b), *shape[axis + 1 :])
                return reshaped(self.param(split_shape, dtype), tuple(shape))
        if len(shape) > 1:
            axis = self.rnd.randrange(len(shape) - 1)
            merged_shape = (*shape[:axis], normal_dim(shape[axis] * shape[axis + 1]), *shape[axis + 2 :])
            made = self.param(merged_shape, dtype)
            self.extents.remove(merged_shape[axis])
            self.extents += shape
            return reshaped(made, tuple(shape))
        return self.param(shape, dtype)

    def _padded(self, shape: Shape, dtype: str) -> Expr:
        """Pad a shorter tensor by one element."""
        axis = self._axis(shape)
        if shape[axis] == 1:
            return self.param(shape, dtype)
        shorter = list(shape)
        shorter[axis] = normal_dim(shape[axis] - 1)
        width = [(0, 0)] * len(shape)
        width[axis] = self.rnd.choice(((1, 0), (0, 1)))
        return call("nn.pad", self.param(shorter, dtype), pad_width=tuple(width))

    def _rotated(self, shape: Shape, dtype: str) -> Expr:
        """Transpose a tensor with its axes in another order."""
        axes = list(range(len(shape)))
        self.rnd.shuffle(axes)
        given: list[Dim] = [0] * len(shape)
        for position, axis in enumerate(axes):
            given[axis] = shape[position]
        return call("transpose", self.param(given, dtype), axes=tuple(axes))


def with_epilogue(inputs: Inputs, value: Expr, shape: Shape) -> Expr:
    """Apply element-wise operators to the float tensor ``value``, then at times a rearrangement."""
    rnd = inputs.rnd
    for _ in range(rnd.randint(0, 2)):
        kind = rnd.choice(("unary", "bias", "residual", "scale"))
        if kind == "unary":
            value = call(rnd.choice(("nn.relu", "sigmoid", "tanh", "nn.gelu", "abs")), value)
        elif kind == "bias" and shape and isinstance(shape[-1], int):
            value = call("add", value, inputs.weight((shape[-1],)))
        elif kind == "residual":
            value = call("add", value, inputs.param(shape))
        else:
            value = call("multiply", value, constant(np.float32(0.5)))
    return _rearranged(inputs, value, shape) if rnd.random() < 0.4 else value


def _rearranged(inputs: Inputs, value: Expr, shape: Shape) -> Expr:
    rnd, rank = inputs.rnd, len(shape)
    kind = rnd.choice(("merge", "first merge", "slice", "transpose", "sum", "softmax"))
    if kind == "merge" and rank > 1:
        last = normal_dim(shape[-2] * shape[-1])
        return call("nn.relu", reshaped(value, (*shape[:-2], last)))
    if kind == "first merge" and rank > 1:
        first = normal_dim(shape[0] * shape[1])
        return call("tanh", reshaped(value, (first, *shape[2:])))
    if kind == "slice" and rank:
        axis = rnd.randrange(rank)
        return call("strided_slice", value, begin=(0,), end=(2**31,), strides=(2,), axes=(axis,))
    if kind == "transpose" and rank > 1:
        return call("transpose", value, axes=(*range(rank - 2), rank - 1, rank - 2))
    if kind == "sum" and rank:
        return call("sum", value, axis=(rnd.randrange(rank),))
    if kind == "softmax" and rank:
        return call("nn.softmax", value, axis=rnd.randrange(rank))
    return value
