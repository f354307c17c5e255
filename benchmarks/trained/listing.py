"""The packages whose models are tried, as ``packages.toml`` lists them, and what their inputs are to be."""

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
    """What cannot be seen in a model's file about its inputs.

    ``dims``: values of open dimensions by name (``INPUT.AXIS`` where one has none), one for each size.
    ``inputs``: by input, ``shapes`` (one for each size), ``fill`` (a number, or nested lists of them) or
    ``low`` and ``high`` (of integers, ``high`` excluded).
    ``shapes``: those that tvmlite is to compile for, by input, where the file calls different extents alike.
    ``skip``: why the model is left out.
    """

    dims: Mapping[str, list[int]] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shapes: Mapping[str, list[int | str]] = field(default_factory=dict)
    skip: str = ""


@dataclass(frozen=True)
class Package:
    """A package of a registry (``pypi`` or ``npm``), its models by pattern, and hints by pattern."""

    registry: str
    name: str
    version: str
    models: tuple[str, ...] = ("*.onnx",)
    hints: Mapping[str, Hint] = field(default_factory=dict)

    def hint(self, member: str) -> Hint:
        """The first hint whose pattern fits ``member``, a path in the archive."""
        fitting = (hint for pattern, hint in self.hints.items() if fnmatchcase(member, pattern))
        return next(fitting, Hint())

    def has(self, member: str) -> bool:
        """Whether ``member``, a path in the archive, is one of the models."""
        return any(fnmatchcase(member, pattern) for pattern in self.models)


def packages(path: Path = LIST) -> list[Package]:
    """The packages that ``path`` lists, in its order."""
    with path.open("rb") as file:
        return [_package(entry) for entry in tomllib.load(file)["package"]]


def _package(entry: Mapping[str, Any]) -> Package:
    hints = {pattern: Hint(**hint) for pattern, hint in entry.get("hints", {}).items()}
    models = tuple(entry.get("models", ["*.onnx"]))
    return Package(entry.get("registry", "pypi"), entry["name"], entry["version"], models, hints)
