"""``tvm.runtime.ObjectPath``: how a part of an object is reached, as structural equality tells of a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvmlite.core import arguments
from tvmlite.tvm.absent import refusing


@dataclass(frozen=True)
class ObjectPath:
    """Steps from a root: fields, elements, entries of maps, and what is missing at the end."""

    steps: tuple[tuple[str, Any], ...] = ()

    @staticmethod
    def root() -> ObjectPath:
        """The object itself."""
        return ObjectPath()

    def attr(self, attr_key: str) -> ObjectPath:
        """The field ``attr_key``."""
        return self._with("attr", arguments.text("ObjectPath.attr", attr_key))

    def array_index(self, index: int) -> ObjectPath:
        """The element ``index``."""
        return self._with("index", int(index))

    def missing_array_element(self, index: int) -> ObjectPath:
        """An element that is not there, but in what is compared."""
        return self._with("missing index", int(index))

    def map_value(self, key: Any) -> ObjectPath:
        """The value of ``key``."""
        return self._with("value", key)

    def missing_map_entry(self) -> ObjectPath:
        """An entry that is not there, but in what is compared."""
        return self._with("missing entry", None)

    def _with(self, kind: str, value: Any) -> ObjectPath:
        return ObjectPath((*self.steps, (kind, value)))

    @property
    def parent(self) -> ObjectPath | None:
        """The path but for its last step; None of the root."""
        return ObjectPath(self.steps[:-1]) if self.steps else None

    def __len__(self) -> int:
        return len(self.steps) + 1

    def get_prefix(self, length: int) -> ObjectPath:
        """The path of the first ``length`` objects, the root counted."""
        if not 1 <= arguments.whole("ObjectPath.get_prefix: length", length, least=1) <= len(self):
            raise IndexError(f"ObjectPath.get_prefix: length {length}, expected 1 to {len(self)}")
        return ObjectPath(self.steps[: length - 1])

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Whether ``other`` begins with these steps."""
        return other.steps[: len(self.steps)] == self.steps

    def __str__(self) -> str:
        texts = {
            "attr": lambda value: f".{value}",
            "index": lambda value: f"[{value}]",
            "missing index": lambda value: f"[<missing element #{value}>]",
            "value": lambda value: (
                f'["{value}"]' if isinstance(value, str) else f"[{getattr(value, 'name', value)}]"
            ),
            "missing entry": lambda _: "[<missing entry>]",
        }
        return "<root>" + "".join(texts[kind](value) for kind, value in self.steps)

    __repr__ = __str__


__getattr__ = refusing(__name__)
