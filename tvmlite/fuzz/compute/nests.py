"""Hand-written loop nests."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.compute.builder import Builder, KnownTensor, shape

_SCATTER = """def {name}(ins, outs):
    ib = te.ir_builder.create()
    x, at, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(ins[1]), ib.buffer_ptr(outs[0])
    with ib.for_range(0, {count}, name="z") as z:
        out[z] = te.const(0, "{dtype}")
    with ib.for_range(0, {n}, name="y") as y:
        with ib.if_scope(at[y] >= 0):
            out[at[y] % {count}] = out[at[y] % {count}] {op} x[y]
    return ib.get()"""

_CUMSUM = """def {name}(ins, outs):
    ib = te.ir_builder.create()
    x, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    with ib.for_range(0, {n}, name="z", kind="{kind}") as z:
        total = ib.allocate("{dtype}", (1,), name="total")
        total[0] = te.const(0, "{dtype}")
        with ib.for_range(0, {m}, name="y") as y:
            total[0] = total[0] + x[z, y]
            out[z, y] = total[0]
    return ib.get()"""


def extern(b: Builder) -> bool:
    """A hand-written loop nest: a scatter, or cumulative sums."""
    kinds = tuple(d for d in dtypes.ALL if d != "bool")
    name = b.fresh("nest")
    if b.rnd.random() < 0.5:
        x = b.pick(rank=1, kinds=kinds)
        at = b.placeholder(x.dims, b.rnd.choice(("int32", "int64", "int8")))
        count = b.rnd.choice((1, 3, 8, 17))
        op = b.rnd.choice("+-" if dtypes.is_float(x.dtype) else "+-*")
        b.lines.append(_SCATTER.format(name=name, count=count, n=x.dims[0], dtype=x.dtype, op=op))
        made, inputs, dims = b.fresh("T"), f"[{x.name}, {at.name}]", (b.constant(count),)
    else:
        x = b.pick(rank=2, kinds=kinds)
        kind = b.rnd.choice(("serial", "parallel"))
        b.lines.append(_CUMSUM.format(name=name, n=x.dims[0], m=x.dims[1], dtype=x.dtype, kind=kind))
        made, inputs, dims = b.fresh("T"), f"[{x.name}]", x.dims
    b.lines.append(f'{made} = te.extern({shape(dims)}, {inputs}, {name}, name="{made}", dtype="{x.dtype}")')
    b.add(KnownTensor(made, dims, x.dtype))
    return True
