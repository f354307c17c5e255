"""Targets in TVM 0.11's notation: strings, dicts and JSON, with a scope that ``build`` uses."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError
from tvmlite.core.span import Span, warn
from tvmlite.machine import target as machine
from tvmlite.tvm.absent import MissingName, refusing
from tvmlite.tvm.runtime.devices import device
from tvmlite.tvm.target import described, tags

_UNDERSTOOD = ("mtriple", "mcpu", "mattr", "num-cores", "vector-bits", "system")
_NOTES = ("keys", "device", "model", "tag", "opt-level", "jit")
"""Options without an effect on the generated code. TVM selects schedules and records by some of them; tvmlite
uses the properties of the processor instead."""

_OLD = {"link-params": ("0", "False")}
"""Options in logs of TVM before 0.11, with the values that have no effect."""

_LEFT_OUT = {"libs": "kernels are generated; tvm.contrib.cblas calls a library's matrix product"}
"""Options that are kept with a warning, and why they have no effect."""

_INSTEAD = {
    "link-params": 'weights are in the library; Executor("graph", {"link-params": True}) says so in TVM',
    "mfloat-abi": "the -mtriple says it, as arm-linux-gnueabihf does",
    "runtime": "lib.export_library writes a library that tvm.runtime.load_module loads",
    "system-lib": "lib.export_library writes a library that tvm.runtime.load_module loads",
}
"""Alternatives to TVM's options."""


class NoTarget(TargetError, AssertionError):
    """A target is missing. It is also an AssertionError, as in TVM."""


class Kind(str):
    """A target's kind: a string with TVM's attribute ``name``."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The kind as a plain string: ``target.kind.name``."""
        return str(self)


class Target(machine.Target):
    """A target, given as a string such as ``"llvm -mcpu=znver4"``, a dict, JSON, or another target. ``host``
    must be a CPU as well, because there are no other devices.

    ``-mtriple``, ``-mcpu``, ``-mattr``, ``-num-cores`` and ``-vector-bits`` are supported. ``-keys``,
    ``-device``, ``-model``, ``-tag`` (which select TVM's schedules), ``-opt-level`` and ``-jit`` are kept and
    have no effect, like ``-link-params=0`` of old logs, and ``-libs``, with a warning. Any other option is a
    TargetError. ``with Target(...):`` makes it the default target of ``build``.

    A target of another kind of TVM's, such as ``"cuda"``, may be created and inspected: building for it is a
    TargetError.
    """

    _scopes: ClassVar[list[Target]] = []
    notes: Mapping[str, Any]
    own_host: Target | None = None

    def __init__(self, target: Any = None, host: Any = None, **fields: Any) -> None:
        if fields:  # called by ``dataclasses.replace``
            super().__init__(**fields)
            object.__setattr__(self, "notes", MappingProxyType({}))
            return
        host = None if host is None else Target(host)
        other = _description(target)
        if other is not None:
            made, notes = machine.Target(other[0], num_cores=1), dict(described.attributes(*other))
            inner = getattr(target, "own_host", other[1].get("host"))
            host = Target(inner) if host is None and inner is not None else host
            if "devices" in notes:
                notes["devices"] = [Target(one) for one in notes["devices"]]
        else:
            made, notes = parsed(target)
            if host is not None:
                parsed(host)
        object.__setattr__(self, "own_host", host)
        for name in made.__dataclass_fields__:
            object.__setattr__(self, name, getattr(made, name))
        object.__setattr__(self, "kind", Kind(made.kind))
        object.__setattr__(self, "notes", MappingProxyType(notes))

    @property
    def keys(self) -> list[str]:
        """The keys by which TVM would select schedules."""
        if self.kind in described.KEYS:
            own = [*self.notes.get("keys", ()), self.notes.get("device", ""), *described.KEYS[self.kind]]
            return list(dict.fromkeys(one for one in own if one))
        given = self.notes.get("keys", "")
        return [*(one for one in given.split(",") if one and one != "cpu"), "cpu"]

    @property
    def device_name(self) -> str:
        """The value of ``-device``."""
        return self.notes.get("device", "")

    @property
    def model(self) -> str:
        """The value of ``-model``."""
        return self.notes.get("model", "unknown")

    @property
    def mcpu(self) -> str:
        """The value of ``-mcpu``, or the processor of this machine."""
        return self.cpu

    @property
    def mattr(self) -> list[str]:
        """The features by which the target differs from its processor."""
        return list(self.features)

    @property
    def attrs(self) -> dict[str, Any]:
        """The options, by name."""
        if self.kind in described.KEYS:
            return dict(self.notes)
        options = {"mcpu": self.cpu, "mtriple": self.triple, "num-cores": self.num_cores}
        return {**{key: value for key, value in options.items() if value}, **self.notes}

    @property
    def libs(self) -> list[str]:
        """The libraries named by ``-libs``, which are not used."""
        given = self.notes.get("libs", [])
        return given.split(",") if isinstance(given, str) else list(given)

    @property
    def host(self) -> Target | None:
        """The target of the code around kernels: for a CPU the target itself."""
        return self.own_host if self.kind in described.KEYS else self

    def with_host(self, host: Any) -> Target:
        """Return the target with this host; a CPU target is returned as is, and ``host`` must be a CPU."""
        if self.kind in described.KEYS:
            return Target(self, host)
        parsed(host)
        return self

    @staticmethod
    def canon_target_and_host(target: Any, target_host: Any = None) -> tuple[Target | None, Target | None]:
        """Return both as targets, the first with the second as its host; ``(None, None)`` for None."""
        if target is None:
            if target_host is not None:
                raise NoTarget(
                    f"Target host is not empty when target is empty. It is {target_host}", Span.of_caller()
                )
            return None, None
        made = Target(target, target_host)
        return made, made.host

    @staticmethod
    def canon_multi_target_and_host(target: Any, target_host: Any = None) -> list[Target]:
        """Return one target, several, or those of a dict as a list, each with ``target_host`` as its host."""
        if target is None:
            raise NoTarget("canon_multi_target_and_host: no target given", Span.of_caller())
        if isinstance(target, Mapping) and "kind" not in target:
            several = list(target.values())
        else:
            several = list(target) if isinstance(target, (list, tuple)) else [target]
        return [Target(one, target_host) for one in several]

    @staticmethod
    def canon_target_map_and_host(
        target_map: Mapping[Any, Any], target_host: Any = None
    ) -> tuple[dict[Target, Any], Target | None]:
        """Return ``target_map`` with its keys converted to targets that have ``target_host`` as their host,
        and that host."""
        found = {Target(key, target_host): value for key, value in target_map.items()}
        host = next((key.host for key in found), None) if target_host is None else Target(target_host)
        return found, host

    def get_kind_attr(self, attr_name: str) -> None:
        """Return an attribute of the target's kind, such as its own passes: always None."""
        arguments.text("Target.get_kind_attr: attr_name", attr_name)

    def get_target_device_type(self) -> int:
        """Return DLPack's number of the device that the target is for."""
        return device(str(self.kind)).device_type

    @property
    def max_function_args(self) -> int:
        """The maximum number of arguments of a function, for Metal; -1 if there is no limit, as on CPUs."""
        return 31 if self.kind == "metal" else -1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise MissingName(
            f"Target.{name} is not in tvmlite", Span.of_caller(), "Target.attrs has the options"
        )

    check_and_update_host_consist = canon_target_and_host

    def __str__(self) -> str:
        if self.kind not in described.KEYS:
            return super().__str__()
        words = [f"-{key}={_written(value)}" for key, value in self.notes.items() if key != "keys"]
        return " ".join([str(self.kind), f"-keys={','.join(self.keys)}", *words])

    def __deepcopy__(self, memo: object) -> Target:
        """Return the target itself, which is immutable."""
        return self

    def __reduce__(self) -> tuple[type[Target], tuple[str]]:
        return Target, (str(self),)

    def export(self) -> dict[str, Any]:
        """Return the target as a dict that ``Target`` accepts."""
        host = {} if self.own_host is None else {"host": self.own_host.export()}
        return {"kind": str(self.kind), **self.attrs, "keys": self.keys, **host}

    @classmethod
    def current(cls, allow_none: bool = True) -> Target | None:
        """Return the target of the innermost ``with Target(...)``; else None, or an error unless
        ``allow_none``."""
        if not cls._scopes and not allow_none:
            raise TargetError("Target.current: there is no current target", Span.of_caller())
        return cls._scopes[-1] if cls._scopes else None

    @staticmethod
    def list_kinds() -> list[str]:
        """Return the supported kinds."""
        return ["llvm", "c"]

    def __enter__(self) -> Target:
        self._scopes.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._scopes.pop()


def list_tags() -> dict[str, Target]:
    """Return the targets of all tags, by tag."""
    return {name: Target(name) for name in tags.names()}


def register_tag(name: str, config: Mapping[str, Any], override: bool = False) -> Target:
    """Define the tag ``name`` as the target that ``config`` describes, and return the target. A name in use
    is an error unless ``override``."""
    made = Target(config)
    tags.add(name, config, override)
    return made


def plain(target: Any, host: Any = None) -> machine.Target:
    """Return the core's target for a build: ``target``, or else the current one, or else this machine."""
    if host is not None:
        parsed(host)
    current = Target.current()
    chosen = target if target is not None else "llvm" if current is None else current
    return parsed(chosen)[0]


def parsed(given: Any) -> tuple[machine.Target, dict[str, str]]:
    """Return the core's target that ``given`` describes, and the options that have no effect."""
    if isinstance(given, Target):
        if given.kind in described.KEYS:
            described.refuse(str(given))
        fields = {name: getattr(given, name) for name in given.__dataclass_fields__}
        return machine.Target(**{**fields, "kind": str(given.kind)}), dict(given.notes)
    if isinstance(given, machine.Target):
        return given, {}
    kind, options = _read(given)
    if kind in described.KEYS:
        described.refuse(kind)
    host = options.pop("host", None)
    if host is not None:
        parsed(host)
    notes = {key: value for key, value in options.items() if key in (*_NOTES, *_OLD, *_LEFT_OUT)}
    if "/" in kind:
        raise TargetError(
            f"{kind!r} is no machine that is known here; known are {', '.join(tags.names())}",
            Span.of_caller(),
            hint=f'tvm.target.register_tag({kind!r}, {{"kind": "llvm", "mcpu": ...}}) makes it one; '
            "there is code for CPUs only",
        )
    words = [kind if kind != "cpu" else "llvm"]
    for key, value in options.items():
        if key in _LEFT_OUT:
            warn(f"target {kind!r}: -{key}={value} is left out: {_LEFT_OUT[key]}")
        elif key not in (*_UNDERSTOOD, *_NOTES) and value not in _OLD.get(key, ()):
            known = ", ".join(f"-{one}" for one in (*_UNDERSTOOD, *_NOTES))
            raise TargetError(
                f"target {kind!r}: option -{key}={value} is not supported; there are {known}",
                hint=_INSTEAD.get(key),
            )
        if key in _UNDERSTOOD:
            words.append(f"-{key}={value}")
    return machine.Target.parse(" ".join(words)), notes


def _read(given: Any) -> tuple[str, dict[str, Any]]:
    """Return the kind and the options in a string, JSON or a dict."""
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            given = json.loads(given)
        except ValueError:
            raise TargetError(f"target {given[:80]!r} is not JSON") from None
    if isinstance(given, str) and tags.config_of(given) is not None:
        given = tags.config_of(given)
    if isinstance(given, Mapping):
        return _of_dict(given)
    if isinstance(given, str):
        return _of_text(given)
    raise arguments.refused("Target: target", given, "a string, a dict or a target", TargetError)


def _description(given: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the kind and the options of an unsupported target; None for any other."""
    if isinstance(given, Target):
        return (str(given.kind), dict(given.notes)) if given.kind in described.KEYS else None
    if isinstance(given, machine.Target):
        return None
    kind, options = _read(given)
    return (kind, options) if kind in described.KEYS else None


def _written(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return shlex.quote(text) if " " in text else text


def _of_dict(given: Mapping[Any, Any]) -> tuple[str, dict[str, str]]:
    if "kind" not in given:
        keys = ", ".join(arguments.shown(key) for key in given)
        raise TargetError(
            f"a target of {keys or 'nothing'} has no kind", Span.of_caller(), hint='such as {"kind": "llvm"}'
        )
    options: dict[str, Any] = {}
    for key, value in given.items():
        if key == "host":
            options[key] = value
        elif isinstance(value, Mapping):
            raise arguments.refused(f"Target: {key}", value, "a string, a number or a list", TargetError)
        elif key != "kind":
            options[str(key)] = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return str(given["kind"]), options


def _of_text(text: str) -> tuple[str, dict[str, str]]:
    """Parse the kind and the options of ``llvm -mcpu=x -num-cores 4``; a value follows ``=`` or a blank."""
    try:
        words = shlex.split(text) if "'" in text or '"' in text else text.split()
    except ValueError as error:
        raise TargetError(f"target {text!r}: {error}", Span.of_caller()) from None
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


__getattr__ = refusing(__name__)
