"""Computes that move elements: by arrays of indices, or by index arithmetic."""

from __future__ import annotations

from tvmlite.fuzz.compute.builder import LARGEST, Builder, axes_of, index


def gather(b: Builder) -> bool:
    """Read elements or rows at the indices in an array, which the formula brings into range."""
    x = b.pick(least=1)
    if not x.dims or x.size > LARGEST:
        return False
    place = b.rnd.randrange(len(x.dims))
    kind = b.rnd.choice(("int32", "int64", "int32", "uint8", "int16"))
    elementwise = b.rnd.random() < 0.3
    most_indices = LARGEST // max(1, x.size // max(1, x.dims[place].value))
    count = b.extent(small=most_indices < 50)
    dims = x.dims if elementwise else (*x.dims[:place], count, *x.dims[place + 1 :])
    indices = b.placeholder(dims if elementwise else (count,), kind)
    axes = axes_of(len(dims))
    at = axes.copy()
    extent = x.dims[place]
    index_element = f"{indices.name}[{index(axes) if elementwise else axes[place]}]"
    index_value = f'{index_element}.astype("{b.rnd.choice(("int32", "int64"))}")'
    if b.rnd.random() < 0.5:
        at[place] = f"{index_value} % {extent}"
    else:
        at[place] = f"te.max(te.min({index_value}, {extent} - 1), 0)"
    b.compute(dims, axes, f"{x.name}[{index(at)}]", x.dtype)
    return True


def rearrange(b: Builder) -> bool:
    """A transposition, reversal, reshape, strided slice, repetition or concatenation."""
    x = b.pick()
    if not x.dims:
        return False
    rank, rnd = len(x.dims), b.rnd
    axes = axes_of(rank)
    kind = rnd.choice(("transpose", "flip", "flatten", "unflatten", "slice", "repeat", "concat"))
    place = rnd.randrange(rank)
    dim = x.dims[place]
    if kind == "transpose":
        order = rnd.sample(range(rank), rank)
        at = [""] * rank
        for axis, source in zip(axes, order, strict=True):
            at[source] = axis
        b.compute(tuple(x.dims[n] for n in order), axes, f"{x.name}[{index(at)}]", x.dtype)
    elif kind == "flip":
        at = [f"{dim} - 1 - {a}" if n == place else a for n, a in enumerate(axes)]
        b.compute(x.dims, axes, f"{x.name}[{index(at)}]", x.dtype)
    elif kind == "flatten" and rank >= 2 and x.size:
        first, second = x.dims[-2:]
        at = [*axes[: rank - 2], f"{axes[rank - 2]} // ({second})", f"{axes[rank - 2]} % ({second})"]
        b.compute((*x.dims[:-2], first.times(second)), axes[:-1], f"{x.name}[{index(at)}]", x.dtype)
    elif kind == "unflatten" and rank <= 4 and dim.text.isdecimal() and dim.value > 1:
        factor = rnd.choice([f for f in range(1, dim.value + 1) if dim.value % f == 0])
        more = axes_of(rank + 1)
        at = [*more[:place], f"{more[place]} * {factor} + {more[place + 1]}", *more[place + 2 :]]
        parts = (b.constant(dim.value // factor), b.constant(factor))
        b.compute((*x.dims[:place], *parts, *x.dims[place + 1 :]), more, f"{x.name}[{index(at)}]", x.dtype)
    elif kind == "slice" and dim.text.isdecimal() and dim.value > 1:
        start, step = rnd.randrange(dim.value), rnd.randint(1, 3)
        count = (dim.value - start + step - 1) // step
        at = [f"{a} * {step} + {start}" if n == place else a for n, a in enumerate(axes)]
        dims = tuple(b.constant(count) if n == place else d for n, d in enumerate(x.dims))
        b.compute(dims, axes, f"{x.name}[{index(at)}]", x.dtype)
    elif kind == "repeat" and x.size < LARGEST // 3 and dim.value:
        times = rnd.randint(2, 3)
        form = rnd.choice((f"{axes[place]} // {times}", f"{axes[place]} % ({dim})"))
        at = [form if n == place else a for n, a in enumerate(axes)]
        dims = tuple(d.times(b.constant(times)) if n == place else d for n, d in enumerate(x.dims))
        b.compute(dims, axes, f"{x.name}[{index(at)}]", x.dtype)
    elif kind == "concat" and x.size < LARGEST // 2:
        other = b.placeholder(x.dims, x.dtype)
        at = [f"{a} - ({dim})" if n == place else a for n, a in enumerate(axes)]
        body = f"te.if_then_else({axes[place]} < {dim}, {x.name}[{index(axes)}], {other.name}[{index(at)}])"
        dims = tuple(d.times(b.constant(2)) if n == place else d for n, d in enumerate(x.dims))
        b.compute(dims, axes, body, x.dtype)
    else:
        return False
    return True
