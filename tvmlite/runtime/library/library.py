"""Compiled models, called with inputs by position or name."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.abi.signature import VERSION, Signature
from tvmlite.core.errors import InputError, LibraryError
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.call.in_process import InProcess
from tvmlite.runtime.library.profile import Profile
from tvmlite.runtime.library.sequences import Sequences
from tvmlite.runtime.timing import Timing
from tvmlite.show import html

METADATA = "tvmlite_metadata"
"""The symbol of a library's metadata for programs that load it: the text, terminated by a zero byte."""

OTHERS = "others"
"""The key of the metadata of further functions that are linked into the same library."""


class Library(InProcess):
    """A model's entry. ``lib(x)`` returns one array, or a tuple in the order of ``output_names``.

    It cannot be pickled: another process needs a file (``lib.export``, ``runtime.load``).

    Inputs are passed by position or by name; ``CompiledFunction`` documents what is accepted. ``metadata``
    was written by the library's producer. In it, ``sequences`` lists the parameters that form lists of
    arrays, which are passed and returned as lists (the parameters of list ``x`` are ``x.0``, ``x.1``, ...);
    ``squeezed`` lists the axes that are removed from an output in runs where all of them have extent 1.
    ``input_names`` and ``output_names`` are the model's names, which need not be C identifiers as those of
    the signature; ``kernel_labels`` are readable names of the kernels of ``signature.kernels``.
    """

    def __init__(self, function: CompiledFunction, metadata: Mapping[str, Any] | None = None) -> None:
        self.function = function
        self.signature = function.signature
        self.metadata = dict(metadata or {})
        inputs = [p.name for p in self.signature.parameters if p.kind in ("input", "scalar")]
        outputs = [p.name for p in self.signature.outputs]
        self.input_names = self._names("input_names", inputs)
        self.output_names = self._names("output_names", outputs)
        function.name_inputs(self.input_names)
        self.kernel_labels = self._names("kernel_labels", self.signature.kernels)
        self._input_set = frozenset(self.input_names)
        lists = self.metadata.get("sequences")
        self._squeezed = squeezed_axes(self.metadata.get("squeezed", ()), len(outputs))
        self._run_fast: Callable[[Mapping[str, Any]], dict[str, Any] | None] | None = None
        self._lists = None if lists is None else _sequences(lists, self.input_names, self.output_names)

    @property
    def cpu_level(self) -> str:
        """The CPU level of a loaded library that is in use; empty if the library has no levels."""
        return str(self.metadata.get("cpu_level", ""))

    def _names(self, key: str, parameters: Sequence[str]) -> tuple[str, ...]:
        """The model's names for ``parameters`` from the metadata, or ``parameters`` if it has none."""
        names = self.metadata.get(key, parameters)
        if not isinstance(names, (list, tuple)) or len(names) != len(parameters):
            raise LibraryError(
                f"{self.signature.name}: metadata has {names!r} as {key}, not {len(parameters)}"
            )
        return tuple(map(str, names))

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Run the model; returns one output, or a tuple in the order of ``output_names``. See the class."""
        result = self._squeeze(self.function(*self._inputs(inputs, named)))
        if self._lists is None:
            return result
        made = self._lists[1].gather(result)
        return made[0] if len(made) == 1 else tuple(made)

    def _squeeze(self, result: Any) -> Any:
        """The function's ``result`` without the ``squeezed`` axes of outputs in which they have extent 1."""
        if not self._squeezed or result is None:
            return result
        made = list(result) if isinstance(result, tuple) else [result]
        for place, axes in self._squeezed:
            if all(made[place].shape[axis] == 1 for axis in axes):
                made[place] = made[place].squeeze(axes)
        return tuple(made) if isinstance(result, tuple) else made[0]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run the model on inputs by name, and return the outputs by name."""
        if self._run_fast is not None and inputs.__class__ is dict:
            made = self._run_fast(inputs)
            if made is not None:
                return made
        if not isinstance(inputs, Mapping):
            wanted = ", ".join(self.input_names) or "nothing"
            raise InputError(
                f"run: a {type(inputs).__name__} given, expected a dict of {wanted}",
                hint="call the library to give inputs by position",
            )
        result = self._squeeze(self.function(*self._inputs((), inputs)))
        if self._lists is not None:
            return dict(zip(self._lists[1].names, self._lists[1].gather(result), strict=True))
        if self._run_fast is None and not self._squeezed and self.function.fast_path is not None:
            self._run_fast = self.function.fast_path.by_name(self.input_names, self.output_names)
        return dict(zip(self.output_names, result if isinstance(result, tuple) else (result,), strict=True))

    def profile(self, *inputs: Any, **named: Any) -> Profile:
        """Run the model once, and return the time of each kernel."""
        given = self._inputs(inputs, named)
        start = time.perf_counter_ns()
        result, times = self.function.profile(*given)
        whole = time.perf_counter_ns() - start
        kernels = tuple(zip(self.signature.kernels, times, strict=True))
        return Profile(kernels, whole, self._squeeze(result), self.kernel_labels)

    def time(
        self,
        *inputs: Any,
        number: int | None = None,
        repeat: int | None = None,
        budget: float = 0.5,
        **named: Any,
    ) -> Timing:
        """Seconds of one run, without checks and allocation of outputs; see ``timing.measure``."""
        given = self._inputs(inputs, named)
        return self.function.time(*given, number=number, repeat=repeat, budget=budget)

    def _inputs(self, given: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """All inputs in order; InputError for an unknown name, a missing input, or one given twice."""
        wanted = self.input_names
        if self._lists is not None:
            given, named = self._lists[0].spread(given, named)
        elif not named and len(given) == len(wanted):
            return given
        elif not given and named.keys() == self._input_set:
            return [named[name] for name in wanted]
        for name in named:
            if name not in wanted:
                given_name = arguments.shown(name)
                raise InputError(f"there is no input {given_name}; the inputs are {', '.join(wanted)}")
        if len(given) + len(named) > len(wanted):
            raise InputError(f"{len(given) + len(named)} inputs, expected {len(wanted)}: {', '.join(wanted)}")
        missing = [name for name in wanted[len(given) :] if name not in named]
        if missing:
            raise InputError(
                f"input {', '.join(map(repr, missing))} is not given; expected {', '.join(wanted)}"
            )
        return [*given, *(named[name] for name in wanted[len(given) :])]

    def _repr_html_(self) -> str:
        """The display in notebooks: inputs and outputs with their types, and the number of kernels."""
        ends = [("", "name", "type")]
        inputs = [p for p in self.signature.parameters if p.kind in ("input", "scalar")]
        for kind, names, parameters in (
            ("input", self.input_names, inputs),
            ("output", self.output_names, self.signature.outputs),
        ):
            for name, one in zip(names, parameters, strict=True):
                extents = ", ".join("?" if extent is None else str(extent) for extent in one.shape)
                ends.append((kind, name, f"{one.dtype}[{extents}]"))
        weights = f"{self.signature.constants / 1e6:.1f} MB of weights"
        said = f"{self.signature.name}: {len(self.kernel_labels)} kernels, {weights}"
        return html.paragraphs([said]) + html.grid(ends)

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(self.input_names), ", ".join(self.output_names)
        return f"Library({self.signature.name}: {inputs} -> {outputs})"


def squeezed_axes(rows: Any, outputs: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The field ``squeezed`` of metadata: positions of outputs, and their axes that are removed if all have
    extent 1."""
    try:
        made = tuple((int(place), tuple(int(axis) for axis in axes)) for place, axes in rows)
    except (TypeError, ValueError) as error:
        raise LibraryError(f"the metadata's squeezed axes are damaged: {error}") from error
    if not all(0 <= place < outputs and all(axis >= 0 for axis in axes) for place, axes in made):
        raise LibraryError(f"the metadata's squeezed axes are {rows!r}, of {outputs} outputs")
    return made


def _sequences(rows: Any, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[Sequences, Sequences]:
    if not isinstance(rows, Mapping) or set(rows) != {"inputs", "outputs"}:
        raise LibraryError(f"the metadata's sequences are {rows!r}, expected inputs and outputs")
    return Sequences(rows["inputs"], inputs), Sequences(rows["outputs"], outputs)


def metadata(signature: Signature, target: str, features: Sequence[str] = (), **more: Any) -> str:
    """The text of a library's metadata (``seal``, ``METADATA``): its entry, and the required target.

    ``features`` are LLVM's names of the instruction sets that the code uses; ``more`` are further fields.
    """
    fields = {
        **more,
        "entry": signature.to_json(),
        "target": target,
        "features": sorted(features),
        "abi": VERSION,
    }
    return json.dumps(fields, sort_keys=True)
