"""The short way to call a function whose sizes were all known when it was compiled.

A model that takes microseconds must not spend as many on being called: what such a function needs is known
beforehand but for addresses. Its weights have often driven everything else out of the nearer caches, so that
every line of Python counts several times of what it takes when called by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cffi
import numpy as np

from tvmlite.runtime.arguments import ArrayParameter, allocate
from tvmlite.runtime.scratch import ScratchPool

_ffi: Any = cffi.FFI()
_CHARS = _ffi.typeof("char[]")
_from_buffer = _ffi.from_buffer


class StaticCall:
    """Calls ``function`` with a copy of ``row`` in which inputs, outputs and scratch memory are filled in.

    ``inputs`` and ``outputs`` are arrays of known shapes and their places in the row; ``workspace`` bytes go
    to the place ``workspace_place`` and the number of threads to ``threads_place``, where there are such.
    ``refuse`` makes an error of a code that is not 0.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., int],
        row: Sequence[Any],
        inputs: Sequence[tuple[int, ArrayParameter]],
        outputs: Sequence[tuple[int, ArrayParameter]],
        scratch: ScratchPool | None,
        workspace: int,
        places: tuple[int | None, int | None],
        refuse: Callable[[int], None],
    ) -> None:
        self._name, self._function, self._row, self._refuse = name, function, list(row), refuse
        self._inputs = [(place, one.dtype, one.shape) for place, one in inputs]
        self._outputs = [(place, one, one.shape or ()) for place, one in outputs]
        self._scratch, self._workspace = scratch, workspace
        self._workspace_place, self._threads_place = places

    def __call__(self, args: Sequence[Any]) -> Any:
        """The output, or a tuple of them; None, and nothing is done, if an argument is not an array just as
        the function takes it."""
        if len(args) != len(self._inputs):
            return None
        row = self._row.copy()
        for (place, dtype, shape), value in zip(self._inputs, args):  # noqa: B905  (as many, seen above)
            if value.__class__ is not np.ndarray or value.dtype is not dtype or value.shape != shape:
                return None
            try:
                row[place] = _from_buffer(_CHARS, value, False)
            except (ValueError, BufferError):  # strided
                return None
        made = []
        for place, parameter, shape in self._outputs:
            array = allocate(self._name, parameter, shape)
            row[place] = _from_buffer(_CHARS, array, True)
            made.append(array)
        if self._scratch is None:
            code = self._function(*row)
        else:
            code = self._with_scratch(row, self._scratch)
        if code:
            self._refuse(code)
        return made[0] if len(made) == 1 else tuple(made)

    def _with_scratch(self, row: list[Any], pool: ScratchPool) -> int:
        scratch = pool.take()
        try:
            if scratch.size < self._workspace:
                scratch.grow(self._workspace, self._name)
            if self._workspace_place is not None:
                row[self._workspace_place] = scratch.address
            if self._threads_place is not None:
                row[self._threads_place] = scratch.threads
            return self._function(*row)
        finally:
            pool.put(scratch)
