"""TVM's ``tvmc``: load a model, tune it, compile it, run it; as functions, and as a command.

::

    from tvm.driver import tvmc

    model = tvmc.load("model.onnx")
    package = tvmc.compile(model, target="llvm", package_path="model.tar")
    print(tvmc.run(package, device="cpu"))
"""

from typing import Any

from tvmlite.tvm.lazy import attributes

_MODULES = (
    *("autotuner", "common", "compiler", "frontends", "main", "model", "result_utils", "runner"),
    "shape_parser",
)
_PLACES = {
    "TVMCException": "common",
    "TVMCModel": "model",
    "TVMCPackage": "model",
    "TVMCResult": "model",
    "compile": "compiler",
    "load": "model",
    "run": "runner",
    "tune": "autotuner",
}
_RENAMED = {"compile": "compile_model", "load": "load_model", "run": "run_module", "tune": "tune_model"}

_attribute = attributes("tvmlite.tvm.driver.tvmc", _MODULES, _PLACES, _RENAMED)


def __getattr__(name: str) -> Any:
    return _attribute(name)


__all__ = [*_MODULES, *_PLACES]  # pyright: ignore[reportUnsupportedDunderAll]
