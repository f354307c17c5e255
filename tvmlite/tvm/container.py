"""``tvm.container``: TVM's lists and dicts, which here are Python's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvmlite.tvm.absent import refusing


class _Like(type):
    """The metaclass of a class whose instances are all those of a kind of Python's."""

    kind: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.kind)


class Map(metaclass=_Like):
    """Any dict."""

    kind = Mapping


class Array(metaclass=_Like):
    """Any list or tuple."""

    kind = Sequence


__getattr__ = refusing(__name__)
