"""The short way to call a function with sizes that were all known when it was compiled, or in a call before.

A model that takes microseconds must not spend as many on being called: what such a call needs is known
in advance but for addresses. Its weights have often evicted everything else from the near caches, so that
every line of Python, and all that it reads, costs several times of what it takes when called by itself.
So the short way is Python written for that one function: no loops, no slots, no lists. Its text is made
of numbers and of names chosen here; what comes from a model, such as the names of its inputs, are values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import cffi
import numpy as np

from tvmlite.runtime.call.arguments import WORTH_ALIGNING, ArrayParameter, allocate, bytes_of
from tvmlite.runtime.call.scratch import Scratch, ScratchPool
from tvmlite.runtime.pool.threads import num_threads

_ffi: Any = cffi.FFI()
_MOST_KNOWN = 1024


@dataclass(frozen=True)
class Positions:
    """Where in the row of C arguments stand those that are no arrays; None and empty where there are none."""

    workspace: int | None
    threads: int | None
    sizes: Sequence[int] = ()


class ShortCall:
    """Writes Python that calls ``function`` with ``row``, inputs, outputs and scratch memory filled in.

    ``inputs`` and ``outputs`` are arrays and their places in the row; ``places`` are those of other
    arguments. A ``static`` function has no sizes, and as much workspace for any number of threads; of others,
    sizes are known after ``remember``. ``refuse`` makes an error of a code that is not 0, and sizes.

    A function written here gives None, and has done nothing, if an input is missing or not an array just as
    ``function`` takes it, or if its sizes are not known.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., int],
        row: Sequence[Any],
        inputs: Sequence[tuple[int, ArrayParameter]],
        outputs: Sequence[tuple[int, ArrayParameter]],
        scratch: ScratchPool | None,
        places: Positions,
        static: bool,
        refuse: Callable[..., None],
    ) -> None:
        self._name, self._inputs, self._outputs, self._static = name, inputs, outputs, static
        self._row = [f"row{place}" for place in range(len(row))]
        self._calls: dict[Any, tuple[Any, ...]] = {}
        self._known: dict[str, Any] = {
            **dict(zip(self._row, row, strict=True)),
            "function": function,
            "refuse": refuse,
            "name": name,
            "ndarray": np.ndarray,
            "address": _ffi.from_buffer,
            "calls": self._calls,
        }
        if scratch is not None:
            self._known |= {"free": scratch.free, "Scratch": Scratch, "num_threads": num_threads}
            self._known |= {"take": scratch.take, "put": scratch.put}
        for number, (place, _) in enumerate(inputs):
            self._row[place] = f"x{number}_address"
        for number, (place, _) in enumerate(outputs):
            self._row[place] = f"address(y{number})"
        for number, place in enumerate(places.sizes):
            self._row[place] = f"size{number}"
        threads = "num_threads()" if static else "scratch.threads"
        for one, value in ((places.workspace, "scratch.address"), (places.threads, threads)):
            if one is not None:
                self._row[one] = value
        self._known_names = ("workspace", *(f"size{number}" for number in range(len(places.sizes))))
        self._known_names += tuple(f"new{number}" for number in range(len(outputs)))

    def remember(
        self,
        inputs: Sequence[tuple[int, ...]],
        outputs: Sequence[tuple[int, ...]],
        sizes: Sequence[int],
        workspace: int,
        threads: int,
    ) -> None:
        """Calls whose inputs have these shapes may take the short way: their outputs have these shapes."""
        made = [self._constructor(one, shape) for (_, one), shape in zip(self._outputs, outputs, strict=True)]
        values = (workspace, *sizes, *made)
        if self._static:
            self._known |= dict(zip(self._known_names, values, strict=True))
            return
        if len(self._calls) >= _MOST_KNOWN:
            self._calls.clear()
        self._calls[(threads, *inputs)] = values

    def _constructor(self, array: ArrayParameter, shape: tuple[int, ...]) -> Callable[[], np.ndarray]:
        """What makes an output."""
        if bytes_of(array, shape) < WORTH_ALIGNING:
            return partial(np.empty, shape, array.dtype)
        return partial(allocate, self._name, array, shape)

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
        sizes = "".join(f", {one}" for one in self._row if one.startswith("size"))
        lines = [f"if len(given) != {len(self._inputs)}:", "    return None", *takes]
        lines += [*self._addressed(known), *(self._called() if self._static else self._called_as_before())]
        lines += ["if code:", f"    refuse(code{sizes})", f"return {gives}"]
        text = "\n    ".join(["def call(given):", *lines])
        exec(compile(text, "<the short way to call a function>", "exec"), known)
        return known["call"]

    def _addressed(self, known: dict[str, Any]) -> list[str]:
        """The lines that find the inputs' addresses, or return for one that must be converted or refused."""
        lines: list[str] = []
        for number, (_, one) in enumerate(self._inputs):
            x, dtype, shape = f"x{number}", f"x{number}_dtype", f"x{number}_shape"
            known |= {dtype: one.dtype, shape: one.shape}
            fits = f" or {x}.shape != {shape}" if self._static else ""
            lines += [f"if {x}.__class__ is not ndarray or {x}.dtype is not {dtype}{fits}:"]
            lines += ["    return None", "try:", f"    {x}_address = address({x})"]
            lines += ["except (ValueError, BufferError):  # strided", "    return None"]
        return lines

    def _made(self) -> list[str]:
        """The lines that make the outputs and call the function."""
        lines = [f"y{number} = new{number}()" for number in range(len(self._outputs))]
        return [*lines, f"code = function({', '.join(self._row)})"]

    def _called(self) -> list[str]:
        """The lines of a static function's call, with scratch memory if it takes any. How much that is
        depends on no number of threads, so its users are not counted; an interrupted call loses it."""
        if "free" not in self._known:
            return self._made()
        taken = ["try:", "    scratch = free.pop()", "except IndexError:", "    scratch = Scratch()"]
        grown = ["if scratch.size < workspace:", "    scratch.grow(workspace, name)"]
        return [*taken, *grown, *self._made(), "free.append(scratch)"]

    def _called_as_before(self) -> list[str]:
        """The same of a function with sizes, if they are known, and memory for a number of threads."""
        shapes = "".join(f", x{number}.shape" for number in range(len(self._inputs)))
        threads = "scratch.threads" if "free" in self._known else "1"
        lines = [f"known = calls.get(({threads}{shapes}))", "if known is None:", "    return None"]
        lines += [f"{', '.join(self._known_names)}, = known"]
        if "free" not in self._known:
            return [*lines, *self._made()]
        lines += ["if scratch.size < workspace:", "    scratch.grow(workspace, name)", *self._made()]
        lines = [f"    {line}" for line in lines]
        return ["scratch = take()", "try:", *lines, "finally:", "    put(scratch)"]
