"""Sorting along an axis: sort, argsort, topk; stable, with NaN above all numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import at_least, choice
from tvmlite.relay.ir.types import Dim, Shape, TensorType, TupleType, Type, normal_dim
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import ANY, axis_of, data_type, fault, replaced
from tvmlite.relay.ops.register import statement
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _precedes(x: e.Expr, y: e.Expr, ascending: bool) -> e.Expr:
    """Whether ``x`` must be placed before ``y``, its left neighbour."""
    if x.dtype == "bool":
        x, y = e.cast("int32", x), e.cast("int32", y)
    before = e.Less(x, y) if ascending else e.Less(y, x)
    if not dtypes.is_float(x.dtype):
        return before
    low, high = (x, y) if ascending else (y, x)
    return e.Or(before, e.And(e.NotEqual(high, high), e.Equal(low, low)))


class MergeSort:
    """Sorts the indices of one row by a bottom-up merge sort.

    ``order[side]`` holds sorted runs of ``width`` indices; an iteration merges pairs into the other side.
    """

    def __init__(self, key: Callable[[e.Expr], e.Expr], extent: Dim, ascending: bool) -> None:
        self.key, self.extent, self.ascending = key, loops.index(extent), ascending
        self.order = loops.buffer("order", (2, extent), "int64")
        self.side, self.width = loops.Cell("side"), loops.Cell("width")
        self.left, self.right = loops.Cell("left"), loops.Cell("right")

    def then(self, use: Callable[[Callable[[e.Expr], e.Expr]], loop.Stmt]) -> loop.Stmt:
        """Sort, then run ``use(place)``, where ``place(k)`` is the index of the ``k``-th element in order."""
        start = loops.over(self.extent, lambda k: loops.store(self.order, (0, k), k), "k")
        merging = loop.While(self.width.value < self.extent, self._iteration())
        done = use(lambda k: loops.load(self.order, self.side.value, k))
        body = loop.sequence(start, self.side.set(0), self.width.set(1), merging, done)
        return loops.allocated(body, self.order, self.side, self.width, self.left, self.right)

    def _iteration(self) -> loop.Stmt:
        def merges(width: e.Expr) -> loop.Stmt:
            pairs = (self.extent + width * 2 - 1) // (width * 2)
            return loops.over(pairs, lambda pair: self._merge(pair * width * 2, width), "pair")

        return loop.sequence(
            loops.let("run", self.width.value, merges),
            self.side.set(1 - self.side.value),
            self.width.set(self.width.value * 2),
        )

    def _merge(self, begin: e.Expr, width: e.Expr) -> loop.Stmt:
        """Merge the runs at ``begin`` and ``begin + width``."""

        def of_bounds(middle: e.Expr, end: e.Expr) -> loop.Stmt:
            step = loops.over(end - begin, lambda k: self._step(k, middle, end), "k", start=begin)
            return loop.sequence(self.left.set(begin), self.right.set(middle), step)

        return loops.let(
            "middle",
            e.Min(begin + width, self.extent),
            lambda middle: loops.let(
                "end", e.Min(begin + width * 2, self.extent), lambda end: of_bounds(middle, end)
            ),
        )

    def _step(self, k: e.Expr, middle: e.Expr, end: e.Expr) -> loop.Stmt:
        """Store the lesser of the runs' first elements at ``k``; the left one if they are equal."""
        last = self.extent - 1

        def choose(left: e.Expr, right: e.Expr) -> loop.Stmt:
            better = _precedes(self.key(right), self.key(left), self.ascending)
            from_right = e.And(self.right.value < end, e.Or(self.left.value >= middle, better))
            target = (1 - self.side.value, k)
            return loop.If(
                from_right,
                loop.sequence(loops.store(self.order, target, right), self.right.set(self.right.value + 1)),
                loop.sequence(loops.store(self.order, target, left), self.left.set(self.left.value + 1)),
            )

        def first(cell: loops.Cell) -> e.Expr:
            return loops.load(self.order, self.side.value, e.Min(cell.value, last))

        return loops.let(
            "a", first(self.left), lambda a: loops.let("b", first(self.right), lambda b: choose(a, b))
        )


def _ordered(call: Call, data: Tensor, shape: Shape, wanted: Sequence[str], name: str) -> list[Tensor]:
    """Return the first elements of each row in order, as many as ``shape`` has: "values", "indices"."""
    axis, ascending = call["axis"] % data.ndim, call["is_ascend"]

    def body(source: loop.Buffer, *results: loop.Buffer) -> loop.Stmt:
        def row(at: Callable[[Any], tuple[Any, ...]]) -> loop.Stmt:
            order = MergeSort(lambda k: loops.load(source, *at(k)), data.shape[axis], ascending)

            def write(place: Callable[[e.Expr], e.Expr]) -> loop.Stmt:
                def one(k: e.Expr) -> loop.Stmt:
                    made = {"values": lambda: loops.load(source, *at(place(k))), "indices": lambda: place(k)}
                    pairs = zip(results, wanted, strict=True)
                    return loop.sequence(*(loops.store(out, at(k), made[what]()) for out, what in pairs))

                return loops.over(shape[axis], one, "k")

            return order.then(write)

        return loops.rows(data.shape, axis, row)

    outputs = [(shape, data.dtype if what == "values" else _index_dtype(call)) for what in wanted]
    return loops.extern(name, [data], outputs, body)


def _order_numpy(data: np.ndarray, axis: int, ascending: bool) -> np.ndarray:
    """The stable order along ``axis``; if descending, that of the flipped data, flipped, with NaN first."""
    if ascending:
        return np.argsort(data, axis, kind="stable")
    flipped = np.argsort(np.flip(data, axis), axis, kind="stable")
    return np.flip(data.shape[axis] - 1 - flipped, axis)


# --- sort and argsort -------------------------------------------------------------------------------


def _sort_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    order = _order_numpy(data, call["axis"], call["is_ascend"])
    return np.take_along_axis(data, order, call["axis"])


@statement(
    "sort", infer=data_type(ANY, axis_of), reference=_sort_numpy, attrs={"axis": -1, "is_ascend": True}
)
def sort(call: Call, data: Tensor) -> Tensor:
    """The elements of each row along ``axis`` sorted, in ascending order unless ``is_ascend`` is False."""
    return _ordered(call, data, data.shape, ("values",), "sort")[0]


def _index_dtype(call: Call) -> str:
    dtype = dtypes.check(call["dtype"])
    if dtype == "bool":
        raise fault(call, "dtype is bool, expected a dtype of numbers")
    return dtype


def _argsort_type(call: Call, data: TensorType) -> TensorType:
    return data_type(ANY, axis_of, dtype=_index_dtype(call))(call, data)


def _argsort_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return _order_numpy(data, call["axis"], call["is_ascend"]).astype(dtypes.numpy_of(call["dtype"]))


@statement(
    "argsort",
    infer=_argsort_type,
    reference=_argsort_numpy,
    attrs={"axis": -1, "is_ascend": True, "dtype": "int32"},
)
def argsort(call: Call, data: Tensor) -> Tensor:
    """The indices that sort each row along ``axis``; equal elements keep their order."""
    return _ordered(call, data, data.shape, ("indices",), "argsort")[0]


# --- topk -------------------------------------------------------------------------------------------


def _topk_shape(call: Call, shape: Shape) -> Shape:
    axis, k = axis_of(call, call["axis"], len(shape)), normal_dim(call["k"])
    if isinstance(k, int) and k == -1:
        return shape
    fits = k <= shape[axis]
    if not (fits if isinstance(fits, bool) else k is shape[axis] or arith.Analyzer().prove(fits)):
        raise fault(call, f"k is {k}, the data's extent is {shape[axis]}, expected k to be at most that")
    return replaced(shape, axis, k)


def _topk_type(call: Call, data: TensorType) -> Type:
    shape = _topk_shape(call, data.shape)
    values, indices = TensorType(shape, data.dtype), TensorType(shape, _index_dtype(call))
    return {"both": TupleType((values, indices)), "values": values, "indices": indices}[call["ret_type"]]


def _topk_numpy(call: Call, data: np.ndarray) -> Any:
    axis, k = call["axis"], call["k"] if call["k"] >= 0 else data.shape[call["axis"]]
    order = np.take(_order_numpy(data, axis, call["is_ascend"]), range(k), axis)
    values, indices = np.take_along_axis(data, order, axis), order.astype(dtypes.numpy_of(call["dtype"]))
    return {"both": (values, indices), "values": values, "indices": indices}[call["ret_type"]]


@statement(
    "topk",
    infer=_topk_type,
    reference=_topk_numpy,
    attrs={
        "k": at_least(-1, 1),
        "axis": -1,
        "ret_type": choice("both", "values", "indices"),
        "is_ascend": False,
        "dtype": "int32",
    },
    open_attrs=("k",),
)
def topk(call: Call, data: Tensor) -> Any:
    """The first ``k`` elements of each row along ``axis`` in descending order, and their indices.

    The order is ascending with ``is_ascend``; ``k`` of -1 gives all. ``ret_type`` selects "values", "indices"
    or "both". Of equal elements the one with the least index comes first.
    """
    kind = call["ret_type"]
    wanted = ("values", "indices") if kind == "both" else (kind,)
    made = _ordered(call, data, _topk_shape(call, data.shape), wanted, "topk")
    return made if kind == "both" else made[0]
