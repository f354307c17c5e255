"""The verifier of loop IR: variables are bound, buffers are in scope, dtypes and lanes agree."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import VerifyError
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.printer import show, show_expr

_INTS_ONLY = (e.FloorDiv, e.FloorMod, e.TruncDiv)
_KINDS = (ir.SERIAL, ir.PARALLEL, ir.VECTORIZE, ir.UNROLL)
_LAZY = "if_then_else"

FOREIGN_KINDS = ("llvm", "c", "packed", "bits", "tile")


def verify(function: ir.Function, legal: bool = False) -> None:
    """Raise a VerifyError that names the offending statement if ``function`` breaks a rule of loop IR.

    With ``legal``, the rules of the legal form (see ``loop.ir``) are checked as well.
    """
    _Verifier(function, legal).run()


class _Verifier:
    def __init__(self, function: ir.Function, legal: bool) -> None:
        self.function, self.legal = function, legal
        self.variables: set[e.Expr] = {ir.THREADS, ir.THREAD, *function.sizes}
        self.variables |= {p for p in function.params if isinstance(p, e.Var)}
        self.buffers: set[ir.Buffer] = set(function.buffers)
        self.writable: set[ir.Buffer] = set(function.outputs)
        if function.dynamic_outputs is not None:
            self.variables.add(ir.CAPACITY)
            self.buffers.add(function.dynamic_outputs)
            self.writable.add(function.dynamic_outputs)
        self.checked: set[e.Expr] = set()
        self.parallel = False
        self.where: ir.Stmt | None = None

    def run(self) -> None:
        function = self.function
        names = [p.name for p in (*function.params, *function.sizes)]
        for out in function.outputs:
            found = function.dynamic_outputs is not None and out.scope == "view"
            self.require(found or out in function.params, f"output {out.name!r} is not a parameter")
        for buffer in function.buffers:
            self.require(buffer.scope == "param", f"parameter {buffer.name!r} has scope {buffer.scope!r}")
            self.shape(buffer)
        for size in function.sizes:
            self.require(size.dtype == e.INDEX, f"size {size.name!r} is {size.dtype}, expected int64")
        self.require(all(names), "a parameter has no name")
        if function.workspace is not None:
            self.index(function.workspace, "the workspace")
        self.stmt(function.body)

    def fail(self, message: str) -> None:
        text = f"function {self.function.name!r}: {message}"
        if self.where is not None:
            text += "\n  in: " + show(self.where).split("\n", 1)[0]
        raise VerifyError(text)

    def require(self, holds: bool, message: str) -> None:
        if not holds:
            self.fail(message)

    # -- statements

    def stmt(self, stmt: ir.Stmt) -> None:
        undo: list[tuple[set, object]] = []
        while isinstance(stmt, (ir.Let, ir.Allocate, ir.View)):
            self.where = stmt
            undo += self.enter(stmt)
            stmt = stmt.body
        self.where = stmt
        self.plain(stmt)
        for names, node in undo:
            names.discard(node)

    def enter(self, stmt: ir.Let | ir.Allocate | ir.View) -> list[tuple[set, object]]:
        if isinstance(stmt, ir.Let):
            self.expr(stmt.value)
            same = (stmt.var.dtype, stmt.var.lanes) == (stmt.value.dtype, stmt.value.lanes)
            self.require(same, f"{stmt.var.name!r} and its value differ in dtype or lanes")
            return [self.bind(stmt.var)]
        buffer = stmt.buffer
        wanted = ("local",) if isinstance(stmt, ir.Allocate) else ("view", "constant")
        self.require(buffer.scope in wanted, f"buffer {buffer.name!r} has scope {buffer.scope!r}")
        self.require(buffer not in self.buffers, f"buffer {buffer.name!r} exists already")
        self.shape(buffer)
        if isinstance(stmt, ir.View):
            self.index(stmt.offset, "a view's offset")
            if buffer.scope == "constant":  # part of NAME_constants: only read
                self.buffers.add(buffer)
                return [(self.buffers, buffer)]
            self.require(self.function.workspace is not None, "a view in a function without workspace")
        elif self.legal:
            static = all(isinstance(x, e.Const) for x in buffer.shape)
            self.require(static, f"legal form: allocation {buffer.name!r} is not of constant size")
        self.buffers.add(buffer)
        self.writable.add(buffer)
        return [(self.buffers, buffer), (self.writable, buffer)]

    def bind(self, var: e.Var) -> tuple[set, object]:
        self.require(var not in self.variables, f"variable {var.name!r} is bound twice")
        self.variables.add(var)
        return self.variables, var

    def plain(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Store():
                self.store(stmt)
            case ir.For():
                self.loop(stmt)
            case ir.While(condition, body):
                self.condition(condition)
                self.stmt(body)
            case ir.If(condition, then, otherwise):
                self.condition(condition)
                self.stmt(then)
                if otherwise is not None:
                    self.stmt(otherwise)
            case ir.Choice(_, special, portable):
                self.stmt(special)
                self.stmt(portable)
            case ir.Seq(body):
                for one in body:
                    self.stmt(one)
            case ir.Assert(condition, message):
                self.condition(condition)
                known = not self.legal or message in self.function.messages
                self.require(known, f"legal form: message {message!r} is not among the function's")
            case ir.Evaluate(value):
                self.expr(value)
            case ir.CallKernel():
                for buffer in stmt.buffers:
                    self.known(buffer)
                for size in stmt.sizes:
                    self.expr(size)
                if stmt.workspace is not None:
                    self.index(stmt.workspace, "a kernel's workspace")
            case _:
                self.fail(f"unknown statement {type(stmt).__name__}")

    def loop(self, loop: ir.For) -> None:
        self.index(loop.min, "a loop's begin")
        self.index(loop.extent, "a loop's extent")
        self.require(loop.var.dtype == e.INDEX, f"loop variable {loop.var.name!r} is {loop.var.dtype}")
        self.require(loop.kind in _KINDS, f"unknown kind of loop {loop.kind!r}")
        parallel = loop.kind == ir.PARALLEL
        if self.legal:
            self.require(
                loop.kind in (ir.SERIAL, ir.PARALLEL), f"legal form: {loop.kind} loop {loop.var.name!r}"
            )
            self.require(
                not (parallel and self.parallel),
                f"legal form: parallel loop {loop.var.name!r} inside another",
            )
        names, var = self.bind(loop.var)
        outer, self.parallel = self.parallel, self.parallel or parallel
        self.stmt(loop.body)
        self.parallel = outer
        names.discard(var)

    def store(self, store: ir.Store) -> None:
        self.known(store.buffer)
        self.require(store.buffer in self.writable, f"{store.buffer.name!r} is written but not an output")
        self.expr(store.value)
        lanes = self.access(store.buffer, store.indices, store.predicate)
        value = store.value
        self.require(
            value.dtype == store.buffer.dtype,
            f"a {value.dtype} value is stored to {store.buffer.name!r} of {store.buffer.dtype}",
        )
        self.require(
            value.lanes == lanes,
            f"{value.lanes} lanes are stored to {lanes} elements of {store.buffer.name!r}",
        )

    def access(self, buffer: ir.Buffer, indices: tuple[e.Expr, ...], predicate: e.Expr | None) -> int:
        """Check the indices and predicate of an access, and return its lanes."""
        lanes = 1
        for index in indices:
            self.expr(index)
            self.require(dtypes.is_int(index.dtype), f"{buffer.name!r} is indexed with a {index.dtype} value")
            if self.legal:
                self.require(
                    index.dtype == e.INDEX, f"legal form: {buffer.name!r} has an {index.dtype} index"
                )
            lanes = max(lanes, index.lanes)
        for index in indices:
            self.require(index.lanes in (1, lanes), f"indices of {buffer.name!r} differ in lanes")
        count, rank = len(indices), len(buffer.shape)
        if self.legal:
            self.require(count == 1, f"legal form: {buffer.name!r} has {count} indices, expected 1")
        else:
            self.require(
                count in (rank, 1), f"{buffer.name!r} of {rank} axes is indexed with {count} indices"
            )
        if predicate is not None:
            self.expr(predicate)
            fits = predicate.dtype == "bool" and predicate.lanes == lanes
            self.require(fits, f"the predicate of {buffer.name!r} is not {lanes} bools")
        return lanes

    def known(self, buffer: ir.Buffer) -> None:
        self.require(
            buffer in self.buffers or buffer.scope == "constant", f"buffer {buffer.name!r} is not in scope"
        )

    def shape(self, buffer: ir.Buffer) -> None:
        for extent in (*buffer.shape, *buffer.strides):
            self.index(extent, f"an extent of {buffer.name!r}")
        fits = len(buffer.strides) in (0, len(buffer.shape))
        self.require(fits, f"buffer {buffer.name!r} has {len(buffer.strides)} strides")

    # -- expressions

    def condition(self, condition: e.Expr) -> None:
        self.expr(condition)
        plain = condition.dtype == "bool" and condition.lanes == 1
        self.require(plain, f"condition {show_expr(condition)} is not one bool")

    def index(self, expr: e.Expr, what: str) -> None:
        self.expr(expr)
        self.require(
            expr.dtype == e.INDEX and expr.lanes == 1, f"{what} is {expr.dtype} x{expr.lanes}, expected int64"
        )

    def expr(self, root: e.Expr) -> None:
        for node in postorder(root):
            assert isinstance(node, e.Expr)
            if isinstance(node, e.Var):
                self.require(node in self.variables, f"variable {node.name!r} is not bound")
            elif node not in self.checked:
                self.node(node)
            self.checked.add(node)

    def node(self, node: e.Expr) -> None:
        if isinstance(node, e.Binary):
            self.binary(node)
        elif isinstance(node, e.Select):
            self.require(node.condition.dtype == "bool", f"select on {node.condition.dtype}")
            self.alike(node, (node.a, node.b))
            self.lanes(node, (node.condition,))
        elif isinstance(node, e.Not):
            self.require(node.a.dtype == "bool", f"'not' of {node.a.dtype}")
        elif isinstance(node, ir.Load):
            self.known(node.buffer)
            self.access(node.buffer, node.indices, node.predicate)
        elif isinstance(node, e.Call):
            for arg in node.args:
                self.require(
                    arg.lanes in (1, node.lanes),
                    f"arguments of {node.name} differ in lanes: {show_expr(node)}",
                )
            if node.name == _LAZY:
                plain = node.args[0].dtype == "bool" and node.args[0].lanes == 1
                self.require(plain, f"{_LAZY} needs one bool as condition: {show_expr(node)}")
                self.require(node.args[1].dtype == node.args[2].dtype == node.dtype, f"{_LAZY} mixes dtypes")
        elif isinstance(node, e.Foreign):
            self.foreign(node)
        elif isinstance(node, e.Ramp):
            self.alike(node, (node.base, node.stride))
            self.require(node.base.lanes == node.stride.lanes == 1, "a ramp of vectors")
        elif isinstance(node, e.Broadcast):
            self.require(node.value.lanes == 1, "a broadcast of a vector")
        elif not isinstance(node, (e.Const, e.Cast)):
            self.fail(f"{type(node).__name__} does not belong in loop IR")

    def foreign(self, node: e.Foreign) -> None:
        self.require(node.kind in FOREIGN_KINDS, f"unknown kind of call {node.kind!r}: {show_expr(node)}")
        if node.kind == "bits":
            (given,) = node.args
            have, want = (dtypes.bits(x.dtype) * x.lanes for x in (given, node))
            self.require(have == want, f"{have} bits are read as {want}: {show_expr(node)}")

    def binary(self, node: e.Binary) -> None:
        self.alike(node, (node.a, node.b))
        self.lanes(node, (node.a, node.b))
        dtype = node.a.dtype
        if isinstance(node, (e.And, e.Or)):
            self.require(dtype == "bool", f"{node.symbol!r} of {dtype}: {show_expr(node)}")
        if isinstance(node, _INTS_ONLY):
            self.require(dtypes.is_int(dtype), f"{node.symbol!r} of {dtype}: {show_expr(node)}")
        if isinstance(node, e.Div):
            self.require(dtypes.is_float(dtype), f"'/' of {dtype}: {show_expr(node)}")

    def alike(self, node: e.Expr, parts: tuple[e.Expr, ...]) -> None:
        first = parts[0].dtype
        same = all(p.dtype == first for p in parts)
        self.require(same, f"dtypes {', '.join(p.dtype for p in parts)} differ: {show_expr(node)}")

    def lanes(self, node: e.Expr, parts: tuple[e.Expr, ...]) -> None:
        same = all(p.lanes == node.lanes for p in parts)
        self.require(same, f"lanes {', '.join(str(p.lanes) for p in parts)} differ: {show_expr(node)}")
