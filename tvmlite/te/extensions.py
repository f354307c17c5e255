"""What te has beyond its core, by name: modules that the core loads when it first meets a use of them.

The core is what lowers and compiles a float32 compute with a schedule of plain loops: expressions, tensors,
the basic primitives, bounds, loop nests, loop IR and the LLVM generator. ``tests/test_core_closure.py``
counts its lines. Everything else is a module of its own, which the core knows by a row of these tables only:
a reader of the core can leave it aside, and a program that does not use it never loads it.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

MODULES = {
    "printer": "tvmlite.te.loop.printer",
}
"""The module of each extension. The core calls its functions."""


@functools.cache
def extension(name: str) -> Any:
    """The module of the extension ``name``, one of ``MODULES``, imported when it is first asked for."""
    return importlib.import_module(MODULES[name])
