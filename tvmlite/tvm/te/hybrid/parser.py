"""The statements of a hybrid script, translated from its syntax tree to loops."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.intrin.ir_builder import BufferVar, IRBuilder
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.extern import ExternOp
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.te.hybrid.expressions import Expressions

_LOOPS = {"range": "serial", "serial": "serial", "parallel": "parallel", "vectorize": "vectorize"}
_LOOPS["unroll"] = "unroll"
_MOST_REPEATED = 4096
"""The most iterations of a ``const_range``."""


class Parser(Expressions):
    """Translates one function. ``given`` are the values of its parameters, ``captured`` the values of the
    global and enclosing names that it uses."""

    def __init__(self, tree: ast.FunctionDef, given: Mapping[str, Any], captured: Mapping[str, Any]) -> None:
        self.builder = IRBuilder()
        self.tree = tree
        self.names: list[dict[str, Any]] = [dict(captured), {}]
        self.inputs: dict[t.Tensor, ir.Buffer] = {}
        self.outputs: list[BufferVar] = []
        self.returned: tuple[BufferVar, ...] | None = None
        self._assigned = _times_assigned(tree)
        for name, value in given.items():
            self.names[-1][name] = self.value_of(value)

    def operation(self) -> ExternOp:
        """The script's loops as an operation whose outputs are the tensors that the function returns."""
        for stmt in self.tree.body:
            self.statement(stmt)
        if not self.returned:
            raise self.error(self.tree, "returns nothing, expected output tensors")
        for one in self.outputs:
            if not any(one is x for x in self.returned):
                raise self.error(self.tree, f"output tensor {one.buffer.name} is not returned")
        body = self.builder.get()
        outs = tuple(one.buffer for one in self.returned)
        span = Span.of_caller()
        tensors = tuple(self.inputs)
        return ExternOp(self.tree.name, tensors, tuple(self.inputs.values()), outs, body, "", (), span)

    def error(self, node: Any, what: str, hint: str | None = None) -> TensorExpressionError:
        """The error that says ``what`` is wrong at ``node``."""
        line = getattr(node, "lineno", 0)
        return TensorExpressionError(
            f"hybrid script {self.tree.name!r}, its line {line}: {what}", Span.of_caller(), hint
        )

    # -- names

    def find(self, name: str) -> Any:
        """The value of ``name`` in the innermost scope that has it, or None."""
        for scope in reversed(self.names):
            if name in scope:
                return scope[name]
        return None

    def value_of(self, value: Any) -> Any:
        """A given or captured ``value`` as scripts see it: a tensor becomes an input buffer."""
        if isinstance(value, t.Tensor):
            if value not in self.inputs:
                extents = tuple(e.cast(e.INDEX, e.convert(n)) for n in value.shape)
                self.inputs[value] = ir.Buffer(value.name, value.dtype, extents, "param")
            return BufferVar(self.builder, self.inputs[value])
        if isinstance(value, (list, tuple)):
            return [self.value_of(one) for one in value]
        if isinstance(value, t.IterVar):
            return value.var
        return value

    # -- statements

    def statement(self, node: ast.stmt) -> None:
        """Translate one statement."""
        kind = type(node).__name__
        read: Callable[[Any], None] | None = getattr(self, f"_{kind.lower()}", None)
        if read is None:
            raise UnsupportedError(
                f"hybrid script {self.tree.name!r}, its line {node.lineno}: {kind} statements are not "
                "supported",
                Span.of_caller(),
            )
        if self.returned is not None:
            raise self.error(node, "a statement after return")
        read(node)

    def block(self, body: list[ast.stmt]) -> None:
        """Translate the statements of ``body``, in a scope for the names they define."""
        self.names.append({})
        for one in body:
            self.statement(one)
        self.names.pop()

    def _pass(self, node: ast.Pass) -> None:
        return

    def _expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            value = self.expr(node.value)
            if isinstance(value, (e.Expr, ir.Stmt)):
                self.builder.emit(value)

    def _return(self, node: ast.Return) -> None:
        if len(self.names) != 2:
            raise self.error(node, "return inside a loop or an if")
        given = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        found = [self.expr(one) for one in given if one is not None]
        for one in found:
            if not any(one is x for x in self.outputs):
                raise self.error(node, "returns something else than an output tensor")
        self.returned = tuple(found)

    def _assert(self, node: ast.Assert) -> None:
        message = node.msg.value if isinstance(node.msg, ast.Constant) else "an assertion failed"
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            if not condition:
                raise self.error(node, f"the assertion never holds: {message}")
            return
        self.builder.emit(ir.Assert(condition, str(message)))

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.error(node, "a chain of assignments")
        (target,) = node.targets
        if isinstance(target, ast.Subscript):
            self._store(target, self.expr(node.value))
        elif isinstance(target, ast.Name):
            self._bind(node, target.id, self.expr(node.value, target.id))
        else:
            raise self.error(node, "expected a name or an element of a tensor to the left of =")

    def _augassign(self, node: ast.AugAssign) -> None:
        target: Any = node.target
        old = self.expr(ast.copy_location(_as_load(target), target))
        value = self.binary(node, node.op, old, self.expr(node.value))
        if isinstance(target, ast.Subscript):
            self._store(target, value)
        else:
            self._bind(node, target.id, value)

    def _store(self, target: ast.Subscript, value: Any) -> None:
        buffer, indices = self.element(target)
        if any(buffer.buffer is one for one in self.inputs.values()):
            hint = "copy it: allocate(a.shape, a.dtype) gives scratch memory, output_tensor an output"
            raise self.error(target, f"input {buffer.buffer.name} is written", hint)
        buffer[tuple(indices)] = self.number(target, value)

    def _bind(self, node: ast.stmt, name: str, value: Any) -> None:
        if isinstance(value, (BufferVar, list, str, tuple)) or callable(value):
            self.names[-1][name] = value
            return
        local = self.find(name)
        if isinstance(local, Scalar):
            local.memory[0] = self.number(node, value)
        elif self._assigned[name] > 1:
            expr = e.convert(self.number(node, value))
            made = Scalar(self.builder.allocate(expr.dtype, (1,), name))
            made.memory[0] = expr
            self.names[-1][name] = made
        elif isinstance(value, e.Expr) and any(isinstance(one, ir.Load) for one in postorder(value)):
            self.names[-1][name] = self.builder.let(name, value)
        else:
            self.names[-1][name] = value

    def _if(self, node: ast.If) -> None:
        condition = self.condition(node.test)
        if isinstance(condition, bool):
            self.block(node.body if condition else node.orelse)
            return
        with self.builder.if_scope(condition):
            self.block(node.body)
        if node.orelse:
            with self.builder.else_scope():
                self.block(node.orelse)

    def _for(self, node: ast.For) -> None:
        call = node.iter
        if node.orelse or not isinstance(node.target, ast.Name):
            raise self.error(node, "expected for NAME in range(...), without else")
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise self.error(node, "expected a loop over range, unroll, vectorize, parallel or const_range")
        kind, bounds = call.func.id, [self.expr(one) for one in call.args]
        if kind == "bind":
            raise self._threads(node, call)
        if kind not in (*_LOOPS, "const_range") or not 1 <= len(bounds) <= 2:
            raise self.error(node, f"cannot loop over {kind} of {len(bounds)} arguments")
        begin, end = (0, bounds[0]) if len(bounds) == 1 else bounds
        if kind == "const_range":
            self._repeat(node, begin, end)
            return
        first, last = self.number(node, begin), self.number(node, end)
        with self.builder.for_range(first, last, node.target.id, kind=_LOOPS[kind]) as index:
            self.names.append({node.target.id: e.cast("int32", index)})
            self.block(node.body)
            self.names.pop()

    def _repeat(self, node: ast.For, begin: Any, end: Any) -> None:
        bounds = [one.value if isinstance(one, e.Const) else one for one in (begin, end)]
        if not all(isinstance(one, int) for one in bounds):
            raise self.error(node, "the bounds of const_range are no constants")
        first, last = map(int, bounds)
        if last - first > _MOST_REPEATED:
            raise self.error(
                node, f"const_range of {last - first} iterations, expected at most {_MOST_REPEATED}"
            )
        assert isinstance(node.target, ast.Name)
        for index in range(first, last):
            self.names.append({node.target.id: index})
            self.block(node.body)
            self.names.pop()

    def _threads(self, node: ast.For, call: ast.Call) -> UnsupportedError:
        tag = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else "bind"
        return UnsupportedError(
            f"hybrid script {self.tree.name!r}, its line {node.lineno}: CPUs have no thread axes, "
            f"such as {tag!r}",
            Span.of_caller(),
        )

    def inline(self, tree: ast.FunctionDef, given: Mapping[str, Any], captured: Mapping[str, Any]) -> Any:
        """Emit the loops of the script ``tree`` at a call of it. Its output tensors become scratch memory."""
        inner = _Inlined(tree, given, captured)
        inner.builder, inner.inputs = self.builder, self.inputs
        for stmt in tree.body:
            inner.statement(stmt)
        if not inner.returned:
            raise inner.error(tree, "returns nothing, expected output tensors")
        return inner.returned[0] if len(inner.returned) == 1 else list(inner.returned)

    def output(self, name: str, shape: Any, dtype: str) -> BufferVar:
        """Declare an output tensor."""
        extents = tuple(e.cast(e.INDEX, e.convert(n)) for n in shape)
        made = BufferVar(self.builder, ir.Buffer(name, dtype, extents, "param"))
        self.outputs.append(made)
        return made


class _Inlined(Parser):
    """Translates a script that another script calls."""

    def output(self, name: str, shape: Any, dtype: str) -> BufferVar:
        """Allocate scratch memory in the calling script for the output tensor."""
        made = self.builder.allocate(dtype, tuple(shape), name)
        self.outputs.append(made)
        return made


class Scalar:
    """A name that is assigned more than once, stored as one element of memory."""

    def __init__(self, memory: BufferVar) -> None:
        self.memory = memory


def _times_assigned(tree: ast.FunctionDef) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] = counts.get(node.id, 0) + 1
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            counts[node.target.id] = counts.get(node.target.id, 0) + 1
    return counts


def _as_load(target: Any) -> Any:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Subscript(target.value, target.slice, ast.Load())


__getattr__ = refusing(__name__)
