"""``tvm.runtime.container``: tuples, arrays, maps, shapes and strings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.runtime.values import Text as String


class ADT(list[Any]):
    """A tuple of values; ``tag`` is 0 for TVM's tuples."""

    def __init__(self, tag: int = 0, fields: Iterable[Any] = ()) -> None:
        super().__init__(fields)
        self.tag = arguments.whole("ADT: tag", tag, InputError)


class ShapeTuple(tuple[int, ...]):
    """The extents of an array; equal to any sequence with the same extents."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(tuple(other) if isinstance(other, (list, tuple)) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


class Array(tuple[Any, ...]):
    """The result of ``tvm.runtime.convert`` for a list."""

    __slots__ = ()
    type_key = "Array"

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other


class Map(dict[Any, Any]):
    """The result of ``tvm.runtime.convert`` for a dict."""

    type_key = "Map"

    def items(self) -> list[tuple[Any, Any]]:  # type: ignore[override]
        """Return keys and values as a list of pairs."""
        return list(super().items())

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other


def tuple_object(fields: Iterable[Any] = ()) -> ADT:
    """Return ``fields`` as a tuple value."""
    return ADT(0, fields)


__all__ = ["ADT", "ShapeTuple", "String", "tuple_object"]

__getattr__ = refusing(__name__)
