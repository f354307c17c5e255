"""Floats as ints and bools, as LLVM IR: truncating and saturating, NaN to 0."""

from __future__ import annotations

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.te.codegen.llvm.text import Writer, literal, mangled, register_type, vector


def convert(w: Writer, value: str, source: str, to: str, lanes: int) -> str:
    """A float32 or float64 as an int; as a bool: whether it is not 0."""
    floats, wanted = register_type(source, lanes), register_type(to, lanes)
    if to == "bool":
        return w.emit(f"fcmp une {floats} {value}, {literal(0.0, source, lanes)}")
    kind = "fptoui" if dtypes.is_unsigned(to) else "fptosi"
    if w.module.family != "x86":  # saturating as the hardware does
        name = f"llvm.{kind}.sat.{mangled(wanted)}.{mangled(floats)}"
        return w.call(name, wanted, [(floats, value)])
    return _saturated(w, value, source, to, lanes)


def _saturated(w: Writer, value: str, source: str, to: str, lanes: int) -> str:
    """By clamping to the outermost floats of the range: ``llvm.fptosi.sat`` goes lane by lane on x86."""
    floats, wanted, mask = register_type(source, lanes), register_type(to, lanes), vector("i1", lanes)
    least, greatest = dtypes.limits(to)
    low, high = float(least), _float_at_most(int(greatest), source)
    ordered = w.emit(f"fcmp ord {floats} {value}, {value}")
    number = w.emit(f"select {mask} {ordered}, {floats} {value}, {floats} {literal(0.0, source, lanes)}")
    clamped = number
    for relation, bound in (("ogt", low), ("olt", high)):
        text = literal(bound, source, lanes)
        inside = w.emit(f"fcmp {relation} {floats} {clamped}, {text}")
        clamped = w.emit(f"select {mask} {inside}, {floats} {clamped}, {floats} {text}")
    if dtypes.bits(to) < 32:  # the vector conversions are those to i32
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
