"""Features of a candidate's loops for a cost model, of a fixed width and independent of the template.

They are of the kinds of Chen et al., "Learning to Optimize Tensor Programs" (NeurIPS 2018), appendix A.2: for
each loop its length, annotation, touched memory and reuse (*itervar*), and how the memory that is touched
grows with reuse, sampled at fixed sizes (*relation*, *curve*). As in Ansor (Zheng et al., OSDI 2020) they are
computed for each statement that stores: individually for the ``STATEMENTS`` with the most work, and summed
over all. Everything is read from structured loop IR, before any loop is unrolled. Counts are logarithms,
and mostly relative to the work, so that what is learned for one shape holds for another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import reachable_from
from tvmlite.machine.machine import LINE_BYTES
from tvmlite.machine.target import Target
from tvmlite.te import cost
from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import loads

STATEMENTS = 3
"""The number of statements with features of their own."""

SIZES = tuple(1 << n for n in (9, 11, 13, 15, 17, 19, 21, 24))
"""Bytes at which the memory curve is sampled, whatever the caches of the processor, so that what is learned
on one processor holds for others. The machine tells which of them are caches (``transfer.estimate``)."""

OF_LOOP = ("extent", "vectorize", "unroll", "parallel", "touched", "reuse")
OPERATIONS = 2
"""Operations of a statement that accumulates: it also loads."""

LOOPS = 6
"""The number of a statement's loops with features of their own, from the innermost outwards."""

OF_STATEMENT = (
    *("work", "trips", "operations", "calls", "guards", "lanes", "full", "unrolled", "parallel"),
    *("kept", "contiguous", "broadcast", "scattered", "store", "held", "chain", "step", "cycles", "density"),
    *(f"moved {size}" for size in SIZES),
    *(f"{name} {n}" for n in range(LOOPS) for name in OF_LOOP),
)
OF_FUNCTION = (
    *("statements", "cycles", "waste", "scratch", "code", "stored"),
    *(f"moved {size}" for size in SIZES),
)
NAMES = OF_FUNCTION + tuple(f"{n}: {name}" for n in range(STATEMENTS) for name in OF_STATEMENT)
WIDTH = len(NAMES)
"""The width of a row of features."""

_Affine = dict[e.Var, tuple[float, float]]
"""An index as a linear form, by variable: how far one iteration of its loop moves it, and how far all do."""


def loop_features(function: ir.Function, target: Target, flop: float) -> np.ndarray:
    """Return a row of ``WIDTH`` float32 for ``function``, structured loop IR, as it will run on ``target``.

    ``flop`` is the arithmetic of the computation itself: tiles that extend past the end of an axis do more.
    """
    reader = _Reader(target)
    reader.read(function.body)
    described = sorted((_describe(s, reader) for s in reader.stores), key=lambda one: -one.work)
    moved = np.log2(1 + sum((one.moved for one in described), np.zeros(len(SIZES))))
    whole = math.log2(1 + flop)
    row = [
        len(described),
        whole - math.log2(1 + sum(one.cycles for one in described)),
        math.log2(1 + sum(one.work for one in described)) - whole,
        math.log2(1 + reader.scratch),
        math.log2(1 + sum(one.code for one in described)),
        whole - math.log2(1 + sum(one.trips for one in described)),
        *(moved - whole),
    ]
    for one in described[:STATEMENTS]:
        row += one.row
    return np.array([*row, *[0.0] * (WIDTH - len(row))], np.float32)


@dataclass(frozen=True)
class _Loop:
    """A loop; ``kind`` is as in loop IR."""

    var: e.Var
    extent: int
    kind: str


@dataclass(frozen=True)
class _StoreSite:
    """A statement that stores, with the loops around it, outermost first, and the number of guards."""

    store: ir.Store
    loops: tuple[_Loop, ...]
    guards: int


@dataclass(frozen=True)
class _StoreFeatures:
    row: list[float]
    work: float
    trips: float
    cycles: float
    code: float
    moved: np.ndarray


class _Reader:
    """Traverses the statements once and collects the stores."""

    def __init__(self, target: Target) -> None:
        self.target, self.lanes = target, target.lanes("float32")
        self.stores: list[_StoreSite] = []
        self.scratch = 0.0
        self.spans: dict[e.Var, int] = {}
        self.statements: Counter[e.Var] = Counter()
        self.stored: Counter[e.Var] = Counter()
        self._affine: dict[e.Expr, _Affine] = {}

    def read(self, body: ir.Stmt) -> None:
        stack: list[tuple[ir.Stmt, tuple[_Loop, ...], int]] = [(body, (), 0)]
        while stack:
            node, loops, guards = stack.pop()
            match node:
                case ir.Store():
                    self.stores.append(_StoreSite(node, loops, guards))
                    self._count(loops)
                    continue
                case ir.For():
                    loop = _Loop(node.var, _number(node.extent), node.kind)
                    self.spans[node.var] = loop.extent - 1
                    loops = (*loops, loop)
                case ir.If():
                    guards += 1
                case ir.Choice():
                    stack.append((node.special, loops, guards))
                    continue
                case ir.Allocate():
                    count = math.prod(_number(extent) for extent in node.buffer.shape)
                    self.scratch += count * _bytes(node.buffer)
            stack += [(child, loops, guards) for child in node.children() if isinstance(child, ir.Stmt)]

    def _count(self, loops: Sequence[_Loop]) -> None:
        """Count for each loop the statements in it, and how often they store in an iteration."""
        inside = 1
        for loop in reversed(loops):
            self.statements[loop.var] += 1
            self.stored[loop.var] += inside
            inside *= -(-loop.extent // self.lanes) if loop.kind == ir.VECTORIZE else loop.extent

    def affine(self, index: e.Expr) -> _Affine:
        """How ``index`` moves with each loop; estimated if it is not affine."""
        found = self._affine.get(index)
        if found is None:
            found = self._affine[index] = self._affine_of(index)
        return found

    def _affine_of(self, index: e.Expr) -> _Affine:
        match index:
            case e.Var():
                span = self.spans.get(index, 0)
                return {index: (1.0, float(span))} if span else {}
            case e.Const():
                return {}
            case e.Cast(_, value):
                return self.affine(value)
            case e.Mul(a, e.Const(value)) | e.Mul(e.Const(value), a):
                return {v: (step * value, abs(span * value)) for v, (step, span) in self.affine(a).items()}
            case e.FloorDiv(a, e.Const(value)) | e.TruncDiv(a, e.Const(value)) if value:
                return {v: (step / value, span / value) for v, (step, span) in self.affine(a).items()}
            case e.FloorMod(a, e.Const(value)) | e.TruncMod(a, e.Const(value)) if value:
                steps = self.affine(a).items()
                return {v: (step, min(span, abs(value) - 1.0)) for v, (step, span) in steps if step % value}
            case _:
                sign = -1.0 if isinstance(index, e.Sub) else 1.0
                found: _Affine = {}
                for number, child in enumerate(c for c in index.children() if isinstance(c, e.Expr)):
                    for var, (step, span) in self.affine(child).items():
                        old = found.get(var, (0.0, 0.0))
                        found[var] = old[0] + (sign if number else 1.0) * step, old[1] + span
                return found


def _describe(stored: _StoreSite, reader: _Reader) -> _StoreFeatures:
    loops, store = stored.loops, stored.store
    extents = np.array([loop.extent for loop in reversed(loops)], float)
    iterations = np.concatenate([[1.0], np.cumprod(extents)])  # of inner loops, from the innermost outwards
    trips = float(iterations[-1])
    read = loads(store.value)
    operations, calls = _arithmetic(store.value)
    work = trips * (operations + 8 * calls + 1)
    touched, steps = _touched(store, read, loops, reader)
    moved = np.array(cost.cache_traffic(touched.tolist(), extents[::-1].tolist(), SIZES))
    tile = _Tile(store, read, steps, loops, reader)
    cycles = tile.cycles(operations, calls) * trips / tile.iterations
    row = [
        math.log2(work),
        math.log2(trips),
        operations,
        calls,
        stored.guards,
        math.log2(tile.width),
        tile.width / (tile.vectors * reader.lanes),
        math.log2(tile.unrolled),
        math.log2(math.prod(loop.extent for loop in loops if loop.kind == ir.PARALLEL)),
        *(math.log2(1 + n) for n in (tile.kept, tile.contiguous, tile.broadcast, tile.scattered)),
        tile.store_kind,
        tile.held,
        math.log2(tile.chain),
        math.log2(1 + tile.step),
        math.log2(work / cycles),
        math.log2(tile.unrolled * tile.vectors / (1 + tile.contiguous + tile.broadcast + tile.scattered)),
        *np.log2((1 + moved) / work),
    ]
    for n in range(LOOPS):
        if n >= len(loops):
            row += [0.0] * len(OF_LOOP)
            continue
        loop = loops[-1 - n]
        row += [
            math.log2(loop.extent),
            *(float(loop.kind == k) for k in (ir.VECTORIZE, ir.UNROLL, ir.PARALLEL)),
        ]
        row += [
            math.log2(1 + touched[n + 1]),
            math.log2(iterations[n + 1] * (1 + len(read)) * 4 / (1 + touched[n + 1])),
        ]
    return _StoreFeatures(row, work, trips, cycles, tile.unrolled * tile.vectors, moved)


def _touched(
    store: ir.Store, read: Sequence[ir.Load], loops: Sequence[_Loop], reader: _Reader
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The bytes touched by the innermost 0, 1, 2, ... loops; and the elements by which an iteration of each
    loop, the innermost first, moves the store and each load."""
    of_buffer: dict[ir.Buffer, np.ndarray] = {}
    steps = []
    places = {loop.var: n for n, loop in enumerate(reversed(loops))}
    for buffer, indices in [(store.buffer, store.indices), *((one.buffer, one.indices) for one in read)]:
        shape = [_number(extent) for extent in buffer.shape]
        spans = np.zeros((len(indices), len(loops) + 1))
        step = np.zeros(len(loops))
        stride = 1
        for axis in range(len(indices) - 1, -1, -1):
            for var, (by, span) in reader.affine(indices[axis]).items():
                if var in places:
                    spans[axis, places[var] + 1] = span
                    step[places[var]] += by * stride
            stride *= shape[axis]
        lengths = np.minimum(1 + np.cumsum(spans, axis=1), np.array(shape, float)[:, None])
        if len(indices):
            lengths[-1] = np.ceil(lengths[-1] * _bytes(buffer) / LINE_BYTES) * LINE_BYTES
        size = np.prod(lengths, axis=0)
        old = of_buffer.get(buffer)
        of_buffer[buffer] = size if old is None else np.maximum(old, size)
        steps.append(step)
    return sum(of_buffer.values(), np.zeros(len(loops) + 1)), steps


class _Tile:
    """The innermost loops of a statement that become straight-line code: unrolled, at most one vectorized.

    ``steps`` are the elements by which an iteration of each loop, the innermost first, moves the store and
    each load.
    """

    def __init__(
        self,
        store: ir.Store,
        read: Sequence[ir.Load],
        steps: Sequence[np.ndarray],
        loops: Sequence[_Loop],
        reader: _Reader,
    ) -> None:
        inner = loops[::-1]
        depth = next(
            (n for n, loop in enumerate(inner) if loop.kind not in (ir.UNROLL, ir.VECTORIZE)), len(inner)
        )
        vector = next((n for n in range(depth) if inner[n].kind == ir.VECTORIZE), None)
        self.machine = reader.target.machine
        self.width = 1 if vector is None else inner[vector].extent
        self.vectors = -(-self.width // reader.lanes)
        self.unrolled = math.prod(inner[n].extent for n in range(depth) if n != vector)
        self.iterations = self.unrolled * self.width
        self.chain = inner[depth].extent if depth < len(inner) else 1
        around = [move[depth] if depth < len(inner) else 0.0 for move in steps]
        self.held = float(around[0] == 0 and any(one.buffer is store.buffer for one in read))
        self.step = max((abs(by) for by in around[1:]), default=0.0)
        kinds = [self._kind(move, vector) for move in steps]
        counts = [
            self._count(move, inner, depth, vector, kind) for move, kind in zip(steps, kinds, strict=True)
        ]
        self.store_kind, self.kept = kinds[0], counts[0]
        others = [
            (kind, count)
            for one, kind, count in zip(read, kinds[1:], counts[1:], strict=True)
            if one.buffer is not store.buffer
        ]
        self.broadcast, self.contiguous, self.scattered = (
            sum(count for kind, count in others if kind == wanted) for wanted in (0, 1, 2)
        )
        self.iterations_per_accumulator = self.unrolled * self.vectors / self.kept
        self.loads_of_result = sum(one.buffer is store.buffer for one in read)
        self.wait = self._wait(steps[0], inner[depth:], depth, reader) if self.held else 0.0

    def _wait(self, move: np.ndarray, around: Sequence[_Loop], depth: int, reader: _Reader) -> float:
        """Cycles from an iteration to the next that adds to the same accumulators.

        They are divided by the amount of independent work that the processor can overlap: iterations of loops
        further out, if these are within its window.
        """
        end = 0
        while end < len(around) and reader.statements[around[end].var] == 1 and move[depth + end] == 0:
            end += 1
        iterations, overlapped = 1, 1.0
        for loop in around[end:]:
            iterations *= loop.extent
            statements = self.machine.reorder_window / (OPERATIONS * reader.stored[loop.var])
            overlapped = max(overlapped, min(iterations, statements))
        return self.machine.multiply_add_latency * self.unrolled * self.vectors / self.kept / overlapped

    def cycles(self, operations: int, calls: int) -> float:
        """The cycles of the tile in the core. Costs that overlap with nothing are left to the model."""
        vectors = self.unrolled * self.vectors
        spilled = 0.0 if self.held and self._fits() else (1 + self.loads_of_result) * self.kept
        if self.held and self.machine.few_registers:
            spilled *= self.iterations_per_accumulator  # LLVM spills and reloads them in each
        if self.store_kind == 2:
            spilled *= 8
        step = cost.Step(
            vectors * max(operations / 2, 0.5),
            scalars=self.broadcast,
            vectors=self.contiguous,
            spills=2 * self.scattered + spilled,
            calls=vectors * calls,
            latency=self.wait,
        )
        estimate = cost.cycles(cost.Nest(step), self.machine)
        return max(estimate.arithmetic, estimate.loads, estimate.latency, 1.0)

    def _fits(self) -> bool:
        """Whether all accumulators stay in registers, as counted by ``te.templates.tile.held``. If registers
        are few, the operands of one iteration of an unrolled reduction count: the next can reuse theirs."""
        registers = self.machine.vector_registers
        if not self.machine.few_registers:
            return self.kept + self.contiguous < registers
        operands = min(self.contiguous, self.broadcast) / self.iterations_per_accumulator
        return self.kept + operands + 1 <= registers

    @staticmethod
    def _kind(move: np.ndarray, vector: int | None) -> int:
        """How an access moves along the vector: 0 not at all, 1 contiguously, 2 otherwise."""
        step = 0.0 if vector is None else abs(move[vector])
        return 0 if step == 0 else 1 if step == 1 else 2

    def _count(
        self, move: np.ndarray, inner: Sequence[_Loop], depth: int, vector: int | None, kind: int
    ) -> int:
        """The number of vectors or scalars that an access touches in the tile; overlapping windows share."""
        places = np.zeros(1)
        for n in range(depth):
            if n != vector and move[n] != 0:
                iterations = np.arange(inner[n].extent) * move[n]
                places = np.unique(places[:, None] + iterations)
        return len(places) * (1, self.vectors, self.width)[kind]


def _arithmetic(value: e.Expr) -> tuple[int, int]:
    """The number of operations of ``value``, without those of indices, and how many of them are calls."""
    operations = calls = 0
    for node in reachable_from([value], lambda node: () if isinstance(node, ir.Load) else node.children()):
        operations += isinstance(node, (e.Binary, e.Select))
        calls += isinstance(node, e.Call)
    return operations, calls


def _bytes(buffer: ir.Buffer) -> int:
    return dtypes.numpy_of(buffer.dtype).itemsize


def _number(extent: e.Expr) -> int:
    """The value of an extent; if it is unknown, the largest constant in it."""
    if isinstance(extent, e.Const):
        return max(int(extent.value), 1)
    constants = [int(node.value) for node in _nodes(extent) if isinstance(node, e.Const)]
    return max([1, *constants])


def _nodes(root: e.Expr) -> list[e.Expr]:
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        found.append(node)
        stack += [child for child in node.children() if isinstance(child, e.Expr)]
    return found
