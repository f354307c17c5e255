"""Names whose modules are loaded when they are first used: attributes of packages, so that importing one is
quick, and functions of modules that need the caller's own (what prints a node knows the node).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvmlite.tvm import absent


def attributes(
    package: str, modules: Sequence[str], places: Mapping[str, str], renamed: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """A module's ``__getattr__``: ``modules`` are below ``package``, and of each name in ``places`` the
    module below ``package`` that has it, under the name in ``renamed`` where that is another."""

    def attribute(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name in places:
            module = importlib.import_module(f"{package}.{places[name]}")
            return getattr(module, (renamed or {}).get(name, name))
        below = f"{package}.{name}".removeprefix("tvmlite.tvm.")
        if absent.is_absent(below):
            return absent.module(below)
        raise absent.no_name(package, name)

    return attribute


def later(module: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of ``tvmlite.tvm.<module>``."""

    def call(*args: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(f"tvmlite.tvm.{module}"), name)(*args, **options)

    call.__name__ = call.__qualname__ = name
    return call
