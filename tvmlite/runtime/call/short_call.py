"""The fast path of calls of a function whose sizes are all known from compilation or from an earlier call.

The call of a model that takes microseconds must not take as long itself: all that such a call needs, except
addresses, is known in advance. The model's weights have often evicted everything else from the near caches,
so that every line of Python, and all that it reads, takes several times as long as in a loop of calls alone.
Therefore the fast path is Python generated for this one function, without loops, slots and lists. Its text
consists of numbers and of names chosen here; data from a model, such as the names of its inputs, are values.
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
    """The positions of non-array arguments in the row of C arguments; None and empty if there are none."""

    workspace: int | None
    threads: int | None
    sizes: Sequence[int] = ()


class ShortCall:
    """Generates Python that calls ``function`` with ``row``, completed by inputs, outputs and scratch memory.

    ``inputs`` and ``outputs`` are arrays with their positions in the row; ``places`` are the positions of
    other arguments. A ``static`` function has no sizes, and the same workspace for any number of threads; for
    others, sizes are known after ``remember``. ``refuse`` raises the error for a non-zero code and sizes.

    A generated function returns None, without effect, if an input is missing or would have to be converted
    for ``function``, or if its sizes are not known.
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
        self._globals: dict[str, Any] = {
            **dict(zip(self._row, row, strict=True)),
            "function": function,
            "refuse": refuse,
            "name": name,
            "ndarray": np.ndarray,
            "address": _ffi.from_buffer,
            "calls": self._calls,
        }
        if scratch is not None:
            self._globals |= {"free": scratch.free, "Scratch": Scratch, "num_threads": num_threads}
            self._globals |= {"take": scratch.take, "put": scratch.put}
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
        """Let calls whose inputs have these shapes take the fast path; the outputs have the given shapes."""
        made = [self._constructor(one, shape) for (_, one), shape in zip(self._outputs, outputs, strict=True)]
        values = (workspace, *sizes, *made)
        if self._static:
            self._globals |= dict(zip(self._known_names, values, strict=True))
            return
        if len(self._calls) >= _MOST_KNOWN:
            self._calls.clear()
        self._calls[(threads, *inputs)] = values

    def _constructor(self, array: ArrayParameter, shape: tuple[int, ...]) -> Callable[[], np.ndarray]:
        """A function that allocates an output of this ``shape``."""
        if bytes_of(array, shape) < WORTH_ALIGNING:
            return partial(np.empty, shape, array.dtype)
        return partial(allocate, self._name, array, shape)

    def by_position(self) -> Callable[[Sequence[Any]], Any]:
        """A function of a sequence of the inputs that returns the output, or a tuple of several."""
        bind_inputs = [f"x{number} = given[{number}]" for number in range(len(self._inputs))]
        made = [f"y{number}" for number in range(len(self._outputs))]
        return self._compile(bind_inputs, made[0] if len(made) == 1 else f"({', '.join(made)})")

    def by_name(
        self, inputs: Sequence[str], outputs: Sequence[str]
    ) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """A function of a mapping with keys ``inputs`` that returns a dict with keys ``outputs``."""
        names = {f"x{number}_name": name for number, name in enumerate(inputs)}
        names |= {f"y{number}_name": name for number, name in enumerate(outputs)}
        bind_inputs: list[str] = []
        for number in range(len(inputs)):
            bind_inputs += [
                "try:",
                f"    x{number} = given[x{number}_name]",
                "except KeyError:",
                "    return None",
            ]
        made = ", ".join(f"y{number}_name: y{number}" for number in range(len(outputs)))
        return self._compile(bind_inputs, f"{{{made}}}", names)

    def _compile(
        self, bind_inputs: Sequence[str], result: str, names: Mapping[str, str] | None = None
    ) -> Callable[[Any], Any]:
        """Compile a function of ``given``: the lines ``bind_inputs`` bind the inputs to x0, x1, ..., and it
        returns the expression ``result`` of the outputs y0, y1, ...; both may use ``names``."""
        known = {**self._globals, **(names or {})}
        sizes = "".join(f", {one}" for one in self._row if one.startswith("size"))
        lines = [f"if len(given) != {len(self._inputs)}:", "    return None", *bind_inputs]
        lines += [
            *self._address_lines(known),
            *(self._static_call_lines() if self._static else self._dynamic_call_lines()),
        ]
        lines += ["if code:", f"    refuse(code{sizes})", f"return {result}"]
        text = "\n    ".join(["def call(given):", *lines])
        exec(compile(text, "<the short way to call a function>", "exec"), known)
        return known["call"]

    def _address_lines(self, known: dict[str, Any]) -> list[str]:
        """The lines that get the inputs' addresses, or return if one has to be converted or rejected."""
        lines: list[str] = []
        for number, (_, one) in enumerate(self._inputs):
            x, dtype, shape = f"x{number}", f"x{number}_dtype", f"x{number}_shape"
            known |= {dtype: one.dtype, shape: one.shape}
            fits = f" or {x}.shape != {shape}" if self._static else ""
            lines += [f"if {x}.__class__ is not ndarray or {x}.dtype is not {dtype}{fits}:"]
            lines += ["    return None", "try:", f"    {x}_address = address({x})"]
            lines += ["except (ValueError, BufferError):  # strided", "    return None"]
        return lines

    def _call_lines(self) -> list[str]:
        """The lines that allocate the outputs and call the function."""
        lines = [f"y{number} = new{number}()" for number in range(len(self._outputs))]
        return [*lines, f"code = function({', '.join(self._row)})"]

    def _static_call_lines(self) -> list[str]:
        """The lines of a static function's call, with scratch memory if it needs any. Its size does not
        depend on the number of threads, so that blocks in use are not tracked; an interrupted call loses its
        block."""
        if "free" not in self._globals:
            return self._call_lines()
        taken = ["try:", "    scratch = free.pop()", "except IndexError:", "    scratch = Scratch()"]
        grown = ["if scratch.size < workspace:", "    scratch.grow(workspace, name)"]
        return [*taken, *grown, *self._call_lines(), "free.append(scratch)"]

    def _dynamic_call_lines(self) -> list[str]:
        """The lines of a call of a function with sizes, if they are known, with memory for the threads."""
        shapes = "".join(f", x{number}.shape" for number in range(len(self._inputs)))
        threads = "scratch.threads" if "free" in self._globals else "1"
        lines = [f"known = calls.get(({threads}{shapes}))", "if known is None:", "    return None"]
        lines += [f"{', '.join(self._known_names)}, = known"]
        if "free" not in self._globals:
            return [*lines, *self._call_lines()]
        lines += ["if scratch.size < workspace:", "    scratch.grow(workspace, name)", *self._call_lines()]
        lines = [f"    {line}" for line in lines]
        return ["scratch = take()", "try:", *lines, "finally:", "    put(scratch)"]
