"""Neighbouring vectors of bytes that are rounded floats: packed into one register and stored at once.

::

    out[ramp(p, 1, 16)] = uint8(round(a) + 3.0)             out[ramp(p, 1, 64)] = packed_bytes(a, b, c, d)
    out[ramp(p + 16, 1, 16)] = uint8(round(b) + 3.0)   -->
    out[ramp(p + 32, 1, 16)] = uint8(round(c) + 3.0)
    out[ramp(p + 48, 1, 16)] = uint8(round(d) + 3.0)

x86 has instructions that pack two vectors into one of half the width and saturate meanwhile: three of them
and a permutation do for four vectors what a clamp to the lower limit, a truncation and a store do for each.
"""

from __future__ import annotations

from typing import NamedTuple

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import rewrite
from tvmlite.machine.target import Target
from tvmlite.te import arith
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.emitters import emits
from tvmlite.te.codegen.llvm.expr import Expressions
from tvmlite.te.codegen.llvm.text import Writer, literal, vector
from tvmlite.te.loop import ir
from tvmlite.te.loop.walk import loads

AT_ONCE = 4
"""Vectors of 32 bits that make one of bytes."""

KIND = "packed_bytes"
"""The kind of the foreign call that stands for the bytes of several vectors of float32, one behind the other;
its ``form`` is what is added to the rounded numbers."""


class _Instructions(NamedTuple):
    """What registers of so many lanes of 32 bits are rounded and packed by, and what that needs."""

    needs: str
    pack: str
    nearest: str
    immediates: tuple[tuple[str, str], ...]


_INSTRUCTIONS = {
    16: _Instructions(
        "avx512bw",
        "llvm.x86.avx512.{}.512",
        "llvm.x86.avx512.mask.cvtps2dq.512",
        (("<16 x i32>", "zeroinitializer"), ("i16", "-1"), ("i32", "4")),  # all lanes, rounded as usual
    ),
    8: _Instructions("avx2", "llvm.x86.avx2.{}", "llvm.x86.avx.cvt.ps2dq.256", ()),
}
_PACKS = {"uint8": "packuswb", "int8": "packsswb"}

MOST_MOVED = 255
"""What may be added to int16 that are saturated: it brings none from beyond a byte's range into it."""


def combine(function: ir.Function, target: Target) -> ir.Function:
    """``function`` with up to four stores of rounded bytes, each right behind the one before, as one."""
    return rewrite(function, lambda node: _combined(node, target) if isinstance(node, ir.Seq) else node)


def rounded(node: e.Expr) -> tuple[e.Expr, int] | None:
    """``(x, c)`` if ``node`` is ``round(x) + c`` of float32 as a narrow int, for a whole number ``c``."""
    if not isinstance(node, e.Cast) or not dtypes.is_int(node.dtype) or dtypes.bits(node.dtype) > 16:
        return None
    match node.value:
        case e.Call("round", (x,), "float32"):
            return x, 0
        case e.Add(e.Call("round", (x,), "float32"), e.Const(c)) if float(c).is_integer() and abs(c) < 2**16:
            return x, int(c)
    return None


class _Part(NamedTuple):
    """A store of the bytes ``round(floats) + moved`` of one register, from ``base`` on."""

    store: ir.Store
    base: e.Expr
    lanes: int
    floats: e.Expr
    moved: int


def _combined(node: ir.Seq, target: Target) -> ir.Seq:
    made: list[ir.Stmt] = []
    group: list[_Part] = []
    for one in node.body:
        part = _part(one, target)
        if group and (part is None or len(group) == AT_ONCE or not _is_next(part, group[-1])):
            made.append(_as_one(group))
            group = []
        if part is None:
            made.append(one)
        else:
            group.append(part)
    if group:
        made.append(_as_one(group))
    return node if len(made) == len(node.body) else ir.Seq(tuple(made))


def _part(node: ir.Stmt, target: Target) -> _Part | None:
    """``node`` if it is such a store, and of its array reads at most the bytes that it replaces: so it does
    not depend on what others store there."""
    match node:
        case ir.Store(buffer, (e.Ramp(base, e.Const(1), lanes),), value, None) if value.dtype in _PACKS:
            found, how = rounded(value), _INSTRUCTIONS.get(lanes)
            if found is None or how is None or not target.has(how.needs) or abs(found[1]) > MOST_MOVED:
                return None
            read = [load.indices[0] for load in loads(value) if load.buffer is buffer]
            if all(_is_at(index, base, lanes) for index in read):
                return _Part(node, base, lanes, *found)
    return None


def _is_at(index: e.Expr, base: e.Expr, lanes: int) -> bool:
    """Whether ``index`` is of the ``lanes`` elements from ``base`` on."""
    match index:
        case e.Ramp(first, e.Const(1), count):
            return count == lanes and arith.equal(first, base)
        case _:
            return False


def _is_next(part: _Part, before: _Part) -> bool:
    """Whether ``part`` is right behind ``before``, and rounds alike."""
    kinds = [(one.store.buffer, one.store.value.dtype, one.lanes, one.moved) for one in (part, before)]
    return kinds[0] == kinds[1] and e.is_const(arith.simplify(part.base - before.base), part.lanes)


def _as_one(group: list[_Part]) -> ir.Store:
    """The stores of ``group`` as one."""
    (first, *others), lanes = group, sum(part.lanes for part in group)
    if not others:
        return first.store
    floats, dtype = tuple(part.floats for part in group), first.store.value.dtype
    packed = e.Foreign(KIND, "round", floats, dtype, lanes, str(first.moved))
    return ir.Store(first.store.buffer, (e.Ramp(first.base, e.const(1, e.INDEX), lanes),), packed)


@emits(KIND)
def _packed(values: Expressions, node: e.Foreign) -> str:
    """Saturated to int16, moved there, and saturated to bytes.

    What packs of vectors give has a quarter of each in every 128 bits: the last step puts them in order.
    """
    w, lanes, moved = values.w, node.args[0].lanes, int(node.form)
    how, count = _INSTRUCTIONS[lanes], len(node.args)
    ints, shorts, bytes_ = vector("i32", lanes), vector("i16", 2 * lanes), vector("i8", 4 * lanes)
    limited = [_limited(w, values.known[x], x, node.dtype, moved) for x in node.args]
    floats = vector("float", lanes)
    parts = [w.call(how.nearest, ints, [(floats, x), *how.immediates]) for x in limited]
    halves = []
    for a, b in zip(parts[::2], [*parts[1::2], "poison"], strict=False):
        half = w.call(how.pack.format("packssdw"), shorts, [(ints, a), (ints, b)])
        halves.append(
            w.intrinsic("sadd.sat", shorts, half, literal(moved, "int16", 2 * lanes)) if moved else half
        )
    first, second = (*halves, "poison")[:2]
    packed = w.call(how.pack.format(_PACKS[node.dtype]), bytes_, [(shorts, first), (shorts, second)])
    words = w.emit(f"bitcast {bytes_} {packed} to {ints}")
    order = [AT_ONCE * quarter + part for part in range(count) for quarter in range(lanes // AT_ONCE)]
    picks = ", ".join(f"i32 {pick}" for pick in order)
    ordered = w.emit(f"shufflevector {ints} {words}, {ints} poison, <{len(order)} x i32> <{picks}>")
    return w.emit(f"bitcast {vector('i32', len(order))} {ordered} to {vector('i8', node.lanes)}")


def _limited(w: Writer, value: str, node: e.Expr, to: str, moved: int) -> str:
    """``value``, that of ``node``, or a number that int32 holds and that saturates alike; where NaN gives 0.

    Rounding to int32 gives the least one for NaN and for all numbers beyond int32. It is right for those
    below, and for NaN where 0 is the least; those above are limited before, and nothing is where ``node``
    says that it fits.
    """
    if isinstance(node, e.Call) and node.name == "fits_int32":
        return value
    lanes = node.lanes
    floats, mask = vector("float", lanes), vector("i1", lanes)
    least, most = dtypes.limits(to)
    high = literal(float(most - moved), "float32", lanes)
    above = w.emit(f"fcmp olt {floats} {high}, {value}")
    limited = w.emit(f"select {mask} {above}, {floats} {high}, {floats} {value}")
    if least == 0:
        return limited
    ordered = w.emit(f"fcmp ord {floats} {value}, {value}")
    zero = literal(float(-moved), "float32", lanes)
    return w.emit(f"select {mask} {ordered}, {floats} {limited}, {floats} {zero}")
