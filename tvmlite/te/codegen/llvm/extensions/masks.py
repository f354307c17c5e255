"""Generation of masked loads and stores: with a predicate, or inside a vector branch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import memory
from tvmlite.te.codegen.llvm.expr import Expressions
from tvmlite.te.codegen.llvm.text import literal, register_type, vector
from tvmlite.te.loop.ir import Load, Store


def load(values: Expressions, node: Load) -> str:
    """The elements that ``node`` reads in lanes where its predicate and the branch around it hold, else 0."""
    w, (index,) = values.w, node.indices
    mask = _mask(values, node.predicate, index.lanes)
    if mask is None:
        return values.load(node)
    if index.lanes > 1:
        place = memory.place(values, node.buffer, index)._replace(mask=mask)
        if node.buffer.scope != "local":  # the stack is mapped and in cache
            holds = (values.mask and values.mask.uniform) or _any(values, mask, index.lanes)
            place = place._replace(holds=holds, elsewhere=values.pointer_of(node.buffer))
        return memory.load(w, place)
    before, type_ = w.block, register_type(node.dtype)
    with _guarded(values, mask):
        value = memory.load(w, memory.place(values, node.buffer, index))
        inside = w.block
    return w.emit(f"phi {type_} [ {value}, %{inside} ], [ {literal(0, node.dtype)}, %{before} ]")


def store(values: Expressions, stmt: Store, value: str) -> str | None:
    """Store ``value`` where the predicate holds; returns the stored value if all lanes were stored."""
    (index,) = stmt.indices
    if index.lanes == 1 and stmt.predicate is not None:
        with _guarded(values, values.value(stmt.predicate)):
            memory.store(values.w, memory.place(values, stmt.buffer, index), value)
        return None
    value = values.widened(value, stmt.value, index.lanes)
    mask = _mask(values, stmt.predicate, index.lanes)
    memory.store(values.w, memory.place(values, stmt.buffer, index)._replace(mask=mask), value)
    return value if mask is None else None


def _mask(values: Expressions, predicate: e.Expr | None, lanes: int) -> str | None:
    """The mask of an access: the predicate and the mask of the current vector branch; None for all lanes."""
    mask = None
    if predicate is not None and not e.is_const(predicate, 1):
        mask = values.widened(values.value(predicate), predicate, lanes)
    if values.mask is None:
        return mask
    branch, count, _ = values.mask
    if lanes == 1 and count > 1:  # one element for all lanes: read if any lane is active
        branch = _any(values, branch, count)
    return branch if mask is None else values.w.emit(f"and {vector('i1', lanes)} {mask}, {branch}")


def _any(values: Expressions, mask: str, lanes: int) -> str:
    """The i1 that is true if the mask is true in any lane."""
    return values.w.call(f"llvm.vector.reduce.or.v{lanes}i1", "i1", [(vector("i1", lanes), mask)])


@contextmanager
def _guarded(values: Expressions, condition: str) -> Iterator[None]:
    """A context whose instructions run only if the i1 ``condition`` holds."""
    inside, after = values.w.new_block(), values.w.new_block()
    values.w.branch(condition, inside, after)
    values.w.enter(inside)
    with values.region():
        yield
    values.w.jump(after)
    values.w.enter(after)
