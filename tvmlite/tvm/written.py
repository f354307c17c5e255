"""Nodes as TVM writes them, each of which means a node of ours.

Whatever rewrites one meets its meaning: ``map_children`` gives it. ``plain`` does so with all of a value, and
is called where values of a program's go on to the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.node import Node, postorder, rewrite, substitute
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.loop import ir

_set = object.__setattr__


@dataclass(frozen=True)
class Intrinsic:
    """What a call calls, by TVM's name (``"tir.exp"``)."""

    name: str


class Written:
    """A node of TVM's that means one of ours."""


class Uncompiled:
    """A node of TVM's that has no meaning here: it may be made, read and walked, but not compiled.
    ``instead`` says what to use."""

    instead: str


class _Reversed(e.Expr, Written):
    """A comparison whose meaning is ``ours`` with the operands exchanged."""

    a: e.Expr
    b: e.Expr
    symbol: ClassVar[str]
    ours: ClassVar[type[e.Compare]]
    children_in: ClassVar[tuple[str, ...]] = ("a", "b")

    def __post_init__(self) -> None:
        a, b = e.match(self.a, self.b)
        _set(self, "a", a)
        _set(self, "b", b)
        self._typed("bool", a.lanes)

    def map_children(self, rule: Callable[[Any], Any]) -> Any:
        """What it means, of what ``rule`` gives for its operands."""
        return self.ours(rule(self.b), rule(self.a))


@dataclass(frozen=True, eq=False)
class GT(_Reversed):
    """``a > b``"""

    a: e.Expr
    b: e.Expr
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    symbol: ClassVar[str] = ">"
    ours: ClassVar[type[e.Compare]] = e.Less


@dataclass(frozen=True, eq=False)
class GE(_Reversed):
    """``a >= b``"""

    a: e.Expr
    b: e.Expr
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    symbol: ClassVar[str] = ">="
    ours: ClassVar[type[e.Compare]] = e.LessEqual


def bound_value(where: str, var: e.Var, value: Any) -> e.Expr:
    """``value`` for ``var``: a number of Python's in the dtype of ``var``; any other must have that."""
    given = e.scalar(f"{where}: value", value)
    if isinstance(value, e.Expr) and (given.dtype, given.lanes) != (var.dtype, var.lanes):
        raise TensorExpressionError(
            f"{where}: the value of {var.name} is {given.dtype}, {var.name} is {var.dtype}", Span.of_caller()
        )
    return e.cast(var.dtype, given)


@dataclass(frozen=True, eq=False)
class Let(e.Expr, Written):
    """``body``, in which ``var`` is ``value``."""

    var: e.Var
    value: e.Expr
    body: e.Expr
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("value", "body")
    binders: ClassVar[tuple[str, ...]] = ("var",)

    def __post_init__(self) -> None:
        _set(self, "value", bound_value("tir.Let", self.var, self.value))
        _set(self, "body", e.scalar("tir.Let: body", self.body))
        self._typed(self.body.dtype, self.body.lanes)

    def map_children(self, rule: Callable[[Any], Any]) -> Any:
        """The body with the value in the place of the variable."""
        return substitute(rule(self.body), {self.var: rule(self.value)})


@dataclass(frozen=True, eq=False)
class WrittenCall(e.Expr, Written):
    """A call with TVM's operator and arguments; ``meaning`` is ours."""

    op: Intrinsic
    args: tuple[Any, ...]
    dtype: str
    meaning: Any
    lanes: int = 1
    children_in: ClassVar[tuple[str, ...]] = ("meaning",)

    def map_children(self, rule: Callable[[Any], Any]) -> Any:
        """What it means."""
        return rule(self.meaning)

    @property
    def name(self) -> str:
        """The name of what is called, where the first argument is not that."""
        return getattr(self.meaning, "name", self.op.name.removeprefix("tir."))


@dataclass(frozen=True, eq=False)
class AssertStmt(ir.Stmt, Written):
    """``body`` if ``condition`` holds, else the function stops with ``message``."""

    condition: e.Expr
    message: Any
    body: ir.Stmt
    children_in: ClassVar[tuple[str, ...]] = ("condition", "body")

    def map_children(self, rule: Callable[[Any], Any]) -> Any:
        """The check, then the body."""
        text = getattr(self.message, "value", self.message)
        return ir.Seq((ir.Assert(rule(self.condition), str(text)), rule(self.body)))


def plain(value: Any) -> Any:
    """``value``, or each in a list or tuple, of nodes of ours alone; the same object if it is that already.
    An UnsupportedError names a node that has no meaning here."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(plain(one) for one in value)
    if not isinstance(value, Node):
        return value
    found = False
    for node in postorder(value):
        found = found or isinstance(node, Written)
        if isinstance(node, Uncompiled):
            name = getattr(node, "title", type(node).__name__)
            raise UnsupportedError(f"tir.{name} cannot be compiled", Span.of_caller(), node.instead)
    return rewrite(value, _statement) if found else value


def _statement(node: Any) -> Any:
    """An evaluated call of a Python function is a statement of ours, which checks its result."""
    packed = isinstance(node, ir.Evaluate) and isinstance(node.value, ir.Stmt)
    return node.value if packed else node
