"""How the passes of quantization run a module: they are given a compiler, or take the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tvmlite.core.provided import provided
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.ir.nodes import Module

Runner: TypeAlias = Callable[[Mapping[str, np.ndarray]], Sequence[np.ndarray]]
"""From inputs by name to outputs in order."""

Compile: TypeAlias = Callable[[Module], Runner]
"""From a module to what runs it."""

Progress: TypeAlias = Callable[[str, int, int], object]
"""``progress(what, done, total)`` is called as work goes on."""


COMPILER = "compile"
"""What the compiler is provided as (``core.provided``)."""


def interpreted(module: Module) -> Runner:
    """``module`` on the interpreter: slow, for small models and for tests."""

    def run(inputs: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        result = interpret(module, inputs)
        return result if isinstance(result, tuple) else (result,)  # type: ignore[return-value]

    return run


def silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""


def compiled(module: Module) -> Runner:
    """``module`` compiled for this machine, by the compiler that the package provides."""
    lib = provided(COMPILER)(module)

    def run(inputs: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        result = lib(*(inputs[name] for name in lib.input_names))
        return result if isinstance(result, tuple) else (result,)

    return run
