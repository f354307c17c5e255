"""``tvm.runtime.ObjectPath``: how a part of an object is reached, as structural equality tells of a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import CallError
from tvmlite.tvm.absent import refusing


class PrefixLengthError(CallError, IndexError):
    """A prefix of a path that would be empty, or longer than the path."""


@dataclass(frozen=True, eq=False, repr=False)
class ObjectPath:
    """Steps from a root: fields, elements, entries of maps, and what is missing at the end. The class of a
    path is that of its last step; ``parent`` is the path without it, None of the root."""

    parent: ObjectPath | None = None

    @staticmethod
    def root(root_name: str | None = None) -> RootPath:
        """The object itself, which ``root_name`` names in the text."""
        return RootPath(None, None if root_name is None else arguments.text("ObjectPath.root", root_name))

    def attr(self, attr_key: str | None) -> AttributeAccessPath | UnknownAttributeAccessPath:
        """The field ``attr_key``; None is a field whose name is not known."""
        if attr_key is None:
            return UnknownAttributeAccessPath(self)
        return AttributeAccessPath(self, arguments.text("ObjectPath.attr", attr_key))

    def array_index(self, index: int) -> ArrayIndexPath:
        """The element ``index``."""
        return ArrayIndexPath(self, int(index))

    def missing_array_element(self, index: int) -> MissingArrayElementPath:
        """An element that is not there, but in what is compared."""
        return MissingArrayElementPath(self, int(index))

    def map_value(self, key: Any) -> MapValuePath:
        """The value of ``key``."""
        return MapValuePath(self, key)

    def missing_map_entry(self) -> MissingMapEntryPath:
        """An entry that is not there, but in what is compared."""
        return MissingMapEntryPath(self)

    def _prefixes(self) -> list[ObjectPath]:
        """The paths on the way, from the root to this one."""
        found: list[ObjectPath] = [self]
        while (parent := found[-1].parent) is not None:
            found.append(parent)
        return found[::-1]

    def _steps(self) -> list[tuple[type, Any]]:
        return [(type(one), one._step()) for one in self._prefixes()]

    def _step(self) -> Any:
        """What the last step names, where its kind names anything."""
        return None

    def _text(self) -> str:
        """The last step, as the text of a path has it."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self._steps() == other._steps()

    def __hash__(self) -> int:
        return hash(tuple(self._steps()))

    def __len__(self) -> int:
        return len(self._prefixes())

    def get_prefix(self, length: int) -> ObjectPath:
        """The path of the first ``length`` objects, the root counted; an IndexError of another length."""
        prefixes = self._prefixes()
        if length < 1:
            raise PrefixLengthError(f"Prefix length must be at least 1, it is {length}")
        if length > len(prefixes):
            raise PrefixLengthError(
                f"Attempted to get a prefix longer than the path itself: {length} of {len(prefixes)}"
            )
        return prefixes[length - 1]

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Whether ``other`` begins with these steps."""
        steps = self._steps()
        return other._steps()[: len(steps)] == steps

    def __str__(self) -> str:
        return "".join(one._text() for one in self._prefixes())

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class RootPath(ObjectPath):
    """The object itself."""

    root_name: str | None = None

    def _step(self) -> Any:
        return self.root_name

    def _text(self) -> str:
        return self.root_name or "<root>"


@dataclass(frozen=True, eq=False, repr=False)
class AttributeAccessPath(ObjectPath):
    """A field."""

    attr_key: str = ""

    def _step(self) -> Any:
        return self.attr_key

    def _text(self) -> str:
        return f".{self.attr_key}"


class UnknownAttributeAccessPath(ObjectPath):
    """A field whose name is not known."""

    def _text(self) -> str:
        return ".<unknown attribute>"


@dataclass(frozen=True, eq=False, repr=False)
class ArrayIndexPath(ObjectPath):
    """An element."""

    index: int = 0

    def _step(self) -> Any:
        return self.index

    def _text(self) -> str:
        return f"[{self.index}]"


class MissingArrayElementPath(ArrayIndexPath):
    """An element that is not there, but in what is compared."""

    def _text(self) -> str:
        return f"[<missing element #{self.index}>]"


@dataclass(frozen=True, eq=False, repr=False)
class MapValuePath(ObjectPath):
    """The value of a key."""

    key: Any = None

    def _step(self) -> Any:
        return self.key

    def _text(self) -> str:
        return f'["{self.key}"]' if isinstance(self.key, str) else f"[{getattr(self.key, 'name', self.key)}]"


class MissingMapEntryPath(ObjectPath):
    """An entry that is not there, but in what is compared."""

    def _text(self) -> str:
        return "[<missing entry>]"


__getattr__ = refusing(__name__)
