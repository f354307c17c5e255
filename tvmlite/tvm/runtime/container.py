"""``tvm.runtime.container``: several values as one, shapes and strings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.attributes import Text as String


class ADT(list[Any]):
    """Several values as one, by their places; ``tag`` is 0 of TVM's tuples."""

    def __init__(self, tag: int = 0, fields: Iterable[Any] = ()) -> None:
        super().__init__(fields)
        self.tag = arguments.whole("ADT: tag", tag, InputError)


class ShapeTuple(tuple[int, ...]):
    """The extents of an array."""

    __slots__ = ()


def tuple_object(fields: Iterable[Any] = ()) -> ADT:
    """``fields`` as one value."""
    return ADT(0, fields)


__all__ = ["ADT", "ShapeTuple", "String", "tuple_object"]

__getattr__ = refusing(__name__)
