"""Loop nests written by hand, statement by statement, such as the body of a ``te.extern``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.alike import alike
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr, Value
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor as t
from tvmlite.te.tensor.extern import ExternOp


class BufferVar:
    """A buffer to read and write by index: one index for each axis, or one flat index.

    Stored values are converted to the buffer's dtype.
    """

    def __init__(self, builder: IRBuilder, buffer: ir.Buffer) -> None:
        self._builder = builder
        self.buffer = buffer

    @property
    def dtype(self) -> str:
        """The dtype of the buffer's elements."""
        return self.buffer.dtype

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The extent of each axis of the buffer."""
        return self.buffer.shape

    def asobject(self) -> ir.Buffer:
        """The buffer itself."""
        return self.buffer

    def vload(self, begin: Any, dtype: str | None = None) -> ir.Load:
        """Load adjacent elements, as many as ``dtype``, such as ``"float32x16"``, has lanes."""
        return ir.Load(self.buffer, self._indices(self.buffer.vload(begin, dtype).indices))

    def vstore(self, begin: Any, value: Value) -> ir.Store:
        """A statement, to be passed to ``emit``, that stores a vector from ``begin`` on."""
        made = self.buffer.vstore(begin, value)
        return ir.Store(self.buffer, self._indices(made.indices), made.value)

    def access_ptr(self, *args: Any, **named: Any) -> Expr:
        """The address of an element; see ``Buffer.access_ptr``."""
        return self.buffer.access_ptr(*args, **named)

    def __getitem__(self, index: Any) -> Expr:
        return ir.Load(self.buffer, self._indices(index))

    def __setitem__(self, index: Any, value: Value) -> None:
        self._builder.emit(ir.Store(self.buffer, self._indices(index), e.cast(self.buffer.dtype, value)))

    def _indices(self, index: Any) -> tuple[Expr, ...]:
        given = index if isinstance(index, tuple) else (index,)
        wide = tuple(_index(i, self.buffer.name) for i in given)
        rank = len(self.buffer.shape)
        if len(wide) == rank:
            return wide
        if rank == 0 and len(wide) == 1 and e.is_const(wide[0], 0):
            return ()
        if len(wide) != 1:
            raise TensorExpressionError(
                f"buffer {self.buffer.name!r} has {rank} axes, indexed with {len(wide)}", Span.of_caller()
            )
        places: list[Expr] = []
        rest = wide[0]
        for extent in reversed(self.buffer.shape[1:]):
            places.append(rest % extent)
            rest = rest // extent
        return (rest, *reversed(places))


class Scope:
    """The statements emitted inside ``with`` become the body of one statement."""

    def __init__(self, builder: IRBuilder, value: Any, make: Callable[[ir.Stmt], ir.Stmt]) -> None:
        self._builder, self._value, self._make = builder, value, make

    def __enter__(self) -> Any:
        self._builder.begin()
        return self._value

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        body = self._builder.close()
        if error is None:
            self._builder.emit(self._make(body))


class IRBuilder:
    """Collects statements; ``get`` returns them as one. TVM's names; loop variables are int64.

    ::

        ib = te.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, name="i") as i:
            with ib.if_scope(source[i] > 0):
                target[i] = source[i]
            with ib.else_scope():
                target[i] = 0
        return ib.get()
    """

    def __init__(self) -> None:
        self._open: list[list[ir.Stmt]] = [[]]
        self._wrappers: list[list[tuple[int, Callable[[ir.Stmt], ir.Stmt]]]] = [[]]

    def emit(self, stmt: ir.Stmt | Expr) -> None:
        """Add a statement, or an expression evaluated for its effect."""
        arguments.instance("ir_builder: emit", stmt, (ir.Stmt, Expr), "a statement or an expression")
        self._open[-1].append(ir.Evaluate(stmt) if isinstance(stmt, Expr) else stmt)

    def get(self) -> ir.Stmt:
        """All statements emitted. An error while a scope is open."""
        if len(self._open) != 1:
            raise TensorExpressionError("ir_builder: get() inside an open scope", Span.of_caller())
        body = self.close()
        self.begin()
        return body

    def for_range(
        self, begin: Value, end: Value, name: str = "i", dtype: str = e.INDEX, kind: str = "serial"
    ) -> Scope:
        """A loop over ``begin ... end - 1``; ``with`` returns its variable, cast to ``dtype``."""
        arguments.text("for_range: name", name)
        kind = {"unrolled": ir.UNROLL, "vectorized": ir.VECTORIZE}.get(
            arguments.text("for_range: kind", kind), kind
        )
        if kind not in (ir.SERIAL, ir.PARALLEL, ir.UNROLL, ir.VECTORIZE):
            raise TensorExpressionError(f"for_range: unknown kind of loop {kind!r}", Span.of_caller())
        var = e.Var(name, e.INDEX)
        first, last = _index(begin, name), _index(end, name)
        value = e.cast(dtype, var)
        return Scope(self, value, lambda body: ir.For(var, first, last - first, body, kind))

    def while_loop(self, condition: Value) -> Scope:
        """A loop that runs while ``condition``, evaluated before each iteration, holds."""
        test = _bool("while_loop", condition)
        return Scope(self, None, lambda body: ir.While(test, body))

    def if_scope(self, condition: Value) -> Scope:
        """The statements inside are executed if ``condition`` holds."""
        test = _bool("if_scope", condition)
        return Scope(self, None, lambda body: ir.If(test, body))

    def else_scope(self) -> Scope:
        """The statements inside are executed if the condition of the ``if_scope`` just closed is false."""
        last = self._open[-1][-1] if self._open[-1] else None
        if not isinstance(last, ir.If) or last.otherwise is not None:
            raise TensorExpressionError("else_scope: no if_scope stands just before it", Span.of_caller())
        self._open[-1].pop()
        return Scope(self, None, lambda body: ir.If(last.condition, last.then, body))

    def allocate(
        self, dtype: str, shape: Value | Sequence[Value], name: str = "buf", scope: str = "local"
    ) -> BufferVar:
        """Allocate uninitialised scratch memory that is valid until the enclosing scope closes."""
        arguments.text("allocate: name", name)
        extents = shape if isinstance(shape, (tuple, list)) else (shape,)
        whole = tuple(_index(n, name) for n in extents)  # type: ignore[arg-type]
        buffer = ir.Buffer(name, dtypes.check(dtype), whole)
        self._wrap_rest(lambda rest: ir.Allocate(buffer, rest))
        return BufferVar(self, buffer)

    def let(self, name: str, value: Value) -> e.Var:
        """Evaluate ``value`` here once and bind it to a variable, valid until the enclosing scope closes."""
        expr = e.scalar("let: value", value)
        var = e.Var(arguments.text("let: name", name), expr.dtype)
        self._wrap_rest(lambda rest: ir.Let(var, expr, rest))
        return var

    def buffer_ptr(self, buffer: ir.Buffer) -> BufferVar:
        """An indexable view of one of the buffers passed to ``te.extern``'s function."""
        return BufferVar(self, arguments.instance("buffer_ptr: buffer", buffer, ir.Buffer, "a buffer"))

    def likely(self, condition: Value) -> Expr:
        """``condition``, with the hint that it usually holds."""
        return e.Call("likely", (_bool("likely", condition),), "bool")

    def begin(self) -> None:
        """Open a scope, which contains what is emitted from here on."""
        self._open.append([])
        self._wrappers.append([])

    def _wrap_rest(self, make: Callable[[ir.Stmt], ir.Stmt]) -> None:
        """Apply ``make`` to the statements emitted from here on, until the innermost scope closes."""
        self._wrappers[-1].append((len(self._open[-1]), make))

    def close(self) -> ir.Stmt:
        """Close the innermost scope and return its statements, wrapped in its allocations and lets."""
        statements, around = self._open.pop(), self._wrappers.pop()
        for position, make in reversed(around):
            statements[position:] = [make(ir.sequence(*statements[position:]))]
        return ir.sequence(*statements)


def create() -> IRBuilder:
    """An empty builder."""
    return IRBuilder()


def extern(
    shape: Any,
    inputs: Sequence[t.Tensor],
    fcompute: Callable[[list[ir.Buffer], list[ir.Buffer]], ir.Stmt],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Sequence[ir.Buffer] | ir.Buffer | None = None,
    out_buffers: Sequence[ir.Buffer] | ir.Buffer | None = None,
    tag: str = "",
    attrs: dict[str, Any] | None = None,
) -> Any:
    """Create tensors written by the loop nest that ``fcompute(ins, outs)`` returns, given the buffers of
    ``inputs`` and of the outputs. ``shape`` is one shape, or a list of shapes, for which a list is returned.

    ``dtype`` is one dtype, or one for each output; by default the dtype that all inputs have. The nest must
    write all elements of every output, and no input. ``in_buffers`` and ``out_buffers`` are the caller's
    buffers (``te.decl_buffer``) to use instead of new ones; they must be dense and of the same shapes.
    """
    span = Span.of_caller()
    several = isinstance(shape, list) and all(isinstance(one, (tuple, list)) for one in shape) and bool(shape)
    shapes = shape if several else [shape]
    arguments.text("extern: name", name)
    inputs = arguments.listed("extern: inputs", inputs, "tensors")
    arguments.all_instances("extern: inputs", inputs, t.Tensor, "a tensor")
    arguments.function("extern: fcompute", fcompute)
    attrs = arguments.mapping("extern: attrs", attrs)
    kinds = _output_dtypes(dtype, inputs, len(shapes), name, span)
    ins = [_buffer(x.name, x.dtype, x.shape) for x in inputs]
    labels = [name if len(shapes) == 1 else f"{name}_{k}" for k in range(len(shapes))]
    outs = [_buffer(*one) for one in zip(labels, kinds, (t.shape_of(s) for s in shapes), strict=True)]
    ins = _declared("in_buffers", in_buffers, ins, name)
    outs = _declared("out_buffers", out_buffers, outs, name)
    body = fcompute(ins, outs)
    if isinstance(body, IRBuilder):
        body = body.get()
    if isinstance(body, Expr):
        body = ir.Evaluate(body)
    if not isinstance(body, ir.Stmt):
        raise TensorExpressionError(
            f"extern {name!r}: the function gave {body!r}, expected a statement", span
        )
    pairs = tuple(attrs.items())
    op = ExternOp(name, tuple(inputs), tuple(ins), tuple(outs), body, tag, pairs, span)
    return list(op.outputs) if several else op.output(0)


def _declared(what: str, given: Any, needed: list[ir.Buffer], name: str) -> list[ir.Buffer]:
    """The caller's buffers ``given``, checked against those ``needed``; the latter if none are given."""
    if given is None:
        return needed
    chosen = given if isinstance(given, (list, tuple)) else [given]
    arguments.all_instances(f"extern {name!r}: {what}", chosen, ir.Buffer, "a buffer")
    fit = len(chosen) == len(needed) and all(
        a.dtype == b.dtype and len(a.shape) == len(b.shape) and all(map(alike, a.shape, b.shape))
        for a, b in zip(chosen, needed, strict=True)
    )
    if not fit or any(buffer.strides for buffer in chosen):
        wanted = ", ".join(f"{b.dtype} ({', '.join(map(str, b.shape))})" for b in needed)
        raise TensorExpressionError(
            f"extern {name!r}: {what} must be dense buffers of {wanted}", Span.of_caller()
        )
    return list(chosen)


def _output_dtypes(dtype: Any, inputs: Sequence[t.Tensor], count: int, name: str, span: Span) -> list[str]:
    if dtype is None:
        found = list(dict.fromkeys(x.dtype for x in inputs))
        if len(found) != 1:
            raise TensorExpressionError(
                f"extern {name!r}: its inputs have dtypes {', '.join(found) or '(none)'}; give dtype=", span
            )
        dtype = found[0]
    kinds = (
        [dtypes.check(d) for d in dtype]
        if isinstance(dtype, (list, tuple))
        else [dtypes.check(dtype)] * count
    )
    if len(kinds) != count:
        raise TensorExpressionError(f"extern {name!r}: {count} shapes, but {len(kinds)} dtypes", span)
    return kinds


def _buffer(name: str, dtype: str, shape: t.Shape) -> ir.Buffer:
    return ir.Buffer(name, dtype, tuple(_index(n, name) for n in shape), "param")


def _index(value: Any, name: str) -> Expr:
    expr = e.scalar(f"{name}: an index or extent", value)
    if not dtypes.is_int(expr.dtype):
        raise TensorExpressionError(
            f"{name}: an index or extent is {expr.dtype}, expected an int", Span.of_caller()
        )
    return e.cast(e.INDEX, expr)


def _bool(name: str, condition: Value) -> Expr:
    test = e.scalar(f"{name}: the condition", condition)
    if test.dtype != "bool":
        raise TensorExpressionError(f"{name}: the condition is {test.dtype}, expected bool", Span.of_caller())
    return test
