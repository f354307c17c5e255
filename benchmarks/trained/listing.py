"""The packages whose models are tested, as listed in ``packages.toml``, and hints for their inputs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_name("packages.toml")


@dataclass(frozen=True)
class Hint:
    """Information about a model's inputs that is not in its file.

    ``dims``: values of symbolic dimensions by name (``INPUT.AXIS`` if one has no name), one for each size.
    ``inputs``: by input, ``shapes`` (one for each size), ``fill`` (a number, or nested lists of them) or
    ``low`` and ``high`` (of integers, ``high`` excluded). ``shapes``: the shapes to compile for, by input, if
    the file uses one name for different extents. ``skip``: the reason why the model is left out.
    """

    dims: Mapping[str, list[int]] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shapes: Mapping[str, list[int | str]] = field(default_factory=dict)
    skip: str = ""


@dataclass(frozen=True)
class Package:
    """A package of a registry (``pypi`` or ``npm``), patterns for its models, and hints by pattern."""

    registry: str
    name: str
    version: str
    models: tuple[str, ...] = ("*.onnx",)
    hints: Mapping[str, Hint] = field(default_factory=dict)

    def hint(self, member: str) -> Hint:
        """The first hint whose pattern matches ``member``, a path in the archive."""
        fitting = (hint for pattern, hint in self.hints.items() if fnmatchcase(member, pattern))
        return next(fitting, Hint())

    def has(self, member: str) -> bool:
        """Whether ``member``, a path in the archive, is one of the models."""
        return any(fnmatchcase(member, pattern) for pattern in self.models)


def packages(path: Path = LIST) -> list[Package]:
    """The packages listed in ``path``, in this order."""
    with path.open("rb") as file:
        return [_package(entry) for entry in tomllib.load(file)["package"]]


def _package(entry: Mapping[str, Any]) -> Package:
    hints = {pattern: Hint(**hint) for pattern, hint in entry.get("hints", {}).items()}
    models = tuple(entry.get("models", ["*.onnx"]))
    return Package(entry.get("registry", "pypi"), entry["name"], entry["version"], models, hints)
