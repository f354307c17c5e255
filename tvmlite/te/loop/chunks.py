"""The load balance of the parallel loops of a kernel, from the work in each iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core.node import Node, postorder, reachable_from
from tvmlite.runtime.pool.claiming import busiest
from tvmlite.te import expr as e
from tvmlite.te.loop import ir, scalars

MIN_WORK_PER_THREAD = 150_000
"""The units of work (a load, an addition) that justify one more thread: some 10 microseconds."""

MAX_SERIAL_WORK = 1_000_000
"""The most work that a schedule may leave to one thread: its estimate does not count the copies it makes."""

UNEVEN = "uneven"
"""The pragma of a parallel loop that cannot be divided more evenly; its value is the reason."""

Values: TypeAlias = dict[Any, Any]


@dataclass(frozen=True)
class ChunkPlan:
    """How one loop nest of a kernel is divided among ``threads`` threads.

    ``iterations`` is the extent of its parallel loop: 1 if it has none, None if the extent is unknown.
    ``work`` is the total of loads, stores and operations; ``busiest`` is the share of the thread with the
    most work, divided by the mean share (1.0: perfect balance). ``reason`` says why the load is not balanced,
    if the schedule gives a reason or the work is too small.
    """

    iterations: int | None
    work: float
    threads: int
    busiest: float
    reason: str = ""


def chunk_plans(
    function: ir.Function, threads: int, sizes: Mapping[str, int] | None = None
) -> list[ChunkPlan]:
    """The plans of the loop nests of ``function``, in structured form, in order; ``sizes`` maps the names of
    its dimensions to their extents."""
    work = _Work({ir.THREADS: threads} | {var: (sizes or {}).get(var.name) for var in function.sizes})
    found: list[ChunkPlan] = []
    for nest in _nests(function.body):
        if isinstance(nest, ir.For) and nest.kind == ir.PARALLEL:
            found.append(_parallel_plan(nest, work, threads))
        elif (serial := work.of(nest, {})) is not None and serial > 0:
            found.append(ChunkPlan(1, float(serial), threads, float(threads), _serial_reason(serial)))
    return found


def _serial_reason(work: float) -> str:
    """The reason that one thread does all of ``work``, or "" if the work is too much for one."""
    return f"{work:.0f} units of work run on one thread" if work <= MAX_SERIAL_WORK else ""


def _too_small_reason(work: float, threads: int) -> str:
    """The reason that ``work`` is too little for ``threads`` threads, or "" if it is enough."""
    if work >= threads * MIN_WORK_PER_THREAD:
        return ""
    return f"{work:.0f} units of work justify {max(1, int(work) // MIN_WORK_PER_THREAD)} of {threads} threads"


def _nests(statement: ir.Stmt) -> list[ir.Stmt]:
    """The loop nests of ``statement``: its outermost parallel loops, and statements without one."""
    match statement:
        case ir.Seq(body):
            return [nest for one in body for nest in _nests(one)]
        case ir.For(kind=ir.PARALLEL):
            return [statement]
        case ir.For() if _has_parallel(statement):
            return _nests(statement.body)
        case ir.If(then=then, otherwise=otherwise) if _has_parallel(statement):
            return [*_nests(then), *([] if otherwise is None else _nests(otherwise))]
        case ir.Allocate() | ir.View() | ir.Let():
            return _nests(statement.body)
    return [statement]


def _has_parallel(statement: ir.Stmt) -> bool:
    return any(isinstance(node, ir.For) and node.kind == ir.PARALLEL for node in postorder(statement))


def _parallel_plan(loop: ir.For, work: _Work, threads: int) -> ChunkPlan:
    iterations, begin = work.value(loop.extent, {}), work.value(loop.min, {})
    reason = str(dict(loop.annotations).get(UNEVEN, ""))
    if iterations is None or begin is None:
        return ChunkPlan(None, 0.0, threads, 1.0, reason)
    places = begin + np.arange(iterations)
    each = np.broadcast_to(work.of(loop.body, {loop.var: places}), iterations)
    total = float(each.sum())
    ratio = busiest(each.tolist(), threads) * threads / total if total else 1.0
    return ChunkPlan(iterations, total, threads, ratio, reason or _too_small_reason(total, threads))


class _Work:
    """Computes the units of work in statements: loads, stores, and operations outside of indices.

    Branches on data-dependent conditions are assumed to be taken, and loops of unknown extent to have one
    iteration.
    """

    def __init__(self, sizes: Mapping[e.Var, int | None]) -> None:
        self.sizes: Values = {var: size for var, size in sizes.items() if size is not None}
        self._free: dict[Node, frozenset[Any]] = {}
        self._cost: dict[Node, int] = {}
        self._known: dict[tuple[Any, ...], tuple[Any, list[Any]]] = {}

    def of(self, statement: ir.Stmt, values: Values) -> Any:
        """The work of ``statement`` for these ``values`` of loop variables. They are numbers, but for the
        parallel loop's variable an array with one element per iteration; then the result is one, too."""
        known = [values.get(var) for var in self._control_variables(statement)]
        key = (statement, *(id(value) if isinstance(value, np.ndarray) else value for value in known))
        if key not in self._known:
            self._known[key] = self._of(statement, values), known  # keeps the arrays alive: ids stay unique
        return self._known[key][0]

    def _of(self, statement: ir.Stmt, values: Values) -> Any:
        match statement:
            case ir.For(var, begin, extent, body):
                first, iterations = self.value(begin, values), self.value(extent, values)
                return self._of_iterations(var, body, first, iterations, values)
            case ir.If(condition, then, otherwise):
                holds = self.value(condition, values)
                taken, other = self.of(then, values), 0 if otherwise is None else self.of(otherwise, values)
                return taken if holds is None else np.where(holds, taken, other)
            case ir.Let(var, value, body):
                known = self.value(value, values)
                return self.of(body, values if known is None else {**values, var: known})
            case ir.Choice(special=special):
                return self.of(special, values)
            case ir.Store():
                return self.cost(statement)
        return sum(self.of(child, values) for child in statement.children() if isinstance(child, ir.Stmt))

    def _of_iterations(self, var: e.Var, body: ir.Stmt, begin: Any, iterations: Any, values: Values) -> Any:
        iterations = 1 if iterations is None else np.maximum(iterations, 0)
        if var not in self._control_variables(body):
            return iterations * self.of(body, values)
        first = 0 if begin is None else begin
        each = [
            (n < iterations) * self.of(body, {**values, var: first + n})
            for n in range(int(np.max(iterations)))
        ]
        return sum(each)

    def _control_variables(self, statement: ir.Stmt) -> frozenset[Any]:
        """The free variables that loop bounds and branch conditions in ``statement`` depend on."""
        if statement not in self._free:
            found: set[Any] = set()
            for child in statement.children():
                if isinstance(child, ir.Stmt):
                    found |= self._control_variables(child)
            match statement:
                case ir.For(var, begin, extent, _):
                    found = (found - {var}) | _variables(begin) | _variables(extent)
                case ir.If(condition):
                    found |= _variables(condition)
                case ir.Let(var, value, _):
                    found = (found - {var}) | (_variables(value) if var in found else set())
            self._free[statement] = frozenset(found)
        return self._free[statement]

    def cost(self, store: ir.Store) -> int:
        """The units of one execution of ``store``: the loads and operations of its value, and the store.
        Loading the stored element and updating it is free, as an accumulator is in a register."""
        if store not in self._cost:
            nodes = _data_nodes(store.value)
            again = sum(2 for node in nodes if isinstance(node, ir.Load) and node.buffer is store.buffer)
            self._cost[store] = store.value.lanes * (1 + max(0, sum(map(_counts, nodes)) - again))
        return self._cost[store]

    def value(self, expr: e.Expr, values: Values) -> Any:
        """``expr`` as a number or an array of numbers; None if it depends on more than ``values`` and the
        sizes."""
        match expr:
            case e.Const(value):
                return int(value)
            case e.Var():
                return values.get(expr, self.sizes.get(expr))
            case e.Cast(value=value) | e.Call("likely", (value,)):
                return self.value(value, values)
            case e.Not(a):
                known = self.value(a, values)
                return None if known is None else np.logical_not(known)
            case e.Select(condition, a, b):
                parts = [self.value(one, values) for one in (condition, a, b)]
                return None if any(one is None for one in parts) else np.where(*parts)
            case e.Binary(a, b) if type(expr) in scalars.BINARY:
                left, right = self.value(a, values), self.value(b, values)
                if left is None or right is None:
                    return None
                return scalars.BINARY[type(expr)](left, right)
        return None


def _variables(expr: e.Expr) -> set[Any]:
    return {node for node in postorder(expr) if isinstance(node, e.Var)}


def _data_nodes(value: e.Expr) -> list[Any]:
    """The nodes of ``value`` except those in indices."""
    return list(reachable_from([value], lambda node: () if isinstance(node, ir.Load) else node.children()))


def _counts(node: Any) -> int:
    return int(isinstance(node, (ir.Load, e.Binary, e.Select, e.Cast, e.Call)))
