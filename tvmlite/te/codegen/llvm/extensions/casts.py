"""Generation of conversions between dtypes, as ``te.expr`` defines them."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.codegen.llvm.emitters import emits
from tvmlite.te.codegen.llvm.expr import Expressions
from tvmlite.te.codegen.llvm.extensions.packed_stores import rounded
from tvmlite.te.codegen.llvm.text import HALVES, Writer, literal, mangled, register_type, vector
from tvmlite.te.extensions import extension


def _rounded(values: Expressions, node: e.Cast) -> tuple[e.Expr, int, str] | None:
    """The operand that ``node`` rounds, the number added to it and the narrow int dtype, if the conversion
    can round. ``node`` may also cast that narrow int to int32, in which case it is never narrowed."""
    inner = node.value if node.dtype == "int32" and isinstance(node.value, e.Cast) else node
    found = rounded(inner) if values.w.module.family == "x86" else None
    return None if found is None else (*found, inner.dtype)


def _operands(values: Expressions, node: e.Cast) -> tuple[e.Expr, ...]:
    found = _rounded(values, node)
    return (node.value if found is None else found[0],)


@emits(e.Cast, operands=_operands)
def _cast(values: Expressions, node: e.Cast) -> str:
    if (found := _rounded(values, node)) is not None:
        x, zero_point, narrow = found
        made = _nearest(values.w, values.known[x], zero_point, narrow, node.lanes)
        return convert(values.w, made, "int32", node.dtype, node.lanes)
    return convert(values.w, values.known[node.value], node.value.dtype, node.dtype, node.lanes)


def convert(w: Writer, value: str, source: str, to: str, lanes: int) -> str:
    """``value`` cast from dtype ``source`` to dtype ``to``, as ``te.expr`` defines it."""
    if source != to and to in HALVES:
        return extension("llvm.halves").convert(w, value, source, to, lanes)
    source = "float32" if source in HALVES and source != to else source
    if source == to:
        return value
    given, wanted, signed = register_type(source, lanes), register_type(to, lanes), source in dtypes.SIGNED
    if dtypes.is_float(source) and not dtypes.is_float(to):
        return _from_float(w, value, source, to, lanes)
    if to == "bool":
        zero = "zeroinitializer" if lanes > 1 else "0"
        return w.emit(f"icmp ne {given} {value}, {zero}")
    if dtypes.is_float(to):
        kind = "sitofp" if signed else "uitofp"
        if dtypes.is_float(source):
            kind = "fpext" if to == "float64" else "fptrunc"
        return w.emit(f"{kind} {given} {value} to {wanted}")
    have = 1 if source == "bool" else dtypes.bits(source)
    if have == dtypes.bits(to):
        return value
    kind = "trunc" if have > dtypes.bits(to) else "sext" if signed else "zext"
    return w.emit(f"{kind} {given} {value} to {wanted}")


def _from_float(w: Writer, value: str, source: str, to: str, lanes: int) -> str:
    """A float32 or float64 as an int, truncated and saturated, NaN as 0; as a bool: whether it is not 0."""
    floats, wanted = register_type(source, lanes), register_type(to, lanes)
    if to == "bool":
        return w.emit(f"fcmp une {floats} {value}, {literal(0.0, source, lanes)}")
    kind = "fptoui" if dtypes.is_unsigned(to) else "fptosi"
    if w.module.family != "x86":  # the conversion instructions saturate
        name = f"llvm.{kind}.sat.{mangled(wanted)}.{mangled(floats)}"
        return w.call(name, wanted, [(floats, value)])
    return _saturated(w, value, source, to, lanes)


def _nearest(w: Writer, value: str, zero_point: int, to: str, lanes: int) -> str:
    """``round(value) + zero_point``, saturated to the narrow dtype ``to``, as int32. Integer limits may be
    applied before rounding, which the conversion instruction then does."""
    floats, ints = (register_type(kind, lanes) for kind in ("float32", "int32"))
    low, high = (float(limit - zero_point) for limit in dtypes.limits(to))
    limited = _limited(w, value, "float32", (low, high), lanes)
    if low + zero_point != 0:  # NaN has become the lower limit
        ordered = w.emit(f"fcmp ord {floats} {value}, {value}")
        zero = literal(float(-zero_point), "float32", lanes)
        limited = w.emit(f"select {vector('i1', lanes)} {ordered}, {floats} {limited}, {floats} {zero}")
    name = f"llvm.lrint.{mangled(ints)}.{mangled(floats)}"
    made = w.call(name, ints, [(floats, limited)])
    return w.emit(f"add {ints} {made}, {literal(zero_point, 'int32', lanes)}") if zero_point else made


def _limited(w: Writer, value: str, source: str, limits: tuple[float, float], lanes: int) -> str:
    """``value`` clamped to ``limits``; NaN becomes the lower one."""
    floats, mask = register_type(source, lanes), vector("i1", lanes)
    for relation, bound in zip(("ogt", "olt"), limits, strict=True):
        text = literal(bound, source, lanes)
        inside = w.emit(f"fcmp {relation} {floats} {value}, {text}")
        value = w.emit(f"select {mask} {inside}, {floats} {value}, {floats} {text}")
    return value


def _saturated(w: Writer, value: str, source: str, to: str, lanes: int) -> str:
    """Convert by clamping to the outermost floats in range, as ``llvm.fptosi.sat`` is scalarized on x86."""
    floats, wanted, mask = register_type(source, lanes), register_type(to, lanes), vector("i1", lanes)
    least, greatest = dtypes.limits(to)
    low, high = float(least), _float_at_most(int(greatest), source)
    number = value
    if least != 0:  # NaN would become the lower limit
        ordered = w.emit(f"fcmp ord {floats} {value}, {value}")
        number = w.emit(f"select {mask} {ordered}, {floats} {value}, {floats} {literal(0.0, source, lanes)}")
    clamped = _limited(w, number, source, (low, high), lanes)
    if dtypes.bits(to) < 32:  # vector conversion instructions give i32
        ints = vector("i32", lanes)
        wide = w.emit(f"fptosi {floats} {clamped} to {ints}")
        return w.emit(f"trunc {ints} {wide} to {wanted}")
    kind = "fptoui" if dtypes.is_unsigned(to) else "fptosi"
    result = w.emit(f"{kind} {floats} {clamped} to {wanted}")
    if int(high) == greatest:
        return result
    above = w.emit(f"fcmp ogt {floats} {number}, {literal(high, source, lanes)}")
    return w.emit(f"select {mask} {above}, {wanted} {literal(greatest, to, lanes)}, {wanted} {result}")


def _float_at_most(limit: int, dtype: str) -> float:
    kind = np.dtype(dtype).type
    value = kind(limit)
    return float(value if int(value) <= limit else np.nextafter(value, kind(0)))
