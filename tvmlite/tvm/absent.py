"""Names and modules of TVM that are not here: using one is an error that names it and says what to use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span

_LOOPS = "te.extern with a tvm.tir.ir_builder, or te.hybrid.script, writes loops by hand"
_CPUS = "there is code for CPUs only"
_SEARCH = "tvmlite.tune and tvmlite.autotune search schedules"
_ONE = "there is one code generator for all of a model; other compilers are not called"
_KERNELS = "relay.build makes kernels of fused groups: lib.lib.kernels lists them"
_BUILD = "lib.export_library of a cross target (docs/targets.md)"
_HERE = "measurements run on this machine; an exported library can be copied to another"
_LAYOUTS = "relay.build chooses the layouts of a graph itself"
_WORKER = "candidates are measured in one worker process, which LocalRunner starts"
_PYTHON = "objects are Python's own; tvm.register_func registers functions"
_DEVICES = "adreno arm_cpu bifrost cuda gpu hexagon intel_graphics mali rocm"

MODULES = {
    "aot": "relay.build compiles the entry of a model, too",
    "autotvm.graph_tuner.base_graph_tuner": _LAYOUTS,
    "autotvm.graph_tuner.utils": _LAYOUTS,
    "autotvm.measure.executor": _WORKER,
    "autotvm.measure.local_executor": _WORKER,
    "contrib.cublas": _CPUS,
    "contrib.cudnn": _CPUS,
    "contrib.download": "nothing is downloaded: give the path of a file, or use a model of tvmlite.zoo",
    "contrib.ethosu": _CPUS,
    "contrib.hexagon": _CPUS,
    "contrib.micro": "tvmlite compile --standalone (docs/microcontrollers.md)",
    "contrib.miopen": _CPUS,
    "contrib.mps": _CPUS,
    "contrib.ndk": _BUILD,
    "contrib.nvcc": _CPUS,
    "contrib.relay_viz": "tvmlite show model.onnx --html graph.html draws a graph (docs/graph.md)",
    "contrib.rocm": _CPUS,
    "contrib.tedd": "tvmlite.visualize(s, args, path) draws the stages and loops of a schedule",
    "contrib.thrust": _CPUS,
    "contrib.xcode": _CPUS,
    "ethosu": _CPUS,
    "exec.rpc_server": _HERE,
    "exec.rpc_tracker": _HERE,
    "meta_schedule": f"auto_scheduler, or {_SEARCH}",
    "micro": 'the target "c -system=none" compiles to C for microcontrollers (docs/microcontrollers.md)',
    "relax": "relay, or tvmlite.relay.frontend.from_onnx",
    "relay.backend.compile_engine": _KERNELS,
    "relay.backend.graph_executor_codegen": _KERNELS,
    "relay.backend.te_compiler": _KERNELS,
    "relay.backend.vm": "relay.vm.compile",
    "relay.collage": _ONE,
    "relay.data_dep_optimization": "weights are dense",
    "relay.debug": "print(mod) shows a graph, relay.create_executor('debug') interprets it",
    "relay.loops": "loops of ONNX models, Loop and Scan, are read and compiled",
    "relay.op.contrib": _ONE,
    "relay.op.strategy": "an operator's schedules are templates: see tvmlite.te.templates",
    "relay.prelude": "there are tensors, tuples and functions, and no algebraic data types",
    "relay.transform.fake_quantization_to_integer": "operators compile to integers as they are",
    "relay.transform.infer_layout_utils": "an operator's row of the table says its layouts",
    "relay.type_functor": "relay.TensorType and the like have fields to look at",
    "rpc.server": _HERE,
    "rpc.tracker": _HERE,
    "runtime.profiler_vm": "lib.profile(x) times a model kernel by kernel",
    "tir.schedule": "s = te.create_schedule(C.op) schedules tensor expressions",
    "tir.transform": "tvm.lower applies the passes there are",
    **{f"topi.{one}": _CPUS for one in _DEVICES.split()},
    "vta": _CPUS,
}
"""Modules of TVM that are not here, with what to use. Using a name of one is an error."""

NAMES = {
    "_ffi": _PYTHON,
    "auto_scheduler._ffi_api": _PYTHON,
    "contrib.graph_runtime": "tvm.contrib.graph_executor",
    "rpc": _HERE,
    "tir.Schedule": "s = te.create_schedule(C.op) schedules tensor expressions",
}
"""Names of modules that are here, with what to use in place of each and of what begins with it."""

_POINTERS = "arguments are arrays: an extern function is given a buffer's access_ptr"
_SCHEDULES = "s = te.create_schedule(C.op) schedules tensor expressions"
_BLOCKS = {
    **dict.fromkeys("BlockScope IndexMap Schedule ScheduleError ScheduleState StmtSRef".split(), _SCHEDULES),
    **dict.fromkeys(
        "address_of lookup_param tvm_access_ptr tvm_stack_alloca tvm_stack_make_array "
        "tvm_stack_make_shape tvm_struct_get tvm_struct_set tvm_throw_last_error tvm_tuple".split(),
        _POINTERS,
    ),
    **dict.fromkeys("mma_fill mma_store ptx_cp_async ptx_ldmatrix ptx_mma ptx_mma_sp".split(), _CPUS),
    "TensorIntrin": "te.decl_tensor_intrin declares an intrinsic",
    "assume": "te.if_then_else guards what may not be computed",
    "call_cpacked": "call_packed calls a function of tvm.register_func",
    "call_tir": "te.extern computes a tensor by a function",
    "undef": "a constant",
    "vectorcombine": "loads and stores of several lanes: buffer.vload, buffer.vstore",
    "vectorhigh": "loads and stores of several lanes: buffer.vload, buffer.vstore",
    "vectorlow": "loads and stores of several lanes: buffer.vload, buffer.vstore",
}
_OBJECTS = dict.fromkeys("DataType DataTypeCode Object ObjectGeneric ObjectRef TypeCode".split(), _PYTHON)
LACKING: dict[str, dict[str, str]] = {
    "ir": {"Node": _PYTHON, "PoolInfo": _PYTHON, "WorkspaceMemoryPools": _PYTHON},
    "runtime": {**_OBJECTS, "Report": "lib.profile(x) times a model kernel by kernel"},
    "target": {"VirtualDevice": _CPUS},
    "tir": _BLOCKS,
}
"""Of modules that are here, names of TVM's that they do not have, with what to use: they can be imported."""

SCRIPT = "script"


class MissingName(UnsupportedError, AttributeError):
    """A name that a module here does not have, in TVM or not: an AttributeError for ``hasattr``."""


def lacking(module: str, name: str) -> Any:
    """What stands for ``name``, which ``module`` below ``tvmlite.tvm`` does not have: of a name of TVM's
    something to import, which may not be used; of another an error."""
    own = module.removeprefix("tvmlite.tvm.")
    if name not in LACKING.get(own, ()):
        raise no_name(module, name)
    return Missing(f"tvm.{own}.{name}", LACKING[own][name])


def no_name(module: str, name: str) -> AttributeError:
    """The error for ``name``, which ``module`` below ``tvmlite.tvm`` does not have."""
    if name.startswith("__"):  # Python asks for these
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    full = f"{module.removeprefix('tvmlite.')}.{name}"
    return MissingName(f"{full} is not in tvmlite", Span.of_caller(), instead_of(full) or None)


def refusing(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that has no more names."""

    def attribute(name: str) -> Any:
        return lacking(module, name)

    return attribute


class Missing:
    """What stands for a function or class of TVM that is not here: to call it, to derive from it or to ask
    for its attributes is an UnsupportedError; nothing is an instance of it."""

    def __init__(self, name: str, instead: str | None) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.__doc__ = f"Not in tvmlite{': ' + instead if instead else ''}."
        self._name, self._hint = name, instead
        self.absent_because = instead or f"{name} is not in tvmlite"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """An error."""
        raise self._refused()

    def _refused(self) -> UnsupportedError:
        return UnsupportedError(f"{self._name} is not in tvmlite", Span.of_caller(), self._hint)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._refused()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        raise self._refused()

    def __instancecheck__(self, instance: object) -> bool:
        return False


def missing(name: str, instead: str | None = None) -> Any:
    """What stands for ``name`` of TVM; the error's hint is ``instead``."""
    return Missing(name, instead)


class Absent(ModuleType):
    """A module of TVM that is not here: using a name of it is an UnsupportedError."""

    def __init__(self, name: str) -> None:
        hint = instead_of(name)
        super().__init__(f"tvmlite.tvm.{name}", f"Not supported: {hint}.")
        self.__path__: list[str] = []
        self._absent, self._hint = name, hint
        self.absent_because = hint

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return missing(f"tvm.{self._absent}.{name}", self._hint)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """An error: some names are functions as well as modules."""
        raise UnsupportedError(f"tvm.{self._absent} is not in tvmlite", Span.of_caller(), self._hint)


class Script(ModuleType):
    """``tvm.script``: a program may mention it (its decorators and annotations are names), but what it
    describes is not read: using that is an UnsupportedError."""

    def __init__(self, name: str) -> None:
        super().__init__(f"tvmlite.tvm.{name}", f"TVMScript, which is not read: {_LOOPS}.")
        self.__path__: list[str] = []
        self.absent_because = f"TVMScript is not read: {_LOOPS}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Mentioned(f"tvm.script.{name}")


class Mentioned:
    """A name of TVMScript in a program, not used yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Mentioned:
        if name.startswith("__"):
            raise AttributeError(name)
        return Mentioned(f"{self._name}.{name}")

    def __getitem__(self, _: Any) -> Mentioned:
        return self

    def __call__(self, *args: Any, **_: Any) -> Any:
        """As a decorator, what it decorates, unread; else the name itself."""
        decorates = len(args) == 1 and callable(args[0]) and hasattr(args[0], "__qualname__")
        return Unread(args[0].__qualname__) if decorates else self


class Unread:
    """A function or module in TVMScript. Using it is an UnsupportedError."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self()

    def __call__(self, *_: Any, **__: Any) -> Any:
        """An error."""
        return missing(f"{self._name}: TVMScript", _LOOPS)()

    __getitem__ = __call__


def is_absent(name: str) -> bool:
    """Whether ``tvm.<name>`` is a module of TVM that is not here, or below one."""
    return any(f"{name}.".startswith(f"{one}.") for one in (*MODULES, SCRIPT))


def instead_of(name: str) -> str:
    """What to use in place of ``tvm.x.y``, by the longest beginning in the tables; empty if none is there."""
    table = {**NAMES, **MODULES, SCRIPT: _LOOPS}
    known = [one for one in table if f"{name.removeprefix('tvm.')}.".startswith(f"{one}.")]
    return table[max(known, key=len)] if known else ""


def module(name: str) -> ModuleType:
    """The module ``tvm.<name>``, known to ``import`` from now on."""
    full = f"tvmlite.tvm.{name}"
    if full not in sys.modules:
        sys.modules[full] = Script(name) if name.startswith(SCRIPT) else Absent(name)
    return sys.modules[full]
