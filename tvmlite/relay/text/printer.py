"""Prints Relay's text format: each expression on a line, with a name and its type; ``parser.parse`` reads it.

A value that is used in one branch or one function only is printed inside it. Shared subexpressions are
printed once and referred to by name.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tvmlite.core.errors import InputError, TvmliteError
from tvmlite.core.node import Node
from tvmlite.relay.ir import op
from tvmlite.relay.ir.attributes import describe
from tvmlite.relay.ir.blocks import innermost
from tvmlite.relay.ir.infer import dependencies, known_type, type_of, walk
from tvmlite.relay.ir.nodes import (
    Attrs,
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    LetDims,
    Loop,
    Module,
    Tuple,
    TupleGetItem,
    Var,
    free_variables,
)
from tvmlite.relay.ir.types import show_dim, show_type
from tvmlite.relay.text import literals

INDENT = "  "


def show(node: Node) -> str:
    """A module, function or expression as text, with large constants by hash only."""
    return astext(node, show_meta_data=False)


def astext(node: Node, show_meta_data: bool = False) -> str:
    """``node`` as text; with ``show_meta_data`` large constants follow, so that any process can read it."""
    if not isinstance(show_meta_data, (bool, int)):
        raise InputError(f"astext: show_meta_data is {describe(show_meta_data)}, expected True or False")
    constants: dict[str, Constant] = {}
    if isinstance(node, Module):
        parts = [_header(node)] if node.output_names or node.attrs else []
        for name, function in node.functions.items():
            parts.append(Printer(function.body, constants).definition(name, function))
        text = "\n".join(parts)
    else:
        if not isinstance(node, Expr):
            raise InputError(f"astext: node is {describe(node)}, expected a relay module or expression")
        text = Printer(node, constants).expression(node)
    if show_meta_data and constants:
        text += "\n" + literals.metadata_section(constants)
    return text


def _header(module: Module) -> str:
    attrs = {"output_names": module.output_names, **dict(module.attrs)}
    return f"#[{', '.join(_attributes(attrs.items()))}]\n"


def _attributes(attrs: Iterable[tuple[str, Any]]) -> list[str]:
    return [f"{name}={literals.show_attribute(value)}" for name, value in attrs]


@dataclass(eq=False)
class Scope:
    """A block of text: its lines, and the block around it."""

    parent: Scope | None
    depth: int = 0
    statements: list[Expr] = field(default_factory=list)

    def child(self) -> Scope:
        """A new block inside this one."""
        return Scope(self, self.depth + 1)


class Layout:
    """The block of each line of a graph, and the expressions that need no line."""

    def __init__(self, root: Expr) -> None:
        self.root_scope = Scope(None)
        self.order = list(walk(root))
        self.uses: dict[Expr, int] = {root: 1}
        self.blocks: dict[tuple[Expr, int], Scope] = {}
        self._users: dict[Expr, Expr] = {}
        for node in self.order:
            for child in dependencies(node):
                self.uses[child] = self.uses.get(child, 0) + 1
                self._users[child] = node
        self._scopes: dict[Expr, Scope] = {root: self.root_scope}
        self.used_in: dict[Expr, list[Scope]] = {}
        block_results = {root}
        for node in reversed(self.order):
            for index, child in enumerate(dependencies(node)):
                scope = self._scope_of_use(node, index)
                if scope is not self._scopes[node] or self.is_inline_operand(node, index):
                    block_results.add(child)
                self.used_in.setdefault(child, []).append(scope)
                known = self._scopes.get(child)
                self._scopes[child] = scope if known is None else innermost(known, scope)
        for node in self.order:
            if not self.is_inline(node) and not (node in block_results and self.uses[node] == 1):
                self._scopes[node].statements.append(node)

    def _scope_of_use(self, node: Expr, index: int) -> Scope:
        """The scope in which ``node`` uses its dependency number ``index``."""
        scope = self._scopes[node]
        match node:
            case If() if index > 0:
                scope = self.blocks[node, index] = scope.child()
            case Let() | LetDims() if index == 1:
                scope = self.blocks[node, index] = scope.child()
            case Loop() if node.children()[index] is node.body:
                scope = self.blocks[node, 0] = scope.child()
            case Function():
                scope = self.blocks[node, index] = scope.child()
        return scope

    def scope_of(self, node: Expr) -> Scope:
        """The innermost block around all uses of ``node``."""
        return self._scopes[node]

    def is_inline_operand(self, node: Expr, index: int) -> bool:
        """Whether dependency number ``index`` of ``node`` has no line of its own if nothing else reads it."""
        return False

    def is_inline(self, node: Expr) -> bool:
        """Whether ``node`` is printed where it is used."""
        match node:
            case Var() | Constant() | TupleGetItem():
                return True
            case Tuple(fields) if self.uses[node] == 1:
                return isinstance(self._users.get(node), Call) and not any(
                    isinstance(f, Tuple) for f in fields
                )
        return False


def run_nested(first: Iterator[Any]) -> None:
    """Run a generator that yields generators, with an explicit stack, since nesting may be deep."""
    stack = [first]
    while stack:
        inner = next(stack[-1], None)
        if inner is None:
            stack.pop()
        else:
            stack.append(inner)


class Printer:
    """Prints one function or expression; ``constants`` collects the large constants by hash."""

    layout: ClassVar[type[Layout]] = Layout

    def __init__(self, root: Expr, constants: dict[str, Constant]) -> None:
        self._constants = constants
        self._layout = self.layout(root)
        self._texts: dict[Expr, str] = {}
        self._taken: set[str] = set()
        self._counter = 0
        self._lines: list[str] = []
        with contextlib.suppress(TvmliteError):  # ill-typed graphs are printed with the known types
            type_of(root)

    def definition(self, name: str, function: Function) -> str:
        """``def @name(...) { ... }``"""
        run_nested(self._function(f"def @{_bare_or_quoted(name)}", function, self._layout.root_scope, 0, ""))
        return "\n".join(self._lines) + "\n"

    def expression(self, root: Expr) -> str:
        """The lines of an expression, after declarations of its free variables."""
        for var in free_variables(self._layout.order):
            self._lines.append(f"free_var {self._typed(var)};")
        run_nested(self._block(self._layout.root_scope, root, 0, ""))
        return "\n".join(self._lines)

    def _number(self, node: Expr) -> int:
        """The next number, which names ``node``."""
        self._counter += 1
        return self._counter - 1

    def _line(self, depth: int, text: str) -> None:
        self._lines.append(INDENT * depth + text)

    def _block(self, scope: Scope, result: Expr, depth: int, end: str) -> Iterator[Any]:
        """The lines of ``scope``, the last of which is ``result``."""
        declared: list[str] = []
        while True:
            for node in scope.statements:
                self._texts[node] = name = f"%{self._number(node)}"
                yield self._statement(f"{name} = ", node, depth, ";")
            if not isinstance(result, (Let, LetDims)) or result in self._texts:
                break
            yield self._statement("", result, depth, ";")
            if isinstance(result, Let):
                declared.append(self._texts[result.var])
            scope, result = self._layout.blocks[result, 1], result.body
        if result in self._texts or self._layout.is_inline(result):
            self._line(depth, self._text(result) + end)
        else:
            yield self._statement("", result, depth, end)
        self._taken.difference_update(declared)

    def _statement(self, start: str, node: Expr, depth: int, end: str) -> Iterator[Any]:
        """One expression, on one or several lines, between ``start`` and ``end``."""
        match node:
            case Function():
                scope = self._layout.blocks[node, 0]
                yield self._function(f"{start}fn ", node, scope, depth, end)
            case If(condition, then, otherwise):
                self._line(depth, f"{start}if ({self._text(condition)}) {{")
                yield self._block(self._layout.blocks[node, 1], then, depth + 1, "")
                self._line(depth, "} else {")
                yield self._block(self._layout.blocks[node, 2], otherwise, depth + 1, "")
                self._line(depth, f"}}{end}")
            case Let(body=body) | LetDims(body=body) if start:
                self._line(depth, f"{start}{{")
                self._let(node, depth + 1)
                yield self._block(self._layout.blocks[node, 1], body, depth + 1, "")
                if isinstance(node, Let):
                    self._taken.discard(self._texts[node.var])
                self._line(depth, f"}}{end}")
            case Let() | LetDims():
                self._let(node, depth)
            case Loop():
                yield self._loop(start, node, depth, end)
            case _:
                self._line(depth, start + self._simple(node) + end)

    def _let(self, node: Let | LetDims, depth: int) -> None:
        text = self._text(node.value)
        names = self._typed(node.var) if isinstance(node, Let) else f"dims ({_dims(node)})"
        self._line(depth, f"let {names} = {text};")

    def _loop(self, start: str, node: Loop, depth: int, end: str) -> Iterator[Any]:
        """``loop (%i < trip_count, while %go, %s: type = initial) { (%on, next) }``"""
        parts = [] if node.condition is None else [f"while {self._text(node.condition)}"]
        firsts = [self._text(one) for one in node.initial]
        head = f"{self._declare(node.index)} < {show_dim(node.trip_count)}"
        states = [f"{self._typed(var)} = {first}" for var, first in zip(node.states, firsts, strict=True)]
        self._line(depth, f"{start}loop ({', '.join([head, *parts, *states])}) {{")
        yield self._block(self._layout.blocks[node, 0], node.body, depth + 1, "")
        self._line(depth, f"}}{end}")
        self._taken.difference_update(self._texts[var] for var in (node.index, *node.states))

    def _function(self, start: str, function: Function, scope: Scope, depth: int, end: str) -> Iterator[Any]:
        params = map(self._typed, function.params)
        attrs = _attributes(function.attrs)
        type_ = known_type(function.body)
        result = f" -> {show_type(type_)}" if type_ is not None else ""
        self._line(depth, f"{start}({', '.join([*params, *attrs])}){result} {{")
        yield self._block(scope, function.body, depth + 1, "")
        self._line(depth, f"}}{end}")
        self._taken.difference_update(self._texts[p] for p in function.params)

    def _simple(self, node: Expr) -> str:
        """A call or a tuple, on a single line."""
        if isinstance(node, Tuple):
            return self._tuple(node)
        assert isinstance(node, Call)
        name = self._text(node.op) if isinstance(node.op, Function) else node.op
        items = [self._text(arg) for arg in node.args]
        items += _attributes(not_default(node))
        type_ = known_type(node)
        comment = f" /* ty={show_type(type_)} */" if type_ is not None else ""
        return f"{name}({', '.join(items)}){comment}"

    def _text(self, node: Expr) -> str:
        """The text by which other lines refer to ``node``."""
        path = ""
        while isinstance(node, TupleGetItem):
            path = f".{node.index}{path}"
            node = node.value
        if node in self._texts:
            return self._texts[node] + path
        if isinstance(node, Constant):
            text = literals.show_constant(node)
            if literals.inline(node) is None:
                self._constants.setdefault(literals.remember(node), node)
            return f"({text}){path}" if path else text
        if isinstance(node, Var):  # free: ill-formed graphs are printed as well
            return f"%{_bare_or_quoted(node.name)}{path}"
        assert isinstance(node, Tuple), f"a {type(node).__name__} has no line of its own"
        return self._tuple(node)

    def _tuple(self, node: Tuple) -> str:
        items = [self._text(item) for item in node.fields]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"

    def _typed(self, var: Var) -> str:
        """``var`` with its type, as printed where it is bound."""
        return f"{self._declare(var)}: {show_type(var.type)}"

    def _declare(self, var: Var) -> str:
        """A name for ``var`` that no variable around it has: its own, if that is not taken."""
        name, count = var.name, 0
        while f"%{_bare_or_quoted(name)}" in self._taken:
            count += 1
            name = f"{var.name}_{count}"
        self._texts[var] = text = f"%{_bare_or_quoted(name)}"
        self._taken.add(text)
        return text


def not_default(call: Call) -> Attrs:
    """The attributes that differ from the operator's defaults; reading the text restores the others."""
    row = op.get(call.op) if isinstance(call.op, str) and op.is_known(call.op) else None
    if row is None:
        return call.attrs
    defaults = {key: literals.show_attribute(value) for key, value in op.defaults(row)}
    return tuple(
        (key, value) for key, value in call.attrs if defaults.get(key) != literals.show_attribute(value)
    )


def _dims(node: LetDims) -> str:
    return ", ".join(map(show_dim, node.dims))


def _bare_or_quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else json.dumps(name)


Expr.as_text = Module.as_text = astext
