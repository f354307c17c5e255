"""Functions of ``tvm.tir`` that ``tvmlite.te`` lacks, such as C's math functions, or that differ there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.tensor.intrinsics import TABLE
from tvmlite.te.tensor.registry import TRACE, lowering_rule, register_reference
from tvmlite.tvm.absent import instead_of
from tvmlite.tvm.marks import mark, with_marked_constants
from tvmlite.tvm.te.folding import ceil as ceil
from tvmlite.tvm.te.folding import floor as floor
from tvmlite.tvm.te.folding import nearbyint as nearbyint
from tvmlite.tvm.te.folding import round as round
from tvmlite.tvm.te.folding import trunc as trunc
from tvmlite.tvm.te.numbers import all_beside
from tvmlite.tvm.tir.calls import prefetch
from tvmlite.tvm.tir.parameters import named
from tvmlite.tvm.tir.uncompiled.op_calls import FUNCTIONS, call_of
from tvmlite.tvm.written import Intrinsic, plain


def _of_c(name: str, reference: Callable[..., Any]) -> Callable[..., e.Expr]:
    """The function ``name`` of the C library, whose first argument must be a float."""
    for suffix in ("", "f"):
        register_reference(name + suffix, reference)

    def apply(*values: Any) -> e.Expr:
        args = [e.scalar(name, one) for one in values]
        if not dtypes.is_float(args[0].dtype):
            raise TensorExpressionError(f"{name} takes floats, given {args[0].dtype}", Span.of_caller())
        wide = args[0].dtype == "float64"
        kind = "float64" if wide else "float32"
        made = te.call_pure_extern(
            kind,
            name if wide else f"{name}f",
            *(e.cast(kind, x) if dtypes.is_float(x.dtype) else e.cast("int32", x) for x in args),
        )
        return e.cast(args[0].dtype, made)

    apply.__name__ = name
    apply.__doc__ = f"``{name}`` of the C library."
    return apply


log1p = named(_of_c("log1p", np.log1p), "x")
hypot, nextafter, ldexp = (
    named(_of_c(one.__name__, one), "x1 x2") for one in (np.hypot, np.nextafter, np.ldexp)
)


_CALLS = "call_extern call_pure_extern call_llvm_intrin call_llvm_pure_intrin tvm_access_ptr tvm_call_packed"


def operator_of_calls(name: str) -> Intrinsic:
    """The operator ``name``, such as ``"tir.exp"``, which is the ``op`` of its calls. Raises an
    UnsupportedError if tvmlite does not have it."""
    short = name.removeprefix("tir.")
    if not (short in TABLE or short in FUNCTIONS or short in _CALLS.split() or lowering_rule(short)):
        raise UnsupportedError(f"{name} is not in tvmlite", Span.of_caller(), instead_of(name) or None)
    return Intrinsic(name)


def call_intrin(dtype: str, func_name: Any, *args: Any, span: Any = None) -> e.Expr:
    """Call the intrinsic ``func_name``, a name or a ``tvm.ir.Op``, with ``args``; see ``te.call_intrin``."""
    name = str(getattr(func_name, "name", func_name)).removeprefix("tir.")
    if name == "prefetch":
        return prefetch(*plain(args))
    if name in FUNCTIONS:
        return call_of(name, dtype, args)
    instead = "" if name in TABLE or lowering_rule(name) is not None else instead_of(f"tir.{name}")
    if instead:
        raise UnsupportedError(f"tir.{name} is not in tvmlite", Span.of_caller(), instead)
    return te.call_intrin(dtype, name, *plain(args))


def _division(name: str) -> Callable[..., e.Expr]:
    """``te``'s division ``name``, which raises an error for integer division by constant 0."""
    ours = getattr(te, name)

    def apply(a: Any, b: Any, span: Any = None) -> e.Expr:
        a, b = all_beside((a, b), sys._getframe(1))
        made = ours(a, b)
        if e.is_const(b, 0) and not dtypes.is_float(made.dtype):
            raise TensorExpressionError(f"{name}: division by zero", Span.of_caller())
        return mark(made) if isinstance(made, e.Const) else made

    apply.__name__, apply.__doc__ = name, ours.__doc__
    return apply


div, floordiv, floormod = (_division(name) for name in ("div", "floordiv", "floormod"))
truncdiv, truncmod, indexdiv, indexmod = (
    _division(name) for name in ("truncdiv", "truncmod", "indexdiv", "indexmod")
)


def exp10(x: Any, span: Any = None) -> e.Expr:
    """Return 10 to the power of ``x``."""
    value = e.scalar("exp10", x)
    return te.power(e.const(10, value.dtype), value)


def clz(x: Any) -> e.Expr:
    """Return the number of leading zero bits of ``x``, as an int32."""
    return e.cast("int32", te.clz(x))


def all(*args: Any, span: Any = None) -> e.Expr:
    """Return the conjunction of conditions, of which there must be at least one."""
    given = _some("all", args)
    known = [one for one in given if e.is_const(one, 0)]
    return e.convert(known[0]) if known else te.all(*given)


def any(*args: Any, span: Any = None) -> e.Expr:
    """Return the disjunction of conditions, of which there must be at least one."""
    given = _some("any", args)
    known = [one for one in given if e.is_const(one, 1)]
    return e.convert(known[0]) if known else te.any(*given)


def if_then_else(cond: Any, t: Any, f: Any, span: Any = None) -> e.Expr:
    """Return ``t`` if the bool ``cond`` holds, else ``f``. Only the chosen one is evaluated."""
    condition, (a, b) = _some("if_then_else", (cond,))[0], all_beside((t, f), sys._getframe(1))
    return with_marked_constants(te.if_then_else(condition, a, b))


def _some(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """``args``, checked to be bools and at least one."""
    if not args:
        raise TensorExpressionError(f"{name}: no conditions given, expected at least one", Span.of_caller())
    for one in args:
        condition = e.scalar(f"{name}: a condition", one)
        if condition.dtype != "bool":
            raise TensorExpressionError(
                f"{name}: a condition is {condition.dtype}, expected bool", Span.of_caller()
            )
    return args


def ceildiv(lhs: Any, rhs: Any, span: Any = None) -> e.Expr:
    """Return ``lhs / rhs`` of ints, rounded up."""
    return te.floordiv(e.convert(lhs) + rhs - 1, rhs)


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> e.Expr:
    """Return ``x * y * 2**(s - q)`` for int32 values, computed in 64 bits and rounded to the nearest int,
    halves up. ``q`` and ``s`` must be constants with ``q - s >= 1``."""
    if builtins_any(not isinstance(e.convert(one), e.Const) for one in (q, s)):
        raise UnsupportedError("q_multiply_shift: q and s must be constants", Span.of_caller())
    bits, shift = int(e.convert(q).value), int(e.convert(s).value)  # type: ignore[attr-defined]
    total = bits - shift
    if total < 1:
        raise UnsupportedError(f"q_multiply_shift: q - s is {total}, expected at least 1", Span.of_caller())
    wide = e.cast("int64", e.convert(x)) * e.cast("int64", e.convert(y))
    return e.cast("int32", (wide + e.const(1 << (total - 1), "int64")) >> e.const(total, "int64"))


def isnan(x: Any, span: Any = None) -> e.Expr:
    """Return whether ``x`` is NaN; False for an int."""
    value = e.scalar("isnan: x", x)
    if not dtypes.is_float(value.dtype):
        return mark(e.const(False, "bool", value.lanes))
    return te.isnan(e.cast("float32", value) if value.dtype == "float16" else value)


def infinity(dtype: str, span: Any = None) -> e.Expr:
    """Return infinity as a constant of the float ``dtype``."""
    return mark(te.infinity(dtype))


def trace(args: Any, trace_action: str = TRACE) -> e.Expr:
    """Return the last of ``args``, and call a Python function with them on each evaluation; see
    ``te.trace``."""
    return te.trace(plain(args), trace_action)


def builtins_any(values: Any) -> bool:
    """Python's ``any``, which ``tir.any`` shadows in this module."""
    return True in set(map(bool, values))
