"""Products and sums with sparse matrices in compressed rows, or rows of blocks (CSR, BSR), as in TVM.

A sparse matrix is three tensors: ``data``, its elements or blocks; ``indices``, the column of each;
``indptr``, the position in both where each row begins, and finally where the last row ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import Dim, TensorType, TupleType, normal_dim, same_dim, same_shape, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import INTEGERS, NUMBERS, clamp, expect, fault, one_dtype
from tvmlite.relay.ops.convolutions.conv import sum_dtype
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def _rows(call: Call, data: TensorType, indices: TensorType, indptr: TensorType) -> Dim:
    """Return the number of rows, or of rows of blocks."""
    expect(call, "indices are", one_dtype(call, indices, indptr), INTEGERS)
    fits = data.ndim in (1, 3) and indices.ndim == indptr.ndim == 1
    if not fits or not same_dim(data.shape[0], indices.shape[0]):
        raise fault(
            call,
            f"data is {show_shape(data.shape)}, indices are {show_shape(indices.shape)}, indptr is "
            f"{show_shape(indptr.shape)}, expected as many indices as elements (or blocks), and a "
            "vector indptr",
        )
    return normal_dim(indptr.shape[0] - 1)


def _block(data: Any) -> tuple[Any, Any]:
    """The extents of a block."""
    return tuple(data.shape[1:]) if data.ndim == 3 else (1, 1)  # type: ignore[return-value]


def _dense_type(
    call: Call,
    data: TensorType,
    weight_data: TensorType,
    weight_indices: TensorType,
    weight_indptr: TensorType,
) -> TensorType:
    if call["sparse_lhs"]:
        raise fault(
            call, "sparse_lhs is True, expected False: transpose the product, and give the dense first"
        )
    rows = _rows(call, weight_data, weight_indices, weight_indptr)
    expect(call, "data is", one_dtype(call, data, weight_data), NUMBERS)
    if data.ndim != 2:
        raise fault(call, f"data is {show_shape(data.shape)}, expected 2 axes")
    return TensorType((data.shape[0], normal_dim(rows * _block(weight_data)[0])), data.dtype)


def _entries(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Iterator[tuple[int, int, Any]]:
    """Yield the row, the column and the value of each stored element."""
    block_rows, block_columns = _block(data)
    for row, (begin, end) in enumerate(pairwise(indptr)):
        for k in range(begin, end):
            for y, x in np.ndindex(block_rows, block_columns):
                value = data[k, y, x] if data.ndim == 3 else data[k]
                yield row * block_rows + y, int(indices[k]) * block_columns + x, value


def _dense_numpy(
    call: Call,
    data: np.ndarray,
    weight_data: np.ndarray,
    weight_indices: np.ndarray,
    weight_indptr: np.ndarray,
) -> np.ndarray:
    rows = (len(weight_indptr) - 1) * _block(weight_data)[0]
    work = np.float64 if dtypes.is_float(dtypes.check(data.dtype)) else data.dtype
    matrix = np.zeros((rows, data.shape[1]), work)
    for row, column, value in _entries(weight_data, weight_indices, weight_indptr):
        matrix[row, column] += value
    return (data.astype(work) @ matrix.T).astype(data.dtype)


@statement("nn.sparse_dense", infer=_dense_type, reference=_dense_numpy, attrs={"sparse_lhs": False})
def sparse_dense(
    call: Call, data: Tensor, weight_data: Tensor, weight_indices: Tensor, weight_indptr: Tensor
) -> Tensor:
    """``data`` times the transpose of a sparse weight: (batch, in) and (out, in) give (batch, out).

    ``weight_data`` is the elements, or blocks (count, rows, columns). TVM's function also accepts a matrix of
    scipy; the operator takes its three parts.
    """
    block_rows, block_columns = _block(weight_data)
    shape = (data.shape[0], normal_dim((weight_indptr.shape[0] - 1) * block_rows))
    work = sum_dtype(data.dtype)

    def body(
        left: loop.Buffer, values: loop.Buffer, columns: loop.Buffer, starts: loop.Buffer, out: loop.Buffer
    ) -> loop.Stmt:
        def one(row: e.Expr, column: e.Expr) -> loop.Stmt:
            total = loops.Cell("total", work)
            group = column // block_rows if not _is_one(block_rows) else column
            begin, end = (loops.load(starts, group + k) for k in (0, 1))

            def add(k: e.Expr) -> loop.Stmt:
                def part(x: e.Expr) -> loop.Stmt:
                    within = () if weight_data.ndim == 1 else (column % block_rows, x)
                    place = e.cast(loops.INT, loops.load(columns, k)) * block_columns + x
                    value = e.cast(work, loops.load(values, k, *within))
                    other = e.cast(work, loops.load(left, row, clamp(place, loops.index(data.shape[1]))))
                    return total.set(total.value + other * value)

                return loops.over(block_columns, part, "x")

            count = e.Max(*e.match(e.cast(loops.INT, end) - e.cast(loops.INT, begin), 0))
            steps = loops.over(count, add, "k", start=begin)
            done = loops.store(out, (row, column), total.value)
            return loops.allocated(loop.sequence(total.set(e.const(0, work)), steps, done), total)

        return loops.nest(shape, one, parallel=True)

    given = [data, weight_data, weight_indices, weight_indptr]
    return loops.extern("sparse_dense", given, [(shape, data.dtype)], body)[0]


def _is_one(extent: Any) -> bool:
    return isinstance(extent, int) and extent == 1


# --- sums -------------------------------------------------------------------------------------------


def _check_unblocked(call: Call, data: TensorType) -> None:
    if data.ndim != 1:
        raise fault(call, f"data is {show_shape(data.shape)}, expected the elements, a vector, and no blocks")


def _add_type(
    call: Call,
    dense_data: TensorType,
    sparse_data: TensorType,
    sparse_indices: TensorType,
    sparse_indptr: TensorType,
) -> TensorType:
    rows = _rows(call, sparse_data, sparse_indices, sparse_indptr)
    _check_unblocked(call, sparse_data)
    expect(call, "dense_data is", one_dtype(call, dense_data, sparse_data), NUMBERS)
    if dense_data.ndim != 2 or not same_dim(dense_data.shape[0], rows):
        raise fault(call, f"dense_data is {show_shape(dense_data.shape)}, the sparse matrix has {rows} rows")
    return dense_data


def _add_numpy(
    call: Call,
    dense_data: np.ndarray,
    sparse_data: np.ndarray,
    sparse_indices: np.ndarray,
    sparse_indptr: np.ndarray,
) -> np.ndarray:
    result = dense_data.copy()
    for row, column, value in _entries(sparse_data, sparse_indices, sparse_indptr):
        result[row, column] += value
    return result


@statement("nn.sparse_add", infer=_add_type, reference=_add_numpy)
def sparse_add(
    call: Call, dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor
) -> Tensor:
    """``dense_data`` plus a sparse matrix of single elements, without blocks."""
    width = loops.index(dense_data.shape[1])

    def body(
        dense: loop.Buffer, values: loop.Buffer, columns: loop.Buffer, starts: loop.Buffer, out: loop.Buffer
    ) -> loop.Stmt:
        def row(at: e.Expr) -> loop.Stmt:
            begin, end = (e.cast(loops.INT, loops.load(starts, at + k)) for k in (0, 1))

            def add(k: e.Expr) -> loop.Stmt:
                place = clamp(e.cast(loops.INT, loops.load(columns, k)), width)
                return loops.store(out, (at, place), loops.load(out, at, place) + loops.load(values, k))

            return loops.over(e.Max(*e.match(end - begin, 0)), add, "k", start=begin)

        sums = loops.over(dense_data.shape[0], row, "r", kind=loop.PARALLEL)
        return loop.sequence(loops.copied(dense, out), sums)

    given = [dense_data, sparse_data, sparse_indices, sparse_indptr]
    return loops.extern("sparse_add", given, [(dense_data.shape, dense_data.dtype)], body)[0]


# --- transposes -------------------------------------------------------------------------------------


def _transpose_type(
    call: Call, sparse_data: TensorType, sparse_indices: TensorType, sparse_indptr: TensorType
) -> TupleType:
    _rows(call, sparse_data, sparse_indices, sparse_indptr)
    _check_unblocked(call, sparse_data)
    return TupleType((sparse_data, sparse_indices, sparse_indptr))


def _transpose_numpy(
    call: Call, sparse_data: np.ndarray, sparse_indices: np.ndarray, sparse_indptr: np.ndarray
) -> tuple[np.ndarray, ...]:
    entries = list(_entries(sparse_data, sparse_indices, sparse_indptr))
    order = sorted(range(len(entries)), key=lambda k: (entries[k][1], entries[k][0]))
    starts = np.searchsorted([entries[k][1] for k in order], np.arange(len(sparse_indptr)))
    rows = np.array([entries[k][0] for k in order], sparse_indices.dtype)
    return sparse_data[order], rows, starts.astype(sparse_indptr.dtype)


@statement("nn.sparse_transpose", infer=_transpose_type, reference=_transpose_numpy)
def sparse_transpose(
    call: Call, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor
) -> list[Tensor]:
    """Transpose a square sparse matrix of single elements; return its three parts."""
    count, ends = loops.index(sparse_data.shape[0]), loops.index(sparse_indptr.shape[0])

    def body(
        values: loop.Buffer, columns: loop.Buffer, starts: loop.Buffer,
        new_values: loop.Buffer, new_columns: loop.Buffer, new_starts: loop.Buffer,
    ) -> loop.Stmt:  # fmt: skip
        free = loops.buffer("free", (ends,), loops.INT)

        def column_of(k: e.Expr) -> e.Expr:
            return clamp(e.cast(loops.INT, loops.load(columns, k)), ends - 1)

        def counted(k: e.Expr) -> loop.Stmt:
            place = column_of(k) + 1
            return loops.store(new_starts, (place,), loops.load(new_starts, place) + 1)

        def summed(k: e.Expr) -> loop.Stmt:
            return loops.store(new_starts, (k,), loops.load(new_starts, k) + loops.load(new_starts, k - 1))

        def row(at: e.Expr) -> loop.Stmt:
            begin, end = (e.cast(loops.INT, loops.load(starts, at + k)) for k in (0, 1))

            def move(k: e.Expr) -> loop.Stmt:
                def to(place: e.Expr) -> loop.Stmt:
                    return loop.sequence(
                        loops.store(new_values, (place,), loops.load(values, k)),
                        loops.store(new_columns, (place,), at),
                        loops.store(free, (column_of(k),), place + 1),
                    )

                return loops.let("place", loops.load(free, column_of(k)), to)

            return loops.over(e.Max(*e.match(end - begin, 0)), move, "k", start=begin)

        clear = loops.over(ends, lambda k: loops.store(new_starts, (k,), e.const(0, "int32")), "z")
        copy = loops.over(ends, lambda k: loops.store(free, (k,), loops.load(new_starts, k)), "f")
        steps = [
            clear,
            loops.over(count, counted, "n"),
            loops.over(ends - 1, summed, "s", start=1),
            copy,
            loops.over(ends - 1, row, "r"),
        ]
        return loops.allocated(loop.sequence(*steps), free)

    given = [sparse_data, sparse_indices, sparse_indptr]
    return loops.extern("sparse_transpose", given, [(one.shape, one.dtype) for one in given], body)


# --- another shape ----------------------------------------------------------------------------------


def _reshape_type(
    call: Call, sparse_indices: TensorType, prev_shape: TensorType, new_shape: TensorType
) -> TupleType:
    expect(call, "sparse_indices are", one_dtype(call, sparse_indices, prev_shape, new_shape), INTEGERS)
    fits = sparse_indices.ndim == 2 and prev_shape.ndim == new_shape.ndim == 1
    if not fits or not same_shape(sparse_indices.shape[1:], prev_shape.shape):
        raise fault(
            call,
            f"sparse_indices are {show_shape(sparse_indices.shape)}, prev_shape is "
            f"{show_shape(prev_shape.shape)}, expected an index an axis in each row",
        )
    rank = new_shape.shape[0]
    return TupleType((TensorType((sparse_indices.shape[0], rank), sparse_indices.dtype), new_shape))


def _reshape_numpy(
    call: Call, sparse_indices: np.ndarray, prev_shape: np.ndarray, new_shape: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    total = int(np.prod(prev_shape))
    known = int(np.prod(new_shape[new_shape >= 0]))
    found = [total // known if n == -1 else int(n) for n in new_shape]
    if found == prev_shape.tolist():
        return sparse_indices, prev_shape
    flat = np.ravel_multi_index(tuple(sparse_indices.T), tuple(prev_shape))
    rows = np.stack(np.unravel_index(flat, found), axis=1).astype(sparse_indices.dtype)
    return rows, np.array(found, new_shape.dtype)


@statement("sparse_reshape", infer=_reshape_type, reference=_reshape_numpy)
def sparse_reshape(call: Call, sparse_indices: Tensor, prev_shape: Tensor, new_shape: Tensor) -> list[Tensor]:
    """Convert indices of elements of a tensor of ``prev_shape`` to those after a reshape to ``new_shape``.

    ``sparse_indices`` has a row for each element. Return the new indices and the new shape, with -1 in
    ``new_shape`` inferred. Indices are unchanged if both shapes are the same.
    """
    rows = sparse_indices.shape[0]
    old_rank, new_rank = prev_shape.shape[0], new_shape.shape[0]

    def body(
        where: loop.Buffer, old: loop.Buffer, wanted: loop.Buffer, places: loop.Buffer, shape: loop.Buffer
    ) -> loop.Stmt:
        total, known, same = loops.Cell("total"), loops.Cell("known"), loops.Cell("same")
        common = e.Min(*e.match(loops.index(old_rank), loops.index(new_rank)))

        def product(cell: loops.Cell, source: loop.Buffer) -> Callable[[e.Expr], loop.Stmt]:
            def times(k: e.Expr) -> loop.Stmt:
                own = e.cast(loops.INT, loops.load(source, k))
                return loop.If(own >= 0, cell.set(cell.value * own))

            return times

        def resolved(k: e.Expr) -> loop.Stmt:
            own = e.cast(loops.INT, loops.load(wanted, k))
            return loops.store(shape, (k,), e.Select(own >= 0, own, e.TruncDiv(total.value, known.value)))

        def compared(k: e.Expr) -> loop.Stmt:
            alike = loops.load(old, k).equal(loops.load(shape, k))
            return same.set(e.Select(alike, same.value, e.const(0, loops.INT)))

        def kept(r: e.Expr) -> loop.Stmt:
            return loops.over(common, lambda k: loops.store(places, (r, k), loops.load(where, r, k)), "k")

        def row(r: e.Expr) -> loop.Stmt:
            flat = loops.Cell("flat")

            def into(k: e.Expr) -> loop.Stmt:
                extent = e.cast(loops.INT, loops.load(old, k))
                return flat.set(flat.value * extent + e.cast(loops.INT, loops.load(where, r, k)))

            def out(k: e.Expr) -> loop.Stmt:
                axis = loops.index(new_rank) - 1 - k
                extent = e.cast(loops.INT, loops.load(shape, axis))
                put = loops.store(places, (r, axis), e.TruncMod(flat.value, extent))
                return loop.sequence(put, flat.set(e.TruncDiv(flat.value, extent)))

            steps = flat.set(0), loops.over(old_rank, into, "i"), loops.over(new_rank, out, "o")
            return loops.allocated(loop.sequence(*steps), flat)

        steps = [
            total.set(1),
            known.set(1),
            loops.over(old_rank, product(total, old), "t"),
            loops.over(new_rank, product(known, wanted), "w"),
            loops.over(new_rank, resolved, "s"),
            same.set(e.cast(loops.INT, loops.index(old_rank).equal(loops.index(new_rank)))),
            loops.over(common, compared, "d"),
            loop.If(same.value > 0, loops.over(rows, kept, "r"), loops.over(rows, row, "r")),
        ]
        return loops.allocated(loop.sequence(*steps), total, known, same)

    kinds: list[Any] = [((rows, new_rank), sparse_indices.dtype), (new_shape.shape, new_shape.dtype)]
    return loops.extern("sparse_reshape", [sparse_indices, prev_shape, new_shape], kinds, body)
