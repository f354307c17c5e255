"""The short way to call a function whose sizes were all known when it was compiled.

A model that takes microseconds must not spend as many on being called: what such a function needs is known
beforehand but for addresses. Its weights have often driven everything else out of the nearer caches, so that
every line of Python, and all that it touches, counts several times of what it takes when called by itself.
So the short way is Python written for that one function: no loops, no slots, no lists. Measured on a network
of 2.7 MB, by name: 2.8 us less than by general code. Its text is made of numbers and of names chosen here;
what a model brings, the names of its inputs say, are values that it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cffi
import numpy as np

from tvmlite.runtime.arguments import WORTH_ALIGNING, ArrayParameter, allocate, bytes_of
from tvmlite.runtime.scratch import Scratch, ScratchPool
from tvmlite.runtime.threads import num_threads

_ffi: Any = cffi.FFI()


class StaticCall:
    """Writes Python that calls ``function`` with ``row``, inputs, outputs and scratch memory filled in.

    ``inputs`` and ``outputs`` are arrays of known shapes and their places in the row; ``workspace`` bytes go
    to the place ``workspace_place`` and the number of threads to ``threads_place``, where there are such.
    ``refuse`` makes an error of a code that is not 0.

    A function written here gives None, and has done nothing, if an input is missing or not an array just as
    ``function`` takes it.
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
        self._inputs, self._outputs = inputs, outputs
        self._row = [f"row{place}" for place in range(len(row))]
        self._known: dict[str, Any] = {
            **dict(zip(self._row, row, strict=True)),
            "function": function,
            "refuse": refuse,
            "name": name,
            "workspace": workspace,
            "ndarray": np.ndarray,
            "empty": np.empty,
            "allocate": allocate,
            "address": _ffi.from_buffer,
        }
        if scratch is not None:
            self._known |= {"free": scratch.free, "Scratch": Scratch, "num_threads": num_threads}
        for number, (place, _) in enumerate(inputs):
            self._row[place] = f"x{number}_address"
        for number, (place, _) in enumerate(outputs):
            self._row[place] = f"address(y{number})"
        for place, value in zip(places, ("scratch.address", "num_threads()"), strict=True):
            if place is not None:
                self._row[place] = value

    def by_position(self) -> Callable[[Sequence[Any]], Any]:
        """Takes the inputs in a sequence; gives the output, or a tuple of several."""
        takes = [f"x{number} = given[{number}]" for number in range(len(self._inputs))]
        made = [f"y{number}" for number in range(len(self._outputs))]
        return self._written(takes, made[0] if len(made) == 1 else f"({', '.join(made)})")

    def by_name(
        self, inputs: Sequence[str], outputs: Sequence[str]
    ) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """Takes the inputs by ``inputs``, their names; gives the outputs by ``outputs``, theirs."""
        names = {f"x{number}_name": name for number, name in enumerate(inputs)}
        names |= {f"y{number}_name": name for number, name in enumerate(outputs)}
        takes: list[str] = []
        for number in range(len(inputs)):
            takes += ["try:", f"    x{number} = given[x{number}_name]", "except KeyError:", "    return None"]
        made = ", ".join(f"y{number}_name: y{number}" for number in range(len(outputs)))
        return self._written(takes, f"{{{made}}}", names)

    def _written(
        self, takes: Sequence[str], gives: str, names: Mapping[str, str] | None = None
    ) -> Callable[[Any], Any]:
        """The function of ``given`` in which the lines ``takes`` name the inputs x0, x1, ..., and which gives
        ``gives``, of the outputs y0, y1, ...; both know ``names``."""
        known = {**self._known, **(names or {})}
        lines = [f"if len(given) != {len(self._inputs)}:", "    return None", *takes]
        lines += [*self._addressed(known), *self._allocated(known), *self._called()]
        lines += ["if code:", "    refuse(code)", f"return {gives}"]
        text = "\n    ".join(["def call(given):", *lines])
        exec(compile(text, "<the short way to call a function>", "exec"), known)
        return known["call"]

    def _addressed(self, known: dict[str, Any]) -> list[str]:
        """The lines that find the inputs' addresses, or return for one that must be converted or refused."""
        lines: list[str] = []
        for number, (_, one) in enumerate(self._inputs):
            x, dtype, shape = f"x{number}", f"x{number}_dtype", f"x{number}_shape"
            known |= {dtype: one.dtype, shape: one.shape}
            lines += [f"if {x}.__class__ is not ndarray or {x}.dtype is not {dtype} or {x}.shape != {shape}:"]
            lines += ["    return None", "try:", f"    {x}_address = address({x})"]
            lines += ["except (ValueError, BufferError):  # strided", "    return None"]
        return lines

    def _allocated(self, known: dict[str, Any]) -> list[str]:
        """The lines that make the outputs."""
        lines: list[str] = []
        for number, (_, one) in enumerate(self._outputs):
            y, shape = f"y{number}", one.shape or ()
            known |= {f"{y}_shape": shape, f"{y}_dtype": one.dtype, f"{y}_parameter": one}
            small = bytes_of(one, shape) < WORTH_ALIGNING
            lines += [
                f"{y} = empty({y}_shape, {y}_dtype)"
                if small
                else f"{y} = allocate(name, {y}_parameter, {y}_shape)"
            ]
        return lines

    def _called(self) -> list[str]:
        """The lines that call the function, with scratch memory if it takes any. How much that is depends on
        no number of threads, so nobody need know who has it; it is lost, not given back, where a call is
        interrupted."""
        call = f"code = function({', '.join(self._row)})"
        if "free" not in self._known:
            return [call]
        taken = ["try:", "    scratch = free.pop()", "except IndexError:", "    scratch = Scratch()"]
        grown = ["if scratch.size < workspace:", "    scratch.grow(workspace, name)"]
        return [*taken, *grown, call, "free.append(scratch)"]
