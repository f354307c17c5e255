"""Normalizations: softmax, and those that centre and scale by statistics of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import (
    FLOAT,
    along_axis,
    axes_of,
    axis_of,
    data_type,
    expect,
    expect_extent,
    fault,
    intrinsic,
    one_dtype,
    product_of,
    short_name,
)
from tvmlite.relay.ops.convolutions.conv import converted, sum_dtype
from tvmlite.relay.ops.register import anchored
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers

_over_axis = data_type(FLOAT, axis_of)


def check_vectors(call: Call, data: TensorType, **vectors: TensorType) -> None:
    """Raise a type error unless the vectors have the dtype of ``data`` and its extent along ``axis``."""
    one_dtype(call, data, *vectors.values())
    extent = data.shape[axis_of(call, call["axis"], data.ndim)]
    for name, given in vectors.items():
        if given.ndim != 1:
            raise fault(call, f"{name} has {given.ndim} axes, expected one")
        expect_extent(call, f"the extent of {name}", given.shape[0], extent)


def _along_axis(call: Call, data: TensorType, *parameters: TensorType) -> TensorType:
    """The type relation: the data's; gamma and beta are vectors along ``axis``."""
    expect(call, "data is", data.dtype, FLOAT)
    check_vectors(call, data, **dict(zip(("gamma", "beta"), parameters, strict=False)))
    return data


def reduce_rows(
    data: te.Tensor,
    axes: Sequence[int],
    reducer: Callable[..., Any],
    value: Callable[[tuple[Any, ...]], e.Expr],
    name: str,
) -> te.Tensor:
    """Reduce ``value(index)`` over ``axes`` with ``reducer``; the result has only the other axes."""
    reduced = {axis: te.reduce_axis(data.shape[axis], name=f"r{axis}") for axis in axes}
    kept = [axis for axis in range(data.ndim) if axis not in reduced]

    def element(*at: Any) -> e.Expr:
        where = dict(zip(kept, at, strict=True))
        index = tuple(reduced[a] if a in reduced else where[a] for a in range(data.ndim))
        return reducer(value(index), list(reduced.values()))

    return te.compute(
        tuple(data.shape[a] for a in kept), element, name=name, tag="row_reduce", attrs={"axes": tuple(axes)}
    )


def kept_indices(index: Sequence[Any], axes: Sequence[int]) -> tuple[Any, ...]:
    """Return ``index`` without its entries for ``axes``."""
    return tuple(i for a, i in enumerate(index) if a not in axes)


# --- softmax ------------------------------------------------------------------------------------


def _centred_exponents_numpy(call: Call, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The data minus their maximum along ``axis``, and the sum of their exponentials."""
    wide = data.astype(sum_dtype(data.dtype.name))
    centred = wide - wide.max(axis=call["axis"], keepdims=True, initial=-np.inf)
    return centred, np.exp(centred).sum(axis=call["axis"], keepdims=True)


def softmax_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    """The reference of ``nn.softmax``, which subtracts the maximum so that no exponential overflows."""
    with np.errstate(all="ignore"):
        centred, total = _centred_exponents_numpy(call, data)
        return (np.exp(centred) / total).astype(data.dtype)


def log_softmax_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    """The reference of ``nn.log_softmax``: the centred data minus the logarithm of the sum."""
    with np.errstate(all="ignore"):
        centred, total = _centred_exponents_numpy(call, data)
        return (centred - np.log(total)).astype(data.dtype)


def per_row(total: te.Tensor, formula: Callable[[e.Expr], e.Expr], name: str) -> te.Tensor:
    """Apply ``formula`` to each element of ``total``, which has one for each row."""
    return te.compute(total.shape, lambda *at: formula(total[at]), name=name, tag="row_scalar")


def per_element(
    data: te.Tensor, axes: Sequence[int], formula: Callable[[tuple[Any, ...]], e.Expr], name: str
) -> te.Tensor:
    """Apply ``formula`` to each index of ``data``, with rows along ``axes``, and convert to its dtype."""
    attrs = {"axes": tuple(axes)}
    result = te.compute(data.shape, lambda *at: formula(at), name=name, tag="row_output", attrs=attrs)
    return converted(result, data.dtype)


_softmax = partial(anchored, infer=_over_axis, attrs={"axis": -1}, schedule=anchors.SOFTMAX)


@_softmax("nn.softmax", reference=softmax_numpy)
def softmax(call: Call, data: te.Tensor) -> te.Tensor:
    """``exp(x - max) / sum(exp(x - max))`` along ``axis``."""
    axes, work = (call["axis"] % data.ndim,), sum_dtype(data.dtype)
    greatest = reduce_rows(data, axes, reducers.max_reduce, lambda at: data[at].astype(work), "row_max")
    powers = te.compute(
        data.shape,
        lambda *at: intrinsic("exp", data[at].astype(work) - greatest[kept_indices(at, axes)]),
        name="powers",
        tag="row_powers",
    )
    total = reduce_rows(powers, axes, reducers.sum, lambda at: powers[at], "row_sum")
    share = per_row(total, lambda x: 1.0 / x, "row_share")
    return per_element(data, axes, lambda at: powers[at] * share[kept_indices(at, axes)], "softmax")


@_softmax("nn.log_softmax", reference=log_softmax_numpy)
def log_softmax(call: Call, data: te.Tensor) -> te.Tensor:
    """``x - max - log(sum(exp(x - max)))`` along ``axis``."""
    axes, work = (call["axis"] % data.ndim,), sum_dtype(data.dtype)
    greatest = reduce_rows(data, axes, reducers.max_reduce, lambda at: data[at].astype(work), "row_max")

    def centred(at: tuple[Any, ...]) -> e.Expr:
        return data[at].astype(work) - greatest[kept_indices(at, axes)]

    total = reduce_rows(data, axes, reducers.sum, lambda at: intrinsic("exp", centred(at)), "row_sum")
    logarithm = per_row(total, lambda x: intrinsic("log", x), "row_log")
    return per_element(data, axes, lambda at: centred(at) - logarithm[kept_indices(at, axes)], "log_softmax")


# --- statistics of the data ---------------------------------------------------------------------


def _size_of(data: te.Tensor, axes: Sequence[int], work: str) -> e.Expr:
    return e.cast(work, product_of(tuple(data.shape[axis] for axis in axes)))


def _sum_of_squares(
    data: te.Tensor, axes: Sequence[int], value: Callable[[tuple[Any, ...]], e.Expr]
) -> te.Tensor:
    def squared(at: tuple[Any, ...]) -> e.Expr:
        one = value(at)
        return one * one

    return reduce_rows(data, axes, reducers.sum, squared, "row_squares")


def _inverse_root(squares: te.Tensor, formula: Callable[[e.Expr], e.Expr]) -> te.Tensor:
    """``1 / sqrt(formula(x))`` for each row."""
    return per_row(squares, lambda x: 1.0 / intrinsic("sqrt", formula(x)), "row_scale")


def _centred(
    call: Call, data: te.Tensor, axes: Sequence[int], place: Callable[[Sequence[Any]], Any], parameters: Any
) -> te.Tensor:
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta``; ``place(index)`` indexes gamma and beta.

    The variance is computed from the mean in a second pass over the data, for precision.
    """
    work, (gamma, beta) = sum_dtype(data.dtype), parameters
    size = _size_of(data, axes, work)
    total = reduce_rows(data, axes, reducers.sum, lambda at: data[at].astype(work), "row_sum")
    mean = per_row(total, lambda x: x / size, "row_mean")

    def centred(at: tuple[Any, ...]) -> e.Expr:
        return data[at].astype(work) - mean[kept_indices(at, axes)]

    scale = _inverse_root(_sum_of_squares(data, axes, centred), lambda x: x / size + call["epsilon"])

    def element(at: tuple[Any, ...]) -> e.Expr:
        value = centred(at) * scale[kept_indices(at, axes)]
        if call["scale"]:
            value = value * gamma[place(at)].astype(work)
        return value + beta[place(at)].astype(work) if call["center"] else value

    return per_element(data, axes, element, short_name(call))


def _centred_numpy(
    call: Call, data: np.ndarray, axes: tuple[int, ...], gamma: np.ndarray, beta: np.ndarray
) -> np.ndarray:
    """``_centred`` in numpy; ``gamma`` and ``beta`` are shaped to broadcast against ``data``."""
    wide = data.astype(sum_dtype(data.dtype.name))
    with np.errstate(all="ignore"):
        moved = wide - wide.mean(axis=axes, keepdims=True)
        result = moved / np.sqrt((moved**2).mean(axis=axes, keepdims=True) + call["epsilon"])
        result = result * gamma if call["scale"] else result
        return (result + beta if call["center"] else result).astype(data.dtype)


_norm = partial(anchored, schedule=anchors.NORMALIZATION)

_CENTRED_ATTRS = {"axis": -1, "epsilon": 1e-5, "center": True, "scale": True}


def layer_norm_numpy(call: Call, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The reference of ``nn.layer_norm``: statistics along ``axis`` alone."""
    axis = call["axis"] % data.ndim
    return _centred_numpy(
        call, data, (axis,), along_axis(gamma, axis, data.ndim), along_axis(beta, axis, data.ndim)
    )


@_norm("nn.layer_norm", infer=_along_axis, reference=layer_norm_numpy, attrs=_CENTRED_ATTRS)
def layer_norm(call: Call, data: te.Tensor, gamma: te.Tensor, beta: te.Tensor) -> te.Tensor:
    """Normalize each row along ``axis`` to mean 0 and variance 1, times ``gamma`` plus ``beta``."""
    axis = call["axis"] % data.ndim
    return _centred(call, data, (axis,), lambda at: at[axis], (gamma, beta))


def rms_norm_numpy(call: Call, data: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """The reference of ``nn.rms_norm``: divides by the root mean square along ``axis``, then scales."""
    axis = call["axis"] % data.ndim
    wide = data.astype(sum_dtype(data.dtype.name))
    result = wide / np.sqrt((wide**2).mean(axis=axis, keepdims=True) + call["epsilon"])
    return (result * along_axis(gamma, axis, data.ndim)).astype(data.dtype)


@_norm("nn.rms_norm", infer=_along_axis, reference=rms_norm_numpy, attrs={"axis": -1, "epsilon": 1e-5})
def rms_norm(call: Call, data: te.Tensor, gamma: te.Tensor) -> te.Tensor:
    """Divide each row along ``axis`` by its root mean square, then multiply by ``gamma``."""
    axes, work = (call["axis"] % data.ndim,), sum_dtype(data.dtype)
    size = _size_of(data, axes, work)
    squares = _sum_of_squares(data, axes, lambda at: data[at].astype(work))
    scale = _inverse_root(squares, lambda x: x / size + call["epsilon"])

    def element(at: tuple[Any, ...]) -> e.Expr:
        return data[at].astype(work) * scale[kept_indices(at, axes)] * gamma[at[axes[0]]].astype(work)

    return per_element(data, axes, element, "rms_norm")


def _instance_type(call: Call, data: TensorType, gamma: TensorType, beta: TensorType) -> TensorType:
    checked = _along_axis(call, data, gamma, beta)
    if checked.ndim < 3 or call["axis"] % checked.ndim == 0:
        raise fault(call, f"data has {checked.ndim} axes and axis is {call['axis']}, expected a batch first")
    return checked


def _instance_axes(call: Call, rank: int) -> tuple[int, ...]:
    return tuple(a for a in range(1, rank) if a != call["axis"] % rank)


def instance_norm_numpy(call: Call, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The reference of ``nn.instance_norm``: statistics over every axis but the batch and ``axis``."""
    axis = call["axis"] % data.ndim
    spread = along_axis(gamma, axis, data.ndim), along_axis(beta, axis, data.ndim)
    return _centred_numpy(call, data, _instance_axes(call, data.ndim), *spread)


@_norm(
    "nn.instance_norm",
    infer=_instance_type,
    reference=instance_norm_numpy,
    attrs={**_CENTRED_ATTRS, "axis": 1},
)
def instance_norm(call: Call, data: te.Tensor, gamma: te.Tensor, beta: te.Tensor) -> te.Tensor:
    """Normalize each channel of each sample to mean 0 and variance 1, times ``gamma`` plus ``beta``."""
    axis = call["axis"] % data.ndim
    return _centred(call, data, _instance_axes(call, data.ndim), lambda at: at[axis], (gamma, beta))


def _group_type(call: Call, data: TensorType, gamma: TensorType, beta: TensorType) -> TensorType:
    checked = _along_axis(call, data, gamma, beta)
    channels = checked.shape[1] if checked.ndim > 1 else None
    if call["axis"] % checked.ndim != 1 or checked.ndim < 2:
        raise fault(call, f"axis is {call['axis']}, expected 1")
    if not isinstance(channels, int) or call["num_groups"] < 1 or channels % call["num_groups"]:
        raise fault(call, f"{channels} channels do not divide into {call['num_groups']} groups")
    return checked


def group_norm_numpy(call: Call, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The reference of ``nn.group_norm``: statistics by group, scale and shift by channel."""
    groups, rank = call["num_groups"], data.ndim
    cut = data.reshape(data.shape[0], groups, -1, *data.shape[2:])
    spread = (along_axis(p, 1, rank).reshape(1, groups, -1, *(1,) * (rank - 2)) for p in (gamma, beta))
    return _centred_numpy(call, cut, tuple(range(2, rank + 1)), *spread).reshape(data.shape)


@_norm(
    "nn.group_norm",
    infer=_group_type,
    reference=group_norm_numpy,
    attrs={"num_groups": 1, **_CENTRED_ATTRS, "axis": 1},
)
def group_norm(call: Call, data: te.Tensor, gamma: te.Tensor, beta: te.Tensor) -> te.Tensor:
    """Normalize each group of channels of each sample, times ``gamma`` plus ``beta`` of the channel."""
    members = data.shape[1] // call["num_groups"]
    cut = te.compute(
        (data.shape[0], call["num_groups"], members, *data.shape[2:]),
        lambda n, g, c, *at: data[(n, g * members + c, *at)],
        name="grouped",
        tag="injective",
    )
    axes = tuple(range(2, cut.ndim))
    result = _centred(call, cut, axes, lambda at: at[1] * members + at[2], (gamma, beta))
    return te.compute(
        data.shape,
        lambda n, c, *at: result[(n, c // members, c % members, *at)],
        name="ungrouped",
        tag="row_ungroup",
        attrs={"members": members},
    )


def l2_normalize_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    """The reference of ``nn.l2_normalize``: divides by the norm, whose square is at least ``eps``."""
    axes, wide = axes_of(call, call["axis"], data.ndim), data.astype(sum_dtype(data.dtype.name))
    squares = (wide**2).sum(axis=axes, keepdims=True)
    return (wide / np.sqrt(np.maximum(squares, call["eps"]))).astype(data.dtype)


@_norm(
    "nn.l2_normalize",
    infer=data_type(FLOAT, axes_of),
    reference=l2_normalize_numpy,
    attrs={"eps": 1e-12, "axis": None},
)
def l2_normalize(call: Call, data: te.Tensor) -> te.Tensor:
    """``x / sqrt(max(sum(x * x), eps))`` over ``axis``."""
    axes, work = axes_of(call, call["axis"], data.ndim), sum_dtype(data.dtype)
    squares = _sum_of_squares(data, axes, lambda at: data[at].astype(work))
    scale = _inverse_root(squares, lambda x: e.Max(x, e.const(call["eps"], work)))
    return per_element(
        data, axes, lambda at: data[at].astype(work) * scale[kept_indices(at, axes)], "l2_normalize"
    )
