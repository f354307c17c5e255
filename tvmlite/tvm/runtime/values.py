"""Strings and numbers that answer as TVM's objects do."""

from __future__ import annotations

from typing import NoReturn

from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.tvm.absent import MissingName


class Text(str):
    """A string, of which ``value`` is the string itself."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """The string."""
        return str(self)

    def astype(self, dtype: str) -> NoReturn:
        """An error: a string is no number."""
        text = f"Can't cast a handle to other types: the string {self.value!r} to {dtype}"
        raise TensorExpressionError(text, Span.of_caller())


class StringImm(Text):
    """A string among the arguments of a call, which is written with quotation marks."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """The string."""
        return str.__str__(self)

    def __str__(self) -> str:
        return f'"{self.value}"'


class Extent(int):
    """An int of 32 bits that also answers as TVM's ``IntImm`` does, such as an extent that is known."""

    dtype = "int32"
    type_key = "IntImm"

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very number."""
        return self is other

    @property
    def value(self) -> int:
        """The number."""
        return int(self)

    def astype(self, dtype: str) -> e.Expr:
        """The number as a constant of ``dtype``."""
        return e.const(int(self), dtype)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingName(f"IntImm has no attribute {name!r} in tvmlite", Span.of_caller())


SHORT_DTYPES = {"float": "float32", "int": "int32", "uint": "uint32", "uint1": "bool", "int1": "bool"}
"""Dtypes that TVM has other names for."""
