"""The printer of loop IR and of scalar expressions, as readable, Python-like text."""

from __future__ import annotations

from collections.abc import Callable

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import Node, postorder
from tvmlite.te import expr as e
from tvmlite.te.arith import simplify
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _ATOM = range(8)

_LEVELS: dict[type[e.Binary], int] = {
    e.Or: _OR,
    e.And: _AND,
    e.Equal: _COMPARE,
    e.NotEqual: _COMPARE,
    e.Less: _COMPARE,
    e.LessEqual: _COMPARE,
    e.Add: _SUM,
    e.ContractedAdd: _SUM,
    e.Sub: _SUM,
    e.ContractedSub: _SUM,
    e.Mul: _PRODUCT,
    e.Div: _PRODUCT,
    e.FloorDiv: _PRODUCT,
    e.FloorMod: _PRODUCT,
}
"""The precedence of operators that are written infix; the others are written as calls."""

Text = tuple[str, int]


def show(node: Node) -> str:
    """``node`` (a Function, a statement or an expression) as text, without a final newline.

    Different variables and buffers of the same name are distinguished by a suffix.
    """
    printer = _Printer()
    if isinstance(node, e.Expr):
        return printer.expr(node)
    if isinstance(node, ir.Function):
        printer.function(node)
    elif isinstance(node, ir.Stmt):
        printer.stmt(node, 0)
    else:
        assert isinstance(node, ir.Buffer), f"{type(node).__name__} is no loop IR"
        return printer.declaration(node)
    return "\n".join(printer.lines)


def show_expr(expr: e.Expr) -> str:
    """A scalar or vector expression as text, with the fewest parentheses that preserve its structure."""
    return _Printer().expr(expr)


class _Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[Node, str] = {}
        self._taken: set[str] = set()

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def name(self, node: e.Var | ir.Buffer | tensor.Tensor) -> str:
        """The printed name of a variable or buffer; the first node of a name has no suffix."""
        known = self._names.get(node)
        if known is None:
            known = self._names[node] = self._unique(node.name)
        return known

    def _unique(self, wanted: str) -> str:
        name, count = wanted, 0
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name

    # -- statements

    def function(self, function: ir.Function) -> None:
        params = []
        for one in function.params:
            if isinstance(one, ir.Buffer):
                out = "out " if one in function.outputs else ""
                params.append(f"{self.name(one)}: {out}{self._array_type(one)}")
            else:
                params.append(f"{self.name(one)}: {one.dtype}")
        sizes = ", ".join(self.name(v) for v in function.sizes)
        every = ", ".join(params) + (f"; {sizes}" if sizes else "")
        self.line(0, f"def {function.name}({every}):")
        if function.workspace is not None:
            self.line(1, f"# workspace: {self.expr(function.workspace)} bytes")
        if function.counts_runs:
            self.line(1, "# counts its runs: loops of kernels alternate in direction")
        if function.dynamic_outputs is not None:
            found = [b for b in function.outputs if b not in function.params]
            types = ", ".join(f"{self.name(b)}: {self._array_type(b)}" for b in found)
            name = self.name(function.dynamic_outputs)
            self.line(1, f"# dynamic outputs: {name}{f'; found: {types}' if types else ''}")
        self.stmt(function.body, 1)

    def declaration(self, buffer: ir.Buffer) -> str:
        """``X[16, 16] float32``, with the strides and alignment if ``buffer`` has them."""
        text = f"{self.name(buffer)}[{self._list(buffer.shape)}] {buffer.dtype}"
        if buffer.strides:
            text += f" strides [{self._list(buffer.strides)}]"
        if buffer.alignment:
            text += f" aligned {buffer.alignment}"
        return text

    def _array_type(self, buffer: ir.Buffer) -> str:
        return f"{buffer.dtype}[{self._list(buffer.shape)}]"

    def _list(self, exprs: tuple[e.Expr, ...]) -> str:
        return ", ".join(self.expr(x) for x in exprs)

    def stmt(self, stmt: ir.Stmt, depth: int) -> None:
        while True:  # no recursion for long chains of Let, Allocate and View
            if isinstance(stmt, ir.Let):
                self.line(depth, f"{self.name(stmt.var)} = {self.expr(stmt.value)}")
            elif isinstance(stmt, ir.Allocate):
                self.line(depth, f"allocate {self.declaration(stmt.buffer)}:")
                depth += 1
            elif isinstance(stmt, ir.View):
                self.line(depth, f"view {self.declaration(stmt.buffer)} at {self.expr(stmt.offset)}:")
                depth += 1
            else:
                break
            stmt = stmt.body
        if isinstance(stmt, ir.For):
            kind = "range" if stmt.kind == ir.SERIAL else stmt.kind
            begin, end = self.expr(stmt.min), self.expr(_end(stmt))
            notes = "".join(f", {key}={value!r}" for key, value in stmt.annotations)
            self.line(depth, f"for {self.name(stmt.var)} in {kind}({begin}, {end}{notes}):")
            self.stmt(stmt.body, depth + 1)
        elif isinstance(stmt, ir.Seq):
            for one in stmt.body:
                self.stmt(one, depth)
            if not stmt.body:
                self.line(depth, "pass")
        else:
            self._other(stmt, depth)

    def _other(self, stmt: ir.Stmt, depth: int) -> None:
        match stmt:
            case ir.Store(buffer, indices, value, predicate):
                where = f".where({self.expr(predicate)})" if predicate is not None else ""
                self.line(depth, f"{self.name(buffer)}[{self._list(indices)}]{where} = {self.expr(value)}")
            case ir.If(condition, then, otherwise):
                self.line(depth, f"if {self.expr(condition)}:")
                self.stmt(then, depth + 1)
                if otherwise is not None:
                    self.line(depth, "else:")
                    self.stmt(otherwise, depth + 1)
            case ir.Choice(needs, special, portable):
                self.line(depth, f"if target has {' and '.join(needs)}:")
                self.stmt(special, depth + 1)
                self.line(depth, "else:")
                self.stmt(portable, depth + 1)
            case ir.While(condition, body):
                self.line(depth, f"while {self.expr(condition)}:")
                self.stmt(body, depth + 1)
            case ir.Assert(condition, message):
                self.line(depth, f"assert {self.expr(condition)}, {message!r}")
            case ir.Evaluate(value):
                self.line(depth, self.expr(value))
            case ir.CallKernel():
                self.line(depth, self._call(stmt))
            case _:
                raise AssertionError(f"unknown statement {type(stmt).__name__}")

    def _call(self, call: ir.CallKernel) -> str:
        args = [self.name(b) for b in call.buffers] + [self.expr(s) for s in call.sizes]
        if call.workspace is not None:
            args += [f"workspace={self.expr(call.workspace)}"]
        if call.profile_slot >= 0:
            args += [f"profile={call.profile_slot}"]
        return f"call {call.symbol}({', '.join(args)})"

    # -- expressions

    def expr(self, root: e.Expr) -> str:
        texts: dict[Node, Text] = {}
        for node in postorder(root):
            if isinstance(node, e.Expr):
                texts[node] = self._text(node, texts.__getitem__)
        return texts[root][0]

    def _text(self, node: e.Expr, get: Callable[[Node], Text]) -> Text:
        match node:
            case e.Var():
                return self.name(node), _ATOM
            case e.Const(value, dtype, lanes):
                text = _constant(value, dtype)
                if lanes > 1:
                    return f"broadcast({text}, {lanes})", _ATOM
                return text, _UNARY if text.startswith("-") else _ATOM
            case e.Binary():
                return _binary(node, get)
            case e.Not(a):
                return f"not {_wrap(get(a), _NOT)}", _NOT
            case ir.Load(buffer, indices, predicate):
                where = f".where({get(predicate)[0]})" if predicate is not None else ""
                return f"{self.name(buffer)}[{_join(indices, get)}]{where}", _ATOM
            case tensor.TensorRead(source, indices):
                return f"{self.name(source)}[{_join(indices, get)}]", _ATOM
            case tensor.Reduce():
                return self._reduce(node, get), _ATOM
            case _:
                return _call_like(node, get), _ATOM

    def _reduce(self, node: tensor.Reduce, get: Callable[[Node], Text]) -> str:
        axes = ", ".join(self.name(a.var) for a in node.axis)
        text = f"{node.combiner.name}({_join(node.source, get)}, axis=[{axes}]"
        if not e.is_const(node.condition, 1):
            text += f", where={get(node.condition)[0]}"
        if node.init:
            text += f", init=({_join(node.init, get)})"
        return text + ")" + (f"[{node.value_index}]" if len(node.source) > 1 else "")


def _end(loop: ir.For) -> e.Expr:
    """One past the last value of a loop's variable, simplified unless the loop begins at a constant."""
    end = e.fold(e.Add, loop.min, loop.extent)
    return end if isinstance(loop.min, e.Const) else simplify(end)


def _call_like(node: e.Expr, get: Callable[[Node], Text]) -> str:
    match node:
        case e.Select(condition, a, b):
            return f"select({_join((condition, a, b), get)})"
        case e.Cast(dtype, value):
            return f"{dtype}({get(value)[0]})"
        case e.Call("reinterpret", args, dtype):
            return f"reinterpret_{dtype}({_join(args, get)})"
        case e.Call(name, args):
            return f"{name}({_join(args, get)})"
        case e.Foreign("bits", _, args, dtype, lanes):
            return f"reinterpret_{dtype}{f'x{lanes}' if lanes > 1 else ''}({_join(args, get)})"
        case e.Foreign(_, name, args):
            return f"{name}({_join(args, get)})"
        case e.Ramp(base, stride, lanes):
            return f"ramp({_join((base, stride), get)}, {lanes})"
        case e.Broadcast(value, lanes):
            return f"broadcast({get(value)[0]}, {lanes})"
        case _:
            raise AssertionError(f"unknown expression {type(node).__name__}")


def _binary(node: e.Binary, get: Callable[[Node], Text]) -> Text:
    level = _LEVELS.get(type(node))
    if level is None:
        return f"{node.symbol}({_join((node.a, node.b), get)})", _ATOM
    symbol, right = node.symbol, get(node.b)
    if isinstance(node, e.Add) and dtypes.is_int(node.dtype) and right[0].startswith("-"):
        if isinstance(node.b, e.Const):  # x + -1 reads better as x - 1
            symbol, right = "-", (right[0][1:], _ATOM)
    left_level = level + 1 if level == _COMPARE else level
    return f"{_wrap(get(node.a), left_level)} {symbol} {_wrap(right, level + 1)}", level


def _wrap(text: Text, level: int) -> str:
    return text[0] if text[1] >= level else f"({text[0]})"


def _join(nodes: tuple[e.Expr, ...], get: Callable[[Node], Text]) -> str:
    return ", ".join(get(n)[0] for n in nodes)


def _constant(value: int | float, dtype: str) -> str:
    if dtype == "bool":
        return str(bool(value))
    text = repr(float(value)) if dtypes.is_float(dtype) else str(value)
    return text if dtype in ("int32", "int64", "float32") else f"{dtype}({text})"
