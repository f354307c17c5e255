"""Generation of integer division: without traps, rounded as ``te.expr`` defines it."""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.text import Writer, literal, register_type, vector


def divide(w: Writer, node: e.Binary, a: str, b: str) -> str:
    """The quotient or remainder ``node``, given the operands' values ``a`` and ``b``."""
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
    """The quotient or remainder of operands that neither divide by zero nor overflow."""
    dtype, lanes = node.dtype, node.lanes
    type_, mask = register_type(dtype, lanes), vector("i1", lanes)
    plain = dtype not in dtypes.SIGNED or (_is_whole_positive(node.a) and _is_whole_positive(node.b))
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


def _is_whole_positive(expr: e.Expr) -> bool:
    """Whether an int is at least 0 judging by its form, assuming that index arithmetic does not overflow."""
    match expr:
        case e.Const(value):
            return value >= 0
        case e.SizeVar():
            return True
        case e.Add() | e.Mul() | e.Min():
            return expr.dtype == e.INDEX and _is_whole_positive(expr.a) and _is_whole_positive(expr.b)
        case e.Max():
            return _is_whole_positive(expr.a) or _is_whole_positive(expr.b)
        case e.FloorDiv() | e.TruncDiv():
            return _is_whole_positive(expr.a) and _is_whole_positive(expr.b)
        case e.FloorMod():
            return isinstance(expr.b, e.Const) and expr.b.value >= 0
        case e.Broadcast(value=value):
            return _is_whole_positive(value)
        case _:
            return False
