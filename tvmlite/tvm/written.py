"""Nodes of TVM that tvmlite does not have, each of which stands for nodes of ours.

Rewriting one yields its meaning, as its ``map_children`` returns our nodes. ``plain`` replaces all of them in
a value, and is called where a program's values are passed to the compiler.
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
    """The operator of a call, by TVM's name (``"tir.exp"``)."""

    name: str


class Written:
    """A node of TVM that stands for nodes of ours."""


class Uncompiled:
    """A node of TVM that tvmlite cannot compile: it can only be created, read and walked. ``instead`` says
    what to use."""

    instead: str


class _Reversed(e.Expr, Written):
    """A comparison that stands for ``ours`` with the operands exchanged."""

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
        """The comparison of ours, of the operands after ``rule``."""
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
    """``value`` as an expression to bind to ``var``: a Python number is converted to the dtype of ``var``, an
    expression must have that dtype."""
    given = e.scalar(f"{where}: value", value)
    if isinstance(value, e.Expr) and (given.dtype, given.lanes) != (var.dtype, var.lanes):
        raise TensorExpressionError(
            f"{where}: the value of {var.name} is {given.dtype}, {var.name} is {var.dtype}", Span.of_caller()
        )
    return e.cast(var.dtype, given)


@dataclass(frozen=True, eq=False)
class Let(e.Expr, Written):
    """``body``, with ``var`` bound to ``value``."""

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
        """The body with the value substituted for the variable."""
        return substitute(rule(self.body), {self.var: rule(self.value)})


@dataclass(frozen=True, eq=False)
class WrittenCall(e.Expr, Written):
    """A call with TVM's operator and arguments; ``meaning`` is the expression of ours that it stands for."""

    op: Intrinsic
    args: tuple[Any, ...]
    dtype: str
    meaning: Any
    lanes: int = 1
    children_in: ClassVar[tuple[str, ...]] = ("meaning",)

    def map_children(self, rule: Callable[[Any], Any]) -> Any:
        """The meaning, after ``rule``."""
        return rule(self.meaning)

    @property
    def name(self) -> str:
        """The name of the called function: that of ``meaning``, or the operator's."""
        return getattr(self.meaning, "name", self.op.name.removeprefix("tir."))


@dataclass(frozen=True, eq=False)
class AssertStmt(ir.Stmt, Written):
    """``body`` if ``condition`` holds; otherwise the function fails with ``message``."""

    condition: e.Expr
    message: Any
    body: ir.Stmt
    children_in: ClassVar[tuple[str, ...]] = ("condition", "body")

    def map_children(self, rule: Callable[[Any], Any]) -> Any:
        """The assertion followed by the body, as two statements of ours."""
        text = getattr(self.message, "value", self.message)
        return ir.Seq((ir.Assert(rule(self.condition), str(text)), rule(self.body)))


def plain(value: Any) -> Any:
    """``value``, or each item of a list or tuple, with nodes of TVM replaced by ours; the same object if it
    has none. A node that cannot be compiled is an UnsupportedError."""
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
    """Replace the evaluated call of a Python function by our statement, which checks the call's result."""
    packed = isinstance(node, ir.Evaluate) and isinstance(node.value, ir.Stmt)
    return node.value if packed else node
