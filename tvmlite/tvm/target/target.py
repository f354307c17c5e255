"""Targets as TVM 0.11 writes them: strings, dicts and JSON, with a scope that ``build`` looks at."""

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
"""Options that choose TVM's schedules and records by name, where ours look at the processor itself, or say
nothing of the code made here."""

_OLD = {"link-params": ("0", "False")}
"""Options in logs of TVM's before 0.11, with the values that say nothing."""

_LEFT_OUT = {"libs": "kernels are generated; tvm.contrib.cblas calls a library's matrix product"}
"""Options that are kept with a warning, and why they change nothing."""

_INSTEAD = {
    "link-params": 'weights are in the library; Executor("graph", {"link-params": True}) says so in TVM',
    "mfloat-abi": "the -mtriple says it, as arm-linux-gnueabihf does",
    "runtime": "lib.export_library writes a library that tvm.runtime.load_module loads",
    "system-lib": "lib.export_library writes a library that tvm.runtime.load_module loads",
}
"""What to use in place of options of TVM's."""


class NoTarget(TargetError, AssertionError):
    """A target that is missing: TVM asserts that there is one."""


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
    ``-device``, ``-model``, ``-tag`` (which name schedules of TVM's), ``-opt-level`` and ``-jit`` are kept
    and change nothing, as ``-link-params=0`` of old logs, and so is ``-libs``, with a warning. Any other is a
    TargetError.
    ``with Target(...):`` makes it the one that ``build`` takes by default.

    A target of another kind of TVM's, such as ``"cuda"``, may be named and looked at: building for it is a
    TargetError.
    """

    _scopes: ClassVar[list[Target]] = []
    notes: Mapping[str, Any]
    own_host: Target | None = None

    def __init__(self, target: Any = None, host: Any = None, **fields: Any) -> None:
        if fields:  # ``dataclasses.replace`` makes the changed copy so
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
        """The names of schedules that TVM would look for."""
        if self.kind in described.KEYS:
            own = [*self.notes.get("keys", ()), self.notes.get("device", ""), *described.KEYS[self.kind]]
            return list(dict.fromkeys(one for one in own if one))
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
        if self.kind in described.KEYS:
            return dict(self.notes)
        options = {"mcpu": self.cpu, "mtriple": self.triple, "num-cores": self.num_cores}
        return {**{key: value for key, value in options.items() if value}, **self.notes}

    @property
    def libs(self) -> list[str]:
        """The libraries that ``-libs`` names, which nothing here calls."""
        given = self.notes.get("libs", [])
        return given.split(",") if isinstance(given, str) else list(given)

    @property
    def host(self) -> Target | None:
        """What runs the code around kernels: of a CPU itself."""
        return self.own_host if self.kind in described.KEYS else self

    def with_host(self, host: Any) -> Target:
        """The target with this host; a CPU is its own, and ``host`` must be a CPU."""
        if self.kind in described.KEYS:
            return Target(self, host)
        parsed(host)
        return self

    @staticmethod
    def canon_target_and_host(target: Any, target_host: Any = None) -> tuple[Target | None, Target | None]:
        """Both as targets, the first with the second as its host; None for None."""
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
        """A target, several, or those by device, as a list, each with ``target_host`` as its host."""
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
        """Values by target, with targets for whatever describes them, each with ``target_host`` as its host,
        and that host."""
        found = {Target(key, target_host): value for key, value in target_map.items()}
        host = next((key.host for key in found), None) if target_host is None else Target(target_host)
        return found, host

    def get_kind_attr(self, attr_name: str) -> None:
        """What a kind of target is known to have, such as passes of its own: none has any."""
        arguments.text("Target.get_kind_attr: attr_name", attr_name)

    def get_target_device_type(self) -> int:
        """TVM's number of the device that the target is for."""
        return device(str(self.kind)).device_type

    @property
    def max_function_args(self) -> int:
        """The most arguments that a function can have, for Metal; -1 where there is no limit, as on CPUs."""
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
        """The target itself, which never changes."""
        return self

    def __reduce__(self) -> tuple[type[Target], tuple[str]]:
        return Target, (str(self),)

    def export(self) -> dict[str, Any]:
        """The parts, as a dict that ``Target`` takes."""
        host = {} if self.own_host is None else {"host": self.own_host.export()}
        return {"kind": str(self.kind), **self.attrs, "keys": self.keys, **host}

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


def list_tags() -> dict[str, Target]:
    """The targets that names of machines stand for, by name."""
    return {name: Target(name) for name in tags.names()}


def register_tag(name: str, config: Mapping[str, Any], override: bool = False) -> Target:
    """Let ``name`` stand for the target that ``config`` describes; the target. A name in use is an error
    unless ``override``."""
    made = Target(config)
    tags.add(name, config, override)
    return made


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
    """The kind and the options of a string, of JSON or of a dict."""
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
    """Kind and options of a target that there is no code for; None of all others."""
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
    """Kind and options of ``llvm -mcpu=x -num-cores 4``: a value follows an equals sign or a blank."""
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
