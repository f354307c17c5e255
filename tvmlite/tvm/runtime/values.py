"""Strings and ints with the attributes of TVM's objects."""

from __future__ import annotations

from typing import NoReturn

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.tvm.absent import MissingName


class Text(str):
    """A string with the attribute ``value``, the string itself."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """The string itself."""
        return str(self)

    def astype(self, dtype: str) -> NoReturn:
        """Raise a TensorExpressionError: a string cannot be cast."""
        text = f"Can't cast a handle to other types: the string {self.value!r} to {dtype}"
        raise TensorExpressionError(text, Span.of_caller())


class StringImm(Text):
    """A string argument of a call, printed with quotation marks."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """The string, without quotation marks."""
        return str.__str__(self)

    def __str__(self) -> str:
        return f'"{self.value}"'


class Extent(int):
    """A 32-bit int, such as a known extent, with the attributes of TVM's ``IntImm``."""

    dtype = "int32"
    type_key = "IntImm"

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other

    @property
    def value(self) -> int:
        """The number."""
        return int(self)

    def astype(self, dtype: str) -> e.Expr:
        """Return the number as a constant of ``dtype``."""
        return e.const(int(self), dtype)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingName(f"IntImm has no attribute {name!r} in tvmlite", Span.of_caller())


SHORT_DTYPES = {"float": "float32", "int": "int32", "uint": "uint32", "uint1": "bool", "int1": "bool"}
"""TVM's other names of dtypes, and tvmlite's."""
