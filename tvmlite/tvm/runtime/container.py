"""``tvm.runtime.container``: several values as one, shapes and strings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.runtime.values import Text as String


class ADT(list[Any]):
    """Several values as one, by their places; ``tag`` is 0 of TVM's tuples."""

    def __init__(self, tag: int = 0, fields: Iterable[Any] = ()) -> None:
        super().__init__(fields)
        self.tag = arguments.whole("ADT: tag", tag, InputError)


class ShapeTuple(tuple[int, ...]):
    """The extents of an array, equal to any sequence of the same ones."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(tuple(other) if isinstance(other, (list, tuple)) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


class Array(tuple[Any, ...]):
    """What ``tvm.runtime.convert`` makes of a list."""

    __slots__ = ()
    type_key = "Array"

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very array."""
        return self is other


class Map(dict[Any, Any]):
    """What ``tvm.runtime.convert`` makes of a dict."""

    type_key = "Map"

    def items(self) -> list[tuple[Any, Any]]:  # type: ignore[override]
        """Keys and values, as a list."""
        return list(super().items())

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very map."""
        return self is other


def tuple_object(fields: Iterable[Any] = ()) -> ADT:
    """``fields`` as one value."""
    return ADT(0, fields)


__all__ = ["ADT", "ShapeTuple", "String", "tuple_object"]

__getattr__ = refusing(__name__)
