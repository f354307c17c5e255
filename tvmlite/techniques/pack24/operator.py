"""Dense layers of few rows whose weight is stored in 24 bits per element: three quarters of the bytes are
read.

With few rows, reading the weight dominates. Of four vectors of weights, three are stored as 32-bit words; the
24 bits of the fourth are in the low bytes of those three. A word is rounded such that it includes what its
low byte adds, so every weight is off by at most half of the 24th bit, and no words need masking: only the
fourth vector has to be assembled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, operator
from tvmlite.relay.ir.types import TensorType, same_dim, same_shape
from tvmlite.relay.ops.common import fault, product_of, unravelled
from tvmlite.relay.ops.products.matmul import packed_columns, unpacked
from tvmlite.te import expr as e
from tvmlite.te.templates import anchors
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.work import STATED

DENSE = "nn.contrib_dense_pack24"

LANES = 16
"""Elements of a vector."""

VECTORS = 4
"""The number of vectors of weights in three vectors of words."""

GROUP = VECTORS * LANES
"""The number of columns that are packed together."""

ERROR = 2.0**-16
"""The largest relative error of a weight: 15 of the 23 bits of a float32's fraction are kept."""

STATED_ERROR = 3e-5
"""The largest error of a result, relative to the largest result."""

LEAST = 2.0**-40
"""Weights below this fraction of the largest are raised to it: else the low byte of a word could make it a
subnormal number, which is slow on some processors."""


LARGEST = 1e38
"""The limit of weights: rounding may increase one by 2^-16 of itself."""


def packed24(plain: np.ndarray, columns: int) -> np.ndarray:
    """``plain (n, k)``, float32 below ``LARGEST``, as words ``(blocks, k, groups, 3, LANES)`` with
    ``columns`` columns per block, a multiple of ``GROUP``; columns past the last are about zero."""
    words = np.empty(packed24_shape(plain.shape, columns), "uint32")
    pack24(words, plain)
    return words


def packed24_shape(plain: tuple[int, ...], columns: int) -> tuple[int, ...]:
    """The shape of the words of ``packed24`` for a weight of shape ``plain``."""
    count, terms = plain
    return -(-count // columns), terms, columns // GROUP, VECTORS - 1, LANES


def pack24(words: np.ndarray, plain: np.ndarray) -> None:
    """Write the words of ``packed24`` for ``plain`` to ``words``, block by block."""
    blocks, terms, groups = words.shape[:3]
    columns = groups * GROUP
    largest = max(plain.max(initial=0), -plain.min(initial=0))
    least = int(np.float32(largest * LEAST).view("uint32"))
    weight = np.zeros((columns, terms), "float32")
    for block in range(blocks):
        part = plain[block * columns : (block + 1) * columns]
        weight[: len(part)], weight[len(part) :] = part, 0
        parts = weight.reshape(groups, VECTORS, LANES, terms).transpose(3, 0, 1, 2)
        bits = np.ascontiguousarray(parts).view("uint32").astype("int64")
        fourth = (bits[..., 3, :] + 128) >> 8
        carried = np.stack([fourth >> 16, fourth >> 8 & 255, fourth & 255], axis=-2)
        sign, size = bits[..., :3, :] & 1 << 31, bits[..., :3, :] & (1 << 31) - 1
        size = (np.maximum(size, least) - carried + 128) >> 8 << 8
        words[block] = sign | np.maximum(size, 0) | carried


def unpacked24(words: np.ndarray) -> np.ndarray:
    """The weight ``(k, n)`` stored in ``words``, with all columns."""
    low = words & 255
    fourth = low[..., 0, :] << 24 | low[..., 1, :] << 16 | low[..., 2, :] << 8
    vectors = np.concatenate([words, fourth[..., None, :]], axis=-2).view("float32")
    return np.moveaxis(vectors, 0, 1).reshape(words.shape[1], -1)


def dense_24_type(call: Call, data: TensorType, weight: TensorType) -> TensorType:
    """The type relation: ``(..., k)`` and ``(blocks, k, groups, 3, 16)`` give ``(..., units)``."""
    columns = packed_columns(call)
    if columns % GROUP:
        raise fault(call, f"weight_layout is {call['weight_layout']!r}, expected such as 'NC{GROUP}n'")
    if (data.dtype, weight.dtype) != ("float32", "uint32"):
        raise fault(call, f"data is {data}, weight is {weight}, expected float32 and uint32")
    fitting = weight.ndim == 5 and same_shape(weight.shape[2:], (columns // GROUP, 3, LANES))
    if not data.ndim or not fitting or not same_dim(data.shape[-1], weight.shape[1]):
        raise fault(call, f"data is {data}, weight is {weight}")
    units, blocks = call["units"], weight.shape[0]
    if not (isinstance(units, int) and isinstance(blocks, int)) or -(-units // columns) != blocks:
        raise fault(call, f"units is {units}, weight is {weight}")
    return TensorType((*data.shape[:-1], units), "float32")


def dense_24_numpy(call: Call, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The reference: the weight is unpacked, and the product computed in float64."""
    plain = unpacked24(weight)[:, : call["units"]].astype("float64")
    return (data.astype("float64") @ plain).astype(data.dtype)


@operator(
    DENSE,
    infer=dense_24_type,
    reference=dense_24_numpy,
    fuse=Fuse.OUT_ELEMWISE_FUSABLE,
    attrs={"units": None, "weight_layout": f"NC{2 * GROUP}n"},
    schedule=anchors.DENSE,
)
def dense_24(call: Call, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Rows of ``data`` times a weight in the words of ``packed24``."""
    lead, terms, vectors = data.shape[:-1], weight.shape[1], VECTORS * weight.shape[2]
    k = te.reduce_axis(terms, name="k")

    def element(row: Any, outer: Any, lane: Any) -> e.Expr:
        group, place = outer % vectors // VECTORS, outer % VECTORS

        def word(which: Any) -> e.Expr:
            return weight[outer // vectors, k, group, which, lane]

        fourth = word(0) << 24 | (word(1) & 255) << 16 | (word(2) & 255) << 8
        bits = e.Select(e.Equal(*e.match(place, 3)), fourth, word(e.Min(*e.match(place, 2))))
        read = e.Call("reinterpret", (bits,), "float32")
        return reducers.sum(data[(*unravelled(row, lead), k)] * read, k)

    shape = (product_of(lead), weight.shape[0] * vectors, LANES)
    attrs = {"together": vectors, STATED: 2 * terms}
    product = te.compute(shape, element, name="dense", tag="matmul_packed", attrs=attrs)
    return unpacked(product, lead, call["units"])
