"""Operators that write at indices: scatter_elements, scatter_nd, tensor_scatter.

Negative indices count from the end; those out of range write nothing. For repeated indices, updates are
combined in row-major order, so the last one wins if they replace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import choice
from tvmlite.relay.ir.types import Dim, TensorType, same_shape, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import (
    INTEGERS,
    as_index,
    axis_of,
    clamp,
    expect,
    expect_extent,
    fault,
    normalize_index,
    one_dtype,
    replaced,
)
from tvmlite.relay.ops.indexing.index import check_indices, index_length
from tvmlite.relay.ops.register import Indices, injective, statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _average(old: e.Expr, new: e.Expr) -> e.Expr:
    total = old + new
    two = e.const(2, total.dtype)
    return e.Div(total, two) if dtypes.is_float(total.dtype) else e.TruncDiv(total, two)


def _average_numpy(old: Any, new: Any) -> Any:
    total = old + new
    return (
        total / np.array(2, total.dtype)
        if dtypes.is_float(dtypes.check(total.dtype))
        else np.trunc(total / 2)
    )


COMBINE: dict[str, tuple[Callable[[e.Expr, e.Expr], e.Expr], Any]] = {
    "update": (lambda old, new: new, None),
    "add": (lambda old, new: old + new, np.add),
    "mul": (lambda old, new: old * new, np.multiply),
    "min": (e.Min, np.minimum),
    "max": (e.Max, np.maximum),
    "mean": (_average, None),
}
"""How an update is combined with the existing element: in te, and as a numpy ufunc, if there is one.

"mean" is TVM's: for repeated indices, each update is averaged with the result of the one before.
"""


def _check_mode(call: Call, attribute: str, dtype: str) -> None:
    if dtype == "bool" and call[attribute] in ("add", "mul", "mean"):
        raise fault(call, f"{attribute} is {call[attribute]!r}, data is bool, expected numbers")


def _combine_numpy(mode: str, result: np.ndarray, at: tuple[np.ndarray, ...], updates: np.ndarray) -> None:
    """Combine ``updates`` into ``result`` at the index arrays ``at``, skipping those out of range."""
    wide = [
        np.broadcast_to(part, np.broadcast_shapes(*(p.shape for p in at))).astype(np.int64) for part in at
    ]
    wide = [np.where(part < 0, part + n, part) for part, n in zip(wide, result.shape, strict=False)]
    inside = np.ones(wide[0].shape, bool)
    for part, n in zip(wide, result.shape, strict=False):
        inside &= (part >= 0) & (part < n)
    places, values = tuple(part[inside] for part in wide), updates[inside]
    with np.errstate(all="ignore"):
        if COMBINE[mode][1] is None:
            for k, place in enumerate(zip(*places, strict=True)):
                new = values[k]
                result[place] = _average_numpy(result[place], new) if mode == "mean" else new
        else:
            COMBINE[mode][1].at(result, places, values)


def _if_in_range(parts: list[e.Expr], extents: list[Dim], write: Callable[..., loop.Stmt]) -> loop.Stmt:
    """Call ``write`` at the indices ``parts``, negative ones from the end, unless one is out of range."""
    found = [e.cast("int64", normalize_index(part, n)) for part, n in zip(parts, extents, strict=True)]
    inside = [c for part, n in zip(found, extents, strict=True) for c in (part >= 0, part < n)]
    return loop.If(e.all_of(inside), write(*found)) if inside else write()


def _store_combined(mode: str, target: loop.Buffer, at: tuple[e.Expr, ...], update: e.Expr) -> loop.Stmt:
    return loops.store(target, at, COMBINE[mode][0](loops.load(target, *at), update))


def _elements_type(call: Call, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
    check_indices(call, data, indices)
    _check_mode(call, "reduction", one_dtype(call, data, updates))
    if not same_shape(indices.shape, updates.shape):
        raise fault(
            call,
            f"indices are {show_shape(indices.shape)}, updates are {show_shape(updates.shape)}, "
            "expected one shape",
        )
    return data


def _elements_numpy(call: Call, data: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
    result = data.copy()
    if indices.size:
        at: list[Any] = list(np.indices(indices.shape))
        at[call["axis"] % data.ndim] = indices
        _combine_numpy(call["reduction"], result, tuple(at), updates)
    return result


@statement(
    "scatter_elements",
    infer=_elements_type,
    reference=_elements_numpy,
    attrs={"axis": 0, "reduction": choice(*COMBINE)},
)
def scatter_elements(call: Call, data: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """``data``, ``updates[i]`` combined in by ``reduction`` at ``i`` but, along ``axis``, ``indices[i]``."""
    axis, extent = call["axis"] % data.ndim, data.shape[call["axis"]]

    def body(old: loop.Buffer, where: loop.Buffer, new: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def column(at: Callable[[Any], tuple[Any, ...]]) -> loop.Stmt:
            def one(k: e.Expr) -> loop.Stmt:
                def write(place: e.Expr) -> loop.Stmt:
                    return _store_combined(call["reduction"], out, at(place), loops.load(new, *at(k)))

                return _if_in_range([loops.load(where, *at(k))], [extent], write)

            return loops.over(indices.shape[axis], one, "k")

        return loop.sequence(loops.copied(old, out), loops.rows(indices.shape, axis, column))

    return loops.extern("scatter_elements", [data, indices, updates], [(data.shape, data.dtype)], body)[0]


def _nd_type(call: Call, data: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
    length = index_length(call, indices, data.ndim)
    _check_mode(call, "mode", one_dtype(call, data, updates))
    expected = (*indices.shape[1:], *data.shape[length:])
    if not same_shape(updates.shape, expected):
        raise fault(call, f"updates are {show_shape(updates.shape)}, expected {show_shape(expected)}")
    return data


def _nd_numpy(call: Call, data: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
    result = data.copy()
    if updates.size and not len(indices):
        flat = updates.reshape(-1, *data.shape)
        _combine_numpy(call["mode"], result[None], (np.zeros(len(flat), np.int64),), flat)
    elif updates.size:
        _combine_numpy(call["mode"], result, tuple(indices), updates)
    return result


@statement("scatter_nd", infer=_nd_type, reference=_nd_numpy, attrs={"mode": choice(*COMBINE)})
def scatter_nd(call: Call, data: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """``data``, each slice ``updates[y...]`` combined in by ``mode`` at the index ``indices[:, y...]``."""
    length = indices.shape[0]
    assert isinstance(length, int)
    extents, tail = list(data.shape[:length]), data.shape[length:]

    def body(old: loop.Buffer, where: loop.Buffer, new: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def slices(*y: e.Expr) -> loop.Stmt:
            def write(*place: e.Expr) -> loop.Stmt:
                return loops.nest(
                    tail,
                    lambda *x: _store_combined(call["mode"], out, (*place, *x), loops.load(new, *y, *x)),
                    name="x",
                )

            return _if_in_range([loops.load(where, k, *y) for k in range(length)], extents, write)

        return loop.sequence(loops.copied(old, out), loops.nest(indices.shape[1:], slices, name="y"))

    return loops.extern("scatter_nd", [data, indices, updates], [(data.shape, data.dtype)], body)[0]


# --- a run of elements written into a cache --------------------------------------------------------


def _cache_type(call: Call, cache: TensorType, update: TensorType, start: TensorType) -> TensorType:
    dtype = one_dtype(call, cache, update)
    axis = axis_of(call, call["axis"], cache.ndim)
    if axis == 0 or cache.ndim != update.ndim:
        raise fault(
            call,
            f"axis is {axis}, the cache has {cache.ndim} axes, the update {update.ndim}: expected "
            "an axis other than 0, and equal numbers of axes",
        )
    expect(call, "the places are", start.dtype, INTEGERS)
    if start.ndim != 1:
        raise fault(call, f"the places have {start.ndim} axes, expected 1")
    expect_extent(call, "the number of places", start.shape[0], cache.shape[0])
    for k in range(cache.ndim):
        if k != axis:
            expect_extent(call, f"the update's extent {k}", update.shape[k], cache.shape[k])
    have, more = cache.shape[axis], update.shape[axis]
    if isinstance(have, int) and isinstance(more, int) and more > have:
        raise fault(call, f"the update has {more} elements along the axis, the cache {have}")
    return TensorType(cache.shape, dtype)


def _cache_numpy(call: Call, cache: np.ndarray, update: np.ndarray, start: np.ndarray) -> np.ndarray:
    axis, result = call["axis"] % cache.ndim, cache.copy()
    for batch, first in enumerate(start.astype(np.int64)):
        for k in range(update.shape[axis]):
            place = (first + k) % cache.shape[axis] if call["mode"] == "circular" else first + k
            if 0 <= place < cache.shape[axis]:
                lead = (batch, *(slice(None),) * (axis - 1))
                result[(*lead, place)] = update[(*lead, k)]
    return result


@injective(
    "tensor_scatter",
    infer=_cache_type,
    reference=_cache_numpy,
    attrs={"axis": -2, "mode": choice("linear", "circular")},
)
def tensor_scatter(call: Call, i: Indices, cache: Tensor, update: Tensor, start: Tensor) -> e.Expr:
    """``cache`` with ``update[b]`` written along ``axis`` from ``start[b]`` on.

    Elements out of range are not written; in mode "circular" they wrap around.
    """
    axis = call["axis"] % cache.ndim
    extent, count = cache.shape[axis], update.shape[axis]
    from_start = as_index(i[axis], extent) - e.cast("int64", start[i[0]])
    if call["mode"] == "circular":
        from_start = from_start % extent
    inside = e.And(from_start >= 0, e.Less(*e.match(from_start, count)))
    new = update[replaced(i, axis, clamp(from_start, count))]
    return e.Select(inside, new, cache[i])


@statement(
    "cache_update",
    infer=_cache_type,
    reference=_cache_numpy,
    attrs={"axis": -2, "mode": choice("linear", "circular")},
)
def cache_update(call: Call, cache: Tensor, update: Tensor, start: Tensor) -> Tensor:
    """``tensor_scatter`` by loops over ``update``.

    If the result is in the memory of ``cache`` (``update_in_place``), no other elements are touched.
    """
    axis = call["axis"] % cache.ndim
    extent = loops.index(cache.shape[axis])

    def body(old: loop.Buffer, new: loop.Buffer, where: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def one(*at: e.Expr) -> loop.Stmt:
            place = e.cast("int64", loops.load(where, at[0])) + at[axis]
            if call["mode"] == "circular":
                place = place % extent
            write = loops.store(out, (*at[:axis], place, *at[axis + 1 :]), loops.load(new, *at))
            return loop.If(e.all_of([place >= 0, place < extent]), write)

        return loop.sequence(loops.copied(old, out), loops.nest(update.shape, one, name="u"))

    return loops.extern("cache_update", [cache, update, start], [(cache.shape, cache.dtype)], body)[0]
