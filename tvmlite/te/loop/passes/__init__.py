"""From structured loops to the legal form that code generators take: one pass a file.

``legalize`` runs them all. It is resolved when first used, as it needs targets, and those LLVM.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tvmlite.te.loop.passes.asserts import asserts
from tvmlite.te.loop.passes.flatten import flatten
from tvmlite.te.loop.passes.narrow import narrow
from tvmlite.te.loop.passes.parallel import parallel
from tvmlite.te.loop.passes.partition import partition
from tvmlite.te.loop.passes.permit import permit
from tvmlite.te.loop.passes.simplify import simplify
from tvmlite.te.loop.passes.storage import storage
from tvmlite.te.loop.passes.unfuse import unfuse
from tvmlite.te.loop.passes.unroll import unroll
from tvmlite.te.loop.passes.vectorize import vectorize

if TYPE_CHECKING:
    from tvmlite.te.loop.passes.pipeline import legalize


def __getattr__(name: str) -> Any:
    if name != "legalize":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.pipeline").legalize


__all__ = [
    "asserts",
    "flatten",
    "legalize",
    "narrow",
    "parallel",
    "partition",
    "permit",
    "simplify",
    "storage",
    "unfuse",
    "unroll",
    "vectorize",
]
