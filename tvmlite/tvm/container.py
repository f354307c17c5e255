"""``tvm.container``: TVM's ``Array`` and ``Map``, which here are Python's sequences and mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvmlite.tvm.absent import refusing


class _Like(type):
    """The metaclass of a class for which every instance of ``kind`` passes ``isinstance``."""

    kind: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.kind)


class Map(metaclass=_Like):
    """The class of all mappings, for ``isinstance``."""

    kind = Mapping


class Array(metaclass=_Like):
    """The class of all sequences, for ``isinstance``."""

    kind = Sequence


__getattr__ = refusing(__name__)
