"""Foreign calls in C: C functions are declared, Python functions are called through pointers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e
from tvmlite.te.codegen.c.text import HALVES, work_type
from tvmlite.te.codegen.c_functions import C_FUNCTIONS
from tvmlite.te.codegen.packed import returns_value, symbol_of


class Declares(Protocol):
    """A recipient of declarations."""

    def declare(self, text: str) -> None:
        """Add the declaration ``text`` before all functions."""
        ...

    def define(self, name: str) -> None:
        """Add the definition of the technique's C function ``name`` before all kernels."""
        ...


def call(names: Declares, node: e.Foreign, args: Sequence[str]) -> str:
    """The text of the call ``node`` with ``args``; UnsupportedError if it has no form in C."""
    if node.kind in ("llvm", "bits"):
        raise UnsupportedError(f"{node.name!r} has no form in C: it is one of LLVM's vector instructions")
    types = [_type(node, a) for a in node.args]
    if node.kind == "packed":
        name = symbol_of(node)
        comment = "/* To be set before the first call; returns 0, or another number if it failed. */"
        if returns_value(node):
            comment = "/* To be set before the first call; returns its last argument, or a replacement. */"
        names.declare(f"{comment}\n{_type(node, node)} (*{name})({', '.join(types) or 'void'});")
        return f"{name}({', '.join(args)})"
    if node.name in C_FUNCTIONS:
        names.define(node.name)
        return f"{node.name}({', '.join(args)})"
    names.declare(f"{_type(node, node)} {node.name}({', '.join(types) or 'void'});")
    return f"{node.name}({', '.join(args)})"


def _type(node: e.Foreign, value: e.Expr) -> str:
    if isinstance(value, e.Call) and value.name == "address_of":
        return "void *"
    if value.dtype in HALVES:
        raise UnsupportedError(f"the C function {node.name!r} cannot take or give a {value.dtype}")
    assert value.dtype in dtypes.ALL
    return work_type(value.dtype)
