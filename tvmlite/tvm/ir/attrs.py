"""``tvm.ir.make_node``, ``DictAttrs`` and ``EnvFunc``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from tvmlite.core import arguments
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import MissingName, refusing
from tvmlite.tvm.registry import get_global_func
from tvmlite.tvm.runtime.container import Map
from tvmlite.tvm.runtime.convert import convert


class TypedLookups:
    """TVM's methods that return the attribute of a name as a given type."""

    __slots__ = ()

    def get_int(self: Any, name: str) -> int:
        """Return the value of ``name`` as an int."""
        return int(self[name])

    def get_str(self: Any, name: str) -> str:
        """Return the value of ``name`` as a string."""
        return str(self[name])

    def get_int_tuple(self: Any, name: str) -> tuple[int, ...]:
        """Return the value of ``name`` as a tuple of ints."""
        return tuple(map(int, self[name]))


class DictAttrs(Map, TypedLookups):
    """Attributes by name, accessed as ``attrs.x`` or ``attrs["x"]``."""

    type_key = "DictAttrs"

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise MissingName(f"there is no attribute {name!r}; there are {', '.join(self) or 'none'}")


@dataclass(frozen=True)
class EnvFunc:
    """A reference to the function registered as ``name``, which can be saved to JSON and loaded from it."""

    name: str
    compared_fields: ClassVar[tuple[str, ...]] = ("name",)

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Return a reference to the function registered as ``name``; raises an error if there is none."""
        get_global_func(name)
        return EnvFunc(name)

    @property
    def func(self) -> Callable[..., Any]:
        """The function that is referred to."""
        found = get_global_func(self.name)
        assert found is not None
        return found

    def __call__(self, *args: Any) -> Any:
        """Call the function and return its result."""
        return self.func(*args)


def make_node(type_key: str, **kwargs: Any) -> Any:
    """Make a node from the name of its type and its fields. ``type_key`` is ``"IntImm"``, ``"FloatImm"``,
    ``"StringImm"``, ``"Tensor"``, ``"DictAttrs"`` or the attributes of a Relay operator."""
    arguments.text("make_node: type_key", type_key)
    if type_key in ("IntImm", "FloatImm", "StringImm"):
        kind = getattr(importlib.import_module("tvmlite.tvm.tir"), type_key)
        return kind(**{name: value for name, value in kwargs.items() if name != "span"})
    if type_key == "Tensor":
        return kwargs["op"].output(kwargs.get("value_index", 0))
    if type_key == "DictAttrs":
        return DictAttrs({name: convert(value) for name, value in kwargs.items()})
    if type_key.endswith("Attrs") and not type_key.startswith("attrs."):
        return importlib.import_module("tvmlite.tvm.relay.graph.attrs").make_node(type_key, **kwargs)
    raise UnsupportedError(
        f"make_node: {type_key!r} is not supported", Span.of_caller(), "other nodes have constructors"
    )


__getattr__ = refusing(__name__)
