"""Run modules in the passes of quantization: with a compiler that is passed in, or with the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tvmlite.core.provided import provided
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Module

Runner: TypeAlias = Callable[[Mapping[str, np.ndarray]], Sequence[np.ndarray]]
"""Maps inputs by name to outputs in order."""

Compile: TypeAlias = Callable[[Module], Runner]
"""Maps a module to a function that runs it."""

Progress: TypeAlias = Callable[[str, int, int], object]
"""``progress(what, done, total)`` is called repeatedly during work."""


COMPILER = "compile"
"""The name under which the compiler is registered (``core.provided``)."""


def interpreted(module: Module) -> Runner:
    """Run ``module`` by the interpreter: slow, for small models and for tests."""

    def run(inputs: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        result = interpret(module, inputs)
        return result if isinstance(result, tuple) else (result,)  # type: ignore[return-value]

    return run


def silent(what: str, done: int, total: int) -> None:
    """Show no progress."""


def compiled(module: Module) -> Runner:
    """Run ``module`` compiled for this machine, by the compiler that the package provides."""
    lib = provided(COMPILER)(module)

    def run(inputs: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        result = lib(*(inputs[name] for name in lib.input_names))
        return result if isinstance(result, tuple) else (result,)

    return run
