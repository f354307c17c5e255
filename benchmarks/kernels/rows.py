"""Softmax and layer normalisation, computed row by row, so that each row is read from memory once."""

from __future__ import annotations

import numpy as np

from kernels.case import Case, random
from kernels.machine import LANES
from tvmlite import te

VECTORS, ROWS = 4, 2
"""The number of vectors and of rows that a loop iteration processes."""


def _reduce_in_vectors(s: te.Schedule, tensor: te.Tensor, host: te.Tensor, place: te.IterVar) -> None:
    """Reduce rows at ``place``: first to several vectors of partial results, then to one vector, 4 lanes, a
    scalar.

    The rows are processed alternately: while one waits for a sum, the other can continue.
    """
    for width in (VECTORS * LANES, LANES, 4):
        _, lane = s[tensor].split(s[tensor].op.reduce_axis[0], width)
        partial = s.rfactor(tensor, lane, 1)
        s[partial].compute_at(s[host], place)
        row, lanes = s[partial].op.axis
        (k,) = s[partial].op.reduce_axis
        vectors, lane = s[partial].split(lanes, min(width, LANES))
        s[partial].reorder(k, row, vectors, lane)
        for axis in (row, vectors) if width > LANES else (k, row, vectors):
            s[partial].unroll(axis)
        s[partial].vectorize(lane)
    s[tensor].compute_at(s[host], place)
    (row,), (k,) = s[tensor].op.axis, s[tensor].op.reduce_axis
    s[tensor].reorder(k, row)
    s[tensor].unroll(k)
    s[tensor].unroll(row)


def _in_vectors(s: te.Schedule, tensor: te.Tensor, row: te.IterVar, column: te.IterVar) -> te.IterVar:
    """Process several vectors of the inner rows per iteration; returns the loop over these iterations."""
    outer, block = s[tensor].split(column, VECTORS * LANES)
    vectors, lane = s[tensor].split(block, LANES)
    s[tensor].reorder(outer, row, vectors, lane)
    s[tensor].unroll(row)
    s[tensor].unroll(vectors)
    s[tensor].vectorize(lane)
    return outer


def softmax(rows: int = 1024, columns: int = 1024) -> Case:
    """Maximum, exponentials, their sum, quotients; meanwhile the rows after the next are prefetched."""
    x = te.placeholder((rows, columns), "float32", "x")
    k, q = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "q")
    most = te.compute((rows,), lambda i: te.max(x[i, k], k), "most")
    power = te.compute((rows, columns), lambda i, j: te.exp(x[i, j] - most[i]), "power")
    total = te.compute((rows,), lambda i: te.sum(power[i, q], q), "total")
    inverse = te.compute((rows,), lambda i: 1.0 / total[i], "inverse")
    y = te.compute((rows, columns), lambda i, j: power[i, j] * inverse[i], "y")
    s = te.create_schedule(y)
    _softmax_in_rows(s, most, power, total, inverse, y)
    data = random(rows, columns)
    powers = np.exp(data.astype("float64") - data.max(1, keepdims=True))
    want = powers / powers.sum(1, keepdims=True)
    return Case(
        s,
        [x, y],
        [data],
        want.astype("float32"),
        8.0 * rows * columns,
        peer_inputs={"x": data},
        written_in=(_softmax_in_rows, _reduce_in_vectors, _in_vectors),
    )


def _softmax_in_rows(
    s: te.Schedule, most: te.Tensor, power: te.Tensor, total: te.Tensor, inverse: te.Tensor, y: te.Tensor
) -> None:
    """Compute all steps of several rows at a time, while later rows are prefetched."""
    (x, _), columns = s[power].op.inputs, int(y.shape[1])
    place, row = s[y].split(y.op.axis[0], ROWS)
    _in_vectors(s, y, row, y.op.axis[1])
    _reduce_in_vectors(s, most, y, place)
    s[power].compute_at(s[y], place)
    outer = _in_vectors(s, power, *power.op.axis)
    s[power].prefetch(x, outer, ROWS * columns // (VECTORS * LANES))
    _reduce_in_vectors(s, total, y, place)
    s[inverse].compute_at(s[y], place)


def layer_norm(rows: int = 1024, columns: int = 1024) -> Case:
    """The mean, the mean square of the differences from it, and the scaled differences."""
    x = te.placeholder((rows, columns), "float32", "x")
    scale, shift = te.placeholder((columns,), "float32", "g"), te.placeholder((columns,), "float32", "b")
    k, q = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "q")
    total = te.compute((rows,), lambda i: te.sum(x[i, k], k), "total")
    mean = te.compute((rows,), lambda i: total[i] * (1.0 / columns), "mean")
    squares = te.compute((rows,), lambda i: te.sum((x[i, q] - mean[i]) * (x[i, q] - mean[i]), q), "squares")
    inverse = te.compute((rows,), lambda i: 1.0 / te.sqrt(squares[i] * (1.0 / columns) + 1e-5), "inverse")
    y = te.compute((rows, columns), lambda i, j: (x[i, j] - mean[i]) * inverse[i] * scale[j] + shift[j], "y")
    s = te.create_schedule(y)
    _norm_in_rows(s, total, mean, squares, inverse, y)
    data, g, b = random(rows, columns), random(columns, seed=1), random(columns, seed=2)
    wide = data.astype("float64")
    centred = wide - wide.mean(1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * g + b
    return Case(
        s,
        [x, scale, shift, y],
        [data, g, b],
        want.astype("float32"),
        8.0 * rows * columns,
        peer_inputs={"x": data, "g": g, "b": b},
        written_in=(_norm_in_rows, _reduce_in_vectors, _in_vectors),
    )


def _norm_in_rows(
    s: te.Schedule, total: te.Tensor, mean: te.Tensor, squares: te.Tensor, inverse: te.Tensor, y: te.Tensor
) -> None:
    """Compute all steps of several rows at a time."""
    place, row = s[y].split(y.op.axis[0], ROWS)
    _in_vectors(s, y, row, y.op.axis[1])
    for tensor in (total, squares):
        _reduce_in_vectors(s, tensor, y, place)
    s[mean].compute_at(s[y], place)
    s[inverse].compute_at(s[y], place)
