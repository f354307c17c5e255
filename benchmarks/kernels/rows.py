"""Softmax and layer normalisation: a row at a time, so that each row is read from memory once."""

from __future__ import annotations

import numpy as np

from kernels.case import Case, random
from tvmlite import te

LANES = 16


def _reduce_in_vectors(s: te.Schedule, tensor: te.Tensor, host: te.Tensor, place: te.IterVar) -> None:
    """One row's reduction at ``place``: four vectors of partial results, then one, a quarter, a scalar."""
    for width in (4 * LANES, LANES, 4):
        _, lane = s[tensor].split(s[tensor].op.reduce_axis[0], width)
        partial = s.rfactor(tensor, lane, 1)
        s[partial].compute_at(s[host], place)
        i, lanes = s[partial].op.axis
        k = s[partial].op.reduce_axis[0]
        vectors, lane = s[partial].split(lanes, min(width, LANES))
        s[partial].reorder(i, k, vectors, lane)
        s[partial].unroll(vectors)
        s[partial].vectorize(lane)
        if width <= LANES:
            s[partial].unroll(k)
    s[tensor].compute_at(s[host], place)
    s[tensor].unroll(s[tensor].op.reduce_axis[0])


def softmax(rows: int = 1024, columns: int = 1024) -> Case:
    """The greatest, the exponentials, their sum, the quotients."""
    x = te.placeholder((rows, columns), "float32", "x")
    k, q = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "q")
    most = te.compute((rows,), lambda i: te.max(x[i, k], k), "most")
    power = te.compute((rows, columns), lambda i, j: te.exp(x[i, j] - most[i]), "power")
    total = te.compute((rows,), lambda i: te.sum(power[i, q], q), "total")
    inverse = te.compute((rows,), lambda i: 1.0 / total[i], "inverse")
    y = te.compute((rows, columns), lambda i, j: power[i, j] * inverse[i], "y")
    s = te.create_schedule(y)
    i, j = s[y].op.axis
    _vectors(s, y, j)
    _reduce_in_vectors(s, most, y, i)
    s[power].compute_at(s[y], i)
    _vectors(s, power, s[power].op.axis[1])
    _reduce_in_vectors(s, total, y, i)
    s[inverse].compute_at(s[y], i)
    data = random(rows, columns)
    powers = np.exp(data.astype("float64") - data.max(1, keepdims=True))
    want = powers / powers.sum(1, keepdims=True)
    return Case(s, [x, y], [data], want.astype("float32"), 8.0 * rows * columns, peer_inputs={"x": data})


def _vectors(s: te.Schedule, tensor: te.Tensor, axis: te.IterVar, several: int = 4) -> None:
    """``several`` vectors a turn."""
    _, block = s[tensor].split(axis, several * LANES)
    vectors, lane = s[tensor].split(block, LANES)
    s[tensor].unroll(vectors)
    s[tensor].vectorize(lane)


def layer_norm(rows: int = 1024, columns: int = 1024) -> Case:
    """The mean, the mean square of the differences, the differences scaled."""
    x = te.placeholder((rows, columns), "float32", "x")
    scale, shift = te.placeholder((columns,), "float32", "g"), te.placeholder((columns,), "float32", "b")
    k, q = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "q")
    total = te.compute((rows,), lambda i: te.sum(x[i, k], k), "total")
    mean = te.compute((rows,), lambda i: total[i] * (1.0 / columns), "mean")
    squares = te.compute((rows,), lambda i: te.sum((x[i, q] - mean[i]) * (x[i, q] - mean[i]), q), "squares")
    inverse = te.compute((rows,), lambda i: 1.0 / te.sqrt(squares[i] * (1.0 / columns) + 1e-5), "inverse")
    y = te.compute((rows, columns), lambda i, j: (x[i, j] - mean[i]) * inverse[i] * scale[j] + shift[j], "y")
    s = te.create_schedule(y)
    i, j = s[y].op.axis
    _vectors(s, y, j)
    for tensor in (total, squares):
        _reduce_in_vectors(s, tensor, y, i)
    s[mean].compute_at(s[y], i)
    s[inverse].compute_at(s[y], i)
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
    )
