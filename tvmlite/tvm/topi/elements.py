"""Functions of ``tvm.topi`` that read and write elements by index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite import relay, te
from tvmlite.core import arguments
from tvmlite.te import expr as e
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.operate import operate
from tvmlite.tvm.topi.utils import get_const_int


def adv_index(data: t.Tensor, indices: Sequence[t.Tensor]) -> t.Tensor:
    """Return ``data[indices]`` as in numpy, where ``indices`` are arrays."""
    return operate("adv_index", lambda *xs: relay.adv_index(relay.Tuple(xs)), data, *indices)


def scatter(data: t.Tensor, indices: t.Tensor, updates: t.Tensor, axis: int = 0) -> t.Tensor:
    """Return ``data`` with the elements at ``indices`` along ``axis`` replaced by ``updates``."""
    return operate("scatter", lambda *x: relay.scatter(*x, axis), data, indices, updates)


def scatter_add(data: t.Tensor, indices: t.Tensor, updates: t.Tensor, axis: int = 0) -> t.Tensor:
    """Return ``data`` with ``updates`` added to the elements at ``indices`` along ``axis``."""
    return operate("scatter_add", lambda *x: relay.scatter_add(*x, axis), data, indices, updates)


def scatter_elements(
    data: t.Tensor, indices: t.Tensor, updates: t.Tensor, axis: int = 0, reduction: str = "update"
) -> t.Tensor:
    """Return ``data`` with ``updates`` combined by ``reduction`` (``"update"``, ``"add"``, ...) into the
    elements at ``indices`` along ``axis``."""
    return operate(
        "scatter_elements", lambda *x: relay.scatter_elements(*x, axis, reduction), data, indices, updates
    )


def scatter_nd(data: t.Tensor, indices: t.Tensor, updates: t.Tensor, mode: str) -> t.Tensor:
    """Return ``data`` with ``updates`` combined by ``mode`` into the positions ``indices[:, ...]``."""
    return operate("scatter_nd", lambda *x: relay.scatter_nd(*x, mode), data, indices, updates)


def searchsorted(
    sorted_sequence: t.Tensor, values: t.Tensor, right: bool = False, out_dtype: str = "int64"
) -> t.Tensor:
    """Return the positions at which ``values`` would be inserted into the rows of ``sorted_sequence``."""
    return operate(
        "searchsorted", lambda s, v: relay.searchsorted(s, v, right, out_dtype), sorted_sequence, values
    )


def argwhere(output_shape: t.Tensor, condition: t.Tensor) -> t.Tensor:
    """Return the indices of the nonzero elements as rows of int32. The result has the shape of the tensor
    ``output_shape``; surplus rows are not written."""
    rows = output_shape.shape[0]
    return operate(
        "argwhere", lambda x: relay.cast(relay.argwhere(x, count=get_const_int(rows)), "int32"), condition
    )


def unique(data: t.Tensor, is_sorted: bool = True, return_counts: bool = False) -> list[t.Tensor]:
    """Return the distinct values of a vector, the position where each first occurs, the number of its value
    for each element, the count of values and, with ``return_counts``, the occurrences of each value. Values
    are sorted, or in order of occurrence without ``is_sorted``. All but the count are as long as ``data``."""
    return operate("unique", lambda x: relay.unique(x, is_sorted, return_counts), data)


def sparse_reshape(
    sparse_indices: t.Tensor,
    prev_shape: t.Tensor,
    new_shape: t.Tensor,
    new_sparse_indices_shape: Any,
    new_shape_shape: Any,
) -> list[t.Tensor]:
    """Return the indices in ``new_shape`` of the elements at ``sparse_indices`` in ``prev_shape``, and the
    new shape with its -1 replaced by the inferred extent. The last two parameters are ignored."""
    return operate("sparse_reshape", relay.sparse_reshape, sparse_indices, prev_shape, new_shape)


def sparse_to_dense(
    sparse_indices: t.Tensor, output_shape: Any, sparse_values: t.Tensor, default_value: Any = 0
) -> t.Tensor:
    """Return an array of ``default_value``, a number or 0-dimensional tensor, with ``sparse_values`` at
    ``sparse_indices``."""
    shape = tuple(int(one) for one in output_shape)
    if isinstance(default_value, t.Tensor):
        more: tuple[t.Tensor, ...] = (default_value,)
    else:
        value = default_value or 0
        more = (te.compute((), lambda: e.const(value, sparse_values.dtype), name="default_value"),)
    return operate(
        "sparse_to_dense",
        lambda i, v, d: relay.sparse_to_dense(i, shape, v, d),
        sparse_indices,
        sparse_values,
        *more,
    )


def matrix_set_diag(data: t.Tensor, diagonal: t.Tensor, k: Any = 0, align: str = "RIGHT_LEFT") -> t.Tensor:
    """Return matrices with the diagonal ``k``, or those from ``k[0]`` to ``k[1]``, replaced. ``align`` has
    the sides of a row of ``diagonal`` at which short diagonals above and below the main one are aligned."""
    sides = align.split("_")
    if len(sides) != 2 or not {"LEFT", "RIGHT"}.issuperset(sides):
        raise arguments.refused("topi.matrix_set_diag: align", align, "RIGHT_LEFT or another pair of sides")
    low, high = (k[0], k[-1]) if isinstance(k, (tuple, list)) else (k, k)
    options = int(low), int(high), *(side == "RIGHT" for side in sides)
    return operate("matrix_set_diag", lambda x, d: relay.matrix_set_diag(x, d, *options), data, diagonal)


def invert_permutation(data: t.Tensor) -> t.Tensor:
    """Return the inverse of the permutation ``data``."""
    return operate("invert_permutation", relay.invert_permutation, data)


def strided_set(a: t.Tensor, v: t.Tensor, begin: Any, end: Any, strides: Any = None) -> t.Tensor:
    """Return ``a`` with ``a[begin:end:strides]`` replaced by ``v``. The three are lists or tensors of ints
    for the first axes; other axes are replaced whole."""
    rank = a.ndim
    named = [_count(one) for one in (begin, end, strides)]
    before, behind, steps = (_entries(one, rank) for one in (begin, end, strides))

    def element(*place: Any) -> Any:
        inside: list[Any] = []
        source: list[Any] = []
        for axis, (i, extent) in enumerate(zip(place, a.shape, strict=True)):
            step = steps[axis] if axis < named[2] else e.const(1, "int32")
            forward = step > 0
            first = _bound(before[axis], extent, forward) if axis < named[0] else _first(extent, forward)
            last = _bound(behind[axis], extent, forward) if axis < named[1] else _last(extent, forward)
            offset = te.if_then_else(forward, i - first, first - i)
            width = te.if_then_else(forward, step, -step)
            inside += [offset >= 0, te.if_then_else(forward, i < last, i > last)]
            inside.append(te.floormod(offset, width).equal(0))
            source.append(te.floordiv(offset, width))
        return te.if_then_else(te.all(*inside), v(*source), a(*place))

    return te.compute(a.shape, element, name="T_strided_set", tag="injective")


def _count(given: Any) -> int:
    return (
        0 if given is None else get_const_int(given.shape[0]) if isinstance(given, t.Tensor) else len(given)
    )


def _entries(given: Any, rank: int) -> list[Any]:
    read = given if isinstance(given, t.Tensor) else [e.const(int(one), "int32") for one in given or ()]
    return [read[n] for n in range(min(_count(given), rank))]


def _bound(given: Any, extent: Any, forward: Any) -> Any:
    """A slice bound clipped to 0 to ``extent`` or, for negative strides, to -1 to ``extent - 1``."""
    counted = te.if_then_else(given < 0, given + extent, given)
    up = te.max(te.min(counted, extent), 0)
    return te.if_then_else(forward, up, te.max(te.min(counted, extent - 1), -1))


def _first(extent: Any, forward: Any) -> Any:
    return te.if_then_else(forward, e.const(0, "int32"), e.convert(extent) - 1)


def _last(extent: Any, forward: Any) -> Any:
    return te.if_then_else(forward, e.convert(extent), e.const(-1, "int32"))


def einsum(subscripts: str, *operand: t.Tensor) -> t.Tensor:
    """Return the sums of products given by ``subscripts``, as numpy's ``einsum``."""
    return operate("einsum", lambda *xs: relay.einsum(relay.Tuple(xs), subscripts), *operand)


def meshgrid(a_tuple: Sequence[t.Tensor], indexing: str) -> list[t.Tensor]:
    """Return the coordinates of the grid spanned by the vectors ``a_tuple``, one tensor per vector."""
    return operate("meshgrid", lambda *xs: relay.meshgrid(relay.Tuple(xs), indexing), *a_tuple)


def sliding_window(data: t.Tensor, axis: int, window_shape: Any, strides: Any) -> t.Tensor:
    """Return all windows of ``data`` over the axes from ``axis`` on."""
    return operate("sliding_window", lambda x: relay.sliding_window(x, axis, window_shape, strides), data)


def tensordot(a: t.Tensor, b: t.Tensor, axes: Any) -> t.Tensor:
    """Return the sums of products over ``axes``: the number of last axes of ``a`` and first axes of ``b``, or
    a pair of lists of axes."""
    if isinstance(axes, (int, np.integer)):
        left, right = list(range(a.ndim - int(axes), a.ndim)), list(range(int(axes)))
    else:
        left, right = ([int(one) % x.ndim for one in _each(of)] for of, x in zip(axes, (a, b), strict=True))
    names = [chr(ord("a") + n) for n in range(a.ndim + b.ndim)]
    of_b = names[a.ndim :]
    for one, other in zip(left, right, strict=True):
        of_b[other] = names[one]
    kept = [names[n] for n in range(a.ndim) if n not in left]
    kept += [of_b[n] for n in range(b.ndim) if n not in right]
    return einsum(f"{''.join(names[: a.ndim])},{''.join(of_b)}->{''.join(kept)}", a, b)


def _each(axes: Any) -> tuple[Any, ...]:
    return tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)


def expand_like(a: t.Tensor, shape_like: t.Tensor, axis: Any) -> t.Tensor:
    """Return ``a`` broadcast to the shape of ``shape_like`` along the new axes ``axis``."""
    rank = shape_like.ndim
    new = sorted(int(one) % rank for one in _each(axis))
    kept = [n for n in range(rank) if n not in new] if len(new) + a.ndim == rank else list(range(rank))
    return te.compute(
        shape_like.shape, lambda *i: a(*(i[n] for n in kept)), name="T_expand_like", tag="broadcast"
    )


def collapse_sum(data: t.Tensor, target_shape: Any) -> t.Tensor:
    """Return ``data`` summed to ``target_shape``, a shape that broadcasts to that of ``data``."""
    shape = tuple(int(one) for one in target_shape)
    return operate("collapse_sum", lambda x: relay.collapse_sum_to(x, shape), data)


def ndarray_size(array: t.Tensor, dtype: str = "int32") -> t.Tensor:
    """Return the number of elements of ``array`` as a 0-dimensional tensor."""
    count: Any = e.const(1, "int32")
    for extent in array.shape:
        count = count * extent
    return te.compute((), lambda: e.cast(dtype, count), name="ndarray_size", tag="injective")


def fixed_point_multiply(x: t.Tensor, multiplier: int, shift: int) -> t.Tensor:
    """Return the rounded fixed-point product ``x * multiplier * 2**(shift - 31)``."""
    return operate("fixed_point_multiply", lambda v: relay.fixed_point_multiply(v, multiplier, shift), x)


def fixed_point_multiply_per_axis(
    x: t.Tensor,
    y: t.Tensor,
    lshift: t.Tensor,
    rshift: t.Tensor,
    is_lshift_required: bool,
    is_rshift_required: bool,
    axes: Any,
) -> t.Tensor:
    """Return ``fixed_point_multiply`` with a multiplier ``y`` and shifts for each index along ``axes``."""
    options = bool(is_lshift_required), bool(is_rshift_required), tuple(map(int, _each(axes)))
    return operate(
        "fixed_point_multiply_per_axis",
        lambda *v: relay.fixed_point_multiply_per_axis(*v, *options),
        *(x, y, lshift, rshift),
    )


def _angle(place: Any, frequency: Any, count: Any, dtype: str) -> Any:
    """``2 * pi * place * frequency / count``, reduced with ints so that large products are exact."""
    turns = e.cast(dtype, te.floormod(place * frequency, count)) / e.cast(dtype, e.convert(count))
    return turns * e.const(2 * math.pi, dtype)


def stft(
    data: t.Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: t.Tensor,
    normalized: bool,
    onesided: bool,
    output_shape: Any,
) -> t.Tensor:
    """Return the Fourier transforms of windows of ``win_length`` elements, taken every ``hop_length``
    elements of the rows of ``data``: (rows, frequencies, windows, 2), with real and imaginary parts last.
    ``normalized`` divides by the square root of ``n_fft``. ``onesided`` is implied by ``output_shape``."""
    shape, dtype = tuple(int(one) for one in output_shape), data.dtype
    scale = e.const(1 / math.sqrt(n_fft) if normalized else 1.0, dtype)
    k = te.reduce_axis((0, win_length), name="k")

    def part(wave: Any) -> t.Tensor:
        def element(row: Any, frequency: Any, frame: Any) -> Any:
            read = data[row, frame * hop_length + k] * window[k]
            return te.sum(read * wave(_angle(k, frequency, n_fft, dtype)), axis=k)

        return te.compute(shape[:3], element, name="stft_part")

    real, imaginary = part(te.cos), part(te.sin)
    return te.compute(
        shape,
        lambda *i: te.if_then_else(i[3].equal(0), real(*i[:3]), -imaginary(*i[:3])) * scale,
        name="stft",
    )


def dft(re_data: t.Tensor, im_data: t.Tensor, inverse: bool) -> list[t.Tensor]:
    """Return the real and the imaginary part of the discrete Fourier transform of rows, or its inverse."""
    count = re_data.shape[-1]
    k = te.reduce_axis((0, count), name="k")
    sign = e.const(1.0 if inverse else -1.0, re_data.dtype)

    def part(name: str, formula: Any) -> t.Tensor:
        def element(*i: Any) -> Any:
            angle = sign * _angle(i[-1], k, count, re_data.dtype)
            read = re_data(*i[:-1], k), im_data(*i[:-1], k)
            return te.sum(formula(*read, te.cos(angle), te.sin(angle)), axis=k)

        made = te.compute(re_data.shape, element, name=f"dft_{name}")
        if not inverse:
            return made
        return te.compute(made.shape, lambda *i: made(*i) / count, name=f"idft_{name}", tag="elemwise")

    return [
        part("re", lambda re, im, cos, sin: re * cos - im * sin),
        part("im", lambda re, im, cos, sin: re * sin + im * cos),
    ]


__getattr__ = refusing(__name__)
