"""A compiled model whose inputs are set by name, that is run, and whose outputs are then read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tvmlite.core.dtype import numpy_of
from tvmlite.core.errors import InputError
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import TupleType
from tvmlite.runtime.ndarray import NDArray


class GraphModule:
    """What ``factory["default"](device)`` gives; ``module["run"]()`` is ``module.run()``."""

    def __init__(self, lib: Any, constants: Mapping[str, Any] | None = None) -> None:
        self.lib = lib
        self._constants = constants or {}
        params = lib.module.main.params
        self._types = {param.name: param.type for param in params}
        self._inputs: dict[str, Any] = {}
        self._outputs: list[Any] | None = None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function ``name``."""
        found = None if name.startswith("_") else getattr(self, name, None)
        if not callable(found):
            raise AttributeError(f"the module has no function {name!r}")
        return found

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Set the input ``key``, a name or a number, and others by name, to copies in the input's dtype."""
        given = dict(params)
        if key is not None:
            given[key if isinstance(key, str) else self._name(key)] = value
        for name, one in given.items():
            if name in self._constants and name not in self._types:
                self._check_constant(name, one)
                continue
            name = self._name(name)
            self._inputs[name] = np.array(one, dtype=numpy_of(self._types[name].dtype))

    set_input_zero_copy = set_input

    def _check_constant(self, name: str, value: Any) -> None:
        if not np.array_equal(np.asarray(value), self._constants[name]):
            raise InputError(
                f"set_input: {name!r} is a constant of the model, which cannot be set to other values",
                hint="leave it out of the params of relay.build",
            )

    def get_input(self, index: Any, out: Any = None) -> Any:
        """What was set for the input ``index``, a name or a number."""
        name = self._name(index)
        if name not in self._inputs:
            raise InputError(f"get_input: {name!r} has not been set")
        return _given(self._inputs[name], out)

    def get_input_index(self, name: str) -> int:
        """The number of the input ``name``; -1 if there is none."""
        return list(self._types).index(name) if name in self._types else -1

    def get_input_info(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The shapes and dtypes of the inputs by name."""
        return (
            {name: tuple(type_.shape) for name, type_ in self._types.items()},
            {name: type_.dtype for name, type_ in self._types.items()},
        )

    def run(self, **inputs: Any) -> None:
        """Compute the outputs, of inputs set before or given here."""
        if inputs:
            self.set_input(**inputs)
        missing = [name for name in self._types if name not in self._inputs]
        if missing:
            raise InputError(f"run: inputs {', '.join(missing)} have not been set")
        found = self.lib(*(self._inputs[name] for name in self._types))
        self._outputs = _flat(found)

    def get_output(self, index: int, out: Any = None) -> Any:
        """The output ``index`` of the last run."""
        if self._outputs is None:
            raise InputError("get_output: there was no run yet")
        if not isinstance(index, (int, np.integer)) or not 0 <= index < len(self._outputs):
            raise InputError(f"get_output: output {show(index)} of {len(self._outputs)}")
        return _given(self._outputs[int(index)], out)

    def get_num_outputs(self) -> int:
        """The number of outputs."""
        return _count(type_of(self.lib.module.main.body))

    def get_num_inputs(self) -> int:
        """The number of inputs."""
        return len(self._types)

    def _name(self, key: Any) -> str:
        if isinstance(key, (int, np.integer)) and 0 <= key < len(self._types):
            return list(self._types)[int(key)]
        if key not in self._types:
            raise InputError(f"there is no input {show(key)}; there are {', '.join(self._types) or 'none'}")
        return str(key)


def _flat(value: Any) -> list[Any]:
    """The arrays of a result, those of nested tuples in order."""
    return [one for part in value for one in _flat(part)] if isinstance(value, (tuple, list)) else [value]


def _count(type_: Any) -> int:
    return sum(map(_count, type_.fields)) if isinstance(type_, TupleType) else 1


def _given(value: Any, out: Any) -> Any:
    array = np.asarray(value).view(NDArray)
    if out is None:
        return array
    out.copyfrom(array)
    return out
