"""Element-wise computes: formulas, broadcasts, casts, several outputs."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.compute.builder import LARGEST, Builder, Dim, axes_of, index, same
from tvmlite.fuzz.compute.expressions import Expressions, Leaf


def elementwise(b: Builder) -> bool:
    """A formula over the elements of one or two tensors of the same shape."""
    x = b.pick()
    axes = axes_of(len(x.dims))
    leaves = [Leaf(f"{x.name}[{index(axes)}]", x.dtype)]
    for other in b.tensors:
        if other is not x and same(other.dims, x.dims) and b.rnd.random() < 0.6:
            leaves.append(Leaf(f"{other.name}[{index(axes)}]", other.dtype))
    if len(leaves) == 1 and b.rnd.random() < 0.5:
        y = b.placeholder(x.dims, b.rnd.choice((x.dtype, x.dtype, b.dtype())))
        leaves.append(Leaf(f"{y.name}[{index(axes)}]", y.dtype))
    dtype = b.rnd.choice((x.dtype, x.dtype, b.dtype()))
    body = Expressions(b.rnd, leaves, axes).value(dtype, b.rnd.randint(1, 4))
    b.compute(x.dims, axes, f'te.cast("{dtype}", {body})', dtype)
    return True


def broadcast(b: Builder) -> bool:
    """A formula of two tensors, one of which is broadcast along some axes."""
    x = b.pick()
    if not x.dims or x.size > LARGEST // 2:
        return False
    axes = axes_of(len(x.dims))
    keep = [b.rnd.random() < 0.6 for _ in axes]
    y = b.placeholder(
        tuple(d if k else Dim("1", 1) for d, k in zip(x.dims, keep, strict=True)), b.arith(x.dtype)
    )
    reads = [a if k else "0" for a, k in zip(axes, keep, strict=True)]
    leaves = [Leaf(f"{x.name}[{index(axes)}]", x.dtype), Leaf(f"{y.name}[{index(reads)}]", y.dtype)]
    body = Expressions(b.rnd, leaves, axes).value(y.dtype, b.rnd.randint(1, 3))
    b.compute(x.dims, axes, f'te.cast("{y.dtype}", {body} + {leaves[1].text})', y.dtype)
    return True


def cast_chain(b: Builder) -> bool:
    """Casts through one to four random dtypes."""
    x = b.pick()
    axes = axes_of(len(x.dims))
    text, dtype = f"{x.name}[{index(axes)}]", x.dtype
    for _ in range(b.rnd.randint(1, 4)):
        dtype = b.rnd.choice(dtypes.ALL)
        text = f'{text}.astype("{dtype}")'
    b.compute(x.dims, axes, text, dtype)
    return True


def several(b: Builder) -> bool:
    """Two or three outputs with one formula each."""
    x = b.pick()
    axes = axes_of(len(x.dims))
    kinds = [b.rnd.choice((x.dtype, b.dtype())) for _ in range(b.rnd.randint(2, 3))]
    scalars = Expressions(b.rnd, [Leaf(f"{x.name}[{index(axes)}]", x.dtype)], axes)
    bodies = [f'te.cast("{d}", {scalars.value(d, b.rnd.randint(1, 2))})' for d in kinds]
    b.computes(x.dims, axes, f"({', '.join(bodies)})", kinds)
    return True
