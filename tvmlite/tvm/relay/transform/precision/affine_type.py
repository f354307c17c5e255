"""TVM's affine types: the scale and zero point of a quantized tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import TensorType
from tvmlite.tvm.relay.transform.fold_constant import evaluated


@dataclass(frozen=True, eq=False)
class TensorAffineType:
    """Elements of ``dtype`` that stand for ``(element - zero_point) * scale``. ``scale`` and ``zero_point``
    are expressions, each a single number or a vector along ``axis``."""

    scale: Any
    zero_point: Any
    dtype: str
    axis: int = -1

    @property
    def is_scalar(self) -> bool:
        """Whether there is one scale and one zero point for all elements."""
        return is_scalar(self.scale) and is_scalar(self.zero_point)


@dataclass(frozen=True, eq=False)
class TupleAffineType:
    """The types of the fields of a tuple, in order."""

    types: tuple[TensorAffineType, ...]


def is_scalar(value: Any) -> bool:
    """Whether the expression ``value`` has a single element."""
    shape = tensor_type_of(value).shape
    return all(extent == 1 for extent in shape)


def same_numbers(a: Any, b: Any) -> bool:
    """Whether two expressions are known to be equal: the same node, or equal constants, where a single number
    broadcasts to a vector."""
    if a is b:
        return True
    if not (isinstance(a, nodes.Constant) and isinstance(b, nodes.Constant)):
        return False
    left, right = np.asarray(a.data), np.asarray(b.data)
    fits = left.size == right.size or 1 in (left.size, right.size)
    return fits and bool(np.all(left.reshape(-1) == right.reshape(-1)))


def same_type(a: TensorAffineType, b: TensorAffineType) -> bool:
    """Whether two types are known to be equal, so that an integer stands for the same number in both."""
    same = same_numbers(a.scale, b.scale) and same_numbers(a.zero_point, b.zero_point)
    along = (a.is_scalar and b.is_scalar) or a.axis == b.axis
    return same and along and a.dtype == b.dtype


def uniform(value: Any) -> Any:
    """``value`` as a scalar if it is a constant whose elements are all equal, else ``value``."""
    if not isinstance(value, nodes.Constant):
        return value
    data = np.asarray(value.data)
    repeats = data.ndim > 0 and data.size > 0 and bool(np.all(data == data.reshape(-1)[0]))
    return nodes.Constant(data.reshape(-1)[0].copy(), value.span) if repeats else value


def number(value: float, dtype: str) -> Any:
    """A scalar constant."""
    return nodes.Constant(np.asarray(value, dtype))


def folded(call: Any) -> Any:
    """``call`` as a constant if its arguments are constants, else ``call``."""
    return evaluated(call, fold_qnn=True)


def product(a: Any, b: Any) -> Any:
    """The product of two scales."""
    return folded(make("multiply", a, b))


def along(value: Any, axis: int, rank: int) -> Any:
    """A vector along ``axis`` reshaped to broadcast with ``rank`` axes; a scalar is returned unchanged."""
    type_ = tensor_type_of(value)
    assert isinstance(type_, TensorType)
    if not type_.shape:
        return value
    shape: list[Any] = [1] * rank
    shape[axis % max(rank, 1)] = type_.shape[0]
    return folded(make("reshape", value, newshape=tuple(shape)))
