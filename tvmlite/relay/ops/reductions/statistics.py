"""Variances, and the logarithm of sums of exponentials, written as plain reductions, as in TVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.relay.ir.infer import tensor_type_of
from tvmlite.relay.ir.nodes import Call, Expr, Tuple
from tvmlite.relay.ir.op import make
from tvmlite.relay.ir.types import num_elements
from tvmlite.relay.ops.common import FLOAT, expect, fault
from tvmlite.relay.ops.reductions.reduce import AXES, reduced_axes, reduced_shape
from tvmlite.relay.ops.written_out import cast, number, reshaped, written_out

_UNBIASED: dict[str, Any] = {**AXES, "unbiased": False}


def _widened(data: Expr) -> tuple[Expr, str]:
    """Return ``data`` in the dtype that sums are computed in, and its own dtype."""
    dtype = tensor_type_of(data).dtype
    return (cast(data, "float32"), dtype) if dtype in ("float16", "bfloat16") else (data, dtype)


def _variance(call: Call, data: Expr, mean: Expr) -> Expr:
    """The mean of the squares of ``data - mean``; ``mean`` keeps its reduced axes."""
    type_ = tensor_type_of(data)
    expect(call, "data is", type_.dtype, FLOAT)
    axes = reduced_axes(call, len(type_.shape))
    moved = make("subtract", data, mean)
    total = make("sum", make("multiply", moved, moved), axis=axes, keepdims=call["keepdims"])
    if not axes:
        return total
    count: Any = num_elements([type_.shape[k] for k in axes]) - (1 if call["unbiased"] else 0)
    if isinstance(count, int):
        return make("divide", total, number(count, type_.dtype))
    counted = reshaped(make("shape_value", values=(count,), dtype="int64"), ())
    return make("divide", total, cast(counted, type_.dtype))


def _mean(call: Call, data: Expr) -> Expr:
    axes = reduced_axes(call, tensor_type_of(data).ndim)
    return make("mean", data, axis=axes, keepdims=True) if axes else data


def _moments(call: Call, data: Expr) -> tuple[Expr, Expr, str]:
    """Return the mean (with its reduced axes), the variance, and the dtype of the results."""
    expect(call, "data is", tensor_type_of(data).dtype, FLOAT)
    wide, dtype = _widened(data)
    mean = _mean(call, wide)
    return mean, _variance(call, wide, mean), dtype


def _drop_axes(call: Call, data: Expr, mean: Expr) -> Expr:
    """Return ``mean`` without the reduced axes, unless ``keepdims``."""
    return reshaped(mean, reduced_shape(call, tensor_type_of(data).shape))


def _variance_numpy(call: Call, data: np.ndarray, mean: np.ndarray) -> np.ndarray:
    axes, wide = reduced_axes(call, data.ndim), data.astype(np.float64)
    count = np.prod([data.shape[k] for k in axes], dtype=np.int64) - bool(call["unbiased"])
    total = ((wide - mean) ** 2).sum(axis=axes, keepdims=bool(call["keepdims"]))
    return np.asarray(total / count).astype(data.dtype)


@written_out("variance", reference=_variance_numpy, attrs=_UNBIASED)
def variance(call: Call, data: Expr, mean: Expr) -> Expr:
    """The variance of ``data`` over ``axis``, given its ``mean`` with all axes kept.

    ``unbiased`` divides by one less than the count. This is TVM's operator; ``tvm.relay.variance`` computes
    the mean itself.
    """
    wide, dtype = _widened(data)
    expected = [
        1 if k in reduced_axes(call, tensor_type_of(data).ndim) else n
        for k, n in enumerate(tensor_type_of(data).shape)
    ]
    if tensor_type_of(mean).ndim != len(expected):
        raise fault(call, f"mean has {tensor_type_of(mean).ndim} axes, expected {len(expected)}")
    return cast(_variance(call, wide, _widened(mean)[0]), dtype)


def _std_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(_moment_numpy(call, data)[1]))


def _moment_numpy(call: Call, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    axes, keep = reduced_axes(call, data.ndim), bool(call["keepdims"])
    wide = data.astype(np.float64)
    found = (
        wide.mean(axis=axes, keepdims=keep),
        wide.var(axis=axes, keepdims=keep, ddof=bool(call["unbiased"])),
    )
    return np.asarray(found[0]).astype(data.dtype), np.asarray(found[1]).astype(data.dtype)


@written_out("std", reference=_std_numpy, attrs=_UNBIASED)
def std(call: Call, data: Expr) -> Expr:
    """The standard deviation over ``axis``: the square root of the variance."""
    _, spread, dtype = _moments(call, data)
    return cast(make("sqrt", spread), dtype)


def _register_pair(
    name: str, doc: str, finish: Callable[[Expr], Expr], finish_numpy: Callable[..., Any]
) -> None:
    def reference(call: Call, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, spread = _moment_numpy(call, data)
        return mean, finish_numpy(spread)

    def rule(call: Call, data: Expr) -> Expr:
        mean, spread, dtype = _moments(call, data)
        return Tuple((cast(_drop_axes(call, data, mean), dtype), cast(finish(spread), dtype)))

    rule.__doc__ = doc
    written_out(name, reference=reference, attrs=_UNBIASED)(rule)


_register_pair("mean_variance", "The mean and the variance over ``axis``.", lambda x: x, lambda x: x)
_register_pair(
    "mean_std",
    "The mean and the standard deviation over ``axis``.",
    lambda x: make("sqrt", x),
    lambda x: np.asarray(np.sqrt(x)),
)


def _logsumexp_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    axes, wide = reduced_axes(call, data.ndim), data.astype(np.float64)
    highest = wide.max(axis=axes, keepdims=True)
    total = np.log(np.exp(wide - highest).sum(axis=axes, keepdims=True)) + highest
    return (total if call["keepdims"] else total.squeeze(axes)).astype(data.dtype)


@written_out("logsumexp", reference=_logsumexp_numpy, attrs={"axis": None, "keepdims": False})
def logsumexp(call: Call, data: Expr) -> Expr:
    """``log(sum(exp(x)))`` over ``axis``; the maximum is subtracted first so that nothing overflows."""
    type_ = tensor_type_of(data)
    expect(call, "data is", type_.dtype, FLOAT)
    wide, dtype = _widened(data)
    axes = reduced_axes(call, type_.ndim)
    highest = make("max", wide, axis=axes, keepdims=True)
    powers = make("exp", make("subtract", wide, highest))
    total = make("sum", powers, axis=axes, keepdims=True)
    whole = make("add", make("log", total), highest)
    return cast(_drop_axes(call, data, whole), dtype)
