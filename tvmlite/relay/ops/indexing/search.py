"""Operators that compare with sorted values: searchsorted, and the distinct values of a vector (unique)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType, TupleType, same_shape, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import NUMBERS, expect, fault, one_dtype
from tvmlite.relay.ops.reductions.sort import MergeSort
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _search_type(call: Call, sorted_sequence: TensorType, values: TensorType) -> TensorType:
    expect(call, "sorted_sequence is", one_dtype(call, sorted_sequence, values), NUMBERS)
    dtype = dtypes.check(call["dtype"])
    if dtype not in ("int32", "int64"):
        raise fault(call, f"dtype is {dtype}, expected int32 or int64")
    rows, lead = sorted_sequence.shape[:-1], values.shape[:-1]
    if sorted_sequence.ndim == 0 or (rows and not same_shape(rows, lead)):
        raise fault(
            call,
            f"sorted_sequence is {show_shape(sorted_sequence.shape)}, values are {show_shape(values.shape)}, "
            "expected a vector, or a row for each row of values",
        )
    return TensorType(values.shape, dtype)


def _search_numpy(call: Call, sorted_sequence: np.ndarray, values: np.ndarray) -> np.ndarray:
    side = "right" if call["right"] else "left"
    if sorted_sequence.ndim == 1:
        return np.asarray(np.searchsorted(sorted_sequence, values, side)).astype(call["dtype"])
    result = np.empty(values.shape, call["dtype"])
    for row in np.ndindex(*values.shape[:-1]):
        result[row] = np.searchsorted(sorted_sequence[row], values[row], side)
    return result


@statement(
    "searchsorted",
    infer=_search_type,
    reference=_search_numpy,
    attrs={"right": False, "dtype": "int32"},
)
def searchsorted(call: Call, sorted_sequence: Tensor, values: Tensor) -> Tensor:
    """The number of elements of ``sorted_sequence`` below each of ``values``; with ``right``, not above it.

    The sequence is a vector, or has a row for each row of values, in ascending order.
    """
    extent = loops.index(sorted_sequence.shape[-1])
    by_row = sorted_sequence.ndim > 1

    def body(sequence: loop.Buffer, wanted: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def one(*at: e.Expr) -> loop.Stmt:
            low, high = loops.Cell("low"), loops.Cell("high")

            def step(middle: e.Expr) -> loop.Stmt:
                there = loops.load(sequence, *(at[:-1] if by_row else ()), middle)
                value = loops.load(wanted, *at)
                before = e.LessEqual(there, value) if call["right"] else e.Less(there, value)
                return loop.If(before, low.set(middle + 1), high.set(middle))

            halve = loops.let("middle", (low.value + high.value) // 2, step)
            search = loop.While(low.value < high.value, halve)
            return loops.allocated(
                loop.sequence(low.set(0), high.set(extent), search, loops.store(out, at, low.value)),
                low,
                high,
            )

        return loops.nest(values.shape, one, parallel=True)

    return loops.extern("searchsorted", [sorted_sequence, values], [(values.shape, call["dtype"])], body)[0]


# --- unique -----------------------------------------------------------------------------------------


def _unique_type(call: Call, data: TensorType) -> TupleType:
    expect(call, "data is", data.dtype, NUMBERS)
    if data.ndim != 1:
        raise fault(call, f"data is {show_shape(data.shape)}, expected a vector")
    places = TensorType(data.shape, "int32")
    fields = (data, places, places, TensorType((1,), "int32"))
    return TupleType((*fields, places) if call["return_counts"] else fields)


def _unique_numpy(call: Call, data: np.ndarray) -> tuple[np.ndarray, ...]:
    values, first, inverse, counts = np.unique(
        data, return_index=True, return_inverse=True, return_counts=True
    )
    inverse = inverse.reshape(-1)
    if not call["sorted"]:
        order = np.argsort(first, kind="stable")
        values, first, counts = values[order], first[order], counts[order]
        inverse = np.argsort(order)[inverse] if len(order) else inverse

    def padded(found: np.ndarray, fill: int, dtype: Any = np.int32) -> np.ndarray:
        result = np.full(data.shape, fill, dtype)
        result[: len(found)] = found
        return result

    number = np.array([len(values)], np.int32)
    made = padded(values, 0, data.dtype), padded(first, len(data)), inverse.astype(np.int32), number
    return (*made, padded(counts, 0)) if call["return_counts"] else made


@statement(
    "unique",
    infer=_unique_type,
    reference=_unique_numpy,
    attrs={"sorted": True, "return_counts": False},
)
def unique(call: Call, data: Tensor) -> list[Tensor]:
    """The distinct values of a vector, in ascending order, or of first appearance if not ``sorted``.

    Return the values, the index at which each first appears, for each element the position of its value, and
    the number of values, a vector of one. With ``return_counts`` also how often each value appears. All but
    the number are as long as ``data``, as TVM's are at run time: after the last value, values and counts are
    0, and indices of first appearances the length of the data.
    """
    extent = loops.index(data.shape[0])
    zero = e.const(0, "int32")

    def body(source: loop.Buffer, *outs: loop.Buffer) -> loop.Stmt:
        values, first, inverse, number, *counts = outs
        group, next_number = loops.Cell("group"), loops.Cell("next_one")
        new = loops.buffer("new", data.shape, loops.INT)

        def clear(k: e.Expr) -> loop.Stmt:
            puts = [loops.store(values, (k,), e.const(0, data.dtype)), loops.store(first, (k,), extent)]
            return loop.sequence(*puts, *(loops.store(one, (k,), zero) for one in counts))

        def group_equal(place: Callable[[e.Expr], e.Expr]) -> loop.Stmt:
            def one(k: e.Expr) -> loop.Stmt:
                def of(own: e.Expr) -> loop.Stmt:
                    before = loops.load(source, place(e.Max(*e.match(k - 1, 0))))
                    other = e.Or(e.Equal(*e.match(k, 0)), e.NotEqual(loops.load(source, own), before))
                    starts = loop.sequence(
                        group.set(group.value + 1), loops.store(first, (group.value,), own)
                    )
                    more = (
                        loops.store(one, (group.value,), loops.load(one, group.value) + 1) for one in counts
                    )
                    return loop.sequence(
                        loop.If(other, starts), loops.store(inverse, (own,), group.value), *more
                    )

                return loops.let("own", place(k), of)

            return loop.sequence(group.set(-1), loops.over(extent, one, "k"))

        order = MergeSort(lambda k: loops.load(source, k), data.shape[0], ascending=True)
        parts = [loops.over(extent, clear, "z"), order.then(group_equal)]
        memory: list[Any] = [group]
        if call["sorted"]:

            def value(k: e.Expr) -> loop.Stmt:
                found = loops.load(source, loops.load(first, k))
                return loop.If(k <= group.value, loops.store(values, (k,), found))

            parts.append(loops.over(extent, value, "v"))
        else:
            parts += order_by_appearance(source, outs, new, next_number, extent)
            memory += [next_number, new]
        parts.append(loops.store(number, (0,), group.value + 1))
        return loops.allocated(loop.sequence(*parts), *memory)

    def order_by_appearance(
        source: loop.Buffer, outs: Any, new: loop.Buffer, next_number: loops.Cell, extent: e.Expr
    ) -> list[loop.Stmt]:
        """Number the groups by first appearance: in order, each first element numbers its group."""
        values, first, inverse, _, *counts = outs
        old_first = loops.buffer("old_first", data.shape, "int32")
        old_counts = loops.buffer("old_counts", data.shape, "int32")
        saved = [(first, old_first), *((one, old_counts) for one in counts)]

        def save(k: e.Expr) -> loop.Stmt:
            moves = [loops.store(old, (k,), loops.load(one, k)) for one, old in saved]
            resets = [loops.store(first, (k,), extent), *(loops.store(one, (k,), zero) for one in counts)]
            return loop.sequence(*moves, *resets)

        def element(k: e.Expr) -> loop.Stmt:
            def of(group: e.Expr) -> loop.Stmt:
                at = next_number.value
                puts = [loops.store(values, (at,), loops.load(source, k)), loops.store(first, (at,), k)]
                puts += [loops.store(one, (at,), loops.load(old_counts, group)) for one in counts]
                puts += [loops.store(new, (group,), at), next_number.set(at + 1)]
                is_first = e.Equal(*e.match(e.cast(loops.INT, loops.load(old_first, group)), k))
                return loop.If(is_first, loop.sequence(*puts))

            return loops.let("own_group", e.cast(loops.INT, loops.load(inverse, k)), of)

        def renumber(k: e.Expr) -> loop.Stmt:
            return loops.store(inverse, (k,), loops.load(new, loops.load(inverse, k)))

        work = loop.sequence(
            loops.over(extent, save, "o"),
            next_number.set(0),
            loops.over(extent, element, "f"),
            loops.over(extent, renumber, "r"),
        )
        return [loops.allocated(work, old_first, *([old_counts] if counts else []))]

    shape = data.shape
    kinds: list[Any] = [(shape, data.dtype), (shape, "int32"), (shape, "int32"), ((1,), "int32")]
    if call["return_counts"]:
        kinds.append((shape, "int32"))
    return loops.extern("unique", [data], kinds, body)
