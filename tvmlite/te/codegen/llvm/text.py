"""Writers of LLVM IR text: types, literals, a module's declarations and one function's instructions."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeAlias

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.machine.target import Target, family
from tvmlite.te.extensions import extension

_REGISTER = {"float16": "float", "bfloat16": "float", "float32": "float", "float64": "double", "bool": "i1"}
_SHORT = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}
EXPLICIT = '"tvmlite-explicit"'
"""The attribute of functions that need only a few of LLVM's optimisations (``loops.is_explicit``)."""

HALVES = ("float16", "bfloat16")


def vector(element: str, lanes: int) -> str:
    """The LLVM type of ``lanes`` elements."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


@cache
def register_type(dtype: str, lanes: int = 1) -> str:
    """The LLVM type of a value in a register: a half is a float of a value it can hold, a bool an i1."""
    return vector(_REGISTER.get(dtype) or f"i{dtypes.bits(dtype)}", lanes)


def mangled(type_: str) -> str:
    """``type_`` as in names of intrinsics: ``v16f32`` for ``<16 x float>``."""
    if found := re.fullmatch(r"<(\d+) x (\w+)>", type_):
        return f"v{found[1]}{mangled(found[2])}"
    return _SHORT.get(type_, type_)


def symbol(name: str) -> str:
    """``name`` as a global symbol, quoted if necessary."""
    return f"@{name}" if re.fullmatch(r"[A-Za-z_$.][\w$.]*", name) else f'@"{name}"'


def literal(value: float, dtype: str, lanes: int = 1) -> str:
    """A constant of ``register_type(dtype, lanes)``."""
    if dtypes.is_float(dtype):
        text = _float(value, dtype)
    elif dtype == "bool":
        text = "true" if value else "false"
    else:
        width = dtypes.bits(dtype)
        wrapped = int(value) & ((1 << width) - 1)
        text = str(wrapped - (1 << width) if wrapped >> (width - 1) else wrapped)
    if lanes == 1:
        return text
    return f"splat ({register_type(dtype)} {text})"


def _float(value: float, dtype: str) -> str:
    if dtype in HALVES:
        value = extension("rounding").rounded(value, dtype)
    elif dtype == "float32":
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Module:
    """The functions and declarations of one module for one target."""

    def __init__(self, target: Target, explicit: bool = False) -> None:
        self.target, self.explicit = target, explicit
        self.family = family(target.triple)
        self.functions: list[str] = []
        self._declarations: dict[str, str] = {}
        self._metadata: list[str] = []
        self._parallels = itertools.count()

    def parallel(self) -> int:
        """The number of the next parallel loop."""
        return next(self._parallels)

    def declare(self, name: str, result: str, arguments: str, attributes: str = "") -> str:
        """The symbol of an external function, declared once."""
        at = symbol(name)
        return self.define(at, f"declare {result} {at}({arguments}) {attributes}".rstrip())

    def declare_data(self, name: str) -> str:
        """The symbol of external constant bytes, aligned to 64."""
        return self.define(symbol(name), f"{symbol(name)} = external constant i8, align 64")

    def define(self, symbol: str, text: str) -> str:
        """Add ``text``, which defines ``symbol``, unless it is defined already; returns ``symbol``."""
        self._declarations.setdefault(symbol, text)
        return symbol

    def no_unroll_metadata(self) -> str:
        """Loop metadata for a back edge, which disables further unrolling by LLVM."""
        if not self._metadata:
            self._metadata.append('!0 = !{!"llvm.loop.unroll.disable"}')
        number = len(self._metadata)
        self._metadata.append(f"!{number} = distinct !{{!{number}, !0}}")
        return f"!llvm.loop !{number}"

    def text(self) -> str:
        """The whole module."""
        width = f'"prefer-vector-width"="{self.target.vector_bits}"'
        attributes = f"attributes #0 = {{ nounwind {width}{f' {EXPLICIT}' if self.explicit else ''} }}"
        parts = [f'target triple = "{self.target.triple}"', *self._declarations.values(), *self.functions]
        return "\n".join([*parts, attributes, *self._metadata, ""])


Lines: TypeAlias = "list[str | Lines]"
"""Instructions, with nested lists where more may be inserted later."""


def _flat(lines: Lines) -> Iterator[str]:
    for one in lines:
        if isinstance(one, str):
            yield one
        else:
            yield from _flat(one)


class Writer:
    """Writes the instructions of one function, block by block; allocations are placed at its entry."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.block = "entry"
        self._allocations: list[str] = []
        self._lines: Lines = []
        self._count = 0

    def emit(self, instruction: str) -> str:
        """Append an instruction; returns the name of its value."""
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without a value."""
        self._lines.append(f"  {instruction}")

    def allocate(self, type_: str, alignment: int) -> str:
        """Allocate stack memory for one ``type_`` at the function's entry; returns its address."""
        self._count += 1
        name = f"%a{self._count}"
        self._allocations.append(f"  {name} = alloca {type_}, align {alignment}")
        return name

    def mark(self) -> Lines:
        """Mark the current position, so that instructions can be inserted there later with ``at``."""
        place: Lines = []
        self._lines.append(place)
        return place

    @contextmanager
    def at(self, place: Lines) -> Iterator[None]:
        """Insert the instructions of the ``with`` body at ``place``; no block may start or end there."""
        here, self._lines = self._lines, place
        yield
        self._lines = here

    def new_block(self) -> str:
        """A new label, for ``enter``."""
        self._count += 1
        return f"b{self._count}"

    def enter(self, label: str) -> None:
        """Start the block ``label``; the previous block must have ended with a jump."""
        self._lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """End the block with a jump to ``label``."""
        self.do(f"br label %{label}")

    def branch(self, condition: str, then: str, otherwise: str, metadata: str = "") -> None:
        """End the block with a jump to ``then`` if the i1 ``condition`` holds, else to ``otherwise``."""
        extra = f", {metadata}" if metadata else ""
        self.do(f"br i1 {condition}, label %{then}, label %{otherwise}{extra}")

    def call(self, name: str, result: str, arguments: list[tuple[str, str]], attributes: str = "") -> str:
        """Call an external function or intrinsic on (type, value) ``arguments``."""
        target = self.module.declare(name, result, ", ".join(t for t, _ in arguments), attributes)
        return self.emit(f"call {result} {target}({', '.join(f'{t} {v}' for t, v in arguments)})")

    def intrinsic(self, name: str, type_: str, *arguments: str) -> str:
        """Call ``llvm.name``; its arguments and its result are of ``type_``."""
        return self.call(f"llvm.{name}.{mangled(type_)}", type_, [(type_, a) for a in arguments])

    def splat(self, type_: str, value: str, lanes: int) -> str:
        """A vector with the scalar ``value`` in each lane."""
        if lanes == 1:
            return value
        wide = vector(type_, lanes)
        first = self.emit(f"insertelement {wide} poison, {type_} {value}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {wide} {first}, {wide} poison, {zeros}")

    def finish(self, header: str) -> None:
        """Add the function to the module; ``header`` is its text up to the brace."""
        lines = [f"{header} #0 {{", "entry:", *self._allocations, *_flat(self._lines), "}"]
        self.module.functions.append("\n".join(lines))
