"""The phases of a transposed convolution, computed side by side as channels, put where they belong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import REQUIRED
from tvmlite.relay.ir.types import Shape, TensorType, normal_dim, show_shape
from tvmlite.relay.ops.common import fault
from tvmlite.relay.ops.register import Indices, injective


def _interleave_type(call: Call, data: TensorType) -> TensorType:
    strides, crop = call["strides"], call["crop"]
    if (
        not isinstance(strides, tuple)
        or not strides
        or not all(isinstance(s, int) and s > 0 for s in strides)
    ):
        raise fault(call, f"strides is {strides}, expected at least one, of at least 1")
    if not _are_whole(crop, 0) or len(crop) != 2 * len(strides):
        raise fault(call, f"crop is {crop}, expected {2 * len(strides)} numbers, of at least 0")
    channels, phases = data.shape[1] if data.ndim > 1 else None, math.prod(strides)
    if data.ndim - 2 - len(strides) not in (0, 1):
        raise fault(call, f"data is {show_shape(data.shape)}, expected {len(strides)} spatial axes")
    if not isinstance(channels, int) or channels % phases:
        raise fault(call, f"data is {show_shape(data.shape)}, expected a multiple of {phases} channels")
    return TensorType(_shape(call, data.shape), data.dtype)


def _are_whole(values: Any, least: int) -> bool:
    """Whether ``values`` is a tuple of known whole numbers of at least ``least``."""
    return isinstance(values, tuple) and all(isinstance(one, int) and one >= least for one in values)


def _shape(call: Call, shape: Any) -> Shape:
    strides, rank = call["strides"], len(call["strides"])
    crop = zip(call["crop"][:rank], call["crop"][rank:], strict=True)
    spatial = (
        normal_dim(extent * s - (b + e))
        for extent, s, (b, e) in zip(shape[2 : 2 + rank], strides, crop, strict=True)
    )
    return (shape[0], shape[1] // math.prod(strides), *spatial, *shape[2 + rank :])


def _interleave_numpy(call: Call, data: np.ndarray) -> np.ndarray:
    strides, rank = call["strides"], len(call["strides"])
    n, channels, *spatial = data.shape[: 2 + rank]
    lanes = data.shape[2 + rank :]
    whole = data.reshape(n, *strides, channels // math.prod(strides), *spatial, *lanes)
    order = [0, rank + 1]
    for axis in range(rank):
        order += [rank + 2 + axis, 1 + axis]
    whole = whole.transpose(*order, *range(2 * rank + 2, whole.ndim))
    whole = whole.reshape(n, whole.shape[1], *(q * s for q, s in zip(spatial, strides, strict=True)), *lanes)
    kept = (
        slice(b, y - e) for b, e, y in zip(call["crop"], call["crop"][rank:], whole.shape[2:], strict=False)
    )
    return np.ascontiguousarray(whole[(slice(None), slice(None), *kept)])


@injective(
    "nn.contrib_interleave",
    infer=_interleave_type,
    reference=_interleave_numpy,
    attrs={"strides": REQUIRED, "crop": REQUIRED},
)
def interleave(call: Call, i: Indices, data: te.Tensor) -> Any:
    """``(n, s.. * c, q..)`` as ``(n, c, q * s..)``: the channels of phase ``r..`` are those of the places
    ``q * s + r..``, less the ``crop`` (begins, then ends). Channels in blocks, as
    ``(n, s.. * c / 16, q.., 16)``, stay in blocks."""
    n, c, *rest = i
    strides, rank = call["strides"], len(call["strides"])
    shape = _shape(call, data.shape)
    phase: Any = 0
    places = []
    for y, s, b in zip(rest[:rank], strides, call["crop"], strict=False):
        phase = phase * s + (y + b) % s
        places.append((y + b) // s)
    return data[(n, phase * shape[1] + c, *places, *rest[rank:])]
