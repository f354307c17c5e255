"""Scans: rows computed one after the other, from earlier ones."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlite.core import dtype as dtypes
from tvmlite.fuzz.compute.builder import LARGEST, Builder, Dim, KnownTensor, axes_of, index, shape
from tvmlite.fuzz.compute.expressions import Expressions, Leaf

_KINDS = tuple(d for d in dtypes.ALL if d != "bool")


def scan(b: Builder) -> bool:
    """A scan of one or two states of the same shape, in some cases with separate stages.

    The rows follow from earlier ones and from a row of another tensor.
    """
    x = b.pick(kinds=_KINDS, least=2)
    if not 1 <= len(x.dims) <= 3 or x.size > LARGEST // 4:
        return False
    rows = b.rnd.randint(1, min(2, x.dims[0].value - 1))
    states = [_state(b, x) for _ in range(b.rnd.choice((1, 1, 2)))]
    firsts = [_initial_rows(b, x, one, rows) for one in states]
    made = len(b.computed)
    stages = []
    if b.rnd.random() < 0.4:
        stages.append(_intermediate(b, x, states, rows))
    if len(x.dims) == 2 and b.rnd.random() < 0.3:
        stages.append(_earlier_row_sum(b, states[0], rows))
    nexts = [_next_row(b, x, one, states, stages, rows) for one in states]
    del b.computed[made:]  # parts of the scan, none of which is read or computed by itself
    names = [b.fresh("T") for _ in states]
    parts = (_listed([one.name for one in part]) for part in (firsts, nexts, states))
    b.lines.append(f'{", ".join(names)} = te.scan({", ".join(parts)}, inputs=[{x.name}], name="{names[0]}")')
    for name, state in zip(names, states, strict=True):
        b.add(KnownTensor(name, x.dims, state.dtype))
    return True


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _state(b: Builder, x: KnownTensor) -> KnownTensor:
    name, dtype = b.fresh("S"), b.arith(x.dtype)
    b.lines.append(f'{name} = te.placeholder({shape(x.dims)}, "{dtype}", name="{name}")')
    return KnownTensor(name, x.dims, dtype)


def _initial_rows(b: Builder, x: KnownTensor, state: KnownTensor, rows: int) -> KnownTensor:
    """Write the initial rows."""
    axes = axes_of(len(x.dims))
    leaves = [Leaf(f"{x.name}[{index(axes)}]", x.dtype)]
    body = Expressions(b.rnd, leaves, axes).value(state.dtype, b.rnd.randint(0, 2))
    return _part(b, (b.constant(rows), *x.dims[1:]), f'te.cast("{state.dtype}", {body})', state.dtype)


def _part(b: Builder, dims: tuple[Dim, ...], body: str, dtype: str) -> KnownTensor:
    """Write a compute that is only a part of the scan."""
    name, axes = b.fresh("P"), axes_of(len(dims))
    text = f'te.compute({shape(dims)}, lambda {", ".join(axes)}: {body}, name="{name}")'
    b.lines.append(f"{name} = {text}")
    return KnownTensor(name, dims, dtype)


def _earlier_element(b: Builder, state: KnownTensor, axes: list[str], rows: int) -> str:
    """Return an element of an earlier row, sometimes of another column."""
    at = [f"{axes[0]} - {b.rnd.randint(1, rows)}", *axes[1:]]
    if len(axes) > 1 and b.rnd.random() < 0.3:
        at[-1] = f"{state.dims[-1]} - 1 - {axes[-1]}"
    return f"{state.name}[{index(at)}]"


def _intermediate(b: Builder, x: KnownTensor, states: list[KnownTensor], rows: int) -> KnownTensor:
    """Write a stage that reads the states, and that the update reads."""
    axes = axes_of(len(x.dims))
    state = b.rnd.choice(states)
    leaves = [
        Leaf(_earlier_element(b, state, axes, rows), state.dtype),
        Leaf(f"{x.name}[{index(axes)}]", x.dtype),
    ]
    body = Expressions(b.rnd, leaves, axes[1:]).value(state.dtype, 1)
    return _part(b, x.dims, f'te.cast("{state.dtype}", {body}) + {leaves[0].text}', state.dtype)


def _earlier_row_sum(b: Builder, state: KnownTensor, rows: int) -> KnownTensor:
    """Write the sum of an earlier row."""
    k = b.reduce_axis(state.dims[1])
    read = f"{state.name}[i - {b.rnd.randint(1, rows)}, {k}]"
    return _part(b, state.dims[:1], f"te.sum({read}, axis={k})", state.dtype)


def _next_row(
    b: Builder,
    x: KnownTensor,
    state: KnownTensor,
    states: list[KnownTensor],
    stages: list[KnownTensor],
    rows: int,
) -> KnownTensor:
    """Write the next row."""
    axes = axes_of(len(x.dims))
    leaves = [Leaf(f"{x.name}[{index(axes)}]", x.dtype)]
    for one in states:
        leaves.append(Leaf(_earlier_element(b, one, axes, rows), one.dtype))
    for one in stages:
        leaves.append(Leaf(f"{one.name}[{index(axes[: len(one.dims)])}]", one.dtype))
    body = Expressions(b.rnd, leaves, axes[1:]).value(state.dtype, b.rnd.randint(0, 2))
    used = [leaf.text for leaf in leaves[1:] if leaf.dtype == state.dtype]
    more = [text for text in used if text not in body]  # every stage is read
    more += [f'{leaf.text}.astype("{state.dtype}")' for leaf in leaves[1:] if leaf.text not in (*used, body)]
    return _part(b, x.dims, " + ".join([f'te.cast("{state.dtype}", {body})', *more]), state.dtype)
