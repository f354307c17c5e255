"""Dense layers by Winograd's inner product: some multiplications become additions.

``a b + c d = (a + d) (c + b) - a c - d b``: two products for one multiply-add and two additions, since
``a c`` is the same in a whole row of the result, and ``d b`` in a whole column. A processor that has units
for additions beside those for multiply-adds takes three terms, two of them so, in the time of two.
Source: S. Winograd, A New Algorithm for Inner Product, IEEE Transactions on Computers C-17 (1968), 693-694.

A sum of an element of the data and one of the weight keeps the digits of both only if they are about as
large. So each row is multiplied by the power of two that brings its mean magnitude to between 1 and 2, and
the weight, at compile time, by ``weight_scale``; neither rounds, and results are brought back. Where a row
has an infinity, results are NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir import Call
from tvmlite.relay.op import REQUIRED, Fuse, operator
from tvmlite.relay.ops.common import agree, fault, product_of, ravelled, unravelled
from tvmlite.relay.ops.matmul import dense_pack_type, packed_columns
from tvmlite.relay.types import TensorType
from tvmlite.te import expr as e
from tvmlite.te import reducers

DENSE = "nn.contrib_dense_winograd"

TURNS = (3, 16, 8)
"""How many terms a turn may take: two of 3, ten of 16 and four of 8 go crosswise. That is 2/3, 11/16 and 3/4
of the multiply-adds there are otherwise; the first whose turns come out even is taken."""

ERROR = 8.0
"""The largest error, relative to the largest result, in roundings: it grows as the square root of the number
of terms."""

SMALLEST, LARGEST, INVERSE = 1 << 23, 253 << 23, 254 << 23
"""Bits of the smallest and the largest power of two that a row's magnitude may count as, and what its bits
are taken from to be those of its inverse."""


@dataclass(frozen=True)
class Terms:
    """``count`` terms in turns of ``turn``: ``pairs`` threes, of which the first two go crosswise and the
    third is a product as usual, and usual products to the end of the turn."""

    count: int
    turn: int

    @staticmethod
    def of(count: object) -> Terms | None:
        """None where ``count`` is no number, or none that turns come out even with."""
        if not isinstance(count, int) or count <= 0:
            return None
        return next((Terms(count, turn) for turn in TURNS if count % turn == 0), None)

    @property
    def pairs(self) -> int:
        return self.turn // 3

    @property
    def steps(self) -> int:
        """Multiply-adds of a turn."""
        return self.turn - self.pairs


def stated_error(terms: int) -> float:
    """The largest error of sums of ``terms`` products, relative to the largest of them."""
    return ERROR * float(np.finfo("float32").eps) / 2 * math.sqrt(terms)


def column_sums(packed: np.ndarray) -> np.ndarray:
    """``(blocks, lanes)``: what pairs of the weights ``(blocks, terms, lanes)`` add to each column."""
    terms = _terms(packed.shape[1])
    turns = packed.astype("float64").reshape(packed.shape[0], -1, terms.turn, packed.shape[2])
    threes = turns[:, :, : 3 * terms.pairs].reshape(packed.shape[0], -1, 3, packed.shape[2])
    return (threes[:, :, 0] * threes[:, :, 1]).sum(axis=1).astype(packed.dtype)


def _terms(count: object) -> Terms:
    terms = Terms.of(count)
    assert terms is not None, "the type relation has checked that"
    return terms


def dense_type(call: Call, data: TensorType, weight: TensorType, columns: TensorType) -> TensorType:
    """``(..., k)`` by ``(units / n, k, n)`` and ``(units / n, n)`` gives ``(..., units)``, all of float32."""
    made = dense_pack_type(call, data, weight)
    if {made.dtype, data.dtype, weight.dtype, columns.dtype} != {"float32"}:
        raise fault(call, f"data is {data}, weight is {weight}, columns are {columns}: expected float32")
    if Terms.of(weight.shape[1]) is None:
        turns = ", ".join(map(str, TURNS))
        raise fault(call, f"the sums have {weight.shape[1]} terms, expected a multiple of one of {turns}")
    if columns.ndim != 2:
        raise fault(call, f"columns have {columns.ndim} axes, expected two")
    agree(call, "the blocks of columns", columns.shape[0], weight.shape[0])
    agree(call, "the lanes of columns", columns.shape[1], packed_columns(call))
    scale = call["weight_scale"]
    if not isinstance(scale, float) or scale <= 0 or math.frexp(scale)[0] != 0.5:
        raise fault(call, f"weight_scale is {scale!r}, expected a power of two")
    return made


def dense_numpy(call: Call, data: np.ndarray, weight: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The products as they are usually made, in float64."""
    plain = np.moveaxis(weight, 1, 0).reshape(weight.shape[1], -1).astype("float64")
    return (data.astype("float64") @ plain[:, : call["units"]] / call["weight_scale"]).astype(data.dtype)


@operator(
    DENSE,
    infer=dense_type,
    reference=dense_numpy,
    fuse=Fuse.OUT_ELEMWISE_FUSABLE,
    attrs={"units": None, "out_dtype": "", "weight_layout": "NC16n", "weight_scale": REQUIRED},
    schedule="dense_winograd",
)
def dense(call: Call, data: te.Tensor, weight: te.Tensor, columns: te.Tensor) -> te.Tensor:
    """Rows of ``data`` times a weight, times ``weight_scale``, whose columns are packed in blocks;
    ``columns`` are its ``column_sums``."""
    lead, terms, block = data.shape[:-1], _terms(weight.shape[1]), weight.shape[2]
    power = _powers(data)
    rows = te.compute(
        (product_of(lead), terms.count),
        lambda row, term: data[(*unravelled(row, lead), term)] * _as_float(INVERSE - power(row)),
        name="rows",
        tag="winograd_rows",
    )
    sums, product = _row_sums(rows, terms), _products(rows, weight, terms)
    scale = 1.0 / call["weight_scale"]

    def element(*at: Any) -> e.Expr:
        row, place = ravelled(at[:-1], lead), (at[-1] // block, at[-1] % block)
        apart = product[(row, *place)] - (sums[row] + columns[place])
        return apart * (_as_float(power(row)) * scale)

    types = (TensorType(one.shape, one.dtype) for one in (data, weight))
    shape = dense_pack_type(call, *types).shape
    return te.compute(shape, element, name="dense_unpacked", tag="matmul_unpack")


def _as_float(bits: e.Expr) -> e.Expr:
    return e.Call("reinterpret", (bits,), "float32")


def _powers(data: te.Tensor) -> Any:
    """What gives, for a row, the bits of the power of two below the mean of its magnitudes."""
    lead, count = data.shape[:-1], data.shape[-1]
    k = te.reduce_axis(count, name="k")
    total = te.compute(
        (product_of(lead),),
        lambda row: reducers.sum(e.Call("abs", (data[(*unravelled(row, lead), k)],), data.dtype), k),
        name="magnitudes",
        tag="winograd_magnitudes",
    )

    def power(row: Any) -> e.Expr:
        bits = e.Call("reinterpret", (total[row] * (1.0 / count),), "int32") & (0xFF << 23)
        return e.Min(e.Max(bits, e.const(SMALLEST, "int32")), e.const(LARGEST, "int32"))

    return power


def _row_sums(rows: te.Tensor, terms: Terms) -> te.Tensor:
    """What pairs of a row add to each of its results."""
    turn = te.reduce_axis(terms.count // terms.turn, name="turn")
    three = te.reduce_axis(terms.pairs, name="three")

    def element(row: Any) -> e.Expr:
        first = turn * terms.turn + three * 3
        return reducers.sum(rows[row, first] * rows[row, first + 1], [turn, three])

    return te.compute((rows.shape[0],), element, name="row_sums", tag="winograd_row_sums")


def _products(rows: te.Tensor, weight: te.Tensor, terms: Terms) -> te.Tensor:
    """Sums of products of rows and columns, and of what pairs of each add."""
    turn = te.reduce_axis(terms.count // terms.turn, name="turn")
    step = te.reduce_axis(terms.steps, name="step")

    def element(row: Any, block: Any, lane: Any) -> e.Expr:
        def read(place: Any) -> tuple[e.Expr, e.Expr]:
            term = turn * terms.turn + place
            return rows[row, term], weight[block, term, lane]

        in_threes = step < 2 * terms.pairs
        (a, b), (c, d) = read(step // 2 * 3), read(step // 2 * 3 + 1)
        x, y = read(e.Select(in_threes, step // 2 * 3 + 2, step + terms.pairs))
        crosswise = e.And(in_threes, e.Equal(*e.match(step % 2, 0)))
        return reducers.sum(e.Select(crosswise, (a + d) * (c + b), x * y), [turn, step])

    shape = (rows.shape[0], weight.shape[0], weight.shape[2])
    return te.compute(shape, element, name="dense", tag="matmul_packed")
