"""TVM's Python surface, as it was in TVM 0.11, over tvmlite's own objects.

::

    import tvmlite.tvm as tvm
    from tvmlite.tvm import relay, te

A program that says ``import tvm`` runs unchanged after ``sys.modules["tvm"] = tvmlite.tvm``: imports of
``tvm.relay`` and the like then give the modules of this package (``tvmlite.tvm.alias``).

A name's module is loaded when the name is first used. What cannot be here (devices other than the CPU,
objects of TVM's foreign function interface, TVMScript) is an error that names the thing and what to use.
"""

from __future__ import annotations

import importlib
from typing import Any

from tvmlite.tvm.alias import install

install()

__version__ = "0.11.0"
"""The version of TVM whose names these are."""

_MODULES = (
    "_ffi",
    "arith",
    "auto_scheduler",
    "autotvm",
    "container",
    "contrib",
    "driver",
    "error",
    "ir",
    "nd",
    "parser",
    "relay",
    "rpc",
    "runtime",
    "support",
    "target",
    "te",
    "testing",
    "tir",
    "topi",
    "transform",
)
"""The modules that are names here."""

_RENAMED = {"instrument": "tvmlite.tvm.ir.instrument"}
"""A module under another name of TVM's."""

_PLACES: dict[str, str] = {
    "GlobalVar": "tvmlite.tvm.relay.expr",
    "IRModule": "tvmlite.tvm.ir.module",
    "TVMError": "tvmlite.tvm.error",
    "build": "tvmlite.tvm.driver.build_module",
    "const": "tvmlite.tvm.runtime.convert",
    "context": "tvmlite.tvm.runtime.devices",
    "convert": "tvmlite.tvm.runtime.convert",
    "cpu": "tvmlite.tvm.runtime.devices",
    "cuda": "tvmlite.tvm.runtime.devices",
    "device": "tvmlite.tvm.runtime.devices",
    "ext_dev": "tvmlite.tvm.runtime.devices",
    "get_global_func": "tvmlite.tvm.registry",
    "gpu": "tvmlite.tvm.runtime.devices",
    "hexagon": "tvmlite.tvm.runtime.devices",
    "load_json": "tvmlite.tvm.ir.json",
    "lower": "tvmlite.tvm.driver.build_module",
    "metal": "tvmlite.tvm.runtime.devices",
    "opencl": "tvmlite.tvm.runtime.devices",
    "register_func": "tvmlite.tvm.registry",
    "rocm": "tvmlite.tvm.runtime.devices",
    "save_json": "tvmlite.tvm.ir.json",
    "vpi": "tvmlite.tvm.runtime.devices",
    "vulkan": "tvmlite.tvm.runtime.devices",
    "webgpu": "tvmlite.tvm.runtime.devices",
}
"""Names of functions and classes, with the module that has each."""

__all__ = [*_MODULES, *_PLACES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tvmlite.tvm.{name}")
    if name in _RENAMED:
        return importlib.import_module(_RENAMED[name])
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    absent = importlib.import_module("tvmlite.tvm.absent")
    if absent.is_absent(name):
        return absent.module(name)
    raise absent.no_name(__name__, name)


def __dir__() -> list[str]:
    return __all__
