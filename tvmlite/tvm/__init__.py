"""TVM's Python surface, as it was in TVM 0.11, over tvmlite's own objects.

::

    import tvmlite.tvm as tvm
    from tvmlite.tvm import relay, te

A program that says ``import tvm`` runs unchanged after ``sys.modules["tvm"] = tvmlite.tvm``: imports of
``tvm.relay`` and the like then give the modules of this package (``tvmlite.tvm.alias``).

A name's module is loaded when the name is first used. What cannot be here (devices other than the CPU,
objects of TVM's foreign function interface, TVMScript) is an error that names the thing and what to use.
"""

from __future__ import annotations

import importlib
from typing import Any

from tvmlite.tvm.alias import install

install()

_MODULES = (
    "auto_scheduler",
    "autotvm",
    "contrib",
    "ir",
    "nd",
    "target",
    "testing",
    "tir",
)
"""The modules that are names here."""

_PLACES: dict[str, str] = {}
"""Names of functions and classes, with the module that has each."""

__all__ = [*_MODULES, *_PLACES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tvmlite.tvm.{name}")
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'tvmlite.tvm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
