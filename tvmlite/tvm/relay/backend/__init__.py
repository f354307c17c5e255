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


_OPTIONS = {
    "graph": ("link-params",),
    "aot": (
        "link-params",
        "unpacked-api",
        "interface-api",
        "workspace-byte-alignment",
        "constant-byte-alignment",
    ),
}
"""TVM's options of executors; weights are in the library, with any of them."""


class Executor:
    """What calls the kernels: ``"graph"`` and ``"aot"`` are both one compiled entry here."""

    def __init__(self, name: str, options: dict[str, Any] | None = None) -> None:
        if name not in ("graph", "aot"):
            raise UnsupportedError(f"Executor: {name!r} given, expected graph or aot", Span.of_caller())
        self.name, self.attrs = name, _checked("Executor", options, _OPTIONS[name])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Executor) and (self.name, self.attrs) == (other.name, other.attrs)

    def __hash__(self) -> int:
        return hash(self.name)


class Runtime:
    """What a compiled model needs to run: ``"cpp"``, Python's or a C program's own."""

    def __init__(self, name: str, options: dict[str, Any] | None = None) -> None:
        if name != "cpp":
            hint = 'the target "c -system=none" compiles to C for machines without a system'
            raise UnsupportedError(f"Runtime: {name!r} is not supported, cpp is", Span.of_caller(), hint)
        self.name, self.attrs = name, _checked("Runtime", options, ("system-lib",))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runtime) and self.attrs == other.attrs

    def __hash__(self) -> int:
        return hash(self.name)


__getattr__, _ = attributes(__name__, "te_compiler", {})
