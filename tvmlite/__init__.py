"""tvmlite: a two-level deep-learning compiler in pure Python.

::

    import tvmlite
    from tvmlite import relay, te, autotune, runtime

    mod = relay.frontend.from_onnx("model.onnx")
    lib = tvmlite.compile(mod)
    y = lib(x)

Names are resolved on first use. Importing tvmlite is therefore nearly free, and a program that only runs
compiled libraries never loads the compiler.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from tvmlite.core import VERSION as __version__
from tvmlite.core.provided import provide

if TYPE_CHECKING:
    from tvmlite import autotune, relay, runtime, te
    from tvmlite.core.errors import TvmliteError
    from tvmlite.driver import build, compile, lower
    from tvmlite.graph_page.picture import draw
    from tvmlite.machine.target import Target
    from tvmlite.relay.onnx import light_models as zoo
    from tvmlite.relay.quantize.quantize import quantize
    from tvmlite.runtime.ndarray import cpu, device
    from tvmlite.te.tensor.registry import get_global_func, register_func
    from tvmlite.te.visualizer import visualize
    from tvmlite.tuning.tune import tune

_MODULES = {
    **{name: f"tvmlite.{name}" for name in ("autotune", "relay", "runtime", "te")},
    "zoo": "tvmlite.relay.onnx.light_models",
}

_DEFINED_IN = {
    "Target": "tvmlite.machine.target",
    "TvmliteError": "tvmlite.core.errors",
    "build": "tvmlite.driver",
    "compile": "tvmlite.driver",
    "cpu": "tvmlite.runtime.ndarray",
    "device": "tvmlite.runtime.ndarray",
    "draw": "tvmlite.graph_page.picture",
    "get_global_func": "tvmlite.te.tensor.registry",
    "lower": "tvmlite.driver",
    "quantize": "tvmlite.relay.quantize.quantize",
    "register_func": "tvmlite.te.tensor.registry",
    "tune": "tvmlite.tuning.tune",
    "visualize": "tvmlite.te.visualizer",
}

__all__ = [
    "Target",
    "TvmliteError",
    "__version__",
    "autotune",
    "build",
    "compile",
    "cpu",
    "device",
    "draw",
    "get_global_func",
    "lower",
    "quantize",
    "register_func",
    "relay",
    "runtime",
    "te",
    "tune",
    "visualize",
    "zoo",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _DEFINED_IN:
        return _loaded(_DEFINED_IN[name], name)
    raise AttributeError(f"module 'tvmlite' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


def _loaded(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


provide("compile", partial(_loaded, "tvmlite.driver", "compile"))
provide("faster_layers", partial(_loaded, "tvmlite.tuning.layer_precision.faster_layers", "faster_layers"))
provide("techniques", partial(importlib.import_module, "tvmlite.techniques"))
