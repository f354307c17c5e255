"""Code in this process: kernels and the entries that call them, linked with the thread pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tvmlite.machine.target import Target
from tvmlite.model.kernels import CompiledKernel
from tvmlite.te.codegen import process
from tvmlite.te.codegen.process import (
    Loaded,
    pool_object,
    reason_not_to_run,
    shapes_address,
    with_shapes,
)
from tvmlite.te.loop import ir as loop

__all__ = [
    "Loaded",
    "load",
    "pool_object",
    "reason_not_to_run",
    "shapes_address",
    "with_shapes",
]


def load(
    functions: Sequence[loop.Function],
    target: Target,
    kernels: Sequence[CompiledKernel] = (),
    constants: Mapping[str, np.ndarray] | None = None,
) -> Loaded:
    """The legal ``functions`` and the ``kernels`` they call; see ``process.load``."""
    objects = [kernel.object for kernel in kernels]
    callees = [kernel.legal for kernel in kernels if kernel.legal is not None]
    return process.load(functions, target, objects, callees, constants)
