"""Arithmetic, comparisons and divisions as LLVM IR, with the meaning ``te.expr`` gives them."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm import cast
from tvmlite.te.codegen.llvm.text import Writer, literal, mangled, register_type, vector

_FLOAT = {e.Add: "fadd", e.Sub: "fsub", e.Mul: "fmul", e.Div: "fdiv"}
_INT = {e.Add: "add", e.Sub: "sub", e.Mul: "mul"}
_COMPARE = {e.Equal: "eq", e.NotEqual: "ne", e.Less: "lt", e.LessEqual: "le"}
_DIVISIONS = (e.FloorDiv, e.FloorMod, e.TruncDiv, e.TruncMod)


def binary(w: Writer, node: e.Binary, a: str, b: str) -> str:
    """A binary node, given its operands' values."""
    kind, dtype, lanes = type(node), node.a.dtype, node.lanes
    type_ = register_type(dtype, lanes)
    if isinstance(node, e.Compare):
        return _compare(w, node, a, b)
    if isinstance(node, e.And):
        return w.emit(f"and {type_} {a}, {b}")
    if isinstance(node, e.Or):
        return w.emit(f"or {type_} {a}, {b}")
    if isinstance(node, (e.Min, e.Max)):
        return _extreme(w, node, a, b)
    if dtypes.is_float(dtype):
        if kind is e.TruncMod:
            return cast.rounded(w, w.emit(f"frem {type_} {a}, {b}"), dtype, lanes)
        return cast.rounded(w, w.emit(f"{_FLOAT[kind]} {type_} {a}, {b}"), dtype, lanes)
    if kind in _DIVISIONS:
        return _divide(w, node, a, b)
    return w.emit(f"{_INT[kind]} {type_} {a}, {b}")


def is_whole_positive(expr: e.Expr) -> bool:
    """Whether an int is at least 0, by its form alone: index arithmetic is taken not to overflow."""
    match expr:
        case e.Const(value):
            return value >= 0
        case e.SizeVar():
            return True
        case e.Add() | e.Mul() | e.Min():
            return expr.dtype == e.INDEX and is_whole_positive(expr.a) and is_whole_positive(expr.b)
        case e.Max():
            return is_whole_positive(expr.a) or is_whole_positive(expr.b)
        case e.FloorDiv() | e.TruncDiv():
            return is_whole_positive(expr.a) and is_whole_positive(expr.b)
        case e.FloorMod():
            return isinstance(expr.b, e.Const) and expr.b.value >= 0
        case e.Broadcast(value=value):
            return is_whole_positive(value)
        case _:
            return False


def _compare(w: Writer, node: e.Compare, a: str, b: str) -> str:
    relation, dtype = _COMPARE[type(node)], node.a.dtype
    type_ = register_type(dtype, node.lanes)
    if dtypes.is_float(dtype):
        prefix = "u" if relation == "ne" else "o"
        return w.emit(f"fcmp {prefix}{relation} {type_} {a}, {b}")
    if relation not in ("eq", "ne"):
        relation = ("s" if dtype in dtypes.SIGNED else "u") + relation
    return w.emit(f"icmp {relation} {type_} {a}, {b}")


def _extreme(w: Writer, node: e.Min | e.Max, a: str, b: str) -> str:
    dtype, lanes = node.dtype, node.lanes
    type_, least = register_type(dtype, lanes), isinstance(node, e.Min)
    if dtype == "bool":
        return w.emit(f"{'and' if least else 'or'} {type_} {a}, {b}")
    if not dtypes.is_float(dtype):
        name = ("s" if dtype in dtypes.SIGNED else "u") + ("min" if least else "max")
        return w.intrinsic(name, type_, a, b)
    if w.module.family == "aarch64":
        return w.intrinsic("minimum" if least else "maximum", type_, a, b)
    return _float_extreme(w, node, type_, a, b)


def _float_extreme(w: Writer, node: e.Min | e.Max, type_: str, a: str, b: str) -> str:
    """As x86's minps does it: ``a < b ? a : b``, which is b, NaN or not, where a or b is NaN.

    So a constant goes first, and that is all; otherwise a NaN in the side written second is put back (as
    the first of ``llvm.maximum``): in a reduction that is the new element, and the accumulator's chain stays
    short.
    """
    mask = vector("i1", node.lanes)
    relation = "olt" if isinstance(node, e.Min) else "ogt"
    if isinstance(node.b, e.Const) and node.b.value == node.b.value:
        a, b = b, a
        known = True
    else:
        known = isinstance(node.a, e.Const) and node.a.value == node.a.value
    if known:
        return w.emit(
            f"select {mask} {w.emit(f'fcmp {relation} {type_} {a}, {b}')}, {type_} {a}, {type_} {b}"
        )
    kind = f"llvm.{'minimum' if isinstance(node, e.Min) else 'maximum'}.{mangled(type_)}"
    target = w.module.declare(kind, type_, f"{type_}, {type_}")
    return w.emit(f"call nsz {type_} {target}({type_} {b}, {type_} {a})")


def _divide(w: Writer, node: e.Binary, a: str, b: str) -> str:
    if isinstance(node.b, e.Const):
        return _divide_by_constant(w, node, a, int(node.b.value))
    dtype, lanes = node.dtype, node.lanes
    type_, mask = register_type(dtype, lanes), vector("i1", lanes)
    zero, one = literal(0, dtype, lanes), literal(1, dtype, lanes)
    by_zero = w.emit(f"icmp eq {type_} {b}, {zero}")
    unsafe = by_zero
    if dtype in dtypes.SIGNED:
        least = literal(dtypes.limits(dtype)[0], dtype, lanes)
        first = w.emit(f"icmp eq {type_} {a}, {least}")
        second = w.emit(f"icmp eq {type_} {b}, {literal(-1, dtype, lanes)}")
        unsafe = w.emit(f"or {mask} {by_zero}, {w.emit(f'and {mask} {first}, {second}')}")
    divisor = w.emit(f"select {mask} {unsafe}, {type_} {one}, {type_} {b}")
    result = _quotient_or_rest(w, node, a, divisor)
    if isinstance(node, (e.FloorDiv, e.TruncDiv)):
        return w.emit(f"select {mask} {by_zero}, {type_} {zero}, {type_} {result}")
    return result


def _divide_by_constant(w: Writer, node: e.Binary, a: str, divisor: int) -> str:
    dtype, lanes = node.dtype, node.lanes
    type_ = register_type(dtype, lanes)
    quotient = isinstance(node, (e.FloorDiv, e.TruncDiv))
    if divisor == 0 or (abs(divisor) == 1 and not quotient):
        return literal(0, dtype, lanes)
    if divisor == 1:
        return a
    if divisor == -1:
        return w.emit(f"sub {type_} {literal(0, dtype, lanes)}, {a}")
    floors = isinstance(node, (e.FloorDiv, e.FloorMod)) and divisor & (divisor - 1) == 0
    if divisor > 0 and floors and dtype in dtypes.SIGNED:  # a power of two
        if quotient:
            return w.emit(f"ashr {type_} {a}, {literal(divisor.bit_length() - 1, dtype, lanes)}")
        return w.emit(f"and {type_} {a}, {literal(divisor - 1, dtype, lanes)}")
    return _quotient_or_rest(w, node, a, literal(divisor, dtype, lanes))


def _quotient_or_rest(w: Writer, node: e.Binary, a: str, b: str) -> str:
    """The division proper: no zero divisor, no overflow."""
    dtype, lanes = node.dtype, node.lanes
    type_, mask = register_type(dtype, lanes), vector("i1", lanes)
    plain = dtype not in dtypes.SIGNED or (is_whole_positive(node.a) and is_whole_positive(node.b))
    kind = "u" if plain else "s"
    quotient = isinstance(node, (e.FloorDiv, e.TruncDiv))
    if plain or isinstance(node, (e.TruncDiv, e.TruncMod)):
        return w.emit(f"{kind}{'div' if quotient else 'rem'} {type_} {a}, {b}")
    zero = literal(0, dtype, lanes)
    rest = w.emit(f"srem {type_} {a}, {b}")
    if isinstance(node.b, e.Const) and node.b.value > 0:
        wrong = w.emit(f"icmp slt {type_} {rest}, {zero}")
    else:
        opposite = w.emit(f"icmp slt {type_} {w.emit(f'xor {type_} {rest}, {b}')}, {zero}")
        inexact = w.emit(f"icmp ne {type_} {rest}, {zero}")
        wrong = w.emit(f"and {mask} {opposite}, {inexact}")
    if not quotient:
        fixed = w.emit(f"select {mask} {wrong}, {type_} {b}, {type_} {zero}")
        return w.emit(f"add {type_} {rest}, {fixed}")
    divided = w.emit(f"sdiv {type_} {a}, {b}")
    return w.emit(f"add {type_} {divided}, {w.emit(f'sext {mask} {wrong} to {type_}')}")
