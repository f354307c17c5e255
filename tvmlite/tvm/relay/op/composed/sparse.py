"""TVM's functions of sparse tensors in coordinate format (a row of indices for each element) and segments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tvmlite.core.errors import TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir.dims import dim
from tvmlite.relay.ir.nodes import LetDims
from tvmlite.relay.ir.types import Dim, same_dim, show_type
from tvmlite.tvm.relay.expr import Tuple, TupleWrapper, adopt, const
from tvmlite.tvm.relay.op.arguments import argument_type, taken_to_be
from tvmlite.tvm.relay.op.builders import function
from tvmlite.tvm.relay.op.run_time_sizes import known_numbers


def sparse_to_dense(
    sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any = None
) -> Any:
    """A tensor of ``output_shape`` with ``sparse_values`` at ``sparse_indices`` and ``default_value`` (0 if
    None) elsewhere."""
    if default_value is None:
        default_value = const(0, argument_type(sparse_values).dtype)
    return function("sparse_to_dense")(sparse_indices, output_shape, sparse_values, default_value)


def sparse_reshape(sparse_indices: Any, prev_shape: Any, new_shape: Any) -> Any:
    """The indices of the elements of a sparse tensor after a reshape from ``prev_shape`` to ``new_shape``,
    and the new shape, with -1 replaced by the inferred extent."""
    places, before = argument_type(sparse_indices), argument_type(prev_shape)
    if places.ndim == 2 and before.ndim == 1 and not (places.is_static and before.is_static):
        prev_shape = taken_to_be(prev_shape, places.shape[1:])
    return function("sparse_reshape")(sparse_indices, prev_shape, new_shape)


def sparse_fill_empty_rows(
    sparse_indices: Any, sparse_values: Any, dense_shape: Any, default_value: Any
) -> Tuple:
    """Add ``default_value`` at the start of each row of a sparse tensor that has no elements. The results are
    the indices and values, sorted by rows, and a bool for each row: whether it was empty."""
    places = argument_type(sparse_indices)
    if places.ndim != 2:
        raise TypeInferError(
            f"sparse_fill_empty_rows: sparse_indices are {show_type(places)}, expected a row an element",
            Span.of_caller(),
        )
    elements, rank = places.shape
    sparse_values = taken_to_be(sparse_values, (elements,))
    default = function("reshape")(taken_to_be(default_value, (1,)), ())
    own_rows = function("take")(sparse_indices, const(0), axis=1)
    joined = function("concatenate")

    def filled(rows: Dim) -> Any:
        numbers = function("arange")(0, rows, 1, dtype=places.dtype)
        ones = function("ones")((elements,), "int64")
        in_row = function("scatter_elements")(function("zeros")((rows,), "int64"), own_rows, ones, 0, "add")
        empty = function("equal")(in_row, const(0, "int64"))
        # a row that is not empty needs no new element: it is sorted to the end and cut off
        behind = function("cast")(function("reshape")(function("shape_of")(numbers), ()), places.dtype)
        order = function("argsort")(
            joined([own_rows, function("where")(empty, numbers, behind)], 0), dtype="int64"
        )
        starts = function("equal")(function("arange")(0, rank, 1, dtype=places.dtype), const(0, places.dtype))
        added = function("multiply")(
            function("reshape")(numbers, (rows, 1)), function("cast")(starts, places.dtype)
        )
        all_places = joined([sparse_indices, added], 0)
        all_values = joined([sparse_values, function("broadcast_to")(default, (rows,))], 0)

        def kept(count: Dim) -> Tuple:
            first = function("strided_slice")(order, (0,), (elements + count,))
            first = taken_to_be(first, (elements + count,))
            chosen = (function("take")(one, first, axis=0) for one in (all_places, all_values))
            return Tuple((*chosen, empty))

        return with_count("empty_rows", function("sum")(function("cast")(empty, "int64")), kept)

    known = known_numbers(dense_shape)
    if isinstance(known, tuple):
        made = filled(known[0])
    else:
        made = with_count("rows", function("take")(dense_shape, const(0), axis=0), filled)
    results = TupleWrapper(made, 3)
    return Tuple((results[0], results[1], results[2]))


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """The sums of the elements of ``data`` with equal ``segment_ids``, indexed by id. ``num_segments``
    defaults to the highest id plus 1. Elements of ``data`` beyond the length of ``segment_ids`` are
    ignored."""
    type_, ids = argument_type(data), argument_type(segment_ids)
    shape = (*ids.shape, *type_.shape[ids.ndim :])
    if not same_dim(type_.shape[0], shape[0]):
        data = function("strided_slice")(data, (0,), (shape[0],))
    data = taken_to_be(data, shape)
    spread = function("reshape")(segment_ids, (*ids.shape, *(1,) * (len(shape) - ids.ndim)))
    spread = function("broadcast_to")(spread, shape)

    def summed(count: Any) -> Any:
        zeros = function("zeros")((count, *shape[1:]), type_.dtype)
        return function("scatter_elements")(zeros, spread, data, 0, "add")

    if num_segments is not None:
        return summed(num_segments)
    highest = function("cast")(function("max")(segment_ids), "int64")
    return with_count("segments", function("add")(highest, const(1, "int64")), summed)


_counts = itertools.count(1)


def with_count(name: str, value: Any, build: Callable[[Any], Any]) -> Any:
    """Call ``build`` with a new dimension, called ``name`` and a number, of the scalar ``value``."""
    count = dim(f"{name}_{next(_counts)}")
    return adopt(LetDims((count,), function("cast")(value, "int64"), build(count)))


SPARSE: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (segment_sum, sparse_fill_empty_rows, sparse_reshape, sparse_to_dense)
}
"""The functions of this module by TVM's names."""
