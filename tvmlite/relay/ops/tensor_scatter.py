"""A run of elements written into a cache at a place of each batch's own: tensor_scatter."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import choice
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import (
    INTEGERS,
    agree,
    as_index,
    axis_of,
    clamp,
    expect,
    fault,
    one_dtype,
    replaced,
)
from tvmlite.relay.ops.register import Indices, injective
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor


def _infer(call: Call, cache: TensorType, update: TensorType, start: TensorType) -> TensorType:
    dtype = one_dtype(call, cache, update)
    axis = axis_of(call, call["axis"], cache.ndim)
    if axis == 0 or cache.ndim != update.ndim:
        raise fault(call, f"axis is {axis} of a cache of {cache.ndim} axes, the update has {update.ndim}")
    expect(call, "the places are", start.dtype, INTEGERS)
    if start.ndim != 1:
        raise fault(call, f"the places have {start.ndim} axes, expected 1")
    agree(call, "the number of places", start.shape[0], cache.shape[0])
    for k in range(cache.ndim):
        if k != axis:
            agree(call, f"the update's extent {k}", update.shape[k], cache.shape[k])
    have, more = cache.shape[axis], update.shape[axis]
    if isinstance(have, int) and isinstance(more, int) and more > have:
        raise fault(call, f"an update of {more} for a cache of {have}")
    return TensorType(cache.shape, dtype)


def _numpy(call: Call, cache: np.ndarray, update: np.ndarray, start: np.ndarray) -> np.ndarray:
    axis, result = call["axis"] % cache.ndim, cache.copy()
    for batch, first in enumerate(start.astype(np.int64)):
        for k in range(update.shape[axis]):
            place = (first + k) % cache.shape[axis] if call["mode"] == "circular" else first + k
            if 0 <= place < cache.shape[axis]:
                lead = (batch, *(slice(None),) * (axis - 1))
                result[(*lead, place)] = update[(*lead, k)]
    return result


@injective(
    "tensor_scatter", infer=_infer, reference=_numpy, attrs={"axis": -2, "mode": choice("linear", "circular")}
)
def tensor_scatter(call: Call, i: Indices, cache: Tensor, update: Tensor, start: Tensor) -> e.Expr:
    """``cache`` with ``update[b]`` written from ``start[b]`` on along ``axis``.

    What would lie outside is not written; ``circular`` begins again at the start.
    """
    axis = call["axis"] % cache.ndim
    extent, count = cache.shape[axis], update.shape[axis]
    from_start = as_index(i[axis], extent) - e.cast("int64", start[i[0]])
    if call["mode"] == "circular":
        from_start = from_start % extent
    inside = e.And(from_start >= 0, e.Less(*e.match(from_start, count)))
    new = update[replaced(i, axis, clamp(from_start, count))]
    return e.Select(inside, new, cache[i])
