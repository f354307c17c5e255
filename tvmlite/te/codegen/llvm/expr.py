"""Generation of LLVM IR for expressions; a shared node is computed once while its value stays valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import memory
from tvmlite.te.codegen.llvm.address import Addresses
from tvmlite.te.codegen.llvm.contents import Contents, Span
from tvmlite.te.codegen.llvm.emitters import NOTHING, Reads, emits, emitter_of
from tvmlite.te.codegen.llvm.text import Writer, register_type
from tvmlite.te.extensions import extension
from tvmlite.te.loop.ir import Buffer, Load, Store


class Mask(NamedTuple):
    """The active lanes of a vector branch: the mask ``value`` of ``lanes`` lanes. If the i1 ``uniform`` is
    given and false, no lane is active."""

    value: str
    lanes: int
    uniform: str | None


class Expressions:
    """The values of expressions: ``known`` maps nodes to values from this block or one that dominates it."""

    def __init__(self, writer: Writer, pointer_of: Callable[[Buffer], str]) -> None:
        self.w = writer
        self.pointer_of = pointer_of
        self.known: dict[e.Expr, str] = {}
        self.mask: Mask | None = None
        self.addresses = Addresses(writer, self.value)
        self.contents = Contents()
        self._order: list[e.Expr] = []
        self._reads: dict[e.Expr, Reads] = {}
        self._readers: dict[Buffer, list[e.Expr]] = {}
        """The nodes entered in ``_reads`` with a buffer, by buffer; some may have been removed from it."""
        self._unknown: list[e.Expr] = []
        """The nodes entered in ``_reads`` with None."""
        self._steps = True

    def bind(self, var: e.Var, value: str, at_start: bool = False) -> None:
        """Bind ``var`` to ``value`` in the current region."""
        self._order.append(var)
        self.known[var] = value
        self.addresses.bind(var, value, at_start)

    @contextmanager
    def loop(self, var: e.Var, counter: str) -> Iterator[None]:
        """The context of a loop's body, entered at its start; ``counter`` is the value of ``var``."""
        with self.region(), self.addresses.loop():
            self.bind(var, counter, at_start=True)
            yield

    @contextmanager
    def region(self) -> Iterator[None]:
        """A context whose values are dropped at its end, as its blocks do not dominate what follows."""
        mark = len(self._order)
        yield
        self.contents.forget()
        for node in self._order[mark:]:
            self.known.pop(node, None)
            if isinstance(node, e.Var):
                self.addresses.forget(node)
            self._reads.pop(node, None)
        del self._order[mark:]

    def forget_loads(self, written: Buffer | None = None) -> None:
        """Drop values read from memory, or just from the buffer ``written``, as it may have changed.

        Buffers do not overlap, so that values read from others stay valid after a store.
        """
        if self._unknown:
            if any(self._reads.get(node, NOTHING) is None for node in self._unknown):
                written = None  # a call may write to any memory
            self._unknown.clear()
        if written is None:
            self.contents.forget()
            self._readers.clear()
            changed = list(self._reads)
        else:
            readers = dict.fromkeys(self._readers.pop(written, ()))
            changed = [node for node in readers if written in (self._reads.get(node) or ())]
        for node in changed:
            del self.known[node]
            del self._reads[node]

    def value(self, root: e.Expr) -> str:
        """The LLVM operand with the value of ``root``."""
        known = self.known
        stack = [root]
        while stack:
            node = stack[-1]
            if node in known:
                stack.pop()
                continue
            emitter = emitter_of(node)
            operands = emitter.operands(self, node)
            todo = [operand for operand in operands if operand not in known]
            if todo:
                stack += todo[::-1]
                continue
            stack.pop()
            known[node] = emitter.emit(self, node)
            self._remember(node, emitter.reads(node), operands)
        return known[root]

    def _remember(self, node: e.Expr, read: Reads, operands: Sequence[e.Expr]) -> None:
        self._order.append(node)
        for operand in operands:
            other = self._reads.get(operand, NOTHING)
            if read is None or other is None:
                read = None
            elif other:
                read = read | other
        if read is None:
            self._unknown.append(node)
        elif not read:
            return
        self._reads[node] = read
        for buffer in read or ():
            self._readers.setdefault(buffer, []).append(node)

    def store(self, stmt: Store) -> None:
        """Generate a store.

        Addresses of scalar stores are not split into steps: LLVM may vectorize such loops, and needs to see
        how their addresses advance.
        """
        self._steps = stmt.value.lanes > 1
        value = self.value(stmt.value)
        (index,) = stmt.indices
        if stmt.predicate is not None:
            value = extension("llvm.masks").store(self, stmt, value)
        else:
            value = self.widened(value, stmt.value, index.lanes)
            memory.store(self.w, memory.place(self, stmt.buffer, index), value)
        self.contents.stored(stmt.buffer, self._span(index), value)

    def load(self, node: Load) -> str:
        """The elements that ``node`` reads in all lanes, from known contents or by a load."""
        (index,) = node.indices
        held = self.contents.get(node.buffer, self._span(index))
        return held or memory.load(self.w, memory.place(self, node.buffer, index))

    def base_and_offset(self, pointer: str, element: str, index: e.Expr) -> tuple[str, int] | None:
        """A pointer, and the constant number of elements from it to ``pointer[index]``; None if ``index`` is
        not a sum of scalar terms, or for a scalar store."""
        if not self._steps or self.addresses.terms(index) is None:
            return None
        return self.addresses.step(pointer, element, index)

    def _span(self, index: e.Expr) -> Span | None:
        """The elements of an access if they are contiguous and the index is a known sum, else None."""
        lanes = index.lanes
        if lanes > 1:
            if not (isinstance(index, e.Ramp) and e.is_const(index.stride, 1)):
                return None
            index = index.base
        parts = self.addresses.terms(index)
        return None if parts is None else Span(*parts, lanes)

    def index_operands(self, node: Load) -> list[e.Expr]:
        """The predicate and the index of a load, except the parts that ``memory.place`` handles."""
        found = [] if node.predicate is None else [node.predicate]
        (index,) = node.indices
        match index:
            case e.Ramp(first, e.Const()) | e.Broadcast(first):
                index = first
        if not isinstance(index, e.Const) and not (self._steps and self.addresses.terms(index) is not None):
            found.insert(0, index)
        return found

    def widened(self, value: str, expr: e.Expr, lanes: int) -> str:
        """``value``, the value of ``expr``, broadcast to ``lanes`` lanes."""
        if expr.lanes == lanes:
            return value
        return self.w.splat(register_type(expr.dtype), value, lanes)


@emits(Load, operands=Expressions.index_operands, reads=lambda node: frozenset((node.buffer,)))
def _load(values: Expressions, node: Load) -> str:
    if node.predicate is None and values.mask is None:
        return values.load(node)
    return extension("llvm.masks").load(values, node)
