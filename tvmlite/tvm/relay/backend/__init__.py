"""TVM's ``relay.backend``: compiled models as modules to run, and which executor and runtime they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.lazy import attributes


def _checked(what: str, options: dict[str, Any] | None, known: Sequence[str]) -> dict[str, Any]:
    """``options``, all of which are ``known``; an error as TVM's for another."""
    for name in options or {}:
        if name not in known:
            raise UnsupportedError(
                f'Attribute "{name}" is not available on this {what}; available: {", ".join(known)}',
                Span.of_caller(),
            )
    return dict(options or {})


_EXECUTORS = {
    "aot": {
        "link-params": "IntImm",
        "unpacked-api": "IntImm",
        "interface-api": "runtime.String",
        "workspace-byte-alignment": "IntImm",
        "constant-byte-alignment": "IntImm",
    },
    "graph": {"link-params": "IntImm"},
}
"""TVM's options of executors, with its names of their types; weights are in the library, with any of them."""

_RUNTIMES = {"cpp": {"system-lib": "IntImm"}, "crt": {"system-lib": "IntImm"}}
"""TVM's options of runtimes, likewise."""


class Executor:
    """What calls the kernels: ``"graph"`` and ``"aot"`` are both one compiled entry here."""

    flag_registry_name = "executor"

    def __init__(self, name: str, options: dict[str, Any] | None = None) -> None:
        if name not in _EXECUTORS:
            raise UnsupportedError(f"Executor: {name!r} given, expected graph or aot", Span.of_caller())
        self.name, self.attrs = name, _checked("Executor", options, tuple(_EXECUTORS[name]))

    @staticmethod
    def list_registered() -> list[str]:
        """The names of executors."""
        return list(_EXECUTORS)

    @staticmethod
    def list_registered_options(name: str) -> dict[str, str]:
        """The options of an executor, with TVM's names of their types."""
        return dict(_EXECUTORS[name])

    def __contains__(self, name: str) -> bool:
        return name in self.attrs

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Executor) and (self.name, self.attrs) == (other.name, other.attrs)

    def __hash__(self) -> int:
        return hash(self.name)


class Runtime:
    """What a compiled model needs to run: ``"cpp"``, Python's or a C program's own."""

    flag_registry_name = "runtime"

    def __init__(self, name: str, options: dict[str, Any] | None = None) -> None:
        if name != "cpp":
            hint = 'the target "c -system=none" compiles to C for machines without a system'
            raise UnsupportedError(f"Runtime: {name!r} is not supported, cpp is", Span.of_caller(), hint)
        self.name, self.attrs = name, _checked("Runtime", options, tuple(_RUNTIMES[name]))

    @staticmethod
    def list_registered() -> list[str]:
        """The names of runtimes of TVM's."""
        return list(_RUNTIMES)

    @staticmethod
    def list_registered_options(name: str) -> dict[str, str]:
        """The options of a runtime, with TVM's names of their types."""
        return dict(_RUNTIMES[name])

    def __contains__(self, name: str) -> bool:
        return name in self.attrs

    def __getitem__(self, name: str) -> Any:
        return self.attrs[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runtime) and self.attrs == other.attrs

    def __hash__(self) -> int:
        return hash(self.name)


__getattr__, _ = attributes(__name__, "te_compiler", {})
