"""Hand-written loop nests, for operators that have no formula per element, such as sorts and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlite.relay.ir.types import Shape
from tvmlite.te import expr as e
from tvmlite.te.intrin import ir_builder
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

INT = "int64"


def index(value: Any) -> e.Expr:
    """Convert an extent or an index to an int64 expression."""
    return e.cast(INT, value) if isinstance(value, e.Expr) else e.const(value, INT)


def buffer(name: str, shape: Sequence[Any], dtype: str, scope: str = "local") -> loop.Buffer:
    """A buffer for an array of ``shape``."""
    return loop.Buffer(name, dtype, tuple(index(n) for n in shape), scope)


def extern(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[Shape, str]],
    body: Callable[..., loop.Stmt],
) -> list[Tensor]:
    """Tensors of the shapes and dtypes ``outputs``, written by ``body(*input buffers, *output buffers)``."""
    shapes, kinds = [shape for shape, _ in outputs], [dtype for _, dtype in outputs]
    return ir_builder.extern(shapes, inputs, lambda ins, outs: body(*ins, *outs), name, kinds, tag="extern")


def over(
    extent: Any, body: Callable[[e.Expr], loop.Stmt], name: str = "i", start: Any = 0, kind: str = loop.SERIAL
) -> loop.Stmt:
    """Loop ``body`` over ``start, start + 1, ..., start + extent - 1``."""
    var = e.Var(name, INT)
    return loop.For(var, index(start), index(extent), body(var), kind)


def nest(
    shape: Sequence[Any], body: Callable[..., loop.Stmt], parallel: bool = False, name: str = "i"
) -> loop.Stmt:
    """Loop ``body`` over every index into ``shape``; ``parallel`` applies to the outermost axis."""

    def inner(axis: int, indices: tuple[e.Expr, ...]) -> loop.Stmt:
        if axis == len(shape):
            return body(*indices)
        kind = loop.PARALLEL if parallel and axis == 0 else loop.SERIAL
        return over(shape[axis], lambda i: inner(axis + 1, (*indices, i)), f"{name}{axis}", kind=kind)

    return inner(0, ())


def rows(
    shape: Sequence[Any], axis: int, row: Callable[[Callable[[Any], tuple[Any, ...]]], loop.Stmt]
) -> loop.Stmt:
    """Loop ``row(at)`` over the rows along ``axis`` of an array of ``shape``; ``at(k)`` indexes element k."""
    others = [n for k, n in enumerate(shape) if k != axis]
    return nest(others, lambda *i: row(lambda k: (*i[:axis], k, *i[axis:])), parallel=True)


def load(source: loop.Buffer, *indices: Any) -> e.Expr:
    """The element of ``source`` at ``indices``."""
    return loop.Load(source, tuple(index(i) for i in indices))


def store(target: loop.Buffer, indices: Sequence[Any], value: e.Expr) -> loop.Stmt:
    """``target[indices] = value``."""
    return loop.Store(target, tuple(index(i) for i in indices), e.cast(target.dtype, value))


def copied(source: loop.Buffer, target: loop.Buffer) -> loop.Stmt:
    """Copy every element of ``source`` to ``target``, which has the same shape."""
    return nest(source.shape, lambda *i: store(target, i, load(source, *i)), parallel=True, name="c")


class Cell:
    """A variable that loops may change: a buffer with one element."""

    def __init__(self, name: str, dtype: str = INT) -> None:
        self.buffer = buffer(name, (1,), dtype)

    @property
    def value(self) -> e.Expr:
        """A load of the cell, which reads its value at the time of evaluation."""
        return load(self.buffer, 0)

    def set(self, value: Any) -> loop.Stmt:
        """Store ``value`` in the cell."""
        return store(self.buffer, (0,), e.convert(value, self.buffer.dtype))


def allocated(body: loop.Stmt, *memory: Cell | loop.Buffer) -> loop.Stmt:
    """Allocate ``memory`` around ``body``."""
    for one in reversed(memory):
        body = loop.Allocate(one.buffer if isinstance(one, Cell) else one, body)
    return body


def let(name: str, value: e.Expr, body: Callable[[e.Expr], loop.Stmt]) -> loop.Stmt:
    """Bind a variable to ``value`` in ``body``."""
    var = e.Var(name, value.dtype)
    return loop.Let(var, value, body(var))
