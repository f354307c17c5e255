"""Functions of TVM that are compositions of operators of the table."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.relay.ir import op as table
from tvmlite.relay.ir.attributes import show
from tvmlite.relay.ir.dims import dim
from tvmlite.relay.ir.nodes import Expr, LetDims
from tvmlite.relay.ops import random
from tvmlite.tvm.relay.expr import Tuple, TupleWrapper, adopt, const
from tvmlite.tvm.relay.op.builders import function

_counts = itertools.count(1)

_CPU = 1
"""The ``device_type`` of CPUs."""


def mean_variance(
    data: Any, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> TupleWrapper:
    """The mean and the variance over ``axis``."""
    mean = function("mean")(data, axis, True, exclude)
    found = variance(data, axis, keepdims, exclude, unbiased, mean)
    shown = mean if keepdims else function("mean")(data, axis, False, exclude)
    return TupleWrapper(Tuple((shown, found)), 2)


def variance(
    data: Any,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Any = None,
) -> Any:
    """The variance over ``axis``. If ``unbiased``, the sum of squares is divided by the count minus 1."""
    mean = function("mean")(data, axis, True, exclude) if with_mean is None else with_mean
    if table.is_known("variance"):
        return function("variance")(data, mean, axis, keepdims, exclude, unbiased)
    deviation = function("subtract")(data, mean)
    squares = function("multiply")(deviation, deviation)
    if not unbiased:
        return function("mean")(squares, axis, keepdims, exclude)
    total = function("sum")(squares, axis, keepdims, exclude)
    dtype = data.checked_type.dtype
    ones = function("add")(function("multiply")(data, const(0, dtype)), const(1, dtype))
    ones = function("sum")(ones, axis, keepdims, exclude)
    return function("divide")(total, function("subtract")(ones, const(1, dtype)))


def std(
    data: Any, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> Any:
    """The standard deviation over ``axis``."""
    return function("sqrt")(variance(data, axis, keepdims, exclude, unbiased))


def mean_std(data: Any, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """The mean and the standard deviation over ``axis``."""
    mean, found = mean_variance(data, axis, keepdims, exclude)
    return TupleWrapper(Tuple((mean, function("sqrt")(found))), 2)


def logsumexp(data: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exponentials over ``axis``."""
    largest = function("max")(data, axis, True)
    total = function("sum")(function("exp")(function("subtract")(data, largest)), axis, True)
    made = function("add")(function("log")(total), largest)
    return made if keepdims else function("squeeze")(made, axis)


def argwhere(condition: Any) -> Any:
    """The indices (int32) of the elements that are not 0; their number is known at run time."""
    count = dim(f"count_{next(_counts)}")
    counted = function("count_nonzero")(condition)
    found = function("cast")(function("argwhere")(condition, count=count), "int32")
    return adopt(LetDims((count,), counted, found))


def batch_flatten(data: Any) -> Any:
    """Flatten all axes but the first into one."""
    return function("reshape")(data, (0, -1))


def threefry_key(seed: int) -> Any:
    """The key of a random number sequence, from a seed."""
    return const(random.threefry_key(int(seed) if isinstance(seed, np.integer) else seed))


def uniform(key: Any, shape: Any, dtype: str = "float32", low: Any = 0.0, high: Any = 1.0) -> Any:
    """A new key and uniformly distributed numbers from ``low`` to ``high``, numbers or scalar expressions."""
    ends = {"low": _scalar(low, dtype), "high": _scalar(high, dtype)}
    return function("random.uniform")(key, **ends, out_shape=shape, out_dtype=dtype)


def normal(key: Any, shape: Any, dtype: str = "float32", mean: Any = 0.0, scale: Any = 1.0) -> Any:
    """A new key and normally distributed numbers with mean ``mean`` and standard deviation ``scale``."""
    moments = {"mean": _scalar(mean, dtype), "scale": _scalar(scale, dtype)}
    return function("random.normal")(key, **moments, out_shape=shape, out_dtype=dtype)


def _scalar(value: Any, dtype: str) -> Any:
    return value if isinstance(value, Expr) else const(value, dtype)


def device_copy(data: Any, src_device: Any, dst_device: Any) -> Any:
    """A copy of ``data`` between devices, both of which must be the CPU."""
    for what, device in (("src_device", src_device), ("dst_device", dst_device)):
        if device != "cpu" and getattr(device, "device_type", None) != _CPU:
            raise UnsupportedError(
                f"device_copy: {what} is {show(device)}, expected the CPU", Span.of_caller()
            )
    return function("device_copy")(data)


COMPOSITE: dict[str, Callable[..., Any]] = {
    "argwhere": argwhere,
    "device_copy": device_copy,
    "logsumexp": logsumexp,
    "mean_std": mean_std,
    "mean_variance": mean_variance,
    "nn.batch_flatten": batch_flatten,
    "random.normal": normal,
    "random.threefry_key": threefry_key,
    "random.uniform": uniform,
    "std": std,
    "variance": variance,
}
"""The compositions by TVM's names."""

FIRST = ("argwhere", "device_copy", "random.normal", "random.uniform", "variance")
"""The compositions that have priority over an operator of the same name."""
