"""Measuring configurations."""

from typing import Any

from tvmlite.tvm.lazy import attributes

_MODULES = ("base", "measure", "measure_methods")
_PLACES = {
    "BuildResult": "measure_methods",
    "Builder": "base",
    "LocalBuilder": "measure_methods",
    "LocalRunner": "measure_methods",
    "MeasureErrorNo": "base",
    "MeasureInput": "base",
    "MeasureResult": "base",
    "RPCRunner": "measure_methods",
    "Runner": "base",
    "create_measure_batch": "measure",
    "measure_option": "measure",
    "request_remote": "measure_methods",
}

_attribute = attributes("tvmlite.tvm.autotvm.measure", _MODULES, _PLACES)


def __getattr__(name: str) -> Any:
    return _attribute(name)


__all__ = [*_MODULES, *_PLACES]  # pyright: ignore[reportUnsupportedDunderAll]
