"""Batch normalization and dropout, which training leaves in a model, and local response normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, at_least, operator
from tvmlite.relay.ir.types import TensorType, TupleType
from tvmlite.relay.ops.common import ANY, along_axis, axis_of, data_type, intrinsic
from tvmlite.relay.ops.convolutions.conv import converted, sum_dtype
from tvmlite.relay.ops.reductions.normalize import check_vectors
from tvmlite.relay.ops.register import anchored
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers


def batch_norm_type(call: Call, data: TensorType, *parameters: TensorType) -> TupleType:
    """The type relation: the normalized data, and the moving mean and variance unchanged."""
    names = ("gamma", "beta", "moving_mean", "moving_var")
    check_vectors(call, data, **dict(zip(names, parameters, strict=True)))
    return TupleType((data, parameters[2], parameters[3]))


def batch_norm_numpy(
    call: Call, data: np.ndarray, *parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The reference of ``nn.batch_norm``, in the dtype of sums; the moving statistics are unchanged."""
    work = sum_dtype(data.dtype.name)
    gamma, beta, mean, variance = (along_axis(p, call["axis"], data.ndim).astype(work) for p in parameters)
    result = (data.astype(work) - mean) / np.sqrt(variance + call["epsilon"])
    result = result * gamma if call["scale"] else result
    result = result + beta if call["center"] else result
    return result.astype(data.dtype), parameters[2], parameters[3]


@operator(
    "nn.batch_norm",
    infer=batch_norm_type,
    reference=batch_norm_numpy,
    fuse=Fuse.TUPLE,
    attrs={"axis": 1, "epsilon": 1e-5, "center": True, "scale": True},
)
def batch_norm(
    call: Call,
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    moving_mean: te.Tensor,
    moving_var: te.Tensor,
) -> list[te.Tensor]:
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` with the moving statistics of training.

    ``gamma`` is used with ``scale``, ``beta`` with ``center``. The statistics are further results, unchanged.
    """
    axis, work = call["axis"] % data.ndim, sum_dtype(data.dtype)

    def element(*at: Any) -> e.Expr:
        place = at[axis]
        spread = intrinsic("sqrt", moving_var[place].astype(work) + call["epsilon"])
        value = (data[at].astype(work) - moving_mean[place].astype(work)) / spread
        if call["scale"]:
            value = value * gamma[place].astype(work)
        if call["center"]:
            value = value + beta[place].astype(work)
        return value.astype(data.dtype)

    normal = te.compute(data.shape, element, name="batch_norm", tag="broadcast")
    return [normal, _copied(moving_mean, "mean"), _copied(moving_var, "variance")]


def _copied(data: te.Tensor, name: str) -> te.Tensor:
    return te.compute(data.shape, lambda *at: data[at], name=name, tag="elemwise")


def dropout_type(call: Call, data: TensorType) -> TupleType:
    """The type relation: the data and the mask, of the same type."""
    return TupleType((data, data))


def dropout_numpy(call: Call, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The reference of ``nn.dropout``: the data unchanged, and a mask of ones."""
    return data, np.ones_like(data)


@operator(
    "nn.dropout", infer=dropout_type, reference=dropout_numpy, fuse=Fuse.TUPLE, attrs={"rate": 0.5}, field=0
)
def dropout(call: Call, data: te.Tensor) -> list[te.Tensor]:
    """Return the data unchanged, since models are run and not trained, and a mask of ones.

    ``relay.nn.dropout`` returns only the data, as TVM's does; the operator has both results.
    """
    ones = te.compute(data.shape, lambda *at: e.const(1, data.dtype), name="mask", tag="elemwise")
    return [_copied(data, "dropout"), ones]


def lrn_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    """The reference of ``nn.lrn``: squares outside the data count as 0."""
    axis, size = call["axis"] % data.ndim, call["size"]
    before = (size - 1) // 2
    wide = data.astype(sum_dtype(data.dtype.name))
    margins = [(0, 0)] * data.ndim
    margins[axis] = (before, size - 1 - before)
    squares = np.pad(wide * wide, margins)
    total = sum(np.take(squares, np.arange(data.shape[axis]) + k, axis=axis) for k in range(size))
    return (wide / (call["bias"] + call["alpha"] / size * total) ** call["beta"]).astype(data.dtype)


@anchored(
    "nn.lrn",
    infer=data_type(ANY, axis_of),
    reference=lrn_numpy,
    attrs={"size": at_least(1, 5), "axis": 1, "bias": 2.0, "alpha": 1e-5, "beta": 0.75},
    schedule=anchors.POOL,
)
def lrn(call: Call, data: te.Tensor) -> te.Tensor:
    """``x / (bias + alpha / size * sum(x * x)) ** beta``, the sum over ``size`` neighbours along ``axis``."""
    axis, size, work = call["axis"] % data.ndim, call["size"], sum_dtype(data.dtype)
    before, extent = (size - 1) // 2, data.shape[axis]
    near = te.reduce_axis(size, name="near")

    def squared(*at: Any) -> e.Expr:
        place = at[axis] + near - before
        index = (*at[:axis], place, *at[axis + 1 :])
        value = data[index].astype(work)
        inside = e.all_of([place >= 0, place < extent])
        return reducers.sum(e.Call("if_then_else", (inside, value * value, e.const(0, work)), work), near)

    total = te.compute(data.shape, squared, name="near_squares", tag="pool")

    def element(*at: Any) -> e.Expr:
        base = total[at] * (call["alpha"] / size) + call["bias"]
        power = e.Call("pow", (base, e.const(call["beta"], work)), work)
        return data[at].astype(work) / power

    return converted(te.compute(data.shape, element, name="lrn", tag="elemwise"), data.dtype)
