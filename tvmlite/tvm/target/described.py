"""Targets that there is no code for: a program may name and look at them; building for one is an error."""

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
"""The kinds of TVM's that are no CPU's, with the names of schedules that TVM looks for."""

_LISTS = ("keys", "libs", "devices", "mattr")
_WORDS = {"true": 1, "false": 0}


def value_of(key: str, text: Any) -> Any:
    """The value of an option: of some a list, of others a number where it is one, else a string."""
    if key in _LISTS:
        return list(text) if isinstance(text, (list, tuple)) else str(text).split(",")
    if isinstance(text, str):
        word = text.strip("'\"")
        return _WORDS.get(word.lower(), int(word) if word.lstrip("-").isdecimal() else word)
    return text


def attributes(kind: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of a target of ``kind``, by name."""
    found = {key.replace("_", "-") if key == "device_name" else key: value for key, value in options.items()}
    found = {("device_name" if key == "device-name" else key): value for key, value in found.items()}
    return MappingProxyType({key: value_of(key, value) for key, value in found.items() if key != "host"})


def refuse(kind: str) -> NoReturn:
    """The error of a build for ``kind``."""
    raise TargetError(f"target {kind!r}: there is code for CPUs only", Span.of_caller())
