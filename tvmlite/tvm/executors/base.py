"""The base class of executors, whose methods are also available as functions by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core.dtype import numpy_of
from tvmlite.core.errors import InputError
from tvmlite.core.span import warn
from tvmlite.runtime.ndarray import NDArray, array
from tvmlite.tvm.executors.benchmark import BenchmarkResult, of_call, timed
from tvmlite.tvm.runtime.container import Map, ShapeTuple, String
from tvmlite.tvm.runtime_params import load_param_dict


@dataclass(frozen=True)
class Tensor:
    """An input: its name, shape (None for an open extent) and dtype."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str


class Executor:
    """Set inputs, run the model, get outputs. ``executor["run"]()`` is the same as ``executor.run()``.

    Subclasses set ``inputs`` and ``outputs`` and implement ``compute``. ``constants`` are parameters that are
    already in the compiled model: setting one to its own value has no effect, to any other value is an error.
    """

    inputs: Sequence[Tensor] = ()
    outputs = 0

    def __init__(self, constants: Mapping[str, Any] | None = None) -> None:
        self._constants = {name: np.asarray(value) for name, value in (constants or {}).items()}
        self._set: dict[str, np.ndarray] = {}
        self._results: list[np.ndarray] | None = None
        self._given: dict[int, Any] = {}

    def compute(self, arrays: Sequence[np.ndarray]) -> Sequence[Any]:
        """Return the outputs for the inputs, given in order."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return the function ``name``."""
        found = None if name.startswith("_") else getattr(self, name, None)
        if not callable(found):
            raise AttributeError(f"the module has no function {name!r}")
        return found

    get_function = __getitem__

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Set the input ``key``, a name or a number, and others by name, to copies of arrays; numpy arrays
        are converted to the input's dtype."""
        given = dict(params)
        if key is not None:
            given[key if isinstance(key, str) else self._tensor(key).name] = value
        for name, one in given.items():
            if name in self._constants and name not in self._names():
                self._require_equal(name, np.asarray(one))
            else:
                tensor = self._tensor(name)
                found = np.asarray(one)
                if not isinstance(one, NDArray) and found.dtype.kind in "biuf":
                    found = found.astype(numpy_of(tensor.dtype), copy=False)
                self._set[name] = self._checked(tensor, found)

    def set_input_zero_copy(self, key: Any, value: Any) -> None:
        """Set an input without a copy: the array is read when the model runs, and may change until then."""
        tensor = self._tensor(key)
        self._set[tensor.name] = self._checked(tensor, value, copy=False)

    def set_output_zero_copy(self, index: int, value: Any) -> None:
        """Make each run also write the output ``index`` into the array ``value``."""
        self._given[self._output(index)] = value

    def get_input(self, index: Any, out: Any = None) -> Any:
        """Return the value of the input ``index``, a name or a number; zeros if it was not set. It is also
        written into ``out`` if given."""
        tensor = self._tensor(index)
        if tensor.name not in self._set:
            if None in tensor.shape:
                raise InputError(f"get_input: {tensor.name!r} has not been set, and its shape is open")
            self._set[tensor.name] = np.zeros(tensor.shape, tensor.dtype)  # type: ignore[arg-type]
        return _written(self._set[tensor.name], out)

    def get_input_index(self, name: str) -> int:
        """Return the number of the input ``name``; -1 if there is none."""
        names = self._names()
        return names.index(name) if name in names else -1

    def get_input_info(self) -> tuple[Map, Map]:
        """Return the shapes, each a ``ShapeTuple``, and the dtypes of the inputs by name."""
        shapes = Map({one.name: ShapeTuple(one.shape) for one in self.inputs})  # type: ignore[arg-type]
        return shapes, Map({one.name: String(one.dtype) for one in self.inputs})

    def get_num_inputs(self) -> int:
        """Return the number of inputs."""
        return len(self.inputs)

    def get_num_outputs(self) -> int:
        """Return the number of outputs."""
        return self.outputs

    def run(self, **inputs: Any) -> None:
        """Compute the outputs from inputs set before or given here."""
        self.set_input(**inputs)
        missing = [name for name in self._names() if name not in self._set]
        if missing:
            raise InputError(f"run: inputs {', '.join(missing)} have not been set")
        found = self.compute([self._set[name] for name in self._names()])
        self._results = [np.asarray(one) for one in found]
        for index, value in self._given.items():
            _written(self._results[index], value)

    def get_output(self, index: int, out: Any = None) -> Any:
        """Return the output ``index`` of the last run; it is also written into ``out`` if given."""
        place = self._output(index)
        if self._results is None:
            raise InputError("get_output: there was no run yet")
        return _written(self._results[place], out)

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
        ctx: Any = None,
    ) -> Callable[..., BenchmarkResult]:
        """Return a function that returns the seconds per call of ``func_name``, usually ``"run"``, measured
        in ``repeat`` runs of ``number`` calls, or of as many as fill ``min_repeat_ms``. After every
        ``repeats_to_cooldown`` runs there is a pause of ``cooldown_interval_ms``; the other options have no
        effect."""
        call = self[func_name]
        pauses = cooldown_interval_ms, repeats_to_cooldown
        return lambda *args: timed(of_call(lambda: call(*args)), number, repeat, min_repeat_ms, *pauses)

    def load_params(self, params_bytes: Any) -> None:
        """Set parameters from bytes of ``save_param_dict``; those that the model lacks are a warning."""
        given = load_param_dict(params_bytes)
        unknown = [name for name in given if name not in self._names() and name not in self._constants]
        if unknown:
            warn(f"load_params: the model has no {', '.join(unknown)}")
        self.set_input(**{name: one for name, one in given.items() if name not in unknown})

    def share_params(self, other: Any, params_bytes: Any) -> None:
        """Take the inputs named in the bytes of ``save_param_dict`` from another executor, without a copy."""
        for name in load_param_dict(params_bytes):
            if name in self._names():
                source = getattr(other, "module", other)
                self._set[name] = (
                    source._set[name] if isinstance(source, Executor) else source.get_input(name)
                )

    def _names(self) -> list[str]:
        return [one.name for one in self.inputs]

    def _tensor(self, key: Any) -> Tensor:
        names = self._names()
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < len(names):
            return self.inputs[int(key)]
        if key not in names:
            hint = "weights that relay.build was given are in the library" if isinstance(key, str) else None
            known = ", ".join(names) or "none"
            raise InputError(f"there is no input {key!r}; there are {known}", hint=hint)
        return self.inputs[names.index(str(key))]

    def _output(self, index: Any) -> int:
        if (
            isinstance(index, bool)
            or not isinstance(index, (int, np.integer))
            or not 0 <= index < self.outputs
        ):
            raise InputError(f"get_output: there is no output {index!r}; there are {self.outputs}")
        return int(index)

    def _checked(self, tensor: Tensor, value: Any, copy: bool = True) -> np.ndarray:
        """Return ``value`` as an array; an InputError unless it has the shape and dtype of ``tensor``."""
        found = np.asarray(value)
        fits = len(found.shape) == len(tensor.shape) and all(
            wanted in (None, given) for wanted, given in zip(tensor.shape, found.shape, strict=True)
        )
        if not fits or str(found.dtype) != tensor.dtype:
            raise InputError(
                f"set_input: {tensor.name!r} is {found.dtype}{list(found.shape)}, expected "
                f"{tensor.dtype}{['?' if one is None else one for one in tensor.shape]}"
            )
        return found.copy() if copy else found

    def _require_equal(self, name: str, value: np.ndarray) -> None:
        if not np.array_equal(value, self._constants[name], equal_nan=value.dtype.kind == "f"):
            raise InputError(
                f"set_input: the parameter {name!r} is in the library, with another value",
                hint="leave it out of relay.build's params= to set it later",
            )


def _written(value: np.ndarray, out: Any) -> Any:
    if out is None:
        return array(value)
    if isinstance(out, NDArray):
        return out.copyfrom(value)
    out[...] = value
    return out
