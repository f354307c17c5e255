"""Parts of TVM that are not here: each an error that names it and says what to use."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, NoReturn

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span

_LOOPS = "te.extern with a tvm.tir.ir_builder, or te.hybrid.script, writes loops by hand"
_CPUS = "there is code for CPUs only"
_SEARCH = "tvmlite.tune and tvmlite.autotune search schedules"

MODULES = {
    "auto_scheduler": _SEARCH,
    "contrib.cublas": _CPUS,
    "contrib.cuda_graph": _CPUS,
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
    "micro": 'the target "c -system=none" compiles to C for microcontrollers',
    "relay.loops": "loops of ONNX models, Loop and Scan, are read and compiled",
    "relay.op.strategy": "an operator's schedules are templates: see tvmlite.te.templates",
    "relay.prelude": "there are tensors, tuples and functions, and no algebraic data types",
    "rpc": "measurements run on this machine; an exported library can be copied to another",
    "tir.transform": "tvm.lower applies the passes there are",
    "tir.schedule": "s = te.create_schedule(C.op) schedules tensor expressions",
    "topi.cuda": _CPUS,
    "vta": _CPUS,
}
"""Modules of TVM that are not here, with what to use. Using a name of one is an error."""

SCRIPT = "script"


class Absent(ModuleType):
    """A module of TVM that is not here: using a name of it is an UnsupportedError."""

    def __init__(self, name: str) -> None:
        hint = MODULES[_root(name)]
        super().__init__(f"tvmlite.tvm.{name}", f"Not supported: {hint}.")
        self.__path__: list[str] = []
        self._absent, self._hint = name, hint

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise _refused(f"tvm.{self._absent}.{name}", self._hint)

        refuse.__name__ = name
        return refuse


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

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _refused(f"{self._name}: TVMScript", _LOOPS)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """An error."""
        raise _refused(f"{self._name}: TVMScript", _LOOPS)

    __getitem__ = __call__


def is_absent(name: str) -> bool:
    """Whether ``tvm.<name>`` is a module of TVM that is not here."""
    return bool(_root(name)) or name.split(".")[0] == SCRIPT


def _root(name: str) -> str:
    """The module of the table that ``name`` is or is part of; "" if there is none."""
    parts = name.split(".")
    whole = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((one for one in whole if one in MODULES), "")


def module(name: str) -> ModuleType:
    """The module ``tvm.<name>``, known to ``import`` from now on."""
    full = f"tvmlite.tvm.{name}"
    if full not in sys.modules:
        sys.modules[full] = Script(name) if name.startswith(SCRIPT) else Absent(name)
    return sys.modules[full]


def _refused(what: str, hint: str) -> UnsupportedError:
    return UnsupportedError(f"{what} is not supported", Span.of_caller(), hint=hint)
