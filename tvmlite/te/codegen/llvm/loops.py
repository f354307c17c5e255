"""Analyses of loops: which LLVM optimisations they need, and which loads are hoisted before LLVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import reachable, reachable_from
from tvmlite.machine.target import Target
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer, mentions
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import loads

ENOUGH_STORES = 4
"""The number of vector stores in an iteration from which on further unrolling gains nothing."""

SPARE_REGISTERS = 4
"""The number of registers reserved for the values that an iteration loads."""


@dataclass(frozen=True)
class _Iteration:
    """A loop, and the variables whose values differ between its iterations."""

    loop: ir.For
    variables: tuple[e.Var, ...]

    def with_let(self, node: ir.Let) -> _Iteration:
        return replace(self, variables=(*self.variables, node.var)) if self.varies(node.value) else self

    def varies(self, expr: e.Expr) -> bool:
        return mentions(expr, self.variables)


def is_explicit(function: ir.Function, target: Target) -> bool:
    """Whether a function already specifies all vectorization and register allocation of accumulators.

    It does not if LLVM could vectorize a loop, has to unroll one to bring accumulators into registers, or
    could keep in a register a sum that a loop accumulates in memory.
    """
    innermost: dict[ir.For, list[tuple[ir.Store, _Iteration]]] = {}
    allocated: dict[ir.Buffer, int] = {}
    sums: set[ir.Buffer] = set()
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
                iterations = tuple(iteration.with_let(node) for iteration in iterations)
            case ir.Allocate():
                allocated[node.buffer] = len(iterations)
            case ir.Store():
                if iterations and iterations[-1].loop in innermost:
                    innermost[iterations[-1].loop].append((node, iterations[-1]))
                if _accumulates(node, iterations[allocated.get(node.buffer, 0) :]):
                    sums.add(node.buffer)
        stack.extend((one, iterations) for one in node.children() if isinstance(one, ir.Stmt))
    kept = {buffer for buffer in sums if _fits(buffer, target)}
    if kept and any(
        isinstance(one, (ir.Load, ir.Store)) and one.buffer in kept and not _is_fixed(one.indices[0])
        for one in reachable(function.body)
    ):
        return False
    return all(_is_vectorized(stores) for stores in innermost.values())


def _accumulates(store: ir.Store, iterations: Sequence[_Iteration]) -> bool:
    """Whether ``store`` accumulates into an element over one of ``iterations``, of loops inside the
    allocation of its array."""
    if all(load.buffer is not store.buffer for load in loads(store.value)):
        return False
    return not all(iteration.varies(store.indices[0]) for iteration in iterations)


def _is_vectorized(stores: Sequence[tuple[ir.Store, _Iteration]]) -> bool:
    """Whether a loop with these stores is already vectorized, and accumulates nothing in memory."""
    if stores and all(store.value.lanes == 1 for store, _ in stores):
        if not all(_is_scattered(store.indices[0], iteration, len(stores)) for store, iteration in stores):
            return False
    return not any(
        _accumulates(store, (iteration,))
        and not (store.buffer.scope == "local" and _is_fixed(store.indices[0]))
        for store, iteration in stores
    )


def _is_scattered(index: e.Expr, iteration: _Iteration, count: int) -> bool:
    """Whether the elements stored by consecutive iterations are so far apart that ``count`` stores leave gaps
    between them, so that vectors would gain nothing."""
    if not iteration.varies(index):
        return False
    step = Analyzer().linear(index, iteration.loop.var)
    return step is None or abs(step[0]) > count


def _is_fixed(index: e.Expr) -> bool:
    """Whether an index is constant."""
    match index:
        case e.Ramp(e.Const(), e.Const()) | e.Const():
            return True
        case _:
            return False


def _fits(buffer: ir.Buffer, target: Target) -> bool:
    """Whether ``buffer`` is on the stack and no larger than the vector registers."""
    if buffer.scope != "local":
        return False
    (length,), registers = buffer.shape, target.vector_registers * target.vector_bits // 8
    return isinstance(length, e.Const) and int(length.value) * dtypes.bytes_of(buffer.dtype) <= registers


def has_enough_stores(var: e.Var, body: ir.Stmt, target: Target) -> bool:
    """Whether an iteration of the loop over ``var`` has enough vector stores, as in an unrolled inner loop.

    If LLVM unrolled it further, compilation would take longer without gain; and if LLVM unrolls a loop fully,
    it keeps loaded values for the next loop, on the stack. False if the loop indexes an array that could be
    in registers, as it can be there only if the loop is unrolled.
    """
    inside = [one for one in _iteration(body)[0] if not isinstance(one, ir.Evaluate)]
    stores = [one for one in inside if isinstance(one, ir.Store) and one.value.lanes > 1]
    if len(stores) < max(ENOUGH_STORES, len(inside)):
        return False
    accesses = (one for store in stores for one in (store, *loads(store.value)))
    return not any(mentions(one.indices[0], (var,)) for one in accesses if _fits(one.buffer, target))


def invariants(loop: ir.For, target: Target) -> list[e.Expr]:
    """The loop-invariant loads in the vector stores of an innermost loop, to be hoisted out of it.

    There are at most as many as registers are left besides the loop's accumulators: a value spilled to the
    stack would have to be loaded anyway.
    """
    inside, own = _iteration(loop.body)
    stores = [one for one in inside if isinstance(one, ir.Store)]
    if not all(isinstance(one, (ir.Store, ir.Evaluate)) for one in inside):
        return []
    written = {one.buffer for one in stores} | own
    sums = {(one.buffer, str(one.indices[0])) for one in stores if one.buffer.scope == "local"}
    found: list[e.Expr] = []
    for node in _always_loaded(store.value for store in stores if store.value.lanes > 1):
        load = node.value if isinstance(node, e.Broadcast) else node
        assert isinstance(load, ir.Load)
        if load.buffer not in written and not mentions(load, (loop.var,)) and len(loads(load)) == 1:
            found.append(node)
    return found[: max(0, target.vector_registers - len(sums) - SPARE_REGISTERS)]


def _iteration(body: ir.Stmt) -> tuple[tuple[ir.Stmt, ...], set[ir.Buffer]]:
    """The statements of an iteration, and the arrays that are allocated in it, from which no load can be
    hoisted."""
    own: set[ir.Buffer] = set()
    while isinstance(body, ir.Allocate):
        own.add(body.buffer)
        body = body.body
    return body.body if isinstance(body, ir.Seq) else (body,), own


def _always_loaded(values: Iterator[e.Expr]) -> Iterator[e.Expr]:
    """The loads in ``values``, or their broadcasts, that are executed unconditionally, each once."""

    def evaluated(node: e.Expr) -> Sequence[e.Expr]:
        match node:
            case ir.Load() | e.Broadcast(ir.Load()) | e.Call("if_then_else") | e.Foreign():
                return ()
        return node.children()[::-1]  # type: ignore[return-value]

    for node in reachable_from([*values][::-1], evaluated):
        if isinstance(node, ir.Load) or (isinstance(node, e.Broadcast) and isinstance(node.value, ir.Load)):
            yield node
