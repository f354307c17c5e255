"""How evenly threads share the parallel loops of a kernel, by the work in each turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tvmlite.core.node import Node, postorder
from tvmlite.runtime.pool.claiming import busiest
from tvmlite.te import expr as e
from tvmlite.te.loop import ir

WORTH_A_THREAD = 150_000
"""Units of work (a load, an addition), some 10 microseconds, that are worth one more thread."""

UNEVEN = "uneven"
"""The pragma of a parallel loop that has no more, and no smaller, turns: why that is."""

MOST_TURNS = 1 << 16
"""Loops of more turns are as even as anyone wants; their turns are not looked at one by one."""

Values: TypeAlias = dict[Any, int]


@dataclass(frozen=True)
class ChunkPlan:
    """How ``threads`` threads share one loop nest of a kernel.

    ``turns`` are those of its parallel loop, 1 if it has none, None if their number is not known; ``work`` is
    what all of them do, in loads, stores and operations; ``busiest`` is what the thread with most to do has
    of it, divided by the mean (1.0: all have the same). ``reason`` says why not all threads have a like
    share, where a schedule knows or the work is too little.
    """

    turns: int | None
    work: float
    threads: int
    busiest: float
    reason: str = ""


def chunk_plans(
    function: ir.Function, threads: int, sizes: Mapping[str, int] | None = None
) -> list[ChunkPlan]:
    """The plans of the loop nests of ``function``, which is structured, in order; ``sizes`` are those of its
    dimensions by name."""
    work = _Work({var: (sizes or {}).get(var.name) for var in function.sizes})
    found: list[ChunkPlan] = []
    for nest in _nests(function.body):
        if isinstance(nest, ir.For) and nest.kind == ir.PARALLEL:
            found.append(_shared(nest, work, threads))
        elif (serial := work.of(nest, {})) is not None and serial > 0:
            found.append(ChunkPlan(1, serial, threads, float(threads), _too_small(serial, threads)))
    return found


def _too_small(work: float, threads: int) -> str:
    """Why so much ``work`` is not for ``threads`` threads; nothing if it is."""
    if work >= threads * WORTH_A_THREAD:
        return ""
    return f"{work:.0f} units of work are worth {max(1, int(work) // WORTH_A_THREAD)} of {threads} threads"


def _nests(statement: ir.Stmt) -> list[ir.Stmt]:
    """The outermost loops, whatever stands around them."""
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


def _shared(loop: ir.For, work: _Work, threads: int) -> ChunkPlan:
    turns, begin = work.value(loop.extent, {}), work.value(loop.min, {})
    reason = str(dict(loop.annotations).get(UNEVEN, ""))
    if turns is None or begin is None:
        return ChunkPlan(None, 0.0, threads, 1.0, reason)
    if turns > MOST_TURNS:
        each = work.of(loop.body, {loop.var: begin})
        return ChunkPlan(turns, turns * each, threads, 1.0, reason)
    each = [work.of(loop.body, {loop.var: begin + n}) for n in range(turns)]
    total = sum(each)
    ratio = busiest(each, threads) * threads / total if total else 1.0
    reason = reason or _too_small(total, threads)
    return ChunkPlan(turns, total, threads, ratio, reason)


class _Work:
    """The units of work in statements: a load, a store, an operation on what is not an index.

    What only data decide is taken to happen; loops whose extents are not known are taken to have one turn.
    """

    def __init__(self, sizes: Mapping[e.Var, int | None]) -> None:
        self.sizes: Values = {var: size for var, size in sizes.items() if size is not None}
        self._free: dict[Node, frozenset[Any]] = {}
        self._cost: dict[Node, int] = {}
        self._known: dict[tuple[Node, tuple[int | None, ...]], float] = {}

    def of(self, statement: ir.Stmt, values: Values) -> float:
        """The work of ``statement`` where loop variables have these ``values``."""
        key = (statement, tuple(values.get(var) for var in self._controls(statement)))
        if key not in self._known:
            self._known[key] = self._of(statement, values)
        return self._known[key]

    def _of(self, statement: ir.Stmt, values: Values) -> float:
        match statement:
            case ir.For(var, begin, extent, body):
                turns, first = self.value(extent, values) or 0, self.value(begin, values) or 0
                if self.value(extent, values) is None:
                    turns = 1
                if var not in self._controls(body):
                    return max(0, turns) * self.of(body, values)
                return sum(self.of(body, {**values, var: first + n}) for n in range(turns))
            case ir.If(condition, then, otherwise):
                holds = self.value(condition, values)
                taken = then if holds is None or holds else otherwise
                return 0 if taken is None else self.of(taken, values)
            case ir.Let(var, value, body):
                known = self.value(value, values)
                return self.of(body, values if known is None else {**values, var: known})
            case ir.Choice(special=special):
                return self.of(special, values)
            case ir.Store():
                return self.cost(statement)
        return sum(self.of(child, values) for child in statement.children() if isinstance(child, ir.Stmt))

    def _controls(self, statement: ir.Stmt) -> frozenset[Any]:
        """The variables that decide which turns and branches of ``statement`` there are."""
        if statement not in self._free:
            found: set[Any] = set()
            for child in statement.children():
                if isinstance(child, ir.Stmt):
                    found |= self._controls(child)
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
        """The units of one execution of ``store``: its value's loads and operations, and itself; not the sum
        that one term is added to, which is in a register."""
        if store not in self._cost:
            nodes = _data_nodes(store.value)
            again = sum(2 for node in nodes if isinstance(node, ir.Load) and node.buffer is store.buffer)
            self._cost[store] = store.value.lanes * (1 + max(0, sum(map(_counts, nodes)) - again))
        return self._cost[store]

    def value(self, expr: e.Expr, values: Values) -> int | None:
        """``expr`` as a number; None if it depends on anything but ``values`` and sizes."""
        match expr:
            case e.Const(value):
                return int(value)
            case e.Var():
                return values.get(expr, self.sizes.get(expr))
            case e.Cast(value=value) | e.Call("likely", (value,)):
                return self.value(value, values)
            case e.Not(a):
                known = self.value(a, values)
                return None if known is None else int(not known)
            case e.And(a, b):
                sides = self.value(a, values), self.value(b, values)
                return 0 if 0 in sides else None if None in sides else 1
            case e.Select(condition, a, b):
                known = self.value(condition, values)
                return None if known is None else self.value(a if known else b, values)
            case e.Binary(a, b) if (operate := _OPERATIONS.get(type(expr))) is not None:
                left, right = self.value(a, values), self.value(b, values)
                return None if left is None or right is None else int(operate(left, right))
        return None


_OPERATIONS: dict[type, Callable[[int, int], int]] = {
    e.Add: lambda a, b: a + b,
    e.Sub: lambda a, b: a - b,
    e.Mul: lambda a, b: a * b,
    e.FloorDiv: lambda a, b: a // b if b else 0,
    e.FloorMod: lambda a, b: a % b if b else 0,
    e.Min: min,
    e.Max: max,
    e.Equal: lambda a, b: a == b,
    e.NotEqual: lambda a, b: a != b,
    e.Less: lambda a, b: a < b,
    e.LessEqual: lambda a, b: a <= b,
    e.Or: lambda a, b: bool(a) or bool(b),
}


def _variables(expr: e.Expr) -> set[Any]:
    return {node for node in postorder(expr) if isinstance(node, e.Var)}


def _data_nodes(value: e.Expr) -> list[Any]:
    """The nodes of ``value`` but for indices."""
    found: list[Any] = []
    seen: set[Node] = set()
    todo: list[Any] = [value]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        found.append(node)
        if not isinstance(node, ir.Load):
            todo.extend(node.children())
    return found


def _counts(node: Any) -> int:
    return int(isinstance(node, (ir.Load, e.Binary, e.Select, e.Cast, e.Call)))
