"""Python's operators on expressions: ``x + 1``, ``-x``, ``x < y``, ``x.astype("int8")``, ``a, b = pair``.

They build the same calls as ``relay.add`` and the other functions. A number becomes a constant of the other
operand's dtype, which must be able to hold it (TVM requires ``relay.const``). Nodes are equal only to
themselves: ``x == y`` is not a call, and an expression is always true. The span of the calls is the line of
Python. Converters of the importer call ``node.add`` and similar instead, for spans with the ONNX node's name.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir.attributes import is_integer, show
from tvmlite.relay.ir.builders import builder
from tvmlite.relay.ir.infer import tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr, Tuple, TupleGetItem
from tvmlite.relay.ir.types import TensorType, TupleType, show_type


def _binary(name: str, swapped: bool = False) -> Callable[[Expr, Any], Call]:
    def operation(self: Expr, other: Any) -> Call:
        other = _operand(name, other, self)
        return builder(name)(other, self) if swapped else builder(name)(self, other)

    return operation


def _operand(name: str, value: Any, like: Expr) -> Any:
    """``value``, converted to a constant of the dtype of ``like`` if it is a number."""
    if not isinstance(value, (numbers.Number, np.generic)):
        return value
    dtype, span = tensor_type_of(like).dtype, Span.of_caller()
    fits = isinstance(value, (bool, np.bool_)) if dtype == "bool" else isinstance(value, numbers.Real)
    if fits and dtypes.is_int(dtype):
        low, high = dtypes.limits(dtype)
        fits = value == value // 1 and low <= value <= high  # type: ignore[operator]
    if not fits:
        raise TypeInferError(f"{name}: {value!r} beside a {dtype} cannot be a {dtype}", span)
    return Constant(np.asarray(value).astype(dtypes.numpy_of(dtype)), span)


def _negative(self: Expr) -> Call:
    return builder("negative")(self)


def _astype(self: Expr, dtype: Any) -> Call:
    """Cast this tensor to ``dtype``, like ``relay.cast``."""
    return builder("cast")(self, dtype)


def _field_count(self: Expr) -> int:
    """The number of fields of a tuple. Anything else, such as a tensor, is a TypeInferError."""
    if isinstance(self, Tuple):
        return len(self.fields)
    type_ = type_of(self)
    if not isinstance(type_, TupleType):
        hint = "relay.take and relay.strided_slice take elements" if isinstance(type_, TensorType) else None
        raise TypeInferError(f"this is {show_type(type_)}, which has no fields", Span.of_caller(), hint)
    return len(type_.fields)


def _field(self: Expr, index: Any) -> Any:
    """The field at ``index`` of a tuple."""
    if not is_integer(index):
        raise TypeInferError(f"the index of a field is {show(index)}, expected an integer", Span.of_caller())
    count = _field_count(self)
    if not -count <= index < count:
        raise TypeInferError(f"field {index} of a tuple of {count}", Span.of_caller())
    index %= count
    if isinstance(self, Tuple):
        return self.fields[index]
    return TupleGetItem(self, index, getattr(self, "span", None) or Span.of_caller())


def _iterate(self: Expr) -> Iterator[Expr]:
    return iter([_field(self, index) for index in range(_field_count(self))])


def _true(self: Expr) -> bool:
    return True


_BINARY = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide"}
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}

for _name, _operator in _BINARY.items():
    setattr(Expr, f"__{_name}__", _binary(_operator))
    setattr(Expr, f"__r{_name}__", _binary(_operator, swapped=True))
for _name, _operator in _COMPARISONS.items():
    setattr(Expr, f"__{_name}__", _binary(_operator))
Expr.__neg__, Expr.astype = _negative, _astype
Expr.__len__, Expr.__iter__, Expr.__getitem__ = _field_count, _iterate, _field
Expr.__bool__ = _true  # type: ignore[attr-defined]
Expr.__array_ufunc__ = None  # type: ignore[attr-defined]  # makes numpy scalars on the left defer to Expr
