"""The attributes of calls and functions: pairs sorted by name, as in our nodes, with TVM's access by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tvmlite.core.errors import TypeInferError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir.attributes import show
from tvmlite.te import expr as te
from tvmlite.tvm.ir.attrs import TypedLookups


class Listed(tuple):  # type: ignore[type-arg]
    """A tuple attribute, which prints as TVM's arrays do: ``[1, 1]``."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self))}]"


class Attrs(tuple, TypedLookups):  # type: ignore[type-arg]
    """Attributes, as in ``call.attrs.strides``, ``call.attrs["strides"]`` or ``dict(call.attrs)``."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        for key, value in self:
            if key == name:
                return Listed(value) if type(value) is tuple else value
        raise AttributeError(f"there is no attribute {name!r}; there are {', '.join(self.keys()) or 'none'}")

    def __getitem__(self, name: Any) -> Any:
        if not isinstance(name, str):
            return super().__getitem__(name)
        for key, value in self:
            if key == name:
                return value
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self.keys() if isinstance(name, str) else super().__contains__(name)

    def keys(self) -> list[str]:
        """The names."""
        return [key for key, _ in self]

    def values(self) -> list[Any]:
        """The values."""
        return [value for _, value in self]

    def items(self) -> list[tuple[str, Any]]:
        """Names and values."""
        return list(self)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of ``name``, or ``default``."""
        return dict(self).get(name, default)


def make_node(type_key: str, **kwargs: Any) -> dict[str, Any]:
    """Make attributes by name, for a ``type_key`` that ends with "Attrs"; other nodes are not supported."""
    if not type_key.endswith("Attrs"):
        raise UnsupportedError(f"make_node: {type_key!r} is not supported, attributes are", Span.of_caller())
    return plain_attrs(kwargs)


def plain_attrs(given: Any) -> dict[str, Any]:
    """Attributes as a dict of Python values, from None, pairs or a mapping."""
    if given is None:
        return {}
    if isinstance(given, tuple):
        given = dict(given)
    if not isinstance(given, Mapping):
        raise TypeInferError(f"attrs are {show(given)}, expected attributes by name", Span.of_caller())
    return {str(name): plain_value(value) for name, value in given.items()}


def plain_value(value: Any) -> Any:
    """An attribute's value as a Python value: TVM's objects for numbers and strings are converted."""
    if isinstance(value, te.Const):
        return bool(value.value) if value.dtype == "bool" else value.value
    if isinstance(value, (list, tuple)):
        return tuple(map(plain_value, value))
    if isinstance(value, Mapping):
        raise UnsupportedError(f"an attribute is {show(value)}: tables are not supported", Span.of_caller())
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, (str, bool, int, float, te.Expr, np.generic, np.ndarray)) or value is None:
        return value
    inner = getattr(value, "value", None)
    return inner if isinstance(inner, (str, bool, int, float)) else value
