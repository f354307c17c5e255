"""Dot products of four bytes for loop nests that are written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.te import expr as e
from tvmlite.te.intrin.extern_calls import reinterpret
from tvmlite.te.loop import ir
from tvmlite.techniques.common.quads import Step
from tvmlite.techniques.narrow_products.instructions import QUADS


def quad_products(
    sums: ir.Buffer,
    at: Sequence[Any],
    data: ir.Buffer,
    data_at: Sequence[Any],
    kernel: ir.Buffer,
    kernel_at: Sequence[Any],
    lanes: int,
) -> ir.Stmt:
    """The statement ``sums[at, i] += sum(data[k] * kernel[i * 4 + k])`` for ``lanes`` ``i`` and 4 ``k``, in
    int32, of uint8 by int8 from ``data_at`` and ``kernel_at`` on, by the target's best instruction."""

    def moved(place: Sequence[Any], by: Any) -> tuple[e.Expr, ...]:
        return (*(e.convert(one) for one in place[:-1]), e.convert(place[-1]) + by)

    def instructions(width: int, step: Step) -> ir.Stmt:
        stores = []
        for begin in range(0, lanes, width):
            word = reinterpret("int32", data.vload(data_at, "uint8x4"))
            repeated = reinterpret(f"uint8x{width * 4}", e.broadcast(word, width))
            rows = kernel.vload(moved(kernel_at, begin * 4), f"int8x{width * 4}")
            place = moved(at, begin)
            before = sums.vload(place, f"int32x{width}")
            stores.append(sums.vstore(place, step(before, repeated, rows)))
        return ir.sequence(*stores)

    lane = e.Var("i", e.INDEX)
    place = moved(at, lane)
    total = sums.vload(place)
    for k in range(4):
        value, weight = data.vload(moved(data_at, k)), kernel.vload(moved(kernel_at, lane * 4 + k))
        total = total + e.cast("int32", value) * e.cast("int32", weight)
    body = sums.vstore(place, total)
    made: ir.Stmt = ir.For(lane, e.const(0, e.INDEX), e.const(lanes, e.INDEX), body, ir.VECTORIZE)
    for row in reversed(QUADS):
        if row.data == "uint8" and lanes % row.lanes == 0:
            made = ir.Choice(tuple(row.needs.split(",")), instructions(row.lanes, row.step), made)
    return made
