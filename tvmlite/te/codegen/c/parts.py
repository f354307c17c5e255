"""Splitting of stores of vectors that are wider than a register into stores that fit registers.

GCC generates slow code for vectors wider than a register: it copies them in memory, element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder, rewrite
from tvmlite.te import expr as e
from tvmlite.te.codegen.c.names import reads_elsewhere
from tvmlite.te.codegen.c.vector_forms import can_write, vectors
from tvmlite.te.loop import ir

_REGISTER = 64
"""The bytes of the widest vector registers of any target."""


def split_wide_stores(function: ir.Function) -> ir.Function:
    """Split contiguous stores of vectors with a C form into stores of 16, 8, 4, 2 or 1 elements::

    C[ramp(0, 1, 48)] = A[ramp(0, 1, 48)]    -->    C[ramp(0, 1, 16)] = A[ramp(0, 1, 16)]
                                                    C[ramp(16, 1, 16)] = A[ramp(16, 1, 16)]
                                                    C[ramp(32, 1, 16)] = A[ramp(32, 1, 16)]
    """
    wide = any(isinstance(node, ir.Store) and len(_lengths(node)) > 1 for node in postorder(function.body))
    return replace(function, body=rewrite(function.body, _split)) if wide else function


def _split(node: object) -> object:
    if not isinstance(node, ir.Store) or len(lengths := _lengths(node)) < 2:
        return node
    if node.predicate is not None or reads_elsewhere(node.value, node.buffer, node.indices[0]):
        return node  # all lanes have to be read before any is written
    try:
        parts = [
            ir.Store(
                node.buffer, (_Slice(first, count).of(node.indices[0]),), _Slice(first, count).of(node.value)
            )
            for first, count in zip(_starts(lengths), lengths, strict=True)
        ]
    except _CannotSlice:
        return node
    return ir.Seq(tuple(parts)) if all(p.value.lanes == 1 or can_write(p.value) for p in parts) else node


def _lengths(store: ir.Store) -> Sequence[int]:
    """The numbers of elements of the parts; a single one if the store need not be split."""
    lanes = store.value.lanes
    size = max(dtypes.bytes_of(n.dtype) for n in (*vectors(store.value), store.value))
    most, found, left = _REGISTER // size, [], lanes
    while left and most:
        found += [most] * (left // most)
        left, most = left % most, most // 2
    return found


def _starts(lengths: Sequence[int]) -> list[int]:
    return [sum(lengths[:n]) for n in range(len(lengths))]


class _CannotSlice(Exception):
    """Raised for a vector whose parts cannot be computed separately."""


class _Slice:
    """Computes ``count`` elements of vectors, starting at element ``first``."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count
        self.made: dict[e.Expr, e.Expr] = {}

    def of(self, root: e.Expr) -> e.Expr:
        """The slice of ``root``."""
        for node in postorder(root):
            if isinstance(node, e.Expr):
                self.made[node] = node if node.lanes == 1 else self._one(node)
        return self.made[root]

    def _one(self, node: e.Expr) -> e.Expr:
        match node:
            case e.Const():
                return replace(node, lanes=self.count)
            case e.Broadcast(value=value):
                return e.broadcast(value, self.count)
            case e.Ramp(base, stride):
                begin = e.fold(e.Add, base, e.fold(e.Mul, stride, e.const(self.first, stride.dtype)))
                return begin if self.count == 1 else e.Ramp(begin, stride, self.count)
            case e.Var() | e.Foreign():
                raise _CannotSlice
        if any(isinstance(c, e.Expr) and c.lanes not in (1, node.lanes) for c in node.children()):
            raise _CannotSlice
        return node.map_children(lambda child: self.made.get(child, child))
