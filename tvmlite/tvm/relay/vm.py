"""``relay.vm``: TVM's virtual machine. Control flow is compiled here, so that an executable is a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tvmlite.core.errors import InputError, TypeInferError, UnsupportedError
from tvmlite.core.span import Span, warn
from tvmlite.relay.ir.attributes import show
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.executors.benchmark import BenchmarkResult, of_call, timed
from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.backend.specialized import has_unknown_extents
from tvmlite.tvm.relay.build_module import (
    ExecutorFactoryModule,
    bound,
    build,
    create_executor,
    optimize,
    results,
)
from tvmlite.tvm.relay.graph.calls import calls_itself
from tvmlite.tvm.relay.graph.inputs import arrays_of
from tvmlite.tvm.runtime.devices import require_present
from tvmlite.tvm.runtime.loading import LoadedModel

_CODE = b"tvmlite: all of the model is in its library\n"
"""The result of ``Executable.save`` in place of TVM's byte code."""

_NO_CODE = (
    "control flow is compiled into the library, and no byte code runs: lib.lib.report lists the kernels"
)

_ABSENT = {
    **dict.fromkeys(("bytecode", "constants", "globals", "primitive_ops", "primitives", "stats"), _NO_CODE),
    "set_outputs": "each run gives arrays of its own: invoke gives them",
    **dict.fromkeys(("virtual_devices", "get_virtual_devices"), "there is one device, the CPU"),
    **dict.fromkeys(
        (
            "get_late_bound_consts",
            "load_late_bound_consts",
            "load_late_bound_consts_from_map",
            "move_late_bound_consts",
        ),
        "constants are in the library: leave weights out of params, and they are inputs",
    ),
}
"""Attributes of TVM's executables and virtual machines that are not supported, and what to use instead."""


def _refused(owner: str, name: str) -> Any:
    """Raise an UnsupportedError for an attribute that only TVM has, or else an AttributeError."""
    if name in _ABSENT:
        raise UnsupportedError(f"{owner}.{name} is not in tvmlite", Span.of_caller(), _ABSENT[name])
    raise AttributeError(f"{owner} has no attribute {name!r}")


class WithoutLibrary:
    """Stands in for a library where ``main`` cannot be compiled in advance. If types depend on
    ``relay.Any()`` extents, ``main`` is compiled when a combination of shapes first occurs; if a function
    calls itself, it is interpreted. Exporting raises an error that has ``reason``."""

    def __init__(self, module: IRModule, target: Any, reason: str) -> None:
        self.lib, self._reason = self, reason
        self.input_names = [param.name for param in module["main"].params]
        self._run = create_executor("vm", module, target=target).evaluate()

    def __call__(self, *arrays: Any) -> Any:
        """Run ``main`` on ``arrays``."""
        return self._run(*arrays)

    def export_library(self, file_name: Any, **options: Any) -> None:
        """Raise an UnsupportedError: there is no library."""
        self._refuse("export_library")

    def profile(self, *arrays: Any, **named: Any) -> NoReturn:
        """Raise an UnsupportedError: there are no kernels before a call."""
        self._refuse("profile")

    def _refuse(self, what: str) -> NoReturn:
        raise UnsupportedError(f"{what}: there is no library: {self._reason}", Span.of_caller(), _HINT)


_HINT = "give extents that are the same one name, shape=('n', 3); relay.loops.while_loop is compiled"


class Executable:
    """A compiled module: ``VirtualMachine(exe, device)`` runs it.

    ``mod`` is the module whose ``export_library`` writes the library, ``lib`` is tvmlite's compiled model.
    """

    def __init__(self, mod: ExecutorFactoryModule | LoadedModel | WithoutLibrary) -> None:
        if not isinstance(mod, (ExecutorFactoryModule, LoadedModel, WithoutLibrary)):
            raise InputError(f"Executable: mod is {show(mod)}, expected a compiled module")
        self.mod = mod
        self.lib = mod.lib

    def __getattr__(self, name: str) -> Any:
        return _refused("Executable", name)

    def save(self) -> tuple[bytearray, Any]:
        """Return placeholder byte code, as there is none, and the module to export."""
        return bytearray(_CODE), self.mod

    @staticmethod
    def load_exec(bytecode: Any, lib: Any) -> Executable:
        """Restore the executable from the results of ``save``; ``lib`` is the module, or its exported library
        as loaded by ``tvm.runtime.load_module``."""
        if bytes(bytecode) != _CODE:
            raise InputError(
                "load_exec: bytecode is not of tvmlite's Executable.save: compile the module again"
            )
        if not isinstance(lib, (ExecutorFactoryModule, LoadedModel, WithoutLibrary)):
            raise InputError(f"load_exec: lib is {show(lib)}, expected the module that Executable.save gave")
        return Executable(lib)

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of the parameters of ``"main"``."""
        _require_main("get_function_params", func_name)
        return list(self.lib.input_names)


def _require_main(where: str, func_name: str) -> None:
    if func_name != "main":
        raise InputError(f"{where}: there is no function {func_name!r}, there is 'main'")


def compile(
    mod: Any, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None
) -> Executable:
    """Compile ``mod`` for ``target``, with ``params`` as constants.

    If types depend on ``relay.Any()`` extents, a warning is given and ``main`` is compiled when a combination
    of shapes first occurs. If a function calls itself, ``create_executor`` warns and the module is
    interpreted.
    """
    module = bound(mod if isinstance(mod, IRModule) else IRModule.from_expr(mod), params or {})
    recursive = calls_itself(module)
    if recursive is not None:
        return Executable(WithoutLibrary(module, target, f"{recursive} calls itself"))
    try:
        return Executable(build(mod, target, target_host, params=params))
    except TypeInferError as error:
        main = module["main"]
        if not has_unknown_extents(main) or any(isinstance(one.type, ty.TupleType) for one in main.params):
            raise
        warn(f"relay.vm.compile: compiled for each combination of shapes: {error.message}")
        return Executable(WithoutLibrary(module, target, f"types depend on the shapes: {error.message}"))


class VMCompiler:
    """The steps of ``compile`` as separate methods."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._given: tuple[Any, Any, Any] | None = None
        self._exe: Executable | None = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set the parameters that become constants."""
        self._params = dict(params)

    def get_params(self) -> dict[str, Any]:
        """The parameters that were set."""
        return dict(self._params)

    def lower(self, mod: Any, target: Any = None, target_host: Any = None) -> None:
        """Record the module and target for ``codegen``; nothing is compiled yet."""
        self._given = mod, target, target_host

    def codegen(self) -> None:
        """Compile the module given to ``lower``."""
        if self._given is None:
            raise InputError("VMCompiler.codegen: nothing was lowered: call lower(mod, target) first")
        self._exe = compile(*self._given, params=self._params)

    def optimize(
        self, mod: Any, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Apply the target-independent passes to ``mod``, with the parameters as constants."""
        self._params |= dict(params or {})
        return optimize(mod, target, self._params)

    def get_exec(self) -> Executable:
        """The executable that ``codegen`` made."""
        if self._exe is None:
            raise InputError("VMCompiler.get_exec: nothing was compiled: call lower and codegen first")
        return self._exe


class VirtualMachine:
    """Runs an executable. ``memory_cfg`` has no effect: memory is planned at compile time."""

    NAIVE_ALLOCATOR, POOLED_ALLOCATOR = 1, 2

    def __init__(self, exe: Any, device: Any = None, memory_cfg: Any = None) -> None:
        self._exe = exe if isinstance(exe, Executable) else Executable(exe)
        self._inputs: dict[str, Any] = {}
        self._results: Any = None
        self._given: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return _refused("VirtualMachine", name)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set the arguments of the next ``run`` by position or name. A tuple fills a parameter per array."""
        names = self._exe.get_function_params(func_name)
        args = tuple(array for one in args for _, array in arrays_of("", one))
        kwargs = dict(pair for name, one in kwargs.items() for pair in arrays_of(name, one))
        if len(args) > len(names):
            raise InputError(f"set_input: {len(args)} arguments are given, there are {len(names)}")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        unknown = sorted(set(kwargs).difference(names))
        if unknown:
            raise InputError(
                f"set_input: there is no parameter {unknown[0]!r}; there are: {', '.join(names) or 'none'}"
            )
        self._inputs = {name: given[name] for name in names if name in given}

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set one argument of the next ``run``: its index or name and its value, or ``name=value``."""
        if len(args) + 2 * len(kwargs) != 2:
            raise InputError("set_one_input: expected a name or place and a value, or one name=value")
        tag, value = args or next(iter(kwargs.items()))
        names = self._exe.get_function_params(func_name)
        name = names[tag] if isinstance(tag, int) and 0 <= tag < len(names) else str(tag)
        kept = self._inputs
        self.set_input(func_name, **{name: value})
        self._inputs = {**kept, **self._inputs}

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The index of a parameter, or -1 if there is none of this name."""
        names = self._exe.get_function_params(func_name)
        return names.index(input_name) if input_name in names else -1

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """Run the function ``"main"``, the only one, and return its result."""
        _require_main("invoke", func_name)
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        names = self._exe.get_function_params(func_name)
        missing = [name for name in names if name not in self._inputs]
        if missing:
            raise InputError(f"invoke: inputs {', '.join(missing)} have not been set")
        self._results = results(self._exe.lib(*(self._inputs[name] for name in names)))
        outputs, self._given = self._given, []
        if outputs and len(outputs) != len(self.get_outputs()):
            raise InputError(f"invoke: {len(outputs)} outputs are set, there are {len(self.get_outputs())}")
        for output, found in zip(outputs, self.get_outputs(), strict=False):
            output[...] = found
        return self._results

    def set_outputs(self, func_name: str, *args: Any) -> None:
        """Set arrays that the next run also copies its outputs into."""
        _require_main("set_outputs", func_name)
        self._given = list(args)

    def invoke_with_outputs(
        self, func_name: str, input_args: Mapping[str, Any], output_args: Sequence[Any]
    ) -> None:
        """Run the function on inputs by name and copy its outputs into ``output_args``."""
        self.set_input(func_name, **input_args)
        self.set_outputs(func_name, *output_args)
        self.invoke(func_name)

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Run the function; ``get_outputs`` returns its results."""
        self.invoke(func_name, *args, **kwargs)

    def get_outputs(self) -> list[Any]:
        """The outputs of the last run."""
        if self._results is None:
            raise InputError("get_outputs: there was no run yet")
        return self._results if isinstance(self._results, list) else [self._results]

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``main`` and return its result."""
        return self.invoke("main", *args, **kwargs)

    def benchmark(
        self,
        device: Any,
        *args: Any,
        func_name: str = "main",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Measure the time of a run in seconds, as ``contrib.graph_executor.GraphModule.benchmark`` does.
        ``end_to_end`` has no effect, as inputs are on the CPU anyway."""
        require_present(device)
        self.set_input(func_name, *args, **kwargs)
        pauses = cooldown_interval_ms, repeats_to_cooldown
        return timed(of_call(lambda: self.invoke(func_name)), number, repeat, min_repeat_ms, *pauses)


__getattr__ = refusing(__name__)
