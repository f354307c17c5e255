"""The intrinsics that a tensor expression may call, and the functions that build these calls.

``TABLE`` is the only list: the verifier, the interpreter and the code generators look up intrinsics in it.
The arguments of a call have one dtype, which is also the result's unless the row says otherwise.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr import Expr, Value
from tvmlite.te.loop.ir import PREFETCHES
from tvmlite.te.tensor import reducers
from tvmlite.te.tensor import tensor as t


@dataclass(frozen=True)
class Intrinsic:
    """An intrinsic of ``arity`` arguments of the dtypes ``argument_kind`` ("float", "int", "any");
    ``result_dtype`` is the result's dtype if it is not that of the first argument."""

    name: str
    arity: int
    argument_kind: str = "float"
    result_dtype: str = ""


_UNARY_FLOAT = (
    "exp log log2 log10 tanh sigmoid erf sqrt rsqrt sin cos tan asin acos atan sinh cosh asinh acosh atanh "
    "floor ceil round trunc fabs"
).split()

TABLE: dict[str, Intrinsic] = {
    row.name: row
    for row in (
        *(Intrinsic(name, 1) for name in _UNARY_FLOAT),
        Intrinsic("abs", 1, "any"),
        *(Intrinsic(name, 1, "float", "bool") for name in ("isnan", "isinf", "isfinite")),
        *(Intrinsic(name, 2) for name in ("atan2", "pow", "copysign", "fmod")),
        Intrinsic("fma", 3),
        *(Intrinsic(f"bitwise_{name}", 2, "int") for name in ("and", "or", "xor")),
        Intrinsic("bitwise_not", 1, "int"),
        *(Intrinsic(name, 2, "int") for name in ("shift_left", "shift_right")),
        *(Intrinsic(name, 1, "int") for name in ("popcount", "clz")),
        Intrinsic("if_then_else", 3, "any"),
        Intrinsic("reinterpret", 1, "any", "given"),
        *(Intrinsic(name, 1, "any") for name in PREFETCHES),
        Intrinsic("likely", 1, "any"),
        Intrinsic("fits_int32", 1),
    )
}


def call(name: str, *args: Value) -> Expr:
    """Apply the intrinsic ``name`` to ``args``, which are first converted to a common dtype.

    Raises a TensorExpressionError if there is no such intrinsic, or it does not accept these arguments.
    """
    row = TABLE.get(name)
    if row is None:
        raise TensorExpressionError(f"there is no intrinsic {name!r}", Span.of_caller())
    if len(args) != row.arity:
        raise TensorExpressionError(
            f"{name} takes {row.arity} arguments, given {len(args)}", Span.of_caller()
        )
    given = e.scalars(name, *args)
    lanes = sorted({e.convert(one).lanes for one in given} - {1})
    if len(lanes) > 1:
        raise TensorExpressionError(
            f"{name}: arguments of {' and '.join(map(str, lanes))} lanes, expected as many in all",
            Span.of_caller(),
        )
    values = _common(given)
    dtype = values[0].dtype
    if row.argument_kind == "float" and not dtypes.is_float(dtype):
        raise TensorExpressionError(
            f"{name} takes floats, given {dtype}", Span.of_caller(), hint='cast it: x.astype("float32")'
        )
    if row.argument_kind == "int" and dtypes.is_float(dtype):
        raise TensorExpressionError(f"{name} takes ints, given {dtype}", Span.of_caller())
    return e.Call(name, tuple(values), row.result_dtype or dtype)


def _common(args: Sequence[Value]) -> list[Expr]:
    values = [e.convert(a) for a in args]
    if len(values) == 1:
        return values
    first, second = e.match(args[0], args[1])
    if len(values) == 2:
        return [first, second]
    first, third = e.match(first, args[2])
    first, second = e.match(first, second)
    return [first, second, third]


def exp(x: Value) -> Expr:
    """e to the power of ``x``."""
    return call("exp", x)


def log(x: Value) -> Expr:
    """The natural logarithm."""
    return call("log", x)


def log2(x: Value) -> Expr:
    """The logarithm to base 2."""
    return call("log2", x)


def log10(x: Value) -> Expr:
    """The logarithm to base 10."""
    return call("log10", x)


def tanh(x: Value) -> Expr:
    """The hyperbolic tangent."""
    return call("tanh", x)


def sigmoid(x: Value) -> Expr:
    """``1 / (1 + exp(-x))``"""
    return call("sigmoid", x)


def erf(x: Value) -> Expr:
    """The error function."""
    return call("erf", x)


def sqrt(x: Value) -> Expr:
    """The square root; NaN for negative values."""
    return call("sqrt", x)


def rsqrt(x: Value) -> Expr:
    """``1 / sqrt(x)``"""
    return call("rsqrt", x)


def sin(x: Value) -> Expr:
    """The sine of ``x`` in radians."""
    return call("sin", x)


def cos(x: Value) -> Expr:
    """The cosine of ``x`` in radians."""
    return call("cos", x)


def tan(x: Value) -> Expr:
    """The tangent of ``x`` in radians."""
    return call("tan", x)


def asin(x: Value) -> Expr:
    """The angle in radians whose sine is ``x``."""
    return call("asin", x)


def acos(x: Value) -> Expr:
    """The angle in radians whose cosine is ``x``."""
    return call("acos", x)


def atan(x: Value) -> Expr:
    """The angle in radians whose tangent is ``x``."""
    return call("atan", x)


def sinh(x: Value) -> Expr:
    """The hyperbolic sine."""
    return call("sinh", x)


def cosh(x: Value) -> Expr:
    """The hyperbolic cosine."""
    return call("cosh", x)


def asinh(x: Value) -> Expr:
    """The value whose hyperbolic sine is ``x``."""
    return call("asinh", x)


def acosh(x: Value) -> Expr:
    """The value whose hyperbolic cosine is ``x``; NaN below 1."""
    return call("acosh", x)


def atanh(x: Value) -> Expr:
    """The value whose hyperbolic tangent is ``x``."""
    return call("atanh", x)


def atan2(y: Value, x: Value) -> Expr:
    """The angle of the point ``(x, y)``."""
    return call("atan2", y, x)


def power(x: Value, y: Value) -> Expr:
    """``x`` to the power of ``y``, for floats (TVM accepts ints too: cast them)."""
    return call("pow", x, y)


def fmod(x: Value, y: Value) -> Expr:
    """The remainder of ``x / y`` with the sign of ``x``, for floats."""
    return call("fmod", x, y)


def copysign(x: Value, y: Value) -> Expr:
    """The magnitude of ``x`` with the sign of ``y``."""
    return call("copysign", x, y)


def fma(x: Value, y: Value, z: Value) -> Expr:
    """``x * y + z`` with a single rounding; slow on machines without such an instruction."""
    return call("fma", x, y, z)


def floor(x: Value) -> Expr:
    """The greatest integer not above ``x``; ints are unchanged."""
    return _whole("floor", x)


def ceil(x: Value) -> Expr:
    """The least integer not below ``x``; ints are unchanged."""
    return _whole("ceil", x)


def round(x: Value) -> Expr:
    """The nearest integer, ties to even (as TVM rounds constants, but its LLVM code rounds ties away from
    zero); ints are unchanged."""
    return _whole("round", x)


nearbyint = round


def trunc(x: Value) -> Expr:
    """``x`` rounded towards zero; ints are unchanged."""
    return _whole("trunc", x)


def _whole(name: str, x: Value) -> Expr:
    value = e.scalar(name, x)
    return call(name, value) if dtypes.is_float(value.dtype) else value


def abs(x: Value) -> Expr:
    """The absolute value; the least signed int is unchanged (it wraps), as are unsigned values."""
    value = e.scalar("abs", x)
    return value if dtypes.is_unsigned(value.dtype) or value.dtype == "bool" else call("abs", value)


def isnan(x: Value) -> Expr:
    """Whether ``x`` is NaN; False for ints."""
    return _classify("isnan", x, False)


def isinf(x: Value) -> Expr:
    """Whether ``x`` is an infinity; False for ints."""
    return _classify("isinf", x, False)


def isfinite(x: Value) -> Expr:
    """Whether ``x`` is neither NaN nor infinite; True for ints."""
    return _classify("isfinite", x, True)


def _classify(name: str, x: Value, of_ints: bool) -> Expr:
    value = e.scalar(name, x)
    return call(name, value) if dtypes.is_float(value.dtype) else e.const(of_ints)


def popcount(x: Value) -> Expr:
    """The number of one bits."""
    return call("popcount", x)


def clz(x: Value) -> Expr:
    """The number of leading zero bits."""
    return call("clz", x)


def likely(x: Value) -> Expr:
    """The condition ``x``, with the hint that it usually holds."""
    return e.Call("likely", (_condition("likely", x),), "bool")


def fits_int32(x: Value) -> Expr:
    """The float ``x``, which the caller guarantees to be a number that fits int32 when rounded, so that the
    conversion need not saturate. For other numbers the result is undefined."""
    return call("fits_int32", x)


def if_then_else(condition: Value, a: Value, b: Value) -> Expr:
    """``a`` where ``condition`` holds, else ``b``; the other one is not evaluated and may be unsafe."""
    test, (x, y) = _condition("if_then_else", condition), e.match(*e.scalars("if_then_else", a, b))
    if isinstance(test, e.Const):
        return x if test.value else y
    return e.Call("if_then_else", (test, x, y), x.dtype)


def select(condition: Value, a: Value, b: Value) -> Expr:
    """``a`` where ``condition`` holds, else ``b``; both are evaluated."""
    test, (x, y) = _condition("select", condition), e.match(*e.scalars("select", a, b))
    return e.Select(test, x, y)


def _condition(name: str, condition: Value) -> Expr:
    test = e.scalar(f"{name}: the condition", condition)
    if dtypes.is_float(test.dtype):
        raise TensorExpressionError(f"{name}: the condition is {test.dtype}, expected bool", Span.of_caller())
    return test if test.dtype == "bool" else e.NotEqual(test, e.const(0, test.dtype))


def floordiv(a: Value, b: Value) -> Expr:
    """``a // b`` for ints, rounded towards minus infinity."""
    return _int_division(e.FloorDiv, "floordiv", a, b)


def floormod(a: Value, b: Value) -> Expr:
    """``a % b`` for ints, with the sign of ``b``."""
    return _int_division(e.FloorMod, "floormod", a, b)


def truncdiv(a: Value, b: Value) -> Expr:
    """``a / b`` for ints, rounded towards zero, as in C."""
    return _int_division(e.TruncDiv, "truncdiv", a, b)


def truncmod(a: Value, b: Value) -> Expr:
    """``a % b`` for ints, with the sign of ``a``, as in C."""
    return _int_division(e.TruncMod, "truncmod", a, b)


indexdiv = floordiv
indexmod = floormod


def div(a: Value, b: Value) -> Expr:
    """``a / b``: the quotient of floats; for ints C's, rounded towards zero."""
    x, y = e.match(*e.scalars("div", a, b))
    return e.div(x, y) if dtypes.is_float(x.dtype) else e.fold(e.TruncDiv, x, y)


def _int_division(make: type[e.Binary], name: str, a: Value, b: Value) -> Expr:
    x, y = e.match(*e.scalars(name, a, b))
    if not dtypes.is_int(x.dtype):
        raise TensorExpressionError(f"{name} takes ints, given {x.dtype}", Span.of_caller())
    return e.fold(make, x, y)


def infinity(dtype: str = "float32") -> e.Const:
    """Positive infinity."""
    if not dtypes.is_float(dtypes.check(dtype)):
        raise TensorExpressionError(
            f"infinity: dtype {dtype!r} has none, expected a float's", Span.of_caller()
        )
    return e.const(float("inf"), dtype)


def max(a: Any, b: Any = None, axis: Any = None, where: Value | None = None, init: Any = None) -> Any:
    """The maximum of ``a`` and ``b``; or, with ``axis``, the maximum of ``a`` over reduce axes."""
    return _either("max", e.Max, reducers.max_reduce, a, b, axis, where, init)


def min(a: Any, b: Any = None, axis: Any = None, where: Value | None = None, init: Any = None) -> Any:
    """The minimum of ``a`` and ``b``; or, with ``axis``, the minimum of ``a`` over reduce axes."""
    return _either("min", e.Min, reducers.min_reduce, a, b, axis, where, init)


def _either(
    name: str, make: type[e.Binary], reducer: Any, a: Any, b: Any, axis: Any, where: Any, init: Any
) -> Any:
    axis = b if axis is None and _is_axes(b) else axis
    if axis is not None:
        return reducer(a, axis, where=where, init=init)
    if b is None:
        raise TensorExpressionError(f"te.{name} takes two values, or a value and axis=", Span.of_caller())
    x, y = e.match(*e.scalars(name, a, b))
    return e.fold(make, x, y)


def _is_axes(value: Any) -> bool:
    """Whether ``value`` is a reduce axis, or several, passed in place of a second value."""
    if isinstance(value, (tuple, list)):
        return builtins.all(isinstance(v, t.IterVar) for v in value)
    return isinstance(value, t.IterVar) and value.kind == "reduce"


def all(*conditions: Any, axis: Any = None, where: Value | None = None) -> Expr:
    """Whether all ``conditions`` hold; with ``axis``, whether the only condition holds for all its values."""
    if axis is not None:
        return _all_reduce(_only_condition("all", conditions), axis, where=where)
    return e.all_of([_condition("all", c) for c in conditions])


def any(*conditions: Any, axis: Any = None, where: Value | None = None) -> Expr:
    """Whether any of ``conditions`` holds; with ``axis``, whether the only condition holds for any value."""
    if axis is not None:
        return _any_reduce(_only_condition("any", conditions), axis, where=where)
    return e.any_of([_condition("any", c) for c in conditions])


def _only_condition(name: str, conditions: Sequence[Value]) -> Expr:
    if len(conditions) != 1:
        raise TensorExpressionError(
            f"{name}: {len(conditions)} conditions given, expected one with axis=", Span.of_caller()
        )
    return _condition(name, conditions[0])


def _true(dtype: str) -> Expr:
    return e.const(True, dtype)


def _false(dtype: str) -> Expr:
    return e.const(False, dtype)


_all_reduce = reducers.comm_reducer(e.And, _true, "all")
_any_reduce = reducers.comm_reducer(e.Or, _false, "any")
