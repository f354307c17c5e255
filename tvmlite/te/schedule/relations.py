"""How split and fuse relate the axes of a stage: ranges are propagated down from the operation's axes to the
loops, values and intervals up from the loops to the axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from tvmlite.te import expr as e
from tvmlite.te.arith import same as alike
from tvmlite.te.expr import Expr
from tvmlite.te.extensions import extension
from tvmlite.te.schedule.stage_base import SHRINK, Fuse, Relation, Singleton, Split
from tvmlite.te.tensor.tensor import IterVar

Number: TypeAlias = int | Expr


class Extent(NamedTuple):
    """``min, min + 1, ..., min + extent - 1``; ints where known."""

    min: Number
    extent: Number


class Interval(NamedTuple):
    """``low ... low + width``, both inclusive; ``width`` is an int where known."""

    low: Number
    width: Number

    @property
    def is_point(self) -> bool:
        """Whether the interval is known to hold a single value."""
        return e.is_const(self.width, 0)


Ranges: TypeAlias = dict[IterVar, Extent]


def plain(value: Any) -> Number:
    """``value`` as a Python int if it is a constant."""
    return int(value.value) if isinstance(value, e.Const) else value


def ceil_div(a: Number, b: Number) -> Number:
    """``a / b`` rounded up, for positive ``b``."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    return (a + (b - 1)) // b


def same(a: Number, b: Number) -> bool:
    """Whether both are the same int, or structurally equal."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return alike(a, b)


def pass_down(
    relations: Sequence[Relation],
    ranges: Ranges,
    simplify: Callable[[Number], Number],
    widen: Callable[[Any], Number],
) -> None:
    """Complete ``ranges``, which has those of the operation's axes, by those of all derived axes."""
    for relation in relations:
        match relation:
            case Split(parent, outer, inner, factor, tail="shrink", ratio=ratio, piece=piece):
                tiles = extension("shrink").shrinking(ranges[parent].extent, factor, ratio)
                size, begin, iterations = tiles[piece]
                ranges[outer], ranges[inner] = Extent(0, simplify(iterations)), Extent(simplify(begin), size)
            case Split(parent, outer, inner, factor, nparts):
                extent = ranges[parent].extent
                given = widen(factor if nparts is None else nparts)
                if isinstance(given, int) and isinstance(extent, int):
                    given = max(1, min(given, extent))
                other = simplify(ceil_div(extent, given))
                ranges[outer] = Extent(0, other if nparts is None else given)
                ranges[inner] = Extent(0, given if nparts is None else other)
            case Fuse(outer, inner, fused):
                ranges[fused] = Extent(0, simplify(ranges[outer].extent * ranges[inner].extent))
            case Singleton(axis):
                ranges[axis] = Extent(0, 1)


def values_up(relations: Sequence[Relation], ranges: Ranges, values: dict[IterVar, Number]) -> None:
    """Complete ``values``, which has those of the loops, by those of the axes they are derived from."""
    for relation in reversed(relations):
        match relation:
            case Split(parent, outer, inner):
                scaled = values[outer] * ranges[inner].extent
                values[parent] = scaled + values[inner] + ranges[parent].min
            case Fuse(outer, inner, fused):
                width = ranges[inner].extent
                first = values[fused] // width if not e.is_const(ranges[outer].extent, 1) else 0
                second = values[fused] if e.is_const(ranges[outer].extent, 1) else values[fused] % width
                values[outer] = first + ranges[outer].min
                values[inner] = second + ranges[inner].min


def derived_from(relations: Sequence[Relation], roots: Sequence[IterVar]) -> set[IterVar]:
    """``roots`` and all axes derived from any of them."""
    made = set(roots)
    for relation in relations:
        match relation:
            case Split(parent, outer, inner) if parent in made:
                made.update((outer, inner))
            case Fuse(outer, inner, fused) if outer in made or inner in made:
                made.add(fused)
    return made


def overruns(
    relations: Sequence[Relation],
    leaves: Sequence[IterVar],
    ranges: Ranges,
    prove_equal: Callable[[Number, Number], bool],
) -> set[IterVar]:
    """The axes whose values may exceed their range as the loops run, because of the tails of inexact splits.
    If a fused axis stays in its range, so do the axes it was fused from."""
    risky: set[IterVar] = set()
    for relation in reversed(relations):
        match relation:
            case Split(parent, outer, inner):
                made = ranges[outer].extent * ranges[inner].extent
                if relation.tail == SHRINK:
                    made = ranges[parent].extent
                if outer in risky or inner in risky or not prove_equal(ranges[parent].extent, made):
                    risky.add(parent)
    return risky


def nonempty_with(relations: Sequence[Relation], leaf: IterVar) -> set[IterVar]:
    """The axes that are certain to have an iteration if the loop ``leaf`` has one."""
    nonempty = {leaf}
    for relation in reversed(relations):
        match relation:
            case Split(parent, outer, inner, factor):
                if (inner if factor is None else outer) in nonempty:
                    nonempty.add(parent)
            case Fuse(outer, inner, fused) if fused in nonempty:
                nonempty.update((outer, inner))
    return nonempty


def unfused(
    relations: Sequence[Relation], ranges: Ranges, leaf: IterVar, value: Number
) -> dict[IterVar, Number]:
    """The values of the axes that ``leaf`` was fused from, where ``leaf`` has ``value``."""
    values = {leaf: value}
    for relation in reversed(relations):
        if isinstance(relation, Fuse) and relation.fused in values:
            values_up((relation,), ranges, values)
    return values


def intervals_up(relations: Sequence[Relation], ranges: Ranges, found: dict[IterVar, Interval]) -> None:
    """Complete ``found``, which has the loops' intervals, by those of the axes they are derived from. Loops
    that run over their whole range give the axis's whole range, without the overrun of the tail."""
    for relation in reversed(relations):
        match relation:
            case Split(parent, outer, inner):
                whole = _whole(found[outer], ranges[outer]) and _whole(found[inner], ranges[inner])
                if whole and relation.piece == 0:
                    found[parent] = all_of(ranges[parent])
                    continue
                factor = ranges[inner].extent
                low = found[outer].low * factor + found[inner].low + ranges[parent].min
                found[parent] = Interval(low, found[outer].width * factor + found[inner].width)
            case Fuse(outer, inner, fused):
                _unfuse(outer, inner, found[fused], ranges, found, _whole(found[fused], ranges[fused]))


def _unfuse(
    outer: IterVar,
    inner: IterVar,
    fused: Interval,
    ranges: Ranges,
    found: dict[IterVar, Interval],
    whole: bool,
) -> None:
    """Set the intervals of rows (``outer``) and columns: all, unless ``fused`` is a point or in one row."""
    width = ranges[inner].extent
    if whole:
        found[outer], found[inner] = all_of(ranges[outer]), all_of(ranges[inner])
        return
    rows, columns = ranges[outer].min, ranges[inner].min
    if fused.is_point and e.is_const(ranges[outer].extent, 1):
        found[outer], found[inner] = Interval(rows, 0), Interval(fused.low + columns, 0)
        return
    if fused.is_point:
        found[outer] = Interval(fused.low // width + rows, 0)
        found[inner] = Interval(fused.low % width + columns, 0)
        return
    found[inner] = all_of(ranges[inner])
    if isinstance(width, int) and isinstance(fused.width, int):
        count = fused.width + 1
        aligned = is_multiple(fused.low, count)
        if aligned and width % count == 0:
            found[outer] = Interval(fused.low // width + rows, 0)
            found[inner] = Interval(fused.low % width + columns, fused.width)
            return
        rows_exact = count % width == 0 and is_multiple(fused.low, width)
        spread = fused.width // width if rows_exact else ceil_div(fused.width, width)
        found[outer] = Interval(fused.low // width + rows, spread)
        return
    first, last = fused.low // width, (fused.low + fused.width) // width
    found[outer] = Interval(first + rows, last - first)


def is_multiple(value: Number, of: int) -> bool:
    """Whether ``value`` is visibly a multiple of ``of``: a sum of products with such a factor each."""
    value = plain(value)
    if isinstance(value, int):
        return value % of == 0
    match value:
        case e.Add(a, b) | e.Sub(a, b):
            return is_multiple(a, of) and is_multiple(b, of)
        case e.Mul(a, b):
            return is_multiple(a, of) or is_multiple(b, of)
        case _:
            return of == 1


def _whole(interval: Interval, extent: Extent) -> bool:
    return same(plain(interval.low), plain(extent.min)) and same(
        plain(interval.width), plain(all_of(extent).width)
    )


def all_of(extent: Extent) -> Interval:
    """The whole of ``extent``."""
    return Interval(extent.min, extent.extent - 1)
