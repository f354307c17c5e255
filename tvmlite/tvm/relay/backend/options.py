"""``relay.backend.Executor`` and ``Runtime``: TVM's choice of executor and runtime, with options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span

_KINDS: dict[str, type] = {"IntImm": int, "runtime.String": str}
"""Python's types by TVM's names for the types of options."""

_AOT = {
    "link-params": "IntImm",
    "unpacked-api": "IntImm",
    "interface-api": "runtime.String",
    "workspace-byte-alignment": "IntImm",
    "constant-byte-alignment": "IntImm",
}


class _Choice:
    """A choice by ``name``, with its options ``attrs`` by name, whose types are checked."""

    flag_registry_name: ClassVar[str]
    known: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        kinds = self.list_registered_options(name)
        self.name = name
        self.attrs = {**self.defaults.get(name, {}), **(options or {})}
        for option, value in self.attrs.items():
            self._check(option, value, kinds)

    def _check(self, option: str, value: Any, kinds: Mapping[str, str]) -> None:
        what = type(self).__name__
        if option not in kinds:
            text = f'Attribute "{option}" is not available on this {what}; available: {", ".join(kinds)}'
            raise UnsupportedError(text, Span.of_caller())
        if not isinstance(value, _KINDS[kinds[option]]):
            own = next((kind for kind, type_ in _KINDS.items() if isinstance(value, type_)), None)
            raise UnsupportedError(
                f'Attribute "{option}" should have type "{kinds[option]}" but instead found '
                f'"{own or type(value).__name__}"',
                Span.of_caller(),
            )

    @classmethod
    def list_registered(cls) -> list[str]:
        """The known names."""
        return list(cls.known)

    @classmethod
    def list_registered_options(cls, name: str) -> dict[str, str]:
        """The options of ``name`` with TVM's names for their types; an error for an unknown name."""
        if name not in cls.known:
            known = ", ".join(cls.known)
            text = f'{cls.__name__} "{name}" is not defined; there are: {known}'
            raise UnsupportedError(text, Span.of_caller())
        return dict(cls.known[name])

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    def __contains__(self, name: str) -> bool:
        return name in self.attrs

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self.name, self.attrs) == (other.name, other.attrs)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.name)


class Executor(_Choice):
    """The executor. ``"graph"`` and ``"aot"`` are the same here: a compiled entry function that calls the
    kernels. Weights are always in the library, whatever the options are."""

    flag_registry_name = "executor"
    known: ClassVar = {"graph": {"link-params": "IntImm"}, "aot": _AOT}
    defaults: ClassVar = {"graph": {"link-params": False}, "aot": {"link-params": True}}


class Runtime(_Choice):
    """The runtime that a compiled model needs. Only ``"cpp"`` is supported: a host program in Python or C."""

    flag_registry_name = "runtime"
    known: ClassVar = {"cpp": {"system-lib": "IntImm"}, "crt": {"system-lib": "IntImm"}}

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        if name == "crt":
            hint = 'the target "c -system=none" compiles to C for machines without a system'
            raise UnsupportedError("Runtime: 'crt' is not supported, cpp is", Span.of_caller(), hint)
        super().__init__(name, options)
