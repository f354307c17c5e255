"""AutoTVM's features of loop variables: how each loop is executed, and how it accesses buffers.

They are for programs that inspect loops themselves: tvmlite's cost model uses other features
(``tvmlite.autotune.model.loop_features``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import postorder
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.arith import Analyzer
from tvmlite.te.loop import ir
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.driver.build_module import lower
from tvmlite.tvm.te.threads import BIND

_BLOCKS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
_THREADS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
KINDS = (*_BLOCKS, *_THREADS, ir.UNROLL, ir.VECTORIZE, ir.PARALLEL, ir.SERIAL, "vthread")
"""The ways to execute a loop; the last numbers of ``_attr_`` encode them one-hot."""

_ATTRIBUTES = ("length", "nest_level", "topdown", "bottomup", *(f"ann_{n}" for n in range(len(KINDS))))
_OPERATIONS = {"add": (e.Add, e.Sub), "mul": (e.Mul,), "div": (e.Div,)}
_TOUCH = ("stride", "mod", "count", "reuse", "T_count", "T_reuse")
_COLUMNS = {"_attr_": _ATTRIBUTES, "_arith_": tuple(_OPERATIONS)}

_NO_MODULUS = -1
"""The ``mod`` of an access: whether its index repeats is not analyzed, as in TVM."""


@dataclass(eq=False)
class _Loop:
    """A loop, the loops around it, and for each buffer access the stride and the enclosing loops."""

    node: ir.For
    around: tuple[_Loop, ...]
    operations: Counter[str] = field(default_factory=Counter)
    strides: dict[str, int] = field(default_factory=dict)
    insides: dict[str, tuple[_Loop, ...]] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """The number of iterations."""
        if not isinstance(self.node.extent, e.Const):
            raise UnsupportedError(
                f"get_itervar_feature: loop {self.node.var.name} has {self.node.extent} iterations, expected "
                "a number",
                Span.of_caller(),
                hint="features are those of computes of fixed shapes",
            )
        return int(self.node.extent.value)

    @property
    def kind(self) -> str:
        """One of ``KINDS``."""
        tags = [str(value) for key, value in self.node.annotations if key == BIND]
        return next((tag for tag in tags if tag in KINDS), self.node.kind)

    @property
    def parallel_level(self) -> int:
        """How the iterations are divided: 1 among threads, 2 among blocks of threads, 0 not at all."""
        return 2 if self.kind in _BLOCKS else int(self.kind in (*_THREADS, ir.PARALLEL))


def get_itervar_feature(sch: Any, args: Sequence[Any], take_log: bool = False) -> list[list[list[Any]]]:
    """Return a list of rows for each loop of ``sch``: ``["_itervar_", variable]``, ``["_attr_", length,
    nest_level, topdown, bottomup, ...]``, ``["_arith_", add, mul, div]``, and ``[name, stride, mod, count,
    reuse, T_count, T_reuse]`` for each buffer access, where ``A_n`` is the n-th access of A.

    ``count`` is the number of elements that the loop accesses, ``reuse`` how often it accesses each;
    ``T_count`` and ``T_reuse`` are these divided by the numbers for one thread. ``take_log`` gives
    logarithms. Unlike in TVM, a loop of one iteration has no rows, and the initialization of a reduction is
    ignored.
    """
    found: list[_Loop] = []
    body = lower(sch, args)["main"].body
    _visit(body, (), found, Counter(), _reductions(body))
    scaled = _logarithm if take_log else _same
    return [_rows(loop, scaled) for loop in found]


def flatten_itervar_feature(fea: Sequence[Sequence[Sequence[Any]]]) -> np.ndarray:
    """Concatenate the numbers of a result of ``get_itervar_feature``."""
    return np.concatenate([pair[1:] for rows in fea for pair in rows[1:]])


def get_itervar_feature_flatten(sch: Any, args: Sequence[Any], take_log: bool = True) -> list[float]:
    """Return the features of the loop variables as one list of numbers."""
    return [float(one) for one in flatten_itervar_feature(get_itervar_feature(sch, args, take_log))]


def get_flatten_name(fea: Sequence[Sequence[Sequence[Any]]]) -> list[str]:
    """Return the names of the numbers that ``flatten_itervar_feature`` returns, such as
    ``f0.i._attr_.length``."""
    names: list[str] = []
    for rows in fea:
        for key, *numbers in rows[1:]:
            columns = _COLUMNS.get(key, _TOUCH)[: len(numbers)]
            names += [f"f{len(names) + n}.{rows[0][1].name}.{key}.{one}" for n, one in enumerate(columns)]
    return names


def _reductions(body: ir.Stmt) -> set[ir.Buffer]:
    """Return the buffers of reductions: those with a store whose value reads the same buffer."""
    stores = [node for node in postorder(body) if isinstance(node, ir.Store)]
    return {
        store.buffer for store in stores if any(one.buffer is store.buffer for one in _loads(store.value))
    }


def _loads(value: e.Expr) -> list[ir.Load]:
    return [node for node in postorder(value) if isinstance(node, ir.Load)]


def _visit(
    stmt: Any, around: tuple[_Loop, ...], found: list[_Loop], touched: Counter[str], reduced: set[ir.Buffer]
) -> None:
    """Append the loops of ``stmt`` that contain buffer accesses to ``found``, outermost first."""
    match stmt:
        case ir.For(body=body):
            loop = _Loop(stmt, around)
            found.append(loop)
            _visit(body, (*around, loop), found, touched, reduced)
            if not loop.strides:
                found.remove(loop)
        case ir.Store(buffer, indices, value):
            reads = _loads(value)
            if buffer in reduced and not any(one.buffer is buffer for one in reads):
                return
            for one, places in (*((read.buffer, read.indices) for read in reads), (buffer, indices)):
                name = f"{one.name}_{touched[one.name]}"
                touched[one.name] += 1
                _touch(name, _flat(one, places), around)
            if around:
                around[-1].operations.update(_operations(value))
        case ir.Stmt():
            for child in stmt.children():
                _visit(child, around, found, touched, reduced)


def _flat(buffer: ir.Buffer, indices: Sequence[e.Expr]) -> e.Expr:
    """The linear index of an element in ``buffer``, from its strides or else in row-major order."""
    index: e.Expr = e.const(0, e.INDEX)
    for n, (place, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
        index = index + place * buffer.strides[n] if buffer.strides else index * extent + place
    return index


def _touch(name: str, index: e.Expr, around: tuple[_Loop, ...]) -> None:
    analyzer = Analyzer()
    index = analyzer.simplify(index)
    used = set(postorder(index))
    for depth, loop in enumerate(around):
        part = analyzer.linear(index, loop.node.var)
        loop.strides[name] = int(loop.node.var in used) if part is None else abs(part[0])
        loop.insides[name] = around[depth:]


def _operations(value: e.Expr) -> Counter[str]:
    """Count the floating-point operations of ``value`` by kind."""
    nodes = [n for n in postorder(value) if isinstance(n, e.Binary) and dtypes.is_float(n.dtype)]
    return Counter(name for name, kinds in _OPERATIONS.items() for n in nodes if isinstance(n, kinds))


def _extent(name: str, loops: Sequence[_Loop]) -> tuple[int, int]:
    """How many elements ``loops`` access, and how often each."""
    moving = math.prod(loop.length for loop in loops if loop.strides[name])
    return moving, math.prod(loop.length for loop in loops if not loop.strides[name])


def _shared(name: str, loop: _Loop) -> tuple[int, int]:
    """The elements and reuse, relative to one of the loop's threads; zeros if the loop is not parallel."""
    level, inside = loop.parallel_level, loop.insides[name]
    for n, (outer, inner) in enumerate(pairwise(inside), 1):
        if outer.parallel_level == level == inner.parallel_level + 1:
            (count, reuse), (own, again) = _extent(name, inside), _extent(name, inside[n:])
            return count // own, reuse // again
    return 0, 0


def _rows(loop: _Loop, scaled: Callable[[float], float]) -> list[list[Any]]:
    topdown = math.prod(one.length for one in (*loop.around, loop))
    bottomup = max(math.prod(one.length for one in inside) for inside in loop.insides.values())
    kinds = [int(loop.kind == kind) for kind in KINDS]
    rows: list[list[Any]] = [["_itervar_", loop.node.var]]
    rows.append(
        ["_attr_", scaled(loop.length), len(loop.around) + 1, scaled(topdown), scaled(bottomup), *kinds]
    )
    rows.append(["_arith_", *(scaled(loop.operations[one]) for one in _OPERATIONS)])
    for name in sorted(loop.strides):
        numbers = (loop.strides[name], _NO_MODULUS, *_extent(name, loop.insides[name]), *_shared(name, loop))
        rows.append([name, *map(scaled, numbers)])
    return rows


def _same(value: float) -> float:
    return value


def _logarithm(value: float) -> float:
    """``log2(abs(value) + 1)`` with the sign of ``value``."""
    return math.copysign(math.log2(abs(value) + 1), value)


__getattr__ = refusing(__name__)
