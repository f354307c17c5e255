"""Functions of ``tvm.topi`` that move, sort and scan elements: reshape, transpose, concatenate, take, ..."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tvmlite import relay, te
from tvmlite.te import expr as e
from tvmlite.te.tensor import tensor as t
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.operate import operate
from tvmlite.tvm.topi.utils import get_const_int


def expand_dims(a: t.Tensor, axis: int, num_newaxis: int = 1) -> t.Tensor:
    """Return ``a`` with ``num_newaxis`` axes of extent 1 inserted at ``axis``."""
    return operate("expand_dims", lambda x: relay.expand_dims(x, axis, num_newaxis), a)


def transpose(a: t.Tensor, axes: Sequence[int] | None = None) -> t.Tensor:
    """Return ``a`` with its axes in the order ``axes``, by default reversed."""
    return operate("transpose", lambda x: relay.transpose(x, axes), a)


def flip(a: t.Tensor, axis: int = 0) -> t.Tensor:
    """Return ``a`` with the elements along ``axis`` in reverse order."""
    return operate("flip", lambda x: relay.reverse(x, axis), a)


def reverse_sequence(a: t.Tensor, seq_lengths: t.Tensor, seq_axis: int = 1, batch_axis: int = 0) -> t.Tensor:
    """Return ``a`` with the first ``seq_lengths[b]`` elements along ``seq_axis`` reversed, for each ``b``."""
    return operate(
        "reverse_sequence", lambda x, n: relay.reverse_sequence(x, n, seq_axis, batch_axis), a, seq_lengths
    )


def strided_slice(
    a: t.Tensor, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> t.Tensor:
    """Return ``a[begin:end:strides]`` along the first axes, or along ``axes``."""
    return operate(
        "strided_slice", lambda x: relay.strided_slice(x, begin, end, strides, axes, slice_mode), a
    )


def reshape(a: t.Tensor, newshape: Any) -> t.Tensor:
    """Return the elements of ``a``, in the same order, in the shape ``newshape``."""
    shape = tuple(newshape) if isinstance(newshape, (tuple, list)) else (newshape,)
    return operate("reshape", lambda x: relay.reshape(x, shape), a)


def squeeze(a: t.Tensor, axis: Any = None) -> t.Tensor:
    """Return ``a`` without the axes ``axis``, by default all axes of extent 1."""
    return operate("squeeze", lambda x: relay.squeeze(x, axis), a)


def concatenate(a_tuple: Sequence[t.Tensor], axis: int = 0) -> t.Tensor:
    """Return the tensors concatenated along ``axis``."""
    return operate("concatenate", lambda *xs: relay.concatenate(relay.Tuple(xs), axis), *a_tuple)


def stack(a: Sequence[t.Tensor], axis: int = 0) -> t.Tensor:
    """Return the tensors stacked along a new axis ``axis``."""
    return operate("stack", lambda *xs: relay.stack(relay.Tuple(xs), axis), *a)


def split(ary: t.Tensor, indices_or_sections: Any, axis: int = 0) -> list[t.Tensor]:
    """Return ``ary`` split along ``axis`` into a number of equal parts, or at the given indices."""
    made = operate("split", lambda x: relay.split(x, indices_or_sections, axis), ary)
    return made if isinstance(made, list) else [made]


def take(
    a: t.Tensor, indices: t.Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip"
) -> t.Tensor:
    """Return the elements of ``a`` at ``indices`` along ``axis``, or in the flattened ``a`` by default."""
    return operate("take", lambda x, i: relay.take(x, i, axis, batch_dims, mode), a, indices)


def gather(data: t.Tensor, axis: int, indices: t.Tensor) -> t.Tensor:
    """Return the elements of ``data`` at ``indices`` along ``axis``, as numpy's ``take_along_axis``."""
    return operate("gather", lambda x, i: relay.gather(x, axis, i), data, indices)


def gather_nd(a: t.Tensor, indices: t.Tensor, batch_dims: int = 0) -> t.Tensor:
    """Return the elements or slices of ``a`` at the positions ``indices[:, ...]``."""
    if "float" in indices.dtype:
        indices = operate("cast", lambda i: relay.cast(i, "int32"), indices)
    return operate("gather_nd", lambda x, i: relay.gather_nd(x, i, batch_dims), a, indices)


def where(condition: t.Tensor, x: t.Tensor, y: t.Tensor) -> t.Tensor:
    """Return ``x`` where ``condition`` holds, else ``y``."""
    return operate("where", relay.where, condition, x, y)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "float32") -> t.Tensor:
    """Return ``start``, ``start + step``, ... before ``stop``. With one argument, that is ``stop``."""
    if stop is None:
        start, stop = 0, start
    count = -(-(stop - start) // step)
    return te.compute(
        (int(count),),
        lambda i: e.cast(dtype, e.cast(dtype, i) * e.const(step, dtype) + e.const(start, dtype)),
        name="T_arange",
        tag="injective",
    )


def repeat(a: t.Tensor, repeats: int, axis: int) -> t.Tensor:
    """Return ``a`` with each element repeated ``repeats`` times along ``axis``."""
    return operate("repeat", lambda x: relay.repeat(x, repeats, axis), a)


def tile(a: t.Tensor, reps: Any) -> t.Tensor:
    """Return ``a`` as a whole repeated ``reps`` times along each axis."""
    return operate("tile", lambda x: relay.tile(x, reps), a)


def layout_transform(
    array: t.Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None"
) -> t.Tensor:
    """Return ``array`` converted from ``src_layout`` to ``dst_layout``."""
    return operate("layout_transform", lambda x: relay.layout_transform(x, src_layout, dst_layout), array)


def sequence_mask(data: t.Tensor, valid_length: t.Tensor, mask_value: float = 0, axis: int = 0) -> t.Tensor:
    """Return ``data`` with ``mask_value`` from ``valid_length`` on in each sequence."""
    return operate(
        "sequence_mask", lambda x, n: relay.sequence_mask(x, n, mask_value, axis), data, valid_length
    )


def one_hot(indices: t.Tensor, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str) -> t.Tensor:
    """Return ``on_value`` where the position along the new ``axis`` is the index, else ``off_value``."""

    def make(x: Any) -> Any:
        on, off = (
            relay.const(one.value if isinstance(one, e.Const) else one, dtype)
            for one in (on_value, off_value)
        )
        return relay.one_hot(x, on, off, depth, axis, dtype)

    return operate("one_hot", make, indices)


def unravel_index(indices: t.Tensor, shape: t.Tensor) -> t.Tensor:
    """Return the positions in an array of ``shape`` of the flat ``indices``, with one row per axis."""
    return operate("unravel_index", relay.unravel_index, indices, shape)


def trilu(data: t.Tensor, k: int, upper: bool) -> t.Tensor:
    """Return matrices with the elements below or, without ``upper``, above the ``k``-th diagonal set to 0."""
    return operate("trilu", lambda x: relay.trilu(x, k, upper), data)


def cumsum(
    data: t.Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> t.Tensor:
    """Return the cumulative sums along ``axis``, without the element itself if ``exclusive``."""
    return operate("cumsum", lambda x: relay.cumsum(x, axis, dtype, bool(exclusive)), data)


def cumprod(
    data: t.Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> t.Tensor:
    """Return the cumulative products along ``axis``, without the element itself if ``exclusive``."""
    return operate("cumprod", lambda x: relay.cumprod(x, axis, dtype, bool(exclusive)), data)


def matmul(a: t.Tensor, b: t.Tensor, transp_a: bool = False, transp_b: bool = False) -> t.Tensor:
    """Return the product of two matrices."""
    return operate(
        "matmul", lambda x, y: relay.nn.matmul(x, y, transpose_a=transp_a, transpose_b=transp_b), a, b
    )


def shape(array: t.Tensor, dtype: str = "int32") -> t.Tensor:
    """Return the extents of ``array`` as a one-dimensional tensor."""
    extents = [e.cast(dtype, e.convert(n)) for n in array.shape]

    def element(i: Any) -> Any:
        made = extents[-1]
        for position in range(len(extents) - 2, -1, -1):
            made = te.select(e.convert(i).equal(position), extents[position], made)
        return made

    return te.compute((len(extents),), element, name="T_shape", tag="injective")


def argsort(
    data: t.Tensor,
    valid_count: t.Tensor | None = None,
    axis: int = -1,
    is_ascend: int = 1,
    dtype: str = "float32",
) -> t.Tensor:
    """Return the indices that sort ``data`` along ``axis``. With ``valid_count``, a count for each index of
    the first axis, only that many elements are sorted, the others keep their places, and the indices are
    int32."""
    if valid_count is not None:
        dtype = "int32"
        count, place, last = (
            valid_count,
            axis % data.ndim,
            te.max_value(data.dtype) if is_ascend else te.min_value(data.dtype),
        )
        data = te.compute(
            data.shape,
            lambda *i, x=data: te.if_then_else(i[place] < count[i[0]], x(*i), last),
            name="valid",
        )
    return operate("argsort", lambda x: relay.argsort(x, axis, bool(is_ascend), dtype), data)


def sort(data: t.Tensor, axis: int = -1, is_ascend: int = 1) -> t.Tensor:
    """Return ``data`` sorted along ``axis``."""
    return operate("sort", lambda x: relay.sort(x, axis, bool(is_ascend)), data)


def topk(
    data: t.Tensor,
    k: Any = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int64",
) -> Any:
    """Return the ``k`` largest or, with ``is_ascend``, smallest elements along ``axis``, their indices, or
    both. If ``k`` is below 1, all elements are returned."""
    count = get_const_int(k)
    count = count if count >= 1 else get_const_int(data.shape[axis])
    return operate("topk", lambda x: relay.topk(x, count, axis, ret_type, is_ascend, dtype), data)


_others = refusing(__name__)
_ELEMENTS = ("adv_index", "dft", "einsum", "expand_like", "matrix_set_diag", "meshgrid", "ndarray_size")
_ELEMENTS += (
    "sliding_window",
    "sparse_reshape",
    "sparse_to_dense",
    "strided_set",
    "tensordot",
    "invert_permutation",
)


def __getattr__(name: str) -> Any:
    if name in _ELEMENTS:  # TVM has them in this module
        return getattr(importlib.import_module("tvmlite.tvm.topi.elements"), name)
    return _others(name)
