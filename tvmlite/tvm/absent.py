"""Names and modules of TVM that are not here: using one is an error that names it and says what to use."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, NoReturn

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span

_LOOPS = "te.extern with a tvm.tir.ir_builder, or te.hybrid.script, writes loops by hand"
_CPUS = "there is code for CPUs only"
_SEARCH = "tvmlite.tune and tvmlite.autotune search schedules"
_ONE = "there is one code generator for all of a model; other compilers are not called"
_KERNELS = "relay.build makes kernels of fused groups: lib.lib.kernels lists them"

MODULES = {
    "auto_scheduler": _SEARCH,
    "contrib.cublas": _CPUS,
    "contrib.cudnn": _CPUS,
    "contrib.hexagon": _CPUS,
    "contrib.miopen": _CPUS,
    "contrib.nvcc": _CPUS,
    "contrib.rocm": _CPUS,
    "contrib.tedd": "tvmlite.visualize(s, args, path) draws the stages and loops of a schedule",
    "contrib.xcode": _CPUS,
    "cuda": _CPUS,
    "ethosu": _CPUS,
    "meta_schedule": _SEARCH,
    "micro": 'the target "c -mcpu=cortex-m4" compiles to C for microcontrollers',
    "relay.backend.compile_engine": _KERNELS,
    "relay.backend.graph_executor_codegen": _KERNELS,
    "relay.backend.te_compiler": _KERNELS,
    "relay.backend.vm": "relay.vm.compile",
    "relay.collage": _ONE,
    "relay.data_dep_optimization": "weights are dense",
    "relay.debug": "print(mod) shows a graph, relay.create_executor('debug') interprets it",
    "relay.loops": "tvmlite.relay.Loop is a loop",
    "relay.op.contrib": _ONE,
    "relay.prelude": "there are tensors and tuples, and no algebraic data types",
    "relay.transform.fake_quantization_to_integer": "operators compile to integers as they are",
    "relay.transform.infer_layout_utils": "an operator's row of the table says its layouts",
    "relay.type_functor": "relay.TensorType and the like have fields to look at",
    "rpc": "measurements run on this machine; an exported library can be copied to another",
    "runtime.profiler_vm": "lib.profile(x) times a model kernel by kernel",
    "tir.transform": "tvm.lower applies the passes there are",
    "tir.schedule": "s = te.create_schedule(C.op) schedules tensor expressions",
    "vta": _CPUS,
}
"""Modules of TVM that are not here, with what to use. Using a name of one is an error."""

SCRIPT = "script"


class Missing:
    """What stands for a function or class of TVM that is not here: to call it, to derive from it or to ask
    for its attributes is an UnsupportedError; nothing is an instance of it."""

    def __init__(self, name: str, instead: str | None) -> None:
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.__doc__ = f"Not in tvmlite{': ' + instead if instead else ''}."
        self._name, self._hint = name, instead

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
        hint = MODULES[_part(name)]
        super().__init__(f"tvmlite.tvm.{name}", f"Not supported: {hint}.")
        self.__path__: list[str] = []
        self._absent, self._hint = name, hint

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return missing(f"tvm.{self._absent}.{name}", self._hint)


class Script(ModuleType):
    """``tvm.script``: a program may mention it (its decorators and annotations are names), but what it
    describes is not read: using that is an UnsupportedError."""

    def __init__(self, name: str) -> None:
        super().__init__(f"tvmlite.tvm.{name}", f"TVMScript, which is not read: {_LOOPS}.")
        self.__path__: list[str] = []

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
    """Whether ``tvm.<name>`` is a module of TVM that is not here."""
    return bool(_part(name)) or name.split(".")[0] == SCRIPT


def _part(name: str) -> str:
    """The module of ``MODULES`` that has ``tvm.<name>`` in it, empty if there is none."""
    return next((one for one in MODULES if f"{name}.".startswith(f"{one}.")), "")


def module(name: str) -> ModuleType:
    """The module ``tvm.<name>``, known to ``import`` from now on."""
    full = f"tvmlite.tvm.{name}"
    if full not in sys.modules:
        sys.modules[full] = Script(name) if name.startswith(SCRIPT) else Absent(name)
    return sys.modules[full]
