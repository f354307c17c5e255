"""``tvm.runtime.ObjectPath``: the path to a part of an object, as structural equality reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import CallError
from tvmlite.tvm.absent import refusing


class PrefixLengthError(CallError, IndexError):
    """The length of a prefix is less than 1 or greater than that of the path."""


@dataclass(frozen=True, eq=False, repr=False)
class ObjectPath:
    """A path from a root object: attributes, array elements, map values, and missing elements at the end. The
    class of a path is that of its last step; ``parent`` is the path without it, None for the root."""

    parent: ObjectPath | None = None

    @staticmethod
    def root(root_name: str | None = None) -> RootPath:
        """Return the path of the root object; ``root_name`` names it in the path's text."""
        return RootPath(None, None if root_name is None else arguments.text("ObjectPath.root", root_name))

    def attr(self, attr_key: str | None) -> AttributeAccessPath | UnknownAttributeAccessPath:
        """Append the attribute ``attr_key``; None stands for an unknown attribute."""
        if attr_key is None:
            return UnknownAttributeAccessPath(self)
        return AttributeAccessPath(self, arguments.text("ObjectPath.attr", attr_key))

    def array_index(self, index: int) -> ArrayIndexPath:
        """Append the array element ``index``."""
        return ArrayIndexPath(self, int(index))

    def missing_array_element(self, index: int) -> MissingArrayElementPath:
        """Append an array element that only the other compared object has."""
        return MissingArrayElementPath(self, int(index))

    def map_value(self, key: Any) -> MapValuePath:
        """Append the map value of ``key``."""
        return MapValuePath(self, key)

    def missing_map_entry(self) -> MissingMapEntryPath:
        """Append a map entry that only the other compared object has."""
        return MissingMapEntryPath(self)

    def _prefixes(self) -> list[ObjectPath]:
        """Return all prefixes, from the root to the path itself."""
        found: list[ObjectPath] = [self]
        while (parent := found[-1].parent) is not None:
            found.append(parent)
        return found[::-1]

    def _steps(self) -> list[tuple[type, Any]]:
        return [(type(one), one._step()) for one in self._prefixes()]

    def _step(self) -> Any:
        """The operand of the last step, if its kind has one."""
        return None

    def _text(self) -> str:
        """The last step in the path's text."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self._steps() == other._steps()

    def __hash__(self) -> int:
        return hash(tuple(self._steps()))

    def __len__(self) -> int:
        return len(self._prefixes())

    def get_prefix(self, length: int) -> ObjectPath:
        """Return the prefix of ``length``, counting the root; an IndexError if there is none."""
        prefixes = self._prefixes()
        if length < 1:
            raise PrefixLengthError(f"Prefix length must be at least 1, it is {length}")
        if length > len(prefixes):
            raise PrefixLengthError(
                f"Attempted to get a prefix longer than the path itself: {length} of {len(prefixes)}"
            )
        return prefixes[length - 1]

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Whether ``other`` begins with this path."""
        steps = self._steps()
        return other._steps()[: len(steps)] == steps

    def __str__(self) -> str:
        return "".join(one._text() for one in self._prefixes())

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class RootPath(ObjectPath):
    """The root object."""

    root_name: str | None = None

    def _step(self) -> Any:
        return self.root_name

    def _text(self) -> str:
        return self.root_name or "<root>"


@dataclass(frozen=True, eq=False, repr=False)
class AttributeAccessPath(ObjectPath):
    """A path that ends with an attribute."""

    attr_key: str = ""

    def _step(self) -> Any:
        return self.attr_key

    def _text(self) -> str:
        return f".{self.attr_key}"


class UnknownAttributeAccessPath(ObjectPath):
    """A path that ends with an unknown attribute."""

    def _text(self) -> str:
        return ".<unknown attribute>"


@dataclass(frozen=True, eq=False, repr=False)
class ArrayIndexPath(ObjectPath):
    """A path that ends with an array element."""

    index: int = 0

    def _step(self) -> Any:
        return self.index

    def _text(self) -> str:
        return f"[{self.index}]"


class MissingArrayElementPath(ArrayIndexPath):
    """A path that ends with an array element that only the other compared object has."""

    def _text(self) -> str:
        return f"[<missing element #{self.index}>]"


@dataclass(frozen=True, eq=False, repr=False)
class MapValuePath(ObjectPath):
    """A path that ends with the map value of a key."""

    key: Any = None

    def _step(self) -> Any:
        return self.key

    def _text(self) -> str:
        return f'["{self.key}"]' if isinstance(self.key, str) else f"[{getattr(self.key, 'name', self.key)}]"


class MissingMapEntryPath(ObjectPath):
    """A path that ends with a map entry that only the other compared object has."""

    def _text(self) -> str:
        return "[<missing entry>]"


__getattr__ = refusing(__name__)
