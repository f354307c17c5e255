"""Prints a loop IR function as the text of a hybrid script."""

from __future__ import annotations

from typing import Any

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.loop import ir

_KINDS = {ir.SERIAL: "range", ir.PARALLEL: "parallel", ir.VECTORIZE: "vectorize", ir.UNROLL: "unroll"}
_INFIX = (e.Add, e.Sub, e.Mul, e.Div, e.FloorDiv, e.FloorMod, e.Less, e.LessEqual, e.Equal, e.NotEqual)
_INFIX = (*_INFIX, e.And, e.Or)
_BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "shift_left": "<<", "shift_right": ">>"}
_NAMES = {"pow": "power", "fabs": "abs"}


def source_of(function: ir.Function) -> str:
    """``function`` as the text of a hybrid script, whose parameters are those of ``function`` except the
    outputs."""
    return _Writer(function).text()


class _Writer:
    def __init__(self, function: ir.Function) -> None:
        self._function = function
        self._lines: list[str] = []
        self._names: dict[Any, str] = {}
        self._taken: set[str] = {"range", "output_tensor", "allocate", *_KINDS.values()}

    def text(self) -> str:
        function = self._function
        inputs = [one for one in function.params if one not in function.outputs]
        self._lines.append(f"def {function.name}({', '.join(self._name(one) for one in inputs)}):")
        for size in function.sizes:
            self._names[size] = self._extent(size)
        for one in function.outputs:
            shape = "".join(f"{self._expr(n)}, " for n in one.shape)
            self._line(1, f"{self._name(one)} = output_tensor(({shape}), {one.dtype!r})")
        self._stmt(1, function.body)
        self._line(1, f"return {', '.join(self._name(one) for one in function.outputs)}")
        return "\n".join(self._lines) + "\n"

    def _extent(self, size: e.Var) -> str:
        """``size`` written as an extent of an input, if an input has it."""
        for one in self._function.buffers:
            for axis, extent in enumerate(one.shape):
                if extent is size and one not in self._function.outputs:
                    return f"{self._name(one)}.shape[{axis}]"
        return self._name(size)

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _name(self, node: Any) -> str:
        if node not in self._names:
            plain = "".join(c if c.isalnum() else "_" for c in node.name)
            name, count = plain, 0
            while name in self._taken:
                count += 1
                name = f"{plain}_{count}"
            self._taken.add(name)
            self._names[node] = name
        return self._names[node]

    def _stmt(self, depth: int, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Seq(body):
                for one in body:
                    self._stmt(depth, one)
                if not body:
                    self._line(depth, "pass")
            case ir.For(var, first, extent, body, kind):
                begin, end = self._expr(first), self._expr(first + extent)
                self._line(depth, f"for {self._name(var)} in {_KINDS[kind]}({begin}, {end}):")
                self._stmt(depth + 1, body)
            case ir.If(condition, then, otherwise):
                self._line(depth, f"if {self._expr(condition)}:")
                self._stmt(depth + 1, then)
                if otherwise is not None:
                    self._line(depth, "else:")
                    self._stmt(depth + 1, otherwise)
            case ir.Allocate(buffer, body):
                shape = "".join(f"{self._expr(n)}, " for n in buffer.shape)
                self._line(depth, f"{self._name(buffer)} = allocate(({shape}), {buffer.dtype!r})")
                self._stmt(depth, body)
            case ir.Let(var, value, body):
                self._line(depth, f"{self._name(var)} = {self._expr(value)}")
                self._stmt(depth, body)
            case ir.Store(buffer, indices, value, None):
                self._line(depth, f"{self._name(buffer)}[{self._list(indices)}] = {self._expr(value)}")
            case ir.Assert(condition, message):
                self._line(depth, f"assert {self._expr(condition)}, {message!r}")
            case _:
                raise UnsupportedError(
                    f"hybrid.build: a {type(stmt).__name__} statement has no form in a script",
                    Span.of_caller(),
                )

    def _list(self, values: Any) -> str:
        return ", ".join(self._expr(one) for one in values) or "0"

    def _expr(self, node: e.Expr) -> str:
        match node:
            case e.Const(value):
                return repr(bool(value)) if node.dtype == "bool" else repr(value)
            case e.Var():
                return self._name(node)
            case ir.Load(buffer, indices, None):
                return f"{self._name(buffer)}[{self._list(indices)}]"
            case e.Cast(dtype, value):
                return f"{dtype}({self._expr(value)})"
            case e.Not(a):
                return f"(not {self._expr(a)})"
            case e.Min(a, b) | e.Max(a, b):
                return f"{type(node).__name__.lower()}({self._expr(a)}, {self._expr(b)})"
            case e.Select(test, a, b) | e.Call("if_then_else", (test, a, b)):
                return f"({self._expr(a)} if {self._expr(test)} else {self._expr(b)})"
            case e.Call(name, (a, b)) if name in _BITS:
                return f"({self._expr(a)} {_BITS[name]} {self._expr(b)})"
            case e.Call(name, args):
                return f"{_NAMES.get(name, name)}({self._list(args)})"
            case e.Binary(a, b) if isinstance(node, _INFIX):
                return f"({self._expr(a)} {node.symbol} {self._expr(b)})"
            case _:
                raise UnsupportedError(
                    f"hybrid.build: a {type(node).__name__} expression has no form in a script",
                    Span.of_caller(),
                )
