"""Dense layers by Winograd's inner product: some multiplications become additions.

``a b + c d = (a + d) (c + b) - a c - d b``: two products by one multiply-add and two additions, since
``a c`` is the same in a whole row of the result, and ``d b`` in a whole column. A processor that has separate
units for additions computes three terms, two of them crosswise in this way, in the time of two.
Source: S. Winograd, A New Algorithm for Inner Product, IEEE Transactions on Computers C-17 (1968), 693-694.

A sum of an element of the data and one of the weight keeps the digits of both only if they have similar
magnitudes. So both are scaled by powers of two, without rounding (``Weight``): the terms of the weight are
scaled to similar magnitudes, and the columns of the data by the inverse factors; then each column of the
weight is scaled to a mean magnitude of 1 to 2, and at run time each row of the data. Results are scaled back.
If a row has an infinity, its results are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Fuse, operator
from tvmlite.relay.ir.types import Dim, TensorType, same_shape
from tvmlite.relay.ops.common import fault, product_of, ravelled, unravelled
from tvmlite.relay.ops.products.matmul import dense_pack_type, packed_columns
from tvmlite.te import expr as e
from tvmlite.te.templates.anchors import Anchor
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.work import STATED

DENSE = "nn.contrib_dense_winograd"

GROUPS = (3, 16, 8)
"""The number of terms in a group: two of 3, ten of 16 and four of 8 are multiplied crosswise. That takes 2/3,
11/16 and 3/4 of the usual multiply-adds; the first size that divides the number of terms is used."""

ERRORS = (3.0, 0.2)
"""The largest error of a sum, relative to the largest sum, in units of rounding (2^-24): the first number
times the square root of the number of terms, plus the second times that number, since the products of pairs
of data all have one sign if the data has. The largest measured errors are 0.6 of that
(``benchmarks/winograd.py --dense --errors``)."""

EXPONENT, SMALLEST, LARGEST, INVERSE = 255 << 23, 1 << 23, 253 << 23, 254 << 23
"""The exponent bits of a float32; those of the smallest and the largest power of two used for a row's
magnitude; and the number from which a power's bits are subtracted to get those of its inverse."""


MOST_EXPONENT = 40
"""The largest exponent of a term's or a column's scale, far beyond the range of a model's weights."""

INNER_PRODUCT = Anchor("dense_winograd")
"""Dense layers by Winograd's inner product."""


@dataclass(frozen=True)
class Terms:
    """``count`` terms in groups of ``group`` terms: as many threes as fit, each with two terms multiplied
    crosswise and a usual product, and usual products to the end of the group."""

    count: int
    group: int

    @staticmethod
    def of(count: object) -> Terms | None:
        """The groups of ``count`` terms; None if ``count`` is unknown, or not a multiple of a group size."""
        if not isinstance(count, int) or count <= 0:
            return None
        return next((Terms(count, group) for group in GROUPS if count % group == 0), None)

    @property
    def pairs(self) -> int:
        """The number of pairs of terms in a group that are multiplied crosswise."""
        return self.group // 3

    @property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """The terms of each multiply-add of a group: two if multiplied crosswise, else one."""
        threes = [((3 * n, 3 * n + 1), (3 * n + 2,)) for n in range(self.pairs)]
        usual = [(term,) for term in range(3 * self.pairs, self.group)]
        return (*(step for three in threes for step in three), *usual)


def stated_error(terms: int) -> float:
    """The largest error of sums of ``terms`` products, relative to the largest of them."""
    per_root, per_term = ERRORS
    return (per_root * math.sqrt(terms) + per_term * terms) * float(np.finfo("float32").eps) / 2


@dataclass(frozen=True)
class Weight:
    """A scaled weight: ``packed`` ``(blocks, k, lanes)``, the factors of the terms of the data, ``terms``
    ``(k,)``, and ``columns`` ``(blocks, 2, lanes)``: for each column, the sum of the products of its pairs
    and the factor of its results."""

    packed: np.ndarray
    terms: np.ndarray
    columns: np.ndarray

    @staticmethod
    def of(plain: np.ndarray, lanes: int) -> Weight:
        """Scale and pack ``plain (n, k)``, which must be finite, with its rows in blocks of ``lanes``."""
        count = plain.shape[1]
        blocks = -(-plain.shape[0] // lanes)
        weight = np.zeros((blocks * lanes, count))
        weight[: plain.shape[0]] = plain
        magnitudes = np.abs(weight)
        of_terms = _powers_of_two(magnitudes.mean(axis=0)) / _powers_of_two(magnitudes.mean())
        weight /= of_terms
        of_columns = _powers_of_two(np.abs(weight).mean(axis=1))
        packed = (weight / of_columns[:, None]).astype(plain.dtype).reshape(blocks, lanes, count)
        packed = np.ascontiguousarray(packed.swapaxes(1, 2))
        columns = np.stack([column_sums(packed), of_columns.reshape(blocks, lanes)], axis=1)
        return Weight(packed, of_terms.astype(plain.dtype), columns.astype(plain.dtype))


def _powers_of_two(magnitudes: np.ndarray) -> np.ndarray:
    """The powers of two not above ``magnitudes``, with exponents limited to ``MOST_EXPONENT``; 1 for zero."""
    return np.where(
        magnitudes > 0, 2.0 ** np.clip(np.frexp(magnitudes)[1] - 1, -MOST_EXPONENT, MOST_EXPONENT), 1.0
    )


def column_sums(packed: np.ndarray) -> np.ndarray:
    """The sums ``(blocks, lanes)`` of the products of pairs of weights ``(blocks, k, lanes)``, in float64."""
    terms = _terms(packed.shape[1])
    groups = packed.astype("float64").reshape(packed.shape[0], -1, terms.group, packed.shape[2])
    threes = groups[:, :, : 3 * terms.pairs].reshape(packed.shape[0], -1, 3, packed.shape[2])
    return (threes[:, :, 0] * threes[:, :, 1]).sum(axis=1)


def _terms(count: object) -> Terms:
    terms = Terms.of(count)
    assert terms is not None, "the type relation has checked that"
    return terms


def dense_type(
    call: Call, data: TensorType, weight: TensorType, terms: TensorType, columns: TensorType
) -> TensorType:
    """``(..., k)``, ``(units / n, k, n)``, ``(k,)`` and ``(units / n, 2, n)`` give ``(..., units)``."""
    made = dense_pack_type(call, data, weight)
    if {made.dtype, *(one.dtype for one in (data, weight, terms, columns))} != {"float32"}:
        raise fault(call, f"data is {data}, weight is {weight}, the result {made}: expected float32")
    if Terms.of(weight.shape[1]) is None:
        groups = ", ".join(map(str, GROUPS))
        raise fault(call, f"the sums have {weight.shape[1]} terms, expected a multiple of one of {groups}")
    expected = ((weight.shape[1],), (weight.shape[0], 2, packed_columns(call)))
    if not (same_shape(terms.shape, expected[0]) and same_shape(columns.shape, expected[1])):
        raise fault(call, f"terms are {terms}, columns are {columns}, weight is {weight}")
    return made


def dense_numpy(
    call: Call, data: np.ndarray, weight: np.ndarray, terms: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """The usual products in float64, plus the difference of the true column sums and those in ``columns``."""
    plain = np.moveaxis(weight, 1, 0).reshape(weight.shape[1], -1).astype("float64")
    added, scales = np.moveaxis(columns.astype("float64"), 1, 0).reshape(2, -1)
    scaled = data * terms
    mean = np.abs(scaled).sum(axis=-1, keepdims=True, dtype="float32") * np.float32(1 / weight.shape[1])
    power = np.clip(mean.view("int32") & EXPONENT, SMALLEST, LARGEST).view("float32").astype("float64")
    made = scaled.astype("float64") @ plain + power * (column_sums(weight).ravel() - added)
    return (made * scales)[..., : call["units"]].astype(data.dtype)


@operator(
    DENSE,
    infer=dense_type,
    reference=dense_numpy,
    fuse=Fuse.OUT_ELEMWISE_FUSABLE,
    attrs={"units": None, "out_dtype": "", "weight_layout": "NC16n"},
    schedule=INNER_PRODUCT,
)
def dense(call: Call, data: te.Tensor, weight: te.Tensor, terms: te.Tensor, columns: te.Tensor) -> te.Tensor:
    """Rows of ``data`` times a scaled weight (``Weight``)."""
    lead, count, block = data.shape[:-1], _terms(weight.shape[1]), weight.shape[2]

    def read(row: Any, term: Any) -> e.Expr:
        return data[(*unravelled(row, lead), term)] * terms[term]

    power = _powers(read, product_of(lead), count.count)
    rows = te.compute(
        (product_of(lead), count.count),
        lambda row, term: read(row, term) * _as_float(INVERSE - power(row)),
        name="rows",
        tag="winograd_rows",
    )
    sums, product = _row_sums(rows, count), _products(rows, weight, count)

    def element(*at: Any) -> e.Expr:
        row, outer, lane = ravelled(at[:-1], lead), at[-1] // block, at[-1] % block
        unscaled = product[row, outer, lane] - (sums[row] + columns[outer, 0, lane])
        return unscaled * (_as_float(power(row)) * columns[outer, 1, lane])

    types = (TensorType(one.shape, one.dtype) for one in (data, weight))
    shape = dense_pack_type(call, *types).shape
    return te.compute(shape, element, name="dense_unpacked", tag="matmul_unpack")


def _as_float(bits: e.Expr) -> e.Expr:
    return e.Call("reinterpret", (bits,), "float32")


def _powers(read: Callable[[Any, Any], e.Expr], rows: Dim, count: int) -> Callable[[Any], e.Expr]:
    """A function from a row to the bits of the power of two below the mean magnitude of its terms."""
    k = te.reduce_axis(count, name="k")
    total = te.compute(
        (rows,),
        lambda row: reducers.sum(e.Call("abs", (read(row, k),), "float32"), k),
        name="magnitudes",
        tag="winograd_magnitudes",
    )

    def power(row: Any) -> e.Expr:
        bits = e.Call("reinterpret", (total[row] * (1.0 / count),), "int32") & EXPONENT
        return e.Min(e.Max(bits, e.const(SMALLEST, "int32")), e.const(LARGEST, "int32"))

    return power


def _row_sums(rows: te.Tensor, terms: Terms) -> te.Tensor:
    """The sum of the products of pairs of each row, which is a part of each of its results."""
    group = te.reduce_axis(terms.count // terms.group, name="group")
    three = te.reduce_axis(terms.pairs, name="three")

    def element(row: Any) -> e.Expr:
        first = group * terms.group + three * 3
        return reducers.sum(rows[row, first] * rows[row, first + 1], [group, three])

    return te.compute((rows.shape[0],), element, name="row_sums", tag="winograd_row_sums")


def _products(rows: te.Tensor, weight: te.Tensor, terms: Terms) -> te.Tensor:
    """The crosswise sums: the products of rows and columns plus the sums of the pairs of each."""
    group = te.reduce_axis(terms.count // terms.group, name="group")
    step = te.reduce_axis(len(terms.steps), name="step")

    def element(row: Any, block: Any, lane: Any) -> e.Expr:
        def read(term: int) -> tuple[e.Expr, e.Expr]:
            at = group * terms.group + term
            return rows[row, at], weight[block, at, lane]

        def made(which: tuple[int, ...]) -> e.Expr:
            (a, b), *others = map(read, which)
            return (a + others[0][1]) * (others[0][0] + b) if others else a * b

        *first, result = map(made, terms.steps)
        for number, one in reversed(list(enumerate(first))):
            result = e.Select(e.Equal(*e.match(step.var, number)), one, result)
        return reducers.sum(result, [group, step])

    shape = (rows.shape[0], weight.shape[0], weight.shape[2])
    attrs = {STATED: 2 * terms.count}
    return te.compute(shape, element, name="dense", tag="matmul_packed", attrs=attrs)
