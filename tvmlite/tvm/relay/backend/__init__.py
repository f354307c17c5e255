"""TVM's ``relay.backend``: compiled models as modules to run, and which executor and runtime they have."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import refusing


class Executor:
    """What calls the kernels: ``"graph"`` and ``"aot"`` are both one compiled entry here."""

    def __init__(self, name: str, options: dict[str, Any] | None = None) -> None:
        if name not in ("graph", "aot"):
            raise UnsupportedError(f"Executor: {name!r} given, expected graph or aot", Span.of_caller())
        self.name, self.attrs = name, dict(options or {})

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
        self.name, self.attrs = name, dict(options or {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runtime) and self.attrs == other.attrs

    def __hash__(self) -> int:
        return hash(self.name)


__getattr__ = refusing(__name__)
