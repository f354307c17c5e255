"""Names whose modules are loaded on first use: attributes of packages, to make their import fast, and
functions of modules that import the caller's module, as the printer imports the nodes that it prints.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tvmlite.tvm import absent


def attributes(
    package: str, modules: str, places: Mapping[str, str], more: Callable[[str], Any] | None = None
) -> tuple[Callable[[str], Any], list[str]]:
    """The ``__getattr__`` and the ``__all__`` of ``package``.

    ``modules`` lists its submodules. ``places`` maps modules (``".task"``, ``"tvmlite.te"``) to the names to
    take from each, ``name=own`` where the name there is ``own``. Other names go to ``more``, if it is given,
    or else to the tables of names that TVM has (``tvmlite.tvm.absent``).
    """
    below = modules.split()
    found: dict[str, tuple[str, str]] = {}
    for place, names in places.items():
        for one in names.split():
            name, _, own = one.partition("=")
            found[name] = place, own or name

    def attribute(name: str) -> Any:
        if name in found:
            place, own = found[name]
            return getattr(importlib.import_module(place, package), own)
        if name in below:
            return importlib.import_module(f"{package}.{name}")
        return more(name) if more and not name.startswith("__") else absent.lookup(package, name)

    names = sorted({*below, *found})
    own = vars(sys.modules[package])
    own.setdefault("__dir__", lambda: sorted({*own, *names}))
    return attribute, names


def later(module: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of ``tvmlite.tvm.<module>``, which is imported at the first call."""

    def call(*args: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(f"tvmlite.tvm.{module}"), name)(*args, **options)

    call.__name__ = call.__qualname__ = name
    return call
