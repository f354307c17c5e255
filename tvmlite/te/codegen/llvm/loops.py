"""What LLVM has left to do about loops, and what is done for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tvmlite.core import dtype as dtypes
from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer, mentions
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import loads

ENOUGH = 4
"""Vectors stored in an iteration of a loop that need no more of them beside it."""

SPARE = 4
"""Registers for what an iteration of a loop reads."""


@dataclass(frozen=True)
class _Iteration:
    """A loop, and the variables whose values change from one of its iterations to the next."""

    loop: ir.For
    variables: tuple[e.Var, ...]

    def then(self, node: ir.Let) -> _Iteration:
        return replace(self, variables=(*self.variables, node.var)) if self.changes(node.value) else self

    def changes(self, expr: e.Expr) -> bool:
        return mentions(expr, self.variables)


def is_explicit(function: ir.Function, target: Target) -> bool:
    """Whether a function says itself what is done in vectors and kept in registers.

    Not so if LLVM could make vectors of a loop, must unroll one to bring sums into registers, or could
    keep what a loop adds up in memory in a register meanwhile.
    """
    innermost: dict[ir.For, list[tuple[ir.Store, _Iteration]]] = {}
    allocated: dict[ir.Buffer, int] = {}
    sums: set[ir.Buffer] = set()
    accesses: list[ir.Load | ir.Store] = []
    looked_at: set[e.Expr] = set()
    stack: list[tuple[ir.Stmt, tuple[_Iteration, ...]]] = [(function.body, ())]
    while stack:
        node, iterations = stack.pop()
        match node:
            case ir.While():
                return False
            case ir.For():
                if iterations:
                    innermost.pop(iterations[-1].loop, None)
                innermost[node] = []
                iterations = (*iterations, _Iteration(node, (node.var,)))
            case ir.Let():
                iterations = tuple(iteration.then(node) for iteration in iterations)
            case ir.Allocate():
                allocated[node.buffer] = len(iterations)
            case ir.Store():
                accesses.append(node)
                if iterations and iterations[-1].loop in innermost:
                    innermost[iterations[-1].loop].append((node, iterations[-1]))
                if _adds_up(node, iterations[allocated.get(node.buffer, 0) :]):
                    sums.add(node.buffer)
        accesses += _new_loads(node, looked_at)
        stack.extend((one, iterations) for one in node.children() if isinstance(one, ir.Stmt))
    registers = target.vector_registers * target.vector_bits // 8
    if any(one.buffer in sums and not _is_known(one, registers) for one in accesses):
        return False
    return all(_says_itself(stores) for stores in innermost.values())


def _adds_up(store: ir.Store, iterations: Sequence[_Iteration]) -> bool:
    """Whether one of ``iterations``, of loops that its array outlives, adds to what ``store`` wrote."""
    if all(load.buffer is not store.buffer for load in loads(store.value)):
        return False
    return not all(iteration.changes(store.indices[0]) for iteration in iterations)


def _new_loads(stmt: ir.Stmt, looked_at: set[e.Expr]) -> list[ir.Load]:
    """The loads in ``stmt`` itself, but for those in what is ``looked_at`` already."""
    found: list[ir.Load] = []
    stack = [one for one in stmt.children() if isinstance(one, e.Expr)]
    while stack:
        node = stack.pop()
        if node in looked_at:
            continue
        looked_at.add(node)
        if isinstance(node, ir.Load):
            found.append(node)
        stack += node.children()  # type: ignore[arg-type]
    return found


def _is_known(access: ir.Load | ir.Store, size: int) -> bool:
    """Whether an access is at a place known now, or to an array that is not small."""
    return access.buffer.scope != "local" or _is_fixed(access.indices[0]) or not _fits(access.buffer, size)


def _says_itself(stores: Sequence[tuple[ir.Store, _Iteration]]) -> bool:
    """Whether a loop with these stores is in vectors already, and adds nothing up in memory."""
    scalar = stores and all(store.value.lanes == 1 for store, _ in stores)
    if scalar and not all(
        _is_scattered(store.indices[0], iteration, len(stores)) for store, iteration in stores
    ):
        return False
    return not any(
        _adds_up(store, (iteration,)) and not (store.buffer.scope == "local" and _is_fixed(store.indices[0]))
        for store, iteration in stores
    )


def _is_scattered(index: e.Expr, iteration: _Iteration, count: int) -> bool:
    """Whether the places of a loop's iterations are so far apart that ``count`` stores leave gaps between
    them: vectors would gain nothing."""
    if not iteration.changes(index):
        return False
    step = Analyzer().linear(index, iteration.loop.var)
    return step is None or abs(step[0]) > count


def _is_fixed(index: e.Expr) -> bool:
    """Whether an index is known now."""
    match index:
        case e.Ramp(e.Const(), e.Const()) | e.Const():
            return True
        case _:
            return False


def is_written_out(var: e.Var, body: ir.Stmt, target: Target) -> bool:
    """Whether the loop of ``var`` does enough in an iteration: a schedule's innermost loop, unrolled.

    Unrolled further by LLVM, it takes longer to compile for no gain; and where LLVM unrolls a loop whole, it
    keeps what that has loaded for the next, on the stack. Not so if the loop goes through an array that
    could be in registers: only unrolled can it be there.
    """
    inside = _iteration(body)
    stores = [s for s in inside if isinstance(s, ir.Store) and s.value.lanes > 1]
    others = [s for s in inside if s not in stores and not isinstance(s, ir.Evaluate)]
    if len(stores) < ENOUGH or others:
        return False
    registers = target.vector_registers * target.vector_bits // 8
    accesses: list[ir.Store | ir.Load] = [*stores]
    for store in stores:
        accesses += loads(store.value)
    return not any(
        mentions(access.indices[0], (var,)) for access in accesses if _fits(access.buffer, registers)
    )


def invariants(loop: ir.For, target: Target) -> list[e.Expr]:
    """What the vector statements of an innermost loop read that is the same in all iterations, to be read
    before.

    No more than there are registers left by the sums that the loop keeps: a value on the stack would have to
    be read all the same.
    """
    inside = _iteration(loop.body)
    stores = [one for one in inside if isinstance(one, ir.Store)]
    if not all(isinstance(one, (ir.Store, ir.Evaluate)) for one in inside):
        return []
    written = {one.buffer for one in stores} | _own(loop.body)
    sums = {(one.buffer, str(one.indices[0])) for one in stores if one.buffer.scope == "local"}
    room = target.vector_registers - len(sums) - SPARE
    found: dict[e.Expr, None] = {}
    looked_at: set[e.Expr] = set()
    for store in stores:
        if store.value.lanes > 1:
            _fixed(store.value, loop.var, written, found, looked_at)
    return list(found)[: max(0, room)]


def _own(body: ir.Stmt) -> set[ir.Buffer]:
    """The arrays that an iteration has for itself: there is nothing to read before it begins."""
    found: set[ir.Buffer] = set()
    while isinstance(body, ir.Allocate):
        found.add(body.buffer)
        body = body.body
    return found


def _iteration(body: ir.Stmt) -> tuple[ir.Stmt, ...]:
    """The statements of an iteration of a loop, on whatever arrays it has for itself."""
    while isinstance(body, ir.Allocate):
        body = body.body
    return body.body if isinstance(body, ir.Seq) else (body,)


def _fixed(
    value: e.Expr,
    var: e.Var,
    written: set[ir.Buffer],
    found: dict[e.Expr, None],
    looked_at: set[e.Expr],
) -> None:
    """Add the loads in ``value`` that are always carried out and do not change with ``var``; what was
    ``looked_at``, as part of another value, is not again."""
    stack = [value]
    while stack:
        node = stack.pop()
        if node in looked_at:
            continue
        looked_at.add(node)
        match node:
            case ir.Load() | e.Broadcast(ir.Load()):
                inner = node if isinstance(node, ir.Load) else node.value
                assert isinstance(inner, ir.Load)
                if inner.buffer not in written and not mentions(inner, (var,)) and len(loads(inner)) == 1:
                    found[node] = None
            case e.Call("if_then_else") | e.Foreign():
                pass
            case _:
                stack.extend(c for c in reversed(list(node.children())) if isinstance(c, e.Expr))


def _fits(buffer: ir.Buffer, size: int) -> bool:
    """Whether a buffer is on the stack and of at most ``size`` bytes."""
    if buffer.scope != "local":
        return False
    (length,) = buffer.shape
    return isinstance(length, e.Const) and int(length.value) * dtypes.bytes_of(buffer.dtype) <= size
