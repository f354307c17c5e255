"""Generation of pointers into buffers, each step computed once in the outermost loop where it is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.emitters import emitter_of
from tvmlite.te.codegen.llvm.text import Lines, Writer, literal

Terms: TypeAlias = tuple[tuple[e.Expr, int], ...]
"""A sum of expressions, each multiplied by a number."""

_HOISTABLE = (e.Add, e.Sub, e.Mul, e.FloorDiv, e.FloorMod, e.TruncDiv, e.TruncMod, e.Min, e.Max, e.Cast)
"""Nodes that may be computed speculatively, as they have no effect and read no memory."""


@dataclass
class _Level:
    """The start of a loop's body (for the first level, of the function), where ``lines`` are inserted."""

    lines: Lines
    values: dict[e.Expr, str] = field(default_factory=dict)
    pointers: dict[tuple[str, str, Terms], str] = field(default_factory=dict)


class Addresses:
    """The levels at which variables and pointers become known, and the values computed there from them.

    An address is a chain of steps, one per loop, and a constant::

        for i in range(0, n):                         p1 = p + i * 512       # at the start of i's loop
            for k in range(0, m):                     p2 = p1 + k            # at the start of k's loop
                ... A[i * 512 + k + 48] ...   -->     load p2 + 48

    so that neighbouring accesses share all but the constant, which is part of the instruction.
    """

    def __init__(self, writer: Writer, value: Callable[[e.Expr], str]) -> None:
        self.w, self._value = writer, value
        self._levels: list[_Level] = []
        self._known_at: dict[e.Var | str, int] = {}
        self._variables: dict[e.Var, str] = {}
        self._sums: dict[e.Expr, tuple[Terms, int] | None] = {}

    def begin(self) -> None:
        """Open the level of the function: variables bound so far are known at its start."""
        self._levels.append(_Level(self.w.mark()))

    @contextmanager
    def loop(self) -> Iterator[None]:
        """The context of a loop's body, entered at its start."""
        self._levels.append(_Level(self.w.mark()))
        yield
        self._levels.pop()

    def bind(self, var: e.Var, value: str, at_start: bool = False) -> None:
        """Bind ``var`` to ``value`` from here on, or from the start of the current loop's body."""
        self._variables[var] = value
        self._known_at[var] = self._current_level(at_start)

    def forget(self, var: e.Var) -> None:
        """Remove the binding of ``var``."""
        self._variables.pop(var, None)

    def terms(self, index: e.Expr) -> tuple[Terms, int] | None:
        """``index`` as a sum of multiples and a constant; None if it is not pure scalar int64 arithmetic."""
        if index not in self._sums:
            hoistable = index.lanes == 1 and index.dtype == e.INDEX and _is_hoistable(index)
            self._sums[index] = _terms(index) if hoistable else None
        return self._sums[index]

    def step(self, pointer: str, element: str, index: e.Expr) -> tuple[str, int]:
        """A pointer, and the constant number of elements from it to ``pointer[index]``."""
        parts = self.terms(index)
        assert parts is not None
        terms, constant = parts
        by_level: dict[int, list[tuple[e.Expr, int]]] = {}
        known = self._known_at.get(pointer, 0)
        for term, factor in terms:
            by_level.setdefault(max(known, self._level_of(term)), []).append((term, factor))
        for level in sorted(by_level):
            pointer = self._advance(pointer, element, tuple(by_level[level]), level)
        return pointer, constant

    def view(self, base: str, offset: e.Expr) -> str:
        """The address ``base`` plus ``offset`` bytes, as the start of further steps."""
        level = self._level_of(offset) if _is_hoistable(offset) else len(self._levels)
        if level >= len(self._levels):
            pointer = self.w.emit(f"getelementptr inbounds i8, ptr {base}, i64 {self._value(offset)}")
        else:
            value = self._hoisted(offset)
            with self.w.at(self._levels[level].lines):
                pointer = self.w.emit(f"getelementptr inbounds i8, ptr {base}, i64 {value}")
        self._known_at[pointer] = level
        return pointer

    def _current_level(self, at_start: bool) -> int:
        return len(self._levels) - at_start if self._levels else 0

    def _advance(self, pointer: str, element: str, terms: Terms, level: int) -> str:
        if level >= len(self._levels):  # known only here
            return self._sum(pointer, element, [(self._value(term), factor) for term, factor in terms])
        here = self._levels[level]
        key = pointer, element, terms
        if key not in here.pointers:
            values = [(self._hoisted(term), factor) for term, factor in terms]
            with self.w.at(here.lines):
                here.pointers[key] = self._sum(pointer, element, values)
        return here.pointers[key]

    def _sum(self, pointer: str, element: str, values: list[tuple[str, int]]) -> str:
        total = ""
        for value, factor in values:
            part = value if factor == 1 else self.w.emit(f"mul i64 {value}, {factor}")
            total = self.w.emit(f"add i64 {total}, {part}") if total else part
        return self.w.emit(f"getelementptr {element}, ptr {pointer}, i64 {total}")

    def _level_of(self, expr: e.Expr) -> int:
        """The outermost level at whose start ``expr`` can be computed, or the number of levels if none."""
        if isinstance(expr, e.Var):
            return self._known_at.get(expr, len(self._levels))
        if isinstance(expr, e.Const):
            return 0
        return max(self._level_of(child) for child in expr.children())  # type: ignore[arg-type]

    def _hoisted(self, expr: e.Expr) -> str:
        """The value of ``expr``, computed at the start of its level."""
        if isinstance(expr, e.Var):
            return self._variables[expr]
        if isinstance(expr, e.Const):
            return literal(expr.value, expr.dtype)
        here = self._levels[self._level_of(expr)]
        if expr not in here.values:
            operands = {child: self._hoisted(child) for child in expr.children()}  # type: ignore[arg-type]
            with self.w.at(here.lines):
                here.values[expr] = emitter_of(expr).emit(_Operands(self.w, operands), expr)
        return here.values[expr]


class _Operands(NamedTuple):
    """The part of ``Expressions`` that emitters of arithmetic need."""

    w: Writer
    known: dict[Any, str]


def _is_hoistable(expr: e.Expr) -> bool:
    if isinstance(expr, (e.Var, e.Const)):
        return True
    return isinstance(expr, _HOISTABLE) and all(_is_hoistable(c) for c in expr.children())  # type: ignore[arg-type]


def _terms(index: e.Expr) -> tuple[Terms, int]:
    """``index`` as a sum of multiples, and a constant."""
    terms: list[tuple[e.Expr, int]] = []
    constant = 0
    stack = [(index, 1)]
    while stack:
        node, factor = stack.pop()
        match node:
            case e.Const(value):
                constant += factor * int(value)
            case e.Add(a, b):
                stack += [(b, factor), (a, factor)]
            case e.Sub(a, b):
                stack += [(b, -factor), (a, factor)]
            case e.Mul(a, e.Const(value)):
                stack.append((a, factor * int(value)))
            case _:
                terms.append((node, factor))
    return tuple(terms), constant
