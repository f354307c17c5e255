"""nn.contrib_lookup: a function of bytes by a table of 256, 64 at a time if registers can hold the table.

AVX-512's ``vpermi2b`` looks up 64 bytes in the 128 of two registers: the lower seven bits of a code are the
index into each half of the table, its highest bit selects the half.
"""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops import loops
from tvmlite.relay.ops.common import Dtypes, expect, expect_extent, fault
from tvmlite.relay.ops.register import statement
from tvmlite.te import expr as e
from tvmlite.te.intrin.extern_calls import call_llvm_intrin, reinterpret
from tvmlite.te.loop import ir as loop
from tvmlite.te.tensor.tensor import Tensor

BYTES: Dtypes = "int8 or uint8", lambda dtype: dtype in ("int8", "uint8")

CODES = 256
"""The number of values of a byte."""

BYTES_PER_VECTOR = 64
"""The bytes of a register."""

NEEDS, PERMUTE = "avx512vbmi", "llvm.x86.avx512.vpermi2var.qi.512"


def _type(call: Call, data: TensorType, table: TensorType) -> TensorType:
    for name, one in (("data is", data), ("the table is", table)):
        expect(call, name, one.dtype, BYTES)
        if one.ndim != 1:
            raise fault(call, f"{name} of {one.ndim} axes, expected one")
    expect_extent(call, "the extent of the table", table.shape[0], CODES)
    return TensorType(data.shape, table.dtype)


def lookup_numpy(call: Call, data: np.ndarray, table: np.ndarray) -> np.ndarray:
    """nn.contrib_lookup in numpy."""
    return table[data.astype(np.int32) - int(dtypes.limits(str(data.dtype))[0])]


@statement("nn.contrib_lookup", rounding=Rounding.ONCE, infer=_type, reference=lookup_numpy)
def lookup(call: Call, data: Tensor, table: Tensor) -> list[Tensor]:
    """``table[code]`` for each code of ``data``, bytes with one axis. The table has 256 elements, the first
    for the least code (-128 for int8)."""
    count = loops.index(data.shape[0])

    def body(codes: loop.Buffer, values: loop.Buffer, made: loop.Buffer) -> loop.Stmt:
        def one(at: e.Expr) -> loop.Stmt:
            return loops.store(made, (at,), loops.load(values, _index(loops.load(codes, at))))

        def several(n: e.Expr) -> loop.Stmt:
            begin = n * BYTES_PER_VECTOR
            portable = loops.over(BYTES_PER_VECTOR, lambda j: one(begin + j), "j")
            return loop.Choice((NEEDS,), _permute(codes, values, made, begin), portable)

        whole = e.FloorDiv(count, loops.index(BYTES_PER_VECTOR))
        vectors = loops.over(whole, several, "n", kind=loop.PARALLEL)
        rest = loops.over(count - whole * BYTES_PER_VECTOR, one, "i", start=whole * BYTES_PER_VECTOR)
        return loop.sequence(vectors, rest)

    return loops.extern("lookup", [data, table], [(data.shape, table.dtype)], body)


def _index(code: e.Expr) -> e.Expr:
    """The index of ``code`` in the table."""
    return e.cast("int32", code) - int(dtypes.limits(code.dtype)[0])


def _permute(codes: loop.Buffer, values: loop.Buffer, made: loop.Buffer, begin: e.Expr) -> loop.Stmt:
    """Look up ``BYTES_PER_VECTOR`` codes from ``begin`` on in both halves of the table."""
    kind = f"uint8x{BYTES_PER_VECTOR}"
    places = reinterpret(kind, codes.vload((begin,), f"{codes.dtype}x{BYTES_PER_VECTOR}"))
    if codes.dtype == "int8":
        places = places ^ e.const(0x80, "uint8", BYTES_PER_VECTOR)
    quarters = [
        reinterpret(
            kind, values.vload((loops.index(k * BYTES_PER_VECTOR),), f"{values.dtype}x{BYTES_PER_VECTOR}")
        )
        for k in range(CODES // BYTES_PER_VECTOR)
    ]
    low, high = (call_llvm_intrin(kind, PERMUTE, quarters[k], places, quarters[k + 1]) for k in (0, 2))
    chosen = e.Select(places < e.const(0x80, "uint8", BYTES_PER_VECTOR), low, high)
    return made.vstore((begin,), reinterpret(f"{made.dtype}x{BYTES_PER_VECTOR}", chosen))
