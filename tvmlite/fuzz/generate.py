"""Random computes: chains of stages of many kinds, as statements of a program."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.expressions import Expressions, Leaf

LARGEST = 6000
"""The most iterations a generated stage may have."""

_EXTENTS = (1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 13, 16, 16, 17, 19, 31, 32, 33, 40)
_DTYPES = (*("float32",) * 8, *("int32",) * 4, *dtypes.ALL)


@dataclass(frozen=True)
class Dim:
    """An extent: as text, and its value."""

    text: str
    value: int

    def __str__(self) -> str:
        return self.text if self.text.isalnum() else f"({self.text})"

    def plus(self, more: int) -> Dim:
        """``more`` added."""
        if not more:
            return self
        text = str(self.value + more) if self.text.isdecimal() else f"{self.text} + {more}"
        return Dim(text.replace("+ -", "- "), self.value + more)

    def times(self, other: Dim) -> Dim:
        """Both multiplied."""
        value = self.value * other.value
        both = self.text.isdecimal() and other.text.isdecimal()
        return Dim(str(value) if both else f"({self.text}) * ({other.text})", value)


@dataclass(frozen=True)
class Known:
    """A tensor of the program."""

    name: str
    dims: tuple[Dim, ...]
    dtype: str

    @property
    def size(self) -> int:
        size = 1
        for dim in self.dims:
            size *= dim.value
        return size


@dataclass
class Builder:
    """The program as far as it is written."""

    rnd: random.Random
    lines: list[str] = field(default_factory=list)
    tensors: list[Known] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    computed: list[Known] = field(default_factory=list)
    count: int = 0

    def fresh(self, letter: str) -> str:
        """A name not used yet."""
        self.count += 1
        return f"{letter}{self.count}"

    def constant(self, value: int) -> Dim:
        return Dim(str(value), value)

    def extent(self, small: bool = False, least: int = 0) -> Dim:
        """A random extent: mostly a number, at times a variable, seldom zero."""
        rnd = self.rnd
        value = rnd.choice(_EXTENTS[:12] if small else _EXTENTS)
        if least == 0 and rnd.random() < 0.012:
            value = 0
        value = max(value, least)
        if rnd.random() < 0.15:
            return self.symbol(value)
        return Dim(str(value), value)

    def symbol(self, value: int) -> Dim:
        """A variable extent, new or known."""
        known = [name for name, have in self.sizes.items() if have == value]
        if known and self.rnd.random() < 0.5:
            return Dim(self.rnd.choice(known), value)
        if len(self.sizes) >= 3:
            return Dim(str(value), value)
        name = "nmw"[len(self.sizes)]
        self.sizes[name] = value
        self.lines.append(f'{name} = te.{self.rnd.choice(("var", "size_var"))}("{name}")')
        return Dim(name, value)

    def dtype(self) -> str:
        return self.rnd.choice(_DTYPES)

    def placeholder(self, dims: tuple[Dim, ...], dtype: str) -> Known:
        name = self.fresh("A")
        self.lines.append(f'{name} = te.placeholder({shape(dims)}, "{dtype}", name="{name}")')
        made = Known(name, dims, dtype)
        self.tensors.append(made)
        return made

    def reduce_axis(self, extent: Dim) -> str:
        name = self.fresh("k")
        self.lines.append(f'{name} = te.reduce_axis((0, {extent}), name="{name}")')
        return name

    def compute(self, dims: tuple[Dim, ...], axes: list[str], body: str, dtype: str) -> Known:
        name = self.fresh("T")
        self.lines.append(
            f'{name} = te.compute({shape(dims)}, lambda {", ".join(axes)}: {body}, name="{name}")'
        )
        return self.add(Known(name, dims, dtype))

    def add(self, made: Known) -> Known:
        self.tensors.append(made)
        self.computed.append(made)
        return made

    def pick(self, rank: int | None = None, kinds: tuple[str, ...] = dtypes.ALL, least: int = 0) -> Known:
        """A tensor to start from: mostly the last computed, else an older or a new one."""
        fits = [
            x
            for x in self.tensors
            if (rank is None or len(x.dims) == rank)
            and x.dtype in kinds
            and all(d.value >= least for d in x.dims)
        ]
        recent = [x for x in fits if x in self.computed]
        if recent and self.rnd.random() < 0.8:
            return recent[-1]
        if fits and self.rnd.random() < 0.4:
            return self.rnd.choice(fits)
        chosen = rank if rank is not None else self.rnd.choice((0, 1, 1, 2, 2, 2, 3, 4))
        dims: list[Dim] = []
        room = LARGEST // 4
        for _ in range(chosen):
            dim = self.extent(small=chosen > 2 or room < 40, least=least)
            room //= max(dim.value, 1)
            dims.append(dim)
        options = [d for d in _DTYPES if d in kinds]
        return self.placeholder(tuple(dims), self.rnd.choice(options))

    def arith(self, dtype: str) -> str:
        """A dtype to compute in, given that of an input: most often the same."""
        if dtype == "bool" or self.rnd.random() < 0.2:
            return self.rnd.choice([d for d in _DTYPES if d != "bool"])
        return dtype


def shape(dims: tuple[Dim, ...]) -> str:
    """A shape as text."""
    return f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"


def axes_of(rank: int) -> list[str]:
    """Names of axes."""
    return list("ijlpqr"[:rank])


def generate(rnd: random.Random) -> Builder:
    """A chain of one to four stages."""
    builder = Builder(rnd)
    if rnd.random() < 0.25:
        builder.symbol(rnd.choice(_EXTENTS[:20]))
    wanted = rnd.choice((1, 1, 2, 2, 3, 4))
    for _ in range(wanted * 3):
        if len(builder.tags) >= wanted:
            break
        kind = rnd.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
        if KINDS[kind][1](builder):
            builder.tags.append(kind)
    if not builder.computed:
        elementwise(builder)
        builder.tags.append("elementwise")
    return builder


def elementwise(b: Builder) -> bool:
    """A formula over the elements of one or two tensors of a shape."""
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


def index(axes: list[str]) -> str:
    """Indices as text; of no axes at all the empty tuple."""
    return ", ".join(axes) or "()"


def same(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    return [d.text for d in a] == [d.text for d in b]


def broadcast(b: Builder) -> bool:
    """Two tensors, of which one has fewer or shorter axes."""
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
    """Through several dtypes and back."""
    x = b.pick()
    axes = axes_of(len(x.dims))
    text, dtype = f"{x.name}[{index(axes)}]", x.dtype
    for _ in range(b.rnd.randint(1, 4)):
        dtype = b.rnd.choice(dtypes.ALL)
        text = f'{text}.astype("{dtype}")'
    b.compute(x.dims, axes, text, dtype)
    return True


def stencil(b: Builder) -> bool:
    """Neighbours added up, with padding in the formula or in a stage of its own."""
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


def pad(b: Builder, x: Known, place: int, pads: tuple[int, int]) -> Known:
    """``x`` with elements added before and after along one axis."""
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
    """Padding alone."""
    x = b.pick()
    if not x.dims or x.size > LARGEST // 3:
        return False
    pad(b, x, b.rnd.randrange(len(x.dims)), (b.rnd.randint(0, 4), b.rnd.randint(0, 4)))
    return True


def reduction(b: Builder) -> bool:
    """A sum, product, extreme or quantifier over some of the axes, under a condition at times."""
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


def convolution(b: Builder) -> bool:
    """One or two dimensions, with stride, dilation, groups and padding."""
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


def matmul(b: Builder) -> bool:
    """A product of matrices, batched and transposed at times."""
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
    """Where the greatest or least element is, and the element: a reduction of pairs."""
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
    _several(b, dims, axes, body, ["int32", x.dtype])
    return True


def _several(b: Builder, dims: tuple[Dim, ...], axes: list[str], body: str, kinds: list[str]) -> None:
    names = [b.fresh("T") for _ in kinds]
    text = f'te.compute({shape(dims)}, lambda {", ".join(axes)}: {body}, name="{names[0]}")'
    b.lines.append(f"{', '.join(names)} = {text}")
    for name, dtype in zip(names, kinds, strict=True):
        b.add(Known(name, dims, dtype))


def several(b: Builder) -> bool:
    """Two or three outputs of one formula each."""
    x = b.pick()
    axes = axes_of(len(x.dims))
    kinds = [b.rnd.choice((x.dtype, b.dtype())) for _ in range(b.rnd.randint(2, 3))]
    scalars = Expressions(b.rnd, [Leaf(f"{x.name}[{index(axes)}]", x.dtype)], axes)
    bodies = [f'te.cast("{d}", {scalars.value(d, b.rnd.randint(1, 2))})' for d in kinds]
    _several(b, x.dims, axes, f"({', '.join(bodies)})", kinds)
    return True


def sums_of_pairs(b: Builder) -> bool:
    """A sum and a sum of squares, or a count and a sum, in one reduction."""
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
    _several(b, dims, axes, f"{reducer}(({read}, {read} * {read}), axis={k})", [x.dtype, x.dtype])
    return True


def gather(b: Builder) -> bool:
    """Elements or rows taken by an array of indices, brought in range by the formula."""
    x = b.pick(least=1)
    if not x.dims or x.size > LARGEST:
        return False
    place = b.rnd.randrange(len(x.dims))
    kind = b.rnd.choice(("int32", "int64", "int32", "uint8", "int16"))
    whole = b.rnd.random() < 0.3
    room = LARGEST // max(1, x.size // max(1, x.dims[place].value))
    count = b.extent(small=room < 50)
    dims = x.dims if whole else (*x.dims[:place], count, *x.dims[place + 1 :])
    indices = b.placeholder(dims if whole else (count,), kind)
    axes = axes_of(len(dims))
    at = axes.copy()
    extent = x.dims[place]
    spot = f"{indices.name}[{index(axes) if whole else axes[place]}]"
    wide = f'{spot}.astype("{b.rnd.choice(("int32", "int64"))}")'
    if b.rnd.random() < 0.5:
        at[place] = f"{wide} % {extent}"
    else:
        at[place] = f"te.max(te.min({wide}, {extent} - 1), 0)"
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
    """A loop nest written by hand: a scatter, or sums so far."""
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
    b.add(Known(made, dims, x.dtype))
    return True


KINDS: dict[str, tuple[int, Callable[[Builder], bool]]] = {
    "elementwise": (6, elementwise),
    "broadcast": (3, broadcast),
    "cast": (2, cast_chain),
    "padding": (2, padding),
    "stencil": (4, stencil),
    "reduction": (6, reduction),
    "convolution": (3, convolution),
    "matmul": (3, matmul),
    "argmax": (2, argmax),
    "several": (2, several),
    "pairs": (1, sums_of_pairs),
    "gather": (3, gather),
    "rearrange": (4, rearrange),
    "extern": (1, extern),
}
"""What stages there are, by name: how often, and what writes one (False if it does not fit)."""
