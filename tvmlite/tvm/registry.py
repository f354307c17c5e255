"""``tvm.register_func`` and ``tvm.get_global_func``, with TVM's parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te.tensor import registry
from tvmlite.tvm.contrib import random, sorting

FUNCTIONS = (random, sorting)
"""The modules whose functions programs can call by name without registering them."""


class NoFunction(UnsupportedError, ValueError):
    """Raised for a function that is not registered. It is also a ValueError, as in TVM."""


def register_func(func_name: Any, f: Any = None, override: bool = False) -> Any:
    """Register a Python function by name, as ``te.register_func`` does. ``@register_func`` without arguments
    uses the function's own name."""
    if callable(func_name):
        return registry.register_func(func_name.__name__, func_name, override)
    return registry.register_func(func_name, f, override)


def get_global_func(name: str, allow_missing: bool = False) -> Callable[..., Any] | None:
    """The function registered as ``name``. If there is none: None if ``allow_missing``, else an error."""
    arguments.text("get_global_func: name", name)
    if not registry.is_registered(name):
        if allow_missing:
            return None
        raise NoFunction(
            f"get_global_func: no function is registered as {name!r}",
            Span.of_caller(),
            hint=f"tvm.register_func({name!r}, function)",
        )
    return registry.get_global_func(name)


class _Callable(type):
    """The metaclass of a class for which every callable that is not a class passes ``isinstance``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return callable(instance) and not isinstance(instance, type)


class PackedFunc(metaclass=_Callable):
    """The class of all functions, for ``isinstance``. TVM wraps Python functions; tvmlite does not."""
