"""Unsupported targets, which programs may create and inspect; building for one is an error."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from tvmlite.core.errors import TargetError
from tvmlite.core.span import Span

KEYS = {
    "cuda": ("cuda", "gpu"),
    "nvptx": ("cuda", "gpu"),
    "rocm": ("rocm", "gpu"),
    "opencl": ("opencl", "gpu"),
    "metal": ("metal", "gpu"),
    "vulkan": ("vulkan", "gpu"),
    "webgpu": ("webgpu", "gpu"),
    "hexagon": ("hexagon",),
    "ext_dev": (),
    "composite": (),
    "stackvm": (),
}
"""TVM's kinds of targets that are not CPUs, with the keys by which TVM selects schedules."""

_LISTS = ("keys", "libs", "devices", "mattr")
_WORDS = {"true": 1, "false": 0}


def value_of(key: str, text: Any) -> Any:
    """Parse the value of an option: a list for some options, else an int, a bool as 0 or 1, or a string."""
    if key in _LISTS:
        return list(text) if isinstance(text, (list, tuple)) else str(text).split(",")
    if isinstance(text, str):
        word = text.strip("'\"")
        return _WORDS.get(word.lower(), int(word) if word.lstrip("-").isdecimal() else word)
    return text


def attributes(kind: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a target by name, with their values parsed."""
    found = {key.replace("_", "-") if key == "device_name" else key: value for key, value in options.items()}
    found = {("device_name" if key == "device-name" else key): value for key, value in found.items()}
    return MappingProxyType({key: value_of(key, value) for key, value in found.items() if key != "host"})


def refuse(kind: str) -> NoReturn:
    """Raise the TargetError of a build for ``kind``."""
    raise TargetError(f"target {kind!r}: there is code for CPUs only", Span.of_caller())
