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
_BUILD = "lib.export_library of a cross target (docs/targets.md)"
_HERE = "measurements run on this machine; an exported library can be copied to another"
_LAYOUTS = "relay.build chooses the layouts of a graph itself"
_WORKER = "candidates are measured in one worker process, which LocalRunner starts"
_PYTHON = "objects are Python's own; tvm.register_func registers functions"

MODULES = {
    "autotvm.graph_tuner.base_graph_tuner": _LAYOUTS,
    "autotvm.graph_tuner.utils": _LAYOUTS,
    "autotvm.measure.executor": _WORKER,
    "autotvm.measure.local_executor": _WORKER,
    "aot": "relay.build compiles the entry of a model, too",
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
    "micro": 'the target "c -mcpu=cortex-m4" compiles to C for microcontrollers (docs/microcontrollers.md)',
    "relax": "relay, or tvmlite.relay.frontend.from_onnx",
    "relay.op.contrib": "there is one code generator for all of a model; other compilers are not called",
    "rpc.server": _HERE,
    "rpc.tracker": _HERE,
    "tir.schedule": "s = te.create_schedule(C.op) schedules tensor expressions",
    "tir.transform": "tvm.lower applies the passes there are",
    **{
        f"topi.{one}": _CPUS
        for one in (
            "adreno",
            "arm_cpu",
            "bifrost",
            "cuda",
            "gpu",
            "hexagon",
            "intel_graphics",
            "mali",
            "rocm",
        )
    },
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

SCRIPT = "script"


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

        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise _refused(f"tvm.{self._absent}.{name}", self._hint)

        refuse.__name__ = name
        refuse.absent_because = self._hint  # type: ignore[attr-defined]
        return refuse

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """An error: some names are functions as well as modules."""
        raise _refused(f"tvm.{self._absent}", self._hint)


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

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _refused(f"{self._name}: TVMScript", _LOOPS)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """An error."""
        raise _refused(f"{self._name}: TVMScript", _LOOPS)

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


def _refused(what: str, hint: str) -> UnsupportedError:
    return UnsupportedError(f"{what} is not supported", Span.of_caller(), hint=hint)
