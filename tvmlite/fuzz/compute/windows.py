"""Computes with windows: stencils, padding, convolutions."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.compute.builder import LARGEST, Builder, Dim, KnownTensor, axes_of, index


def stencil(b: Builder) -> bool:
    """A sum of neighbours along an axis of a padded tensor."""
    x = b.pick(kinds=tuple(d for d in dtypes.ALL if d != "bool"))
    if not 1 <= len(x.dims) <= 3 or x.size > LARGEST // 3:
        return False
    axes = axes_of(len(x.dims))
    place = b.rnd.randrange(len(axes))
    pads = (b.rnd.randint(0, 3), b.rnd.randint(0, 3))
    x = pad(b, x, place, pads)
    taps = sorted(b.rnd.sample(range(-2, 3), b.rnd.randint(1, 3)))
    first, last = taps[0], taps[-1]
    dim = x.dims[place].plus(first - last)
    if dim.value < 0 or (not x.dims[place].text.isdecimal() and dim.value <= 0):
        return False
    parts = []
    for tap in taps:
        at = [f"{a} + {tap - first}" if n == place else a for n, a in enumerate(axes)]
        parts.append(f"{x.name}[{index(at)}]")
    dims = tuple(dim if n == place else d for n, d in enumerate(x.dims))
    b.compute(dims, axes, " + ".join(parts), x.dtype)
    return True


def pad(b: Builder, x: KnownTensor, place: int, pads: tuple[int, int]) -> KnownTensor:
    """Write ``x`` with elements added before and after along one axis."""
    axes = axes_of(len(x.dims))
    at = axes.copy()
    at[place] = f"{axes[place]} - {pads[0]}"
    inside = f"te.all({axes[place]} >= {pads[0]}, {axes[place]} < {x.dims[place]} + {pads[0]})"
    edge = f'te.const({b.rnd.choice((0, 0, 1))}, "{x.dtype}")'
    if x.dims[place].value and b.rnd.random() < 0.15:
        at[place] = f"te.max(te.min({axes[place]} - {pads[0]}, {x.dims[place]} - 1), 0)"
        body = f"{x.name}[{index(at)}]"
    else:
        body = f"te.if_then_else({inside}, {x.name}[{index(at)}], {edge})"
    dims = tuple(d.plus(sum(pads)) if n == place else d for n, d in enumerate(x.dims))
    return b.compute(dims, axes, body, x.dtype)


def padding(b: Builder) -> bool:
    """Padding along one axis."""
    x = b.pick()
    if not x.dims or x.size > LARGEST // 3:
        return False
    pad(b, x, b.rnd.randrange(len(x.dims)), (b.rnd.randint(0, 4), b.rnd.randint(0, 4)))
    return True


def convolution(b: Builder) -> bool:
    """A convolution of one or two spatial axes, with stride, dilation, groups and padding."""
    flat = b.rnd.random() < 0.5
    space = 1 if flat else 2
    kinds = ("float32", "float32", "int32", "int8", "uint8", "float16", "float64", "bfloat16")
    dtype = b.rnd.choice(kinds)
    groups, batch = b.rnd.choice((1, 1, 2, 3)), b.rnd.choice((1, 1, 2))
    ci, co = b.rnd.choice((1, 2, 3, 4)), b.rnd.choice((1, 2, 3, 4, 8))
    sizes = [b.extent(small=not flat, least=3) for _ in range(space)]
    kernel = [b.rnd.randint(1, 3) for _ in range(space)]
    stride, dilation = b.rnd.choice((1, 1, 2, 3)), b.rnd.choice((1, 1, 2))
    data = b.placeholder((b.constant(batch), b.constant(groups * ci), *sizes), dtype)
    weight = b.placeholder(tuple(map(b.constant, (groups * co, ci, *kernel))), dtype)
    for place in range(space):
        if b.rnd.random() < 0.6:
            data = pad(b, data, place + 2, (b.rnd.randint(0, 2), b.rnd.randint(0, 2)))
    out: list[Dim] = []
    for dim, taps in zip(data.dims[2:], kernel, strict=True):
        window = dim.plus(-dilation * (taps - 1) - 1)
        if window.value < 0:
            return False
        count = window.value // stride + 1
        text = str(count) if window.text.isdecimal() else f"({window.text}) // {stride} + 1"
        out.append(Dim(text, count))
    sum_type = {"int8": "int32", "uint8": "int32", "float16": "float32", "bfloat16": "float32"}.get(
        dtype, dtype
    )
    c = b.reduce_axis(b.constant(ci))
    taps = [b.reduce_axis(b.constant(n)) for n in kernel]
    axes = ["n_", "f", "y", "x"][: 2 + space]
    at = [f"{a} * {stride} + {k} * {dilation}" for a, k in zip(axes[2:], taps, strict=True)]
    channel = c if groups == 1 else f"f // {co} * {ci} + {c}"
    left = f"{data.name}[{', '.join(['n_', channel, *at])}]"
    right = f"{weight.name}[{', '.join(['f', c, *taps])}]"
    order = [c, *taps]
    b.rnd.shuffle(order)
    cast = "" if sum_type == dtype else f'.astype("{sum_type}")'
    dims = (b.constant(batch), b.constant(groups * co), *out)
    b.compute(dims, axes, f"te.sum({left}{cast} * {right}{cast}, axis=[{', '.join(order)}])", sum_type)
    return True
