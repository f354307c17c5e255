"""The C functions as tensor intrinsics: plain loops for the interpreter, a call in C."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tvmlite import te
from tvmlite.te import expr as e
from tvmlite.te.intrin.declare_intrin import decl_tensor_intrin
from tvmlite.te.intrin.extern_calls import call_extern
from tvmlite.te.loop import ir
from tvmlite.te.schedule.tensor_intrin import TensorIntrin, decl_buffer
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor.declare import compute, placeholder, reduce_axis
from tvmlite.techniques.acle_products import functions

_NEEDS = "c functions"
"""The feature that a call needs: the C functions, which only C targets have; they select instructions."""


@cache
def dot_rows(count: int, terms: tuple[int, ...]) -> TensorIntrin:
    """``sums[r] = sum(data[k..] * rows[r, k..])`` for ``count`` r, of int8 in int32; operands are dense."""
    data, rows = placeholder(terms, "int8", "data"), placeholder((count, *terms), "int8", "rows")
    ks = [reduce_axis((0, n), name=f"k{axis}") for axis, n in enumerate(terms)]
    sums = compute(
        (count,),
        lambda r: reducers.sum(data[tuple(ks)].astype("int32") * rows[(r, *ks)].astype("int32"), axis=ks),
        name="sums",
    )
    total = 1
    for n in terms:
        total *= n

    def emit(ins: list[ir.Buffer], outs: list[ir.Buffer]) -> ir.Stmt:
        return _call(functions.ROWS, outs, ins, count, total)

    return decl_tensor_intrin(sums.op, name="dot_rows", special={_NEEDS: emit})


@cache
def dot_windows(count: int, step: int, height: int, width: int) -> TensorIntrin:
    """``sums[i] = sum(data[r, i * step + k] * window[r, k])`` for ``count`` i: a row of a depthwise
    convolution."""
    data = placeholder((height, (count - 1) * step + width), "int8", "data")
    window = placeholder((height, width), "int8", "window")
    r, k = reduce_axis((0, height), name="r"), reduce_axis((0, width), name="k")

    def element(i: e.Var) -> e.Expr:
        value = data[r, i * step + k].astype("int32")
        return reducers.sum(value * window[r, k].astype("int32"), axis=[r, k])

    sums = compute((count,), element, name="sums")
    line = te.var("line", "int64")

    def emit(ins: list[ir.Buffer], outs: list[ir.Buffer]) -> ir.Stmt:
        return _call(functions.WINDOWS, outs, ins, count, step, line, height, width)

    binds = {data: decl_buffer(data.shape, "int8", "data", strides=[line, 1])}
    return decl_tensor_intrin(sums.op, name="dot_windows", binds=binds, special={_NEEDS: emit})


def _call(name: str, outs: Sequence[ir.Buffer], ins: Sequence[ir.Buffer], *numbers: object) -> ir.Stmt:
    pointers = [*(one.access_ptr("w") for one in outs), *(one.access_ptr("r") for one in ins)]
    return ir.Evaluate(call_extern("int32", name, *pointers, *numbers))
