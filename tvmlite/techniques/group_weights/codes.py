"""Data rounded to 8 bits in groups: codes, scales, and the sums of codes, which zero points are times.

They are an operator of their own: products of the same data share its results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import at_least
from tvmlite.relay.ir.types import Shape, TensorType, TupleType, show_shape
from tvmlite.relay.ops import group_data, loops
from tvmlite.relay.ops.common import fault, product_of, unravelled
from tvmlite.relay.ops.group_quantized import check_sums
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

CODES = "nn.contrib_group_codes"

MOST_LANES = 16
"""Terms that are gone over at once, if groups are of so many."""


def codes_type(call: Call, data: TensorType) -> TupleType:
    """``(..., k)`` gives codes ``(..., groups * group)``, and scales and sums ``(..., groups)``."""
    if data.dtype != "float32":
        raise fault(call, f"data is {data.dtype}, expected float32")
    depth = data.shape[-1] if data.ndim else None
    if not isinstance(depth, int):
        raise fault(call, f"data is {show_shape(data.shape)}, expected a last extent that is a number")
    check_sums(call, call["group"])
    shapes = _shapes(data.shape, call["group"])
    return TupleType(tuple(TensorType(shape, dtype) for shape, dtype in shapes))


def _shapes(data: Shape, group: int) -> list[tuple[Shape, str]]:
    *lead, depth = data
    assert isinstance(depth, int)
    groups = -(-depth // group)
    extents = ((groups * group, "int8"), (groups, "float32"), (groups, "int32"))
    return [((*lead, extent), dtype) for extent, dtype in extents]


def codes_numpy(call: Call, data: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The reference."""
    codes, scale = group_data.rounded_numpy(data, call["group"])
    return codes, scale, group_data.sums_numpy(codes, call["group"])


@statement(CODES, infer=codes_type, reference=codes_numpy, attrs={"group": at_least(1, 32)})
def group_codes(call: Call, data: Tensor) -> list[Tensor]:
    """``data`` in 8 bits, symmetrically, with a scale for each ``group`` of a row's terms, as
    ``relay.ops.group_data`` says; and the sums of a group's codes. Codes behind the last term are 0."""
    lead, depth, group = data.shape[:-1], data.shape[-1], call["group"]
    assert isinstance(depth, int)
    whole, rest = divmod(depth, group)

    def body(source: loop.Buffer, *results: loop.Buffer) -> loop.Stmt:
        def of_row(row: e.Expr) -> loop.Stmt:
            at = tuple(unravelled(row, lead))
            full = loops.over(whole, lambda n: _of_group(source, results, (*at, n), group, group), "group")
            last = _of_group(source, results, (*at, loops.index(whole)), group, rest)
            return loop.sequence(full, *([last] if rest else []))

        return loops.over(product_of(lead), of_row, "row", kind=loop.PARALLEL)

    return loops.extern("group_codes", [data], _shapes(data.shape, group), body)


def _of_group(
    source: loop.Buffer, results: Sequence[loop.Buffer], at: tuple[e.Expr, ...], group: int, count: int
) -> loop.Stmt:
    """The codes, the scale and the sum of the group at ``at``, of which ``count`` terms are there: first of
    the terms that a vector's lane has, then of all lanes."""
    codes, scale, total = results
    row, begin = at[:-1], at[-1] * group
    lanes = math.gcd(group, MOST_LANES)
    largest, sums = (loops.buffer(name, (lanes,), "int32") for name in ("largest", "sums"))

    def over_terms(make: Callable[[e.Expr, e.Expr], loop.Stmt]) -> loop.Stmt:
        def vector(first: Any, length: int) -> loop.Stmt:
            return loops.over(length, lambda j: make(j, first + j), "j", kind=loop.VECTORIZE)

        whole, rest = divmod(count, lanes)
        last = vector(loops.index(whole * lanes), rest)
        return loop.sequence(
            loops.over(whole, lambda n: vector(n * lanes, lanes), "n"), *([last] if rest else [])
        )

    def compared(j: e.Expr, term: e.Expr) -> loop.Stmt:
        found = group_data.magnitude(loops.load(source, *row, begin + term))
        return loops.store(largest, (j,), e.Max(loops.load(largest, j), found))

    def coded(factor: e.Expr) -> loop.Stmt:
        def stored(j: e.Expr, term: e.Expr, code: e.Expr) -> loop.Stmt:
            return loop.sequence(
                loops.store(codes, (*row, begin + term), code),
                loops.store(sums, (j,), loops.load(sums, j) + e.cast("int32", code)),
            )

        def one(j: e.Expr, term: e.Expr) -> loop.Stmt:
            value = group_data.code_of(loops.load(source, *row, begin + term), factor)
            return loops.let("code", e.cast("int8", value), lambda code: stored(j, term, code))

        return over_terms(one)

    def of_largest(found: e.Expr) -> loop.Stmt:
        return loop.sequence(
            loops.store(scale, at, group_data.scale_of(found)),
            loops.let("factor", group_data.factor_of(found), coded),
        )

    zero = e.const(0, "int32")
    cleared = loops.over(
        lanes,
        lambda j: loop.sequence(loops.store(largest, (j,), zero), loops.store(sums, (j,), zero)),
        "j",
        kind=loop.VECTORIZE,
    )
    body = loop.sequence(
        cleared,
        over_terms(compared),
        *_folded(largest, lanes, e.Max),
        loops.let("most", loops.load(largest, 0), of_largest),
        *_folded(sums, lanes, e.Add),
        loops.store(total, at, loops.load(sums, 0)),
        loops.over(group - count, lambda n: loops.store(codes, (*row, begin + count + n), zero), "behind"),
    )
    return loops.allocated(body, largest, sums)


def _folded(
    values: loop.Buffer, lanes: int, combine: Callable[[e.Expr, e.Expr], e.Expr]
) -> Iterator[loop.Stmt]:
    """All ``values`` combined in the first, half of them at once."""
    while lanes > 1:
        lanes //= 2

        def one(j: e.Expr, lanes: int = lanes) -> loop.Stmt:
            return loops.store(values, (j,), combine(loops.load(values, j), loops.load(values, j + lanes)))

        yield loops.over(lanes, one, "j", kind=loop.VECTORIZE)
