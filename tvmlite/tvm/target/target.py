"""Targets as TVM 0.11 writes them: strings, dicts and JSON, with a scope that ``build`` looks at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError
from tvmlite.core.span import Span
from tvmlite.machine import target as machine

_UNDERSTOOD = ("mtriple", "mcpu", "mattr", "num-cores", "vector-bits", "system")
_NOTES = ("keys", "device", "model", "tag")
"""Options that choose TVM's schedules and records by name: ours look at the processor itself."""


class Kind(str):
    """A target's kind, which TVM gives a name."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The kind as a plain string, as TVM spells it: ``target.kind.name``."""
        return str(self)


class Target(machine.Target):
    """A target given as a string such as ``"llvm -mcpu=znver4"``, a dict of its parts, its JSON, or a target;
    ``host``, which runs what is not on the device, must be a CPU as well: there is no device.

    ``-mtriple``, ``-mcpu``, ``-mattr``, ``-num-cores`` and ``-vector-bits`` are understood; ``-keys``,
    ``-device``, ``-model`` and ``-tag`` are kept (they name schedules of TVM's) and change nothing. Any other
    is a TargetError. ``with Target(...):`` makes it the one that ``build`` takes by default.
    """

    _scopes: ClassVar[list[Target]] = []
    notes: Mapping[str, str]

    def __init__(self, target: Any = None, host: Any = None, **fields: Any) -> None:
        if fields:  # ``dataclasses.replace`` makes the changed copy so
            super().__init__(**fields)
            object.__setattr__(self, "notes", MappingProxyType({}))
            return
        made, notes = parsed(target)
        if host is not None:
            parsed(host)
        for name in made.__dataclass_fields__:
            object.__setattr__(self, name, getattr(made, name))
        object.__setattr__(self, "kind", Kind(made.kind))
        object.__setattr__(self, "notes", MappingProxyType(notes))

    @property
    def keys(self) -> list[str]:
        """The names of schedules that TVM would look for."""
        given = self.notes.get("keys", "")
        return [*(one for one in given.split(",") if one and one != "cpu"), "cpu"]

    @property
    def device_name(self) -> str:
        """What ``-device`` says."""
        return self.notes.get("device", "")

    @property
    def model(self) -> str:
        """What ``-model`` says."""
        return self.notes.get("model", "unknown")

    @property
    def mcpu(self) -> str:
        """What ``-mcpu`` says, or the processor of this machine."""
        return self.cpu

    @property
    def mattr(self) -> list[str]:
        """The features that differ from the processor's own."""
        return list(self.features)

    @property
    def attrs(self) -> dict[str, Any]:
        """The options, by name."""
        options = {"mcpu": self.cpu, "mtriple": self.triple, "num-cores": self.num_cores}
        return {**{key: value for key, value in options.items() if value}, **self.notes}

    @property
    def libs(self) -> list[str]:
        """The libraries that schedules may call: none."""
        return []

    @property
    def host(self) -> Target:
        """What runs the code around kernels: the same."""
        return self

    def with_host(self, host: Any) -> Target:
        """The target itself; ``host`` must be a CPU."""
        parsed(host)
        return self

    def export(self) -> dict[str, Any]:
        """The parts, as a dict that ``Target`` takes."""
        return {"kind": str(self.kind), **self.attrs}

    @classmethod
    def current(cls, allow_none: bool = True) -> Target | None:
        """The innermost ``with Target(...)``; without one None, or an error."""
        if not cls._scopes and not allow_none:
            raise TargetError("Target.current: there is no current target", Span.of_caller())
        return cls._scopes[-1] if cls._scopes else None

    @staticmethod
    def list_kinds() -> list[str]:
        """The kinds that there is code for."""
        return ["llvm", "c"]

    def __enter__(self) -> Target:
        self._scopes.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._scopes.pop()


def plain(target: Any, host: Any = None) -> machine.Target:
    """The target of a build: ``target``, else the scope's, else this machine; a target of the core's."""
    if host is not None:
        parsed(host)
    current = Target.current()
    chosen = target if target is not None else "llvm" if current is None else current
    return parsed(chosen)[0]


def parsed(given: Any) -> tuple[machine.Target, dict[str, str]]:
    """The target of the core's that ``given`` describes, and the options that are only kept."""
    if isinstance(given, Target):
        fields = {name: getattr(given, name) for name in given.__dataclass_fields__}
        return machine.Target(**{**fields, "kind": str(given.kind)}), dict(given.notes)
    if isinstance(given, machine.Target):
        return given, {}
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            given = json.loads(given)
        except ValueError:
            raise TargetError(f"target {given[:80]!r} is not JSON") from None
    if isinstance(given, Mapping):
        kind, options = _of_dict(given)
    elif isinstance(given, str):
        kind, options = _of_text(given)
    else:
        raise arguments.refused("Target: target", given, "a string, a dict or a target", TargetError)
    notes = {key: value for key, value in options.items() if key in _NOTES}
    words = [kind if kind != "cpu" else "llvm"]
    for key, value in options.items():
        if key not in _UNDERSTOOD and key not in _NOTES:
            known = ", ".join(f"-{one}" for one in (*_UNDERSTOOD, *_NOTES))
            raise TargetError(f"target {kind!r}: option -{key}={value} is not supported; there are {known}")
        if key in _UNDERSTOOD:
            words.append(f"-{key}={value}")
    return machine.Target.parse(" ".join(words)), notes


def _of_dict(given: Mapping[Any, Any]) -> tuple[str, dict[str, str]]:
    if "kind" not in given:
        keys = ", ".join(arguments.shown(key) for key in given)
        raise TargetError(
            f"a target of {keys or 'nothing'} has no kind", Span.of_caller(), hint='such as {"kind": "llvm"}'
        )
    options = {}
    for key, value in given.items():
        if key == "host":
            parsed(value)
        elif key != "kind":
            options[str(key)] = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return str(given["kind"]), options


def _of_text(text: str) -> tuple[str, dict[str, str]]:
    """Kind and options of ``llvm -mcpu=x -num-cores 4``: a value follows an equals sign or a blank."""
    words = text.split()
    if not words:
        raise TargetError("the target is an empty string", Span.of_caller(), hint='such as "llvm"')
    options: dict[str, str] = {}
    rest = words[1:]
    while rest:
        word = rest.pop(0)
        key, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            raise TargetError(f"target {text!r}: {word!r} is no option: options start with -")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("-") else "1"
        if key in options:
            raise TargetError(f"target {text!r}: cannot use {word!r}: -{key} is given twice")
        options[key] = value
    return words[0], options
