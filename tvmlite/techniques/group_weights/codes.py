"""Data quantized to 8 or 16 bits in groups: codes, scales, and the sums of codes, to be multiplied by zero
points.

This is a separate operator, whose results all products of the same data share. A code of 16 bits is stored as
two signed bytes: the low bytes of a row first, then its high bytes, which count 256 times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import at_least
from tvmlite.relay.ir.types import Shape, TensorType, TupleType, show_shape
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import fault, product_of, unravelled
from tvmlite.relay.ops.quantized import group_data
from tvmlite.relay.ops.quantized.group_quantized import check_sums
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

CODES = "nn.contrib_group_codes"

MOST_LANES = 16
"""The most terms that are processed at once."""


def codes_type(call: Call, data: TensorType) -> TupleType:
    """The type relation: ``(..., k)`` gives bytes ``(..., parts * groups * group)``, and scales and sums
    ``(..., groups)``."""
    if data.dtype != "float32":
        raise fault(call, f"data is {data.dtype}, expected float32")
    depth = data.shape[-1] if data.ndim else None
    if not isinstance(depth, int):
        raise fault(call, f"data is {show_shape(data.shape)}, expected a last extent that is a number")
    if call["data_bits"] not in group_data.MAX_CODE:
        raise fault(call, f"data_bits is {call['data_bits']}, expected 8 or 16")
    check_sums(call, call["group"], call["data_bits"])
    shapes = _shapes(call, data.shape)
    return TupleType(tuple(TensorType(shape, dtype) for shape, dtype in shapes))


def _shapes(call: Call, data: Shape) -> list[tuple[Shape, str]]:
    *lead, depth = data
    assert isinstance(depth, int)
    groups, parts = -(-depth // call["group"]), call["data_bits"] // 8
    extents = ((parts * groups * call["group"], "int8"), (groups, "float32"), (groups, "int32"))
    return [((*lead, extent), dtype) for extent, dtype in extents]


def codes_numpy(call: Call, data: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The reference."""
    codes, scale = group_data.rounded_numpy(data, call["group"], call["data_bits"])
    low = codes.astype(np.int8)
    parts = [low] if call["data_bits"] == 8 else [low, (codes - low >> 8).astype(np.int8)]
    return np.concatenate(parts, axis=-1), scale, group_data.sums_numpy(codes, call["group"])


@statement(CODES, infer=codes_type, reference=codes_numpy, attrs={"group": at_least(1, 32), "data_bits": 8})
def group_codes(call: Call, data: Tensor) -> list[Tensor]:
    """Quantize ``data`` symmetrically to ``data_bits`` bits, with a scale for each ``group`` terms of a row,
    as defined in ``relay.ops.quantized.group_data``; and sum each group's codes. Codes after the last term
    are 0."""
    lead, depth, group = data.shape[:-1], data.shape[-1], call["group"]
    assert isinstance(depth, int)
    whole, rest = divmod(depth, group)
    shapes = _shapes(call, data.shape)

    def body(source: loop.Buffer, codes: loop.Buffer, scale: loop.Buffer, total: loop.Buffer) -> loop.Stmt:
        groups = _Groups(source, codes, scale, total, group, whole + (rest > 0), call["data_bits"])

        def of_row(row: e.Expr) -> loop.Stmt:
            at = tuple(unravelled(row, lead))
            full = loops.over(whole, lambda n: groups.quantize(at, n, group), "group")
            return loop.sequence(full, *([groups.quantize(at, loops.index(whole), rest)] if rest else []))

        return loops.over(product_of(lead), of_row, "row", kind=loop.PARALLEL)

    return loops.extern("group_codes", [data], shapes, body)


@dataclass(frozen=True)
class _Groups:
    """The statements for the groups of rows, ``count`` per row: partial results per lane, then combined."""

    source: loop.Buffer
    codes: loop.Buffer
    scale: loop.Buffer
    total: loop.Buffer
    group: int
    count: int
    bits: int

    @property
    def lanes(self) -> int:
        """The number of terms that are processed at once."""
        return math.gcd(self.group, MOST_LANES)

    def quantize(self, row: tuple[e.Expr, ...], number: e.Expr, terms: int) -> loop.Stmt:
        """Compute the codes, the scale and the sum of a group, of which the first ``terms`` terms exist."""
        begin, at = number * self.group, (*row, number)
        largest, sums = (loops.buffer(name, (self.lanes,), "int32") for name in ("largest", "sums"))
        zero = e.const(0, "int32")

        def compared(j: e.Expr, term: e.Expr) -> loop.Stmt:
            found = group_data.magnitude_bits(loops.load(self.source, *row, begin + term))
            return loops.store(largest, (j,), e.Max(loops.load(largest, j), found))

        def of_factor(factor: e.Expr) -> loop.Stmt:
            return self._for_terms(
                terms, lambda j, term: self._quantize_term(row, begin + term, j, factor, sums)
            )

        def of_largest(found: e.Expr) -> loop.Stmt:
            return loop.sequence(
                loops.store(self.scale, at, group_data.scale_of(found, self.bits)),
                loops.let("factor", group_data.factor_of(found, self.bits), of_factor),
            )

        def cleared(j: e.Expr) -> loop.Stmt:
            return loop.sequence(loops.store(largest, (j,), zero), loops.store(sums, (j,), zero))

        body = loop.sequence(
            loops.over(self.lanes, cleared, "j", kind=loop.VECTORIZE),
            self._for_terms(terms, compared),
            *_reduce_lanes(largest, self.lanes, e.Max),
            loops.let("most", loops.load(largest, 0), of_largest),
            *_reduce_lanes(sums, self.lanes, e.Add),
            loops.store(self.total, at, loops.load(sums, 0)),
            loops.over(
                self.group - terms, lambda n: self._store_code(row, begin + terms + n, zero), "behind"
            ),
        )
        return loops.allocated(body, largest, sums)

    def _for_terms(self, terms: int, make: Callable[[e.Expr, e.Expr], loop.Stmt]) -> loop.Stmt:
        """``make(lane, term)`` for all terms of a group, in vectors."""

        def vector(first: Any, length: int) -> loop.Stmt:
            return loops.over(length, lambda j: make(j, first + j), "j", kind=loop.VECTORIZE)

        whole, rest = divmod(terms, self.lanes)
        last = [vector(loops.index(whole * self.lanes), rest)] if rest else []
        return loop.sequence(loops.over(whole, lambda n: vector(n * self.lanes, self.lanes), "n"), *last)

    def _quantize_term(
        self, row: tuple[e.Expr, ...], term: e.Expr, j: e.Expr, factor: e.Expr, sums: loop.Buffer
    ) -> loop.Stmt:
        """Store a term's code and add it to the sum of its lane."""
        value = group_data.code_of(loops.load(self.source, *row, term), factor)

        def used(code: e.Expr) -> loop.Stmt:
            added = loops.load(sums, j) + e.cast("int32", code)
            return loop.sequence(self._store_code(row, term, code), loops.store(sums, (j,), added))

        return loops.let("code", e.cast(f"int{self.bits}", value), used)

    def _store_code(self, row: tuple[e.Expr, ...], term: e.Expr, code: e.Expr) -> loop.Stmt:
        """Store the bytes of a code."""
        low = e.cast("int8", code)
        stored = loops.store(self.codes, (*row, term), low)
        if self.bits == 8:
            return stored
        high = (e.cast("int32", code) - e.cast("int32", low)) >> e.const(8, "int32")
        return loop.sequence(stored, loops.store(self.codes, (*row, term + self.count * self.group), high))


def _reduce_lanes(
    values: loop.Buffer, lanes: int, combine: Callable[[e.Expr, e.Expr], e.Expr]
) -> Iterator[loop.Stmt]:
    """Combine all ``values`` into the first, by halving."""
    while lanes > 1:
        lanes //= 2

        def one(j: e.Expr, lanes: int = lanes) -> loop.Stmt:
            return loops.store(values, (j,), combine(loops.load(values, j), loops.load(values, j + lanes)))

        yield loops.over(lanes, one, "j", kind=loop.VECTORIZE)
