"""The executor of a model compiled by tvmlite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tvmlite.core.errors import InputError
from tvmlite.runtime.library.library import Library
from tvmlite.runtime.library.profile import Profile
from tvmlite.tvm.executors.base import Executor, Tensor

_parameters: WeakKeyDictionary[Library, Mapping[str, Any]] = WeakKeyDictionary()


def remember_parameters(lib: Library, parameters: Mapping[str, Any]) -> None:
    """Record the ``parameters`` that are compiled into ``lib``, whose executors need to know their names."""
    _parameters[lib] = parameters


class ModelExecutor(Executor):
    """Runs ``lib``; its ``constants`` are the parameters recorded by ``remember_parameters``."""

    def __init__(self, lib: Library) -> None:
        if not isinstance(lib, Library):
            raise InputError(f"an executor runs a compiled model, not a {type(lib).__name__}")
        super().__init__(_parameters.get(lib))
        self.lib = lib
        taken = [one for one in lib.signature.parameters if one.kind in ("input", "scalar")]
        self.inputs = [
            Tensor(
                name, tuple(one if isinstance(one, int) else None for one in parameter.shape), parameter.dtype
            )
            for name, parameter in zip(lib.input_names, taken, strict=True)
        ]
        self.outputs = len(lib.output_names)

    def compute(self, arrays: Sequence[np.ndarray]) -> Sequence[Any]:
        """See ``Executor``."""
        found = self.lib(*arrays)
        return found if isinstance(found, tuple) else (found,)

    def profiled(self) -> Profile:
        """Run once with the inputs that are set, and return the time of each kernel."""
        return self.lib.profile(*(self.get_input(name) for name in self._names()))


def library_of(given: Any) -> Library | None:
    """Return the compiled model that ``given`` is or contains; None if there is none."""
    for _ in range(4):
        if isinstance(given, Library):
            return given
        given = getattr(given, "lib", None) or getattr(given, "module", None)
    return None
