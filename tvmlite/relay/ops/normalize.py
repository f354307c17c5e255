"""Normalisations: softmax, and those that centre and scale by statistics of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.types import Dim, TensorType
from tvmlite.relay.ops.common import (
    agree,
    axes_of,
    axis_of,
    fault,
    intrinsic,
    one_dtype,
    short_name,
)
from tvmlite.relay.ops.conv import converted, sum_dtype
from tvmlite.relay.ops.register import anchored
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers


def _over_axis(call: Call, data: TensorType) -> TensorType:
    """The type of the data, a float, whose ``axis`` must exist."""
    _expect_float(call, data)
    axis_of(call, call["axis"], data.ndim)
    return data


def _expect_float(call: Call, data: TensorType) -> None:
    if not dtypes.is_float(data.dtype):
        raise fault(call, f"data is {data.dtype}, expected a float")


def _along_axis(call: Call, data: TensorType, *parameters: TensorType) -> TensorType:
    """The type of the data; each parameter has one element for each place along ``axis``."""
    checked = _over_axis(call, data)
    one_dtype(call, data, *parameters)
    extent = checked.shape[call["axis"] % checked.ndim]
    for name, given in zip(("gamma", "beta"), parameters, strict=False):
        if given.ndim != 1:
            raise fault(call, f"{name} has {given.ndim} axes, expected one")
        agree(call, f"the extent of {name}", given.shape[0], extent)
    return checked


def rows_reduced(
    data: te.Tensor,
    axes: Sequence[int],
    reducer: Callable[..., Any],
    value: Callable[[tuple[Any, ...]], e.Expr],
    name: str,
) -> te.Tensor:
    """``reducer`` of ``value(index)`` over ``axes``; the result has the other axes only."""
    reduced = {axis: te.reduce_axis(data.shape[axis], name=f"r{axis}") for axis in axes}
    kept = [axis for axis in range(data.ndim) if axis not in reduced]

    def element(*at: Any) -> e.Expr:
        where = dict(zip(kept, at, strict=True))
        index = tuple(reduced[a] if a in reduced else where[a] for a in range(data.ndim))
        return reducer(value(index), list(reduced.values()))

    return te.compute(
        tuple(data.shape[a] for a in kept), element, name=name, tag="row_reduce", attrs={"axes": tuple(axes)}
    )


def kept_of(index: Sequence[Any], axes: Sequence[int]) -> tuple[Any, ...]:
    """``index`` without its places along ``axes``."""
    return tuple(i for a, i in enumerate(index) if a not in axes)


# --- softmax ------------------------------------------------------------------------------------


def softmax_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    wide = data.astype(sum_dtype(data.dtype.name))
    with np.errstate(all="ignore"):
        powers = np.exp(wide - wide.max(axis=call["axis"], keepdims=True, initial=-np.inf))
        return (powers / powers.sum(axis=call["axis"], keepdims=True)).astype(data.dtype)


def log_softmax_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    wide = data.astype(sum_dtype(data.dtype.name))
    with np.errstate(all="ignore"):
        moved = wide - wide.max(axis=call["axis"], keepdims=True, initial=-np.inf)
        return (moved - np.log(np.exp(moved).sum(axis=call["axis"], keepdims=True))).astype(data.dtype)


@anchored(
    "nn.softmax", infer=_over_axis, reference=softmax_numpy, attrs={"axis": -1}, schedule=anchors.SOFTMAX
)
def softmax(call: Call, data: te.Tensor) -> te.Tensor:
    """``exp(x - max) / sum(exp(x - max))`` along ``axis``."""
    axes, work = (call["axis"] % data.ndim,), sum_dtype(data.dtype)
    greatest = rows_reduced(data, axes, reducers.max_reduce, lambda at: data[at].astype(work), "row_max")
    powers = te.compute(
        data.shape,
        lambda *at: intrinsic("exp", data[at].astype(work) - greatest[kept_of(at, axes)]),
        name="powers",
        tag="row_powers",
    )
    total = rows_reduced(powers, axes, reducers.sum, lambda at: powers[at], "row_sum")
    share = te.compute(total.shape, lambda *at: 1.0 / total[at], name="row_share", tag="row_scalar")
    result = te.compute(
        data.shape,
        lambda *at: powers[at] * share[kept_of(at, axes)],
        name="softmax",
        tag="row_output",
        attrs={"axes": axes},
    )
    return converted(result, data.dtype)


@anchored(
    "nn.log_softmax",
    infer=_over_axis,
    reference=log_softmax_numpy,
    attrs={"axis": -1},
    schedule=anchors.SOFTMAX,
)
def log_softmax(call: Call, data: te.Tensor) -> te.Tensor:
    """``x - max - log(sum(exp(x - max)))`` along ``axis``."""
    axes, work = (call["axis"] % data.ndim,), sum_dtype(data.dtype)
    greatest = rows_reduced(data, axes, reducers.max_reduce, lambda at: data[at].astype(work), "row_max")

    def moved(at: Sequence[Any]) -> e.Expr:
        return data[tuple(at)].astype(work) - greatest[kept_of(at, axes)]

    total = rows_reduced(data, axes, reducers.sum, lambda at: intrinsic("exp", moved(at)), "row_sum")
    logarithm = te.compute(
        total.shape, lambda *at: intrinsic("log", total[at]), name="row_log", tag="row_scalar"
    )
    result = te.compute(
        data.shape,
        lambda *at: moved(at) - logarithm[kept_of(at, axes)],
        name="log_softmax",
        tag="row_output",
        attrs={"axes": axes},
    )
    return converted(result, data.dtype)


# --- statistics of the data ---------------------------------------------------------------------


def _size_of(data: te.Tensor, axes: Sequence[int]) -> Dim:
    size: Dim = 1
    for axis in axes:
        size = size * data.shape[axis]
    return size


def _mean_and_scale(
    data: te.Tensor, axes: Sequence[int], epsilon: float, work: str
) -> tuple[te.Tensor, te.Tensor]:
    """The mean over ``axes`` and ``1 / sqrt(variance + epsilon)``, in two passes for precision."""
    size = e.cast(work, _size_of(data, axes))
    total = rows_reduced(data, axes, reducers.sum, lambda at: data[at].astype(work), "row_sum")
    mean = te.compute(total.shape, lambda *at: total[at] / size, name="row_mean", tag="row_scalar")

    def squared(at: tuple[Any, ...]) -> e.Expr:
        moved = data[at].astype(work) - mean[kept_of(at, axes)]
        return moved * moved

    squares = rows_reduced(data, axes, reducers.sum, squared, "row_squares")
    scale = te.compute(
        squares.shape,
        lambda *at: 1.0 / intrinsic("sqrt", squares[at] / size + epsilon),
        name="row_scale",
        tag="row_scalar",
    )
    return mean, scale


def _centred(
    call: Call, data: te.Tensor, axes: Sequence[int], place: Callable[[Sequence[Any]], Any], parameters: Any
) -> te.Tensor:
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta``; ``place(index)`` picks gamma and beta."""
    work = sum_dtype(data.dtype)
    gamma, beta = parameters
    mean, scale = _mean_and_scale(data, axes, call["epsilon"], work)

    def element(*at: Any) -> e.Expr:
        row = kept_of(at, axes)
        value = (data[at].astype(work) - mean[row]) * scale[row]
        if call["scale"]:
            value = value * gamma[place(at)].astype(work)
        return value + beta[place(at)].astype(work) if call["center"] else value

    result = te.compute(
        data.shape, element, name=short_name(call), tag="row_output", attrs={"axes": tuple(axes)}
    )
    return converted(result, data.dtype)


def _centred_numpy(
    call: Call, data: np.ndarray, axes: tuple[int, ...], gamma: np.ndarray, beta: np.ndarray
) -> np.ndarray:
    """As ``_centred``; ``gamma`` and ``beta`` already broadcast against ``data``."""
    wide = data.astype(sum_dtype(data.dtype.name))
    with np.errstate(all="ignore"):
        moved = wide - wide.mean(axis=axes, keepdims=True)
        result = moved / np.sqrt((moved**2).mean(axis=axes, keepdims=True) + call["epsilon"])
        result = result * gamma if call["scale"] else result
        return (result + beta if call["center"] else result).astype(data.dtype)


def _spread(parameter: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """A vector shaped to broadcast along ``axis``."""
    shape = [1] * rank
    shape[axis] = parameter.size
    return parameter.reshape(shape)


_CENTRED_ATTRS = {"axis": -1, "epsilon": 1e-5, "center": True, "scale": True}


def layer_norm_numpy(call: Call, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    axis = call["axis"] % data.ndim
    return _centred_numpy(
        call, data, (axis,), _spread(gamma, data.ndim, axis), _spread(beta, data.ndim, axis)
    )


@anchored(
    "nn.layer_norm",
    infer=_along_axis,
    reference=layer_norm_numpy,
    attrs=_CENTRED_ATTRS,
    schedule=anchors.NORMALIZATION,
)
def layer_norm(call: Call, data: te.Tensor, gamma: te.Tensor, beta: te.Tensor) -> te.Tensor:
    """Each row along ``axis`` with mean 0 and variance 1, then scaled and moved."""
    axis = call["axis"] % data.ndim
    return _centred(call, data, (axis,), lambda at: at[axis], (gamma, beta))


def rms_norm_numpy(call: Call, data: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    axis = call["axis"] % data.ndim
    wide = data.astype(sum_dtype(data.dtype.name))
    result = wide / np.sqrt((wide**2).mean(axis=axis, keepdims=True) + call["epsilon"])
    return (result * _spread(gamma, data.ndim, axis)).astype(data.dtype)


@anchored(
    "nn.rms_norm",
    infer=_along_axis,
    reference=rms_norm_numpy,
    attrs={"axis": -1, "epsilon": 1e-5},
    schedule=anchors.NORMALIZATION,
)
def rms_norm(call: Call, data: te.Tensor, gamma: te.Tensor) -> te.Tensor:
    """Each row along ``axis`` divided by the root of its mean square, then scaled."""
    axes, work = (call["axis"] % data.ndim,), sum_dtype(data.dtype)
    size = e.cast(work, _size_of(data, axes))

    def squared(at: tuple[Any, ...]) -> e.Expr:
        return data[at].astype(work) * data[at].astype(work)

    squares = rows_reduced(data, axes, reducers.sum, squared, "row_squares")
    scale = te.compute(
        squares.shape,
        lambda *at: 1.0 / intrinsic("sqrt", squares[at] / size + call["epsilon"]),
        name="row_scale",
        tag="row_scalar",
    )

    def element(*at: Any) -> e.Expr:
        return data[at].astype(work) * scale[kept_of(at, axes)] * gamma[at[axes[0]]].astype(work)

    result = te.compute(data.shape, element, name="rms_norm", tag="row_output", attrs={"axes": axes})
    return converted(result, data.dtype)


def _instance_type(call: Call, data: TensorType, gamma: TensorType, beta: TensorType) -> TensorType:
    checked = _along_axis(call, data, gamma, beta)
    if checked.ndim < 3 or call["axis"] % checked.ndim == 0:
        raise fault(call, f"data has {checked.ndim} axes and axis is {call['axis']}, expected a batch first")
    return checked


def _instance_axes(call: Call, rank: int) -> tuple[int, ...]:
    return tuple(a for a in range(1, rank) if a != call["axis"] % rank)


def instance_norm_numpy(call: Call, data: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    axis = call["axis"] % data.ndim
    spread = _spread(gamma, data.ndim, axis), _spread(beta, data.ndim, axis)
    return _centred_numpy(call, data, _instance_axes(call, data.ndim), *spread)


@anchored(
    "nn.instance_norm",
    infer=_instance_type,
    reference=instance_norm_numpy,
    attrs={**_CENTRED_ATTRS, "axis": 1},
    schedule=anchors.NORMALIZATION,
)
def instance_norm(call: Call, data: te.Tensor, gamma: te.Tensor, beta: te.Tensor) -> te.Tensor:
    """Each channel of each sample with mean 0 and variance 1, then scaled and moved."""
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
    groups, rank = call["num_groups"], data.ndim
    cut = data.reshape(data.shape[0], groups, -1, *data.shape[2:])
    spread = (_spread(p, rank, 1).reshape(1, groups, -1, *(1,) * (rank - 2)) for p in (gamma, beta))
    return _centred_numpy(call, cut, tuple(range(2, rank + 1)), *spread).reshape(data.shape)


@anchored(
    "nn.group_norm",
    infer=_group_type,
    reference=group_norm_numpy,
    attrs={"num_groups": 1, **_CENTRED_ATTRS, "axis": 1},
    schedule=anchors.NORMALIZATION,
)
def group_norm(call: Call, data: te.Tensor, gamma: te.Tensor, beta: te.Tensor) -> te.Tensor:
    """Each group of channels of each sample with mean 0 and variance 1, then scaled and moved by channel."""
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


def _norm_axes_type(call: Call, data: TensorType) -> TensorType:
    _expect_float(call, data)
    axes_of(call, call["axis"], data.ndim)
    return data


def l2_normalize_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    axes = axes_of(call, call["axis"], data.ndim)
    wide = data.astype(sum_dtype(data.dtype.name))
    return (wide / np.sqrt(np.maximum((wide**2).sum(axis=axes, keepdims=True), call["eps"]))).astype(
        data.dtype
    )


@anchored(
    "nn.l2_normalize",
    infer=_norm_axes_type,
    reference=l2_normalize_numpy,
    attrs={"eps": 1e-12, "axis": None},
    schedule=anchors.NORMALIZATION,
)
def l2_normalize(call: Call, data: te.Tensor) -> te.Tensor:
    """``x / sqrt(max(sum(x * x), eps))`` over ``axis``."""
    axes, work = axes_of(call, call["axis"], data.ndim), sum_dtype(data.dtype)

    def squared(at: tuple[Any, ...]) -> e.Expr:
        return data[at].astype(work) * data[at].astype(work)

    squares = rows_reduced(data, axes, reducers.sum, squared, "row_squares")
    scale = te.compute(
        squares.shape,
        lambda *at: 1.0 / intrinsic("sqrt", e.Max(squares[at], e.const(call["eps"], work))),
        name="row_scale",
        tag="row_scalar",
    )
    result = te.compute(
        data.shape,
        lambda *at: data[at].astype(work) * scale[kept_of(at, axes)],
        name="l2_normalize",
        tag="row_output",
        attrs={"axes": axes},
    )
    return converted(result, data.dtype)
