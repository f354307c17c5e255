"""Operators whose results have data-dependent extents: one counts elements, another writes them.

The extent is an attribute of the second, a dimension that a LetDims has bound to the result of the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core.errors import ExecutionError
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED
from tvmlite.relay.ir.types import TensorType, normal_dim
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import as_bool
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor


def counted(call: Call, wanted: Any, found: np.ndarray) -> np.ndarray:
    """Return ``found``; raise an ExecutionError if it has not ``wanted`` rows."""
    if len(found) != wanted:
        raise ExecutionError(f"{call.op}: {len(found)} elements found, but {wanted} were counted", call.span)
    return found


def _count_type(call: Call, data: TensorType) -> TensorType:
    return TensorType((1,), "int64")


def _count_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return np.array([np.count_nonzero(data)], np.int64)


@statement("count_nonzero", infer=_count_type, reference=_count_numpy)
def count_nonzero(call: Call, data: Tensor) -> Tensor:
    """The number of elements that are not zero, including NaN, as a vector of one int64."""

    def body(source: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        def element(*i: e.Expr) -> loop.Stmt:
            return loop.If(as_bool(loops.load(source, *i)), loops.store(out, (0,), loops.load(out, 0) + 1))

        return loop.sequence(loops.store(out, (0,), e.const(0, "int64")), loops.nest(data.shape, element))

    return loops.extern("count_nonzero", [data], [((1,), "int64")], body)[0]


def _argwhere_type(call: Call, data: TensorType) -> TensorType:
    return TensorType((normal_dim(call["count"]), data.ndim), "int64")


def _argwhere_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    found = np.argwhere(np.atleast_1d(data))[:, : data.ndim].astype(np.int64)
    return counted(call, call["count"], found)


@statement(
    "argwhere",
    infer=_argwhere_type,
    reference=_argwhere_numpy,
    attrs={"count": REQUIRED},
    open_attrs=("count",),
)
def argwhere(call: Call, condition: Tensor) -> Tensor:
    """The indices of the ``count`` elements that are not zero, one row each, in row-major order.

    TVM's has no ``count``. Here it is a dimension, which ``LetDims`` binds to the result of
    ``count_nonzero``.
    """
    count = normal_dim(call["count"])

    def body(source: loop.Buffer, out: loop.Buffer) -> loop.Stmt:
        place = loops.Cell("place")

        def element(*i: e.Expr) -> loop.Stmt:
            puts = [loops.store(out, (place.value, axis), index) for axis, index in enumerate(i)]
            room = e.And(as_bool(loops.load(source, *i)), place.value < loops.index(count))
            return loop.If(room, loop.sequence(*puts, place.set(place.value + 1)))

        return loops.allocated(loop.sequence(place.set(0), loops.nest(condition.shape, element)), place)

    return loops.extern("argwhere", [condition], [((count, condition.ndim), "int64")], body)[0]
