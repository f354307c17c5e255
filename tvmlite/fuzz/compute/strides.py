"""Index arithmetic: negative steps, divisions of negative numbers, ranges that do not begin at 0."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.compute.builder import LARGEST, Builder, Dim, axes_of, index

_DIVISIONS = ("({0}) // {1}", "({0}) % {1}", "te.truncdiv({0}, {1})", "te.truncmod({0}, {1})")


class _Trunc:
    """The functions that an index calls, for Python's integers."""

    @staticmethod
    def truncdiv(a: int, b: int) -> int:
        return abs(a) // b * (1 if a >= 0 else -1)

    @staticmethod
    def truncmod(a: int, b: int) -> int:
        return a - _Trunc.truncdiv(a, b) * b

    max, min = staticmethod(max), staticmethod(min)


def strided(b: Builder) -> bool:
    """Elements at positions computed by index arithmetic over one or two axes, all within bounds."""
    dims = tuple(b.constant(b.rnd.choice((1, 2, 3, 5, 8, 11))) for _ in range(b.rnd.randint(1, 3)))
    axes = axes_of(len(dims))
    texts = [_index(b, axes) for _ in range(b.rnd.randint(1, 2))]
    spans = [_index_range(text, axes, dims) for text in texts]
    extents = tuple(b.constant(high - low + 1 + b.rnd.choice((0, 0, 3))) for low, high in spans)
    size = 1
    for extent in extents:
        size *= extent.value
    if size > LARGEST:
        return False
    fits = [
        x
        for x in b.computed
        if len(x.dims) == len(extents)
        and all(h.value >= n.value for h, n in zip(x.dims, extents, strict=True))
    ]
    x = b.rnd.choice(fits) if fits and b.rnd.random() < 0.7 else b.placeholder(extents, b.dtype())
    at = [_shifted(text, -low) for text, (low, _) in zip(texts, spans, strict=True)]
    b.compute(dims, axes, f"{x.name}[{index(at)}]", x.dtype)
    return True


def ranged(b: Builder) -> bool:
    """A reduction over a range that does not begin at 0, of a window at each element or of a whole axis."""
    x = b.pick(rank=b.rnd.randint(1, 2), kinds=tuple(d for d in dtypes.ALL if d != "bool"), least=1)
    begin = b.rnd.randint(-4, 4)
    if x.size > LARGEST // 4:
        return False
    axes, last = axes_of(len(x.dims)), x.dims[-1]
    k = b.fresh("k")
    if last.text.isdecimal() and b.rnd.random() < 0.6:
        taps = b.rnd.randint(1, min(4, last.value))
        dims = (*x.dims[:-1], last.plus(1 - taps))
        end, at = str(begin + taps), [*axes[:-1], f"{axes[-1]} + {k} - ({begin})"]
    else:
        dims, axes = x.dims[:-1], axes[:-1]
        end, at = f"{last} + {begin}", [*axes, f"{k} - ({begin})"]
    b.lines.append(f'{k} = te.reduce_axis(({begin}, {end}), name="{k}")')
    kind = b.rnd.choice(("sum", "max", "min"))
    b.compute(dims, axes, f"te.{kind}({x.name}[{index(at)}], axis={k})", x.dtype)
    return True


def _index(b: Builder, axes: Sequence[str]) -> str:
    """Return an index, which may be negative."""
    rnd = b.rnd
    terms = [
        f"{axis} * {rnd.choice((1, 1, 2, -1, -1, -2, 3, -3))}" for axis in rnd.sample(axes, min(2, len(axes)))
    ]
    text = " + ".join([*terms[: rnd.randint(1, 2)], str(rnd.randint(-6, 6))])
    for _ in range(rnd.randint(0, 2)):
        text = rnd.choice(_DIVISIONS).format(text, rnd.choice((1, 2, 3, 4, 5, 7)))
        if rnd.random() < 0.4:
            text = f"{text} * {rnd.choice((2, -1, -2))} + {rnd.choice(axes)}"
    if rnd.random() < 0.2:
        text = f"te.{rnd.choice(('min', 'max'))}({text}, {rnd.randint(-3, 6)})"
    return text


def _index_range(text: str, axes: Sequence[str], dims: Sequence[Dim]) -> tuple[int, int]:
    """Return the least and the greatest value of an index."""
    code = compile(text, "<index>", "eval")
    places: list[dict[str, int]] = [{}]
    for axis, dim in zip(axes, dims, strict=True):
        places = [{**one, axis: n} for one in places for n in range(dim.value)]
    values = [eval(code, {"te": _Trunc}, place) for place in places]
    return min(values), max(values)


def _shifted(text: str, by: int) -> str:
    return f"{text} + {by}" if by >= 0 else f"{text} - {-by}"
