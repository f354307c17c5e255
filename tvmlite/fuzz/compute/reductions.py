"""Computes that reduce: sums, extremes and others, matrix products, pairs."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.compute.builder import LARGEST, Builder, axes_of, index
from tvmlite.fuzz.compute.expressions import Expressions, Leaf


def reduction(b: Builder) -> bool:
    """A sum, product, extreme, quantifier or xor over some of the axes, sometimes under a condition."""
    x = b.pick()
    if not x.dims or x.size > LARGEST:
        return False
    rank = len(x.dims)
    over = sorted(b.rnd.sample(range(rank), b.rnd.randint(1, rank)))
    names: dict[int, str] = {n: b.reduce_axis(x.dims[n]) for n in over}
    axes = axes_of(rank - len(over))
    rest = iter(axes)
    at = [names[n] if n in names else next(rest) for n in range(rank)]
    dims = tuple(d for n, d in enumerate(x.dims) if n not in names)
    order = list(names.values())
    b.rnd.shuffle(order)
    axis = f"[{', '.join(order)}]" if len(order) > 1 else order[0]
    read = f"{x.name}[{index(at)}]"
    values = [f"te.convert({name})" for name in order]  # te.max(a, axis) would reduce
    scalars = Expressions(b.rnd, [Leaf(read, x.dtype)], [*axes, *values])
    where = f", where={scalars.condition(1)}" if b.rnd.random() < 0.25 else ""
    kind = b.rnd.choice(("sum", "sum", "sum", "max", "min", "prod", "all", "any", "xor"))
    if kind in ("all", "any"):
        body = f"te.{kind}({scalars.condition(2)}, axis={axis}{where})"
        b.compute(dims, axes, body, "bool")
        return True
    dtype = b.arith(x.dtype)
    if kind == "xor":
        dtype = dtype if dtypes.is_int(dtype) else "int32"
        reducer = b.fresh("xor")
        b.lines.append(
            f'{reducer} = te.comm_reducer(lambda x, y: x ^ y, lambda t: te.const(0, t), name="xor")'
        )
        body = f"{reducer}({_source(b, scalars, read, x.dtype, dtype)}, axis={axis}{where})"
        b.compute(dims, axes, body, dtype)
        return True
    init = f', init=te.const({b.rnd.randint(0, 3)}, "{dtype}")' if b.rnd.random() < 0.15 else ""
    body = f"te.{kind}({_source(b, scalars, read, x.dtype, dtype)}, axis={axis}{where}{init})"
    b.compute(dims, axes, body, dtype)
    return True


def _source(b: Builder, scalars: Expressions, read: str, have: str, dtype: str) -> str:
    if b.rnd.random() < 0.5:
        return read if have == dtype else f'{read}.astype("{dtype}")'
    return f'te.cast("{dtype}", {scalars.value(dtype, b.rnd.randint(1, 2))})'


def matmul(b: Builder) -> bool:
    """A matrix product, sometimes batched or transposed."""
    dtype = b.rnd.choice(("float32", "float32", "float32", "int32", "int8", "float16", "float64", "bfloat16"))
    batch = (b.extent(small=True),) if b.rnd.random() < 0.3 else ()
    m, n, k = b.extent(small=bool(batch)), b.extent(small=bool(batch)), b.extent(small=True)
    swapped = b.rnd.random() < 0.4
    left = b.placeholder((*batch, m, k), dtype)
    right = b.placeholder((*batch, *((n, k) if swapped else (k, n))), dtype)
    inner = b.reduce_axis(k)
    axes = axes_of(2 + len(batch))
    i, j = axes[-2:]
    first = index([*axes[:-2], i, inner])
    second = index([*axes[:-2], *((j, inner) if swapped else (inner, j))])
    wide = {"int8": "int32", "float16": "float32", "bfloat16": "float32"}.get(dtype, dtype)
    cast = "" if wide == dtype else f'.astype("{wide}")'
    body = f"te.sum({left.name}[{first}]{cast} * {right.name}[{second}]{cast}, axis={inner})"
    b.compute((*batch, m, n), axes, body, wide)
    return True


def argmax(b: Builder) -> bool:
    """The index and the value of the greatest or least element: a reduction of pairs."""
    x = b.pick(kinds=("float32", "int32", "int8", "float64", "int64", "float16", "uint8"))
    if not x.dims or x.size > LARGEST:
        return False
    greatest = b.rnd.random() < 0.5
    reducer = b.fresh("arg")
    sign, edge = (">", "min_value") if greatest else ("<", "max_value")
    better = f"te.any(x[1] {sign} y[1], te.all(x[1] == y[1], x[0] <= y[0]))"
    b.lines.append(
        f"{reducer} = te.comm_reducer(lambda x, y: (te.select({better}, x[0], y[0]), "
        f"te.select({better}, x[1], y[1])), lambda t0, t1: (te.const(2147483647, t0), te.{edge}(t1)), "
        f'name="{reducer}")'
    )
    place = b.rnd.randrange(len(x.dims))
    k = b.reduce_axis(x.dims[place])
    axes = axes_of(len(x.dims) - 1)
    at = [*axes[:place], k, *axes[place:]]
    dims = tuple(d for n, d in enumerate(x.dims) if n != place)
    body = f"{reducer}((te.convert({k}), {x.name}[{index(at)}]), axis={k})"
    b.computes(dims, axes, body, ["int32", x.dtype])
    return True


def sums_of_pairs(b: Builder) -> bool:
    """A sum and a sum of squares in one reduction."""
    x = b.pick(kinds=("float32", "int32", "float64", "int64", "int16"))
    if not x.dims or x.size > LARGEST:
        return False
    reducer = b.fresh("pair")
    b.lines.append(
        f"{reducer} = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] + y[1]), "
        f'lambda t0, t1: (te.const(0, t0), te.const(0, t1)), name="{reducer}")'
    )
    place = b.rnd.randrange(len(x.dims))
    k = b.reduce_axis(x.dims[place])
    axes = axes_of(len(x.dims) - 1)
    read = f"{x.name}[{index([*axes[:place], k, *axes[place:]])}]"
    dims = tuple(d for n, d in enumerate(x.dims) if n != place)
    b.computes(dims, axes, f"{reducer}(({read}, {read} * {read}), axis={k})", [x.dtype, x.dtype])
    return True
