"""The result of ``relay.build``: a compiled model that creates executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.runtime.ndarray import NDArray
from tvmlite.tvm.absent import MissingName, refusing
from tvmlite.tvm.executors.library import ModelNames
from tvmlite.tvm.executors.model import ModelExecutor, remember_parameters
from tvmlite.tvm.ir import transform
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay.backend.graph_json import graph_json
from tvmlite.tvm.relay.opt_level import level_in_force

_build = later("relay.build_module", "build")

_REPORT = "lib.lib.report lists the kernels and the memory, lib.lib.module is the graph of them"

_ABSENT = {
    **dict.fromkeys(("function_metadata", "executor_codegen_metadata", "lowered_ir_mods"), _REPORT),
    "devices": "there is one device, the CPU",
}
"""Attributes of TVM's compiled modules that are not supported, and what to use instead."""


class ExecutorFactoryModule(ModelNames):
    """A model compiled by ``build``: ``factory["default"](device)`` returns an executor that has
    ``set_input`` and ``run``.

    ``lib`` is tvmlite's compiled model. ``params`` are the given weights, which are constants of the library:
    setting one to its own value is allowed and has no effect.
    """

    def __init__(
        self, lib: Any, ir_mod: IRModule, target: Target, name: str, params: Mapping[str, Any]
    ) -> None:
        self.lib, self.ir_mod, self.target, self.libmod_name = lib, ir_mod, target, name
        self._opt_level = level_in_force()
        self.params = {key: np.asarray(value).view(NDArray) for key, value in params.items()}
        remember_parameters(lib, self.params)

    @property
    def module(self) -> ExecutorFactoryModule:
        """The factory itself."""
        return self

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function ``name``. The one with the model's name takes a device and returns an executor."""
        if name == self.libmod_name:
            return lambda *devices: ModelExecutor(self.lib)
        if name == "debug_create":
            return lambda model, *devices: self[model](*devices)
        if name == "get_graph_json":
            return self.get_graph_json
        if name == "remove_params":
            return self._without_params
        raise MissingName(
            f"the module has no function {name!r}; it has {self.libmod_name!r}",
            Span.of_caller(),
            f"kernels are called by the model alone: {_REPORT}",
        )

    get_function = __getitem__

    def __getattr__(self, name: str) -> Any:
        if name not in _ABSENT:
            raise AttributeError(f"the module has no attribute {name!r}")
        raise MissingName(f"{name} of a compiled module is not in tvmlite", Span.of_caller(), _ABSENT[name])

    def _without_params(self) -> ExecutorFactoryModule:
        """The model, compiled again with its weights as inputs that ``load_params`` sets."""
        with transform.PassContext(opt_level=self._opt_level):
            return _build(self.ir_mod, self.target, mod_name=self.libmod_name)

    def get_params(self) -> dict[str, Any]:
        """The given weights by name; the library already contains them."""
        return self.params

    def get_graph_json(self) -> str:
        """The kernel calls in order, as JSON in the format of TVM's graph executor."""
        return graph_json(self.lib.module)

    @property
    def graph_json(self) -> str:
        """As ``get_graph_json()``."""
        return self.get_graph_json()

    def get_lib(self) -> Any:
        """The compiled model."""
        return self.lib

    def get_executor_config(self) -> str:
        """As ``get_graph_json()``."""
        return self.get_graph_json()

    def __iter__(self) -> Iterator[Any]:
        """``graph, lib, params = relay.build(...)``, as in TVM before 0.8."""
        return iter((self.get_graph_json(), self, self.get_params()))


__getattr__ = refusing(__name__)
