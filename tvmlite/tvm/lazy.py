"""Packages under TVM's names whose attributes are loaded when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvmlite.tvm import absent
from tvmlite.tvm.missing import no_name


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
        raise no_name(package, name)

    return attribute
