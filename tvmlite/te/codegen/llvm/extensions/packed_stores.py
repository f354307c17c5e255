"""Neighbouring vectors of floats rounded to bytes, packed into one register and stored by one store.

::

    out[ramp(p, 1, 16)] = uint8(round(a) + 3.0)             out[ramp(p, 1, 64)] = packed_bytes(a, b, c, d)
    out[ramp(p + 16, 1, 16)] = uint8(round(b) + 3.0)   -->
    out[ramp(p + 32, 1, 16)] = uint8(round(c) + 3.0)
    out[ramp(p + 48, 1, 16)] = uint8(round(d) + 3.0)

x86 has instructions that pack two vectors into one of elements of half the width, with saturation: for four
vectors, three of them and a permutation replace a clamp to the lower limit, a truncation and a store each.
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
"""The number of vectors of 32-bit elements that fill one vector of bytes."""

KIND = "packed_bytes"
"""The kind of the foreign call whose value is the bytes of several vectors of float32, concatenated; its
``form`` is the number added to the rounded floats."""


class _Instructions(NamedTuple):
    """The instructions that round and pack registers of 32-bit lanes, and the feature that they need."""

    needs: str
    pack: str
    nearest: str
    immediates: tuple[tuple[str, str], ...]


_INSTRUCTIONS = {
    16: _Instructions(
        "avx512bw",
        "llvm.x86.avx512.{}.512",
        "llvm.x86.avx512.mask.cvtps2dq.512",
        (("<16 x i32>", "zeroinitializer"), ("i16", "-1"), ("i32", "4")),  # all lanes, current rounding mode
    ),
    8: _Instructions("avx2", "llvm.x86.avx2.{}", "llvm.x86.avx.cvt.ps2dq.256", ()),
}
_PACKS = {"uint8": "packuswb", "int8": "packsswb"}

MAX_ZERO_POINT = 255
"""The most that may be added after saturation to int16: saturated values stay outside the range of bytes."""


def combine(function: ir.Function, target: Target) -> ir.Function:
    """``function`` with up to four stores of rounded bytes to contiguous elements merged into one."""
    return rewrite(function, lambda node: _combine_stores(node, target) if isinstance(node, ir.Seq) else node)


def rounded(node: e.Expr) -> tuple[e.Expr, int] | None:
    """``(x, c)`` if ``node`` casts a float32 ``round(x) + c``, with an int ``c``, to a narrow int."""
    if not isinstance(node, e.Cast) or not dtypes.is_int(node.dtype) or dtypes.bits(node.dtype) > 16:
        return None
    match node.value:
        case e.Call("round", (x,), "float32"):
            return x, 0
        case e.Add(e.Call("round", (x,), "float32"), e.Const(c)) if float(c).is_integer() and abs(c) < 2**16:
            return x, int(c)
    return None


class _Part(NamedTuple):
    """A store of the bytes ``round(floats) + zero_point`` of one register, starting at ``base``."""

    store: ir.Store
    base: e.Expr
    lanes: int
    floats: e.Expr
    zero_point: int


def _combine_stores(node: ir.Seq, target: Target) -> ir.Seq:
    made: list[ir.Stmt] = []
    group: list[_Part] = []
    for one in node.body:
        part = _part(one, target)
        if group and (part is None or len(group) == AT_ONCE or not _is_next(part, group[-1])):
            made.append(_merged(group))
            group = []
        if part is None:
            made.append(one)
        else:
            group.append(part)
    if group:
        made.append(_merged(group))
    return node if len(made) == len(node.body) else ir.Seq(tuple(made))


def _part(node: ir.Stmt, target: Target) -> _Part | None:
    """``node`` as a part if it is such a store and reads no bytes of its array but those that it overwrites,
    so that it does not depend on the other stores."""
    match node:
        case ir.Store(buffer, (e.Ramp(base, e.Const(1), lanes),), value, None) if value.dtype in _PACKS:
            found, how = rounded(value), _INSTRUCTIONS.get(lanes)
            if found is None or how is None or not target.has(how.needs) or abs(found[1]) > MAX_ZERO_POINT:
                return None
            read = [load.indices[0] for load in loads(value) if load.buffer is buffer]
            if all(_is_at(index, base, lanes) for index in read):
                return _Part(node, base, lanes, *found)
    return None


def _is_at(index: e.Expr, base: e.Expr, lanes: int) -> bool:
    """Whether ``index`` is that of the ``lanes`` elements starting at ``base``."""
    match index:
        case e.Ramp(first, e.Const(1), count):
            return count == lanes and arith.equal(first, base)
        case _:
            return False


def _is_next(part: _Part, before: _Part) -> bool:
    """Whether ``part`` starts where ``before`` ends, and rounds in the same way."""
    kinds = [(one.store.buffer, one.store.value.dtype, one.lanes, one.zero_point) for one in (part, before)]
    return kinds[0] == kinds[1] and e.is_const(arith.simplify(part.base - before.base), part.lanes)


def _merged(group: list[_Part]) -> ir.Store:
    """The stores of ``group`` merged into one."""
    (first, *others), lanes = group, sum(part.lanes for part in group)
    if not others:
        return first.store
    floats, dtype = tuple(part.floats for part in group), first.store.value.dtype
    packed = e.Foreign(KIND, "round", floats, dtype, lanes, str(first.zero_point))
    return ir.Store(first.store.buffer, (e.Ramp(first.base, e.const(1, e.INDEX), lanes),), packed)


@emits(KIND)
def _packed(values: Expressions, node: e.Foreign) -> str:
    """Saturate to int16, add ``zero_point``, and saturate to bytes.

    The packed vector has a quarter of each operand in every 128 bits; the last step puts them in order.
    """
    w, lanes, zero_point = values.w, node.args[0].lanes, int(node.form)
    how, count = _INSTRUCTIONS[lanes], len(node.args)
    ints, shorts, bytes_ = vector("i32", lanes), vector("i16", 2 * lanes), vector("i8", 4 * lanes)
    limited = [_limited(w, values.known[x], x, node.dtype, zero_point) for x in node.args]
    floats = vector("float", lanes)
    parts = [w.call(how.nearest, ints, [(floats, x), *how.immediates]) for x in limited]
    halves = []
    for a, b in zip(parts[::2], [*parts[1::2], "poison"], strict=False):
        half = w.call(how.pack.format("packssdw"), shorts, [(ints, a), (ints, b)])
        halves.append(
            w.intrinsic("sadd.sat", shorts, half, literal(zero_point, "int16", 2 * lanes))
            if zero_point
            else half
        )
    first, second = (*halves, "poison")[:2]
    packed = w.call(how.pack.format(_PACKS[node.dtype]), bytes_, [(shorts, first), (shorts, second)])
    words = w.emit(f"bitcast {bytes_} {packed} to {ints}")
    order = [AT_ONCE * quarter + part for part in range(count) for quarter in range(lanes // AT_ONCE)]
    picks = ", ".join(f"i32 {pick}" for pick in order)
    ordered = w.emit(f"shufflevector {ints} {words}, {ints} poison, <{len(order)} x i32> <{picks}>")
    return w.emit(f"bitcast {vector('i32', len(order))} {ordered} to {vector('i8', node.lanes)}")


def _limited(w: Writer, value: str, node: e.Expr, to: str, zero_point: int) -> str:
    """``value`` (of ``node``), limited so that its rounding to int32 saturates correctly; NaN gives 0.

    Rounding to int32 gives the least int32 for NaN and all numbers out of range. That is right for numbers
    below the range, and for NaN if ``to`` is unsigned; numbers above are limited first. Nothing is limited if
    ``node`` is marked by ``fits_int32``.
    """
    if isinstance(node, e.Call) and node.name == "fits_int32":
        return value
    lanes = node.lanes
    floats, mask = vector("float", lanes), vector("i1", lanes)
    least, most = dtypes.limits(to)
    high = literal(float(most - zero_point), "float32", lanes)
    above = w.emit(f"fcmp olt {floats} {high}, {value}")
    limited = w.emit(f"select {mask} {above}, {floats} {high}, {floats} {value}")
    if least == 0:
        return limited
    ordered = w.emit(f"fcmp ord {floats} {value}, {value}")
    zero = literal(float(-zero_point), "float32", lanes)
    return w.emit(f"select {mask} {ordered}, {floats} {limited}, {floats} {zero}")
