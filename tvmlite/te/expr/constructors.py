"""Constructors of expressions from values: conversions, arithmetic with folding, and Python's operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import rewrite
from tvmlite.core.span import Span
from tvmlite.te.expr.nodes import (
    Add,
    And,
    Binary,
    Broadcast,
    Call,
    Cast,
    Const,
    ContractedAdd,
    ContractedSub,
    Div,
    Equal,
    Expr,
    FloorDiv,
    FloorMod,
    Less,
    LessEqual,
    Max,
    Min,
    Mul,
    NotEqual,
    Or,
    Sub,
    TruncDiv,
    TruncMod,
    Value,
)
from tvmlite.te.expr.operators import CONSTRUCTORS

_END = {"int32": 1 << 31, "int64": 1 << 63}
"""The exclusive upper limits of these dtypes; negated, they are the lower limits."""


def const(value: int | float | bool, dtype: str | None = None, lanes: int = 1) -> Const:
    """A constant; ``dtype`` defaults to int32, float32 or bool, by the Python type.

    An int that does not fit int32 becomes an int64. A value outside ``dtype`` wraps, as arithmetic does.
    """
    if not isinstance(value, (bool, int, float)):
        if not _is_numpy_scalar(value):
            raise arguments.refused("const", value, "a number")
        value = value.item()
    if dtype is None:
        if isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, float):
            dtype = "float32"
        else:
            dtype = "int32" if -(2**31) <= value < 2**31 else "int64"
    elif type(dtype) is not str:
        dtype = dtypes.check(dtype)
    if type(lanes) is not int or lanes < 1:
        lanes = arguments.whole("const: lanes", lanes, least=1)
    if type(value) is int and dtype in _END and -_END[dtype] <= value < _END[dtype]:  # most constants
        return Const(value, dtype, lanes)
    if dtypes.is_float(dtype):
        return Const(float(value), dtype, lanes)
    if dtype == "bool":
        return Const(int(bool(value)), dtype, lanes)
    width = dtypes.width(dtypes.check(dtype))
    if isinstance(value, float) and not math.isfinite(value):
        raise TensorExpressionError(f"const: {value} has no value of {dtype}", Span.of_caller())
    wrapped = int(value) & ((1 << width) - 1)
    if not dtypes.is_unsigned(dtype) and wrapped >> (width - 1):
        wrapped -= 1 << width
    return Const(wrapped, dtype, lanes)


def convert(value: Value, dtype: str | None = None) -> Expr:
    """``value`` as an expression; Python numbers become constants (of ``dtype``, if given)."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, (bool, int, float)):
        return const(value, dtype)
    if _is_numpy_scalar(value):
        return const(value.item(), dtype or dtypes.check(value.dtype))
    if _has_expression(value):
        return value.as_expr()  # type: ignore[attr-defined]
    raise TensorExpressionError(f"{arguments.shown(value)} is not a scalar expression", Span.of_caller())


def _is_numpy_scalar(value: Any) -> bool:
    """Whether ``value`` is a number of numpy's, or an array of one element."""
    known = dtypes.is_known(getattr(getattr(value, "dtype", None), "name", None))
    return known and hasattr(value, "item") and getattr(value, "size", 1) == 1


def _has_expression(value: Any) -> bool:
    """Whether ``value`` is an iteration variable or a tensor (which is a scalar if its rank is 0)."""
    return hasattr(value, "as_expr") and not isinstance(value, type)


def scalars(where: str, *values: Any) -> tuple[Any, ...]:
    """``values`` as given, if ``convert`` accepts each; else an error that names ``where``."""
    for value in values:
        known = isinstance(value, (Expr, bool, int, float))
        if not known and not _is_numpy_scalar(value) and not _has_expression(value):
            raise arguments.refused(where, value, "a scalar expression")
    return values


def scalar(where: str, value: Any) -> Expr:
    """``value`` as an expression; an error names ``where``, the function or parameter it was passed to."""
    return convert(*scalars(where, value))


def cast(dtype: str, value: Value) -> Expr:
    """``value`` converted to ``dtype``; constants are converted at once.

    ``"float32x16"`` converts a scalar to float32 and broadcasts it to a vector of 16 lanes.
    """
    expr = value if isinstance(value, Expr) else scalar("cast: value", value)
    if type(dtype) is str and expr.dtype == dtype:
        return expr
    dtype, lanes = lanes_of(dtype)
    if lanes > 1 and expr.lanes != lanes:
        return broadcast(cast(dtype, expr), lanes)
    if expr.dtype == dtype:
        return expr
    exact = dtypes.is_float(dtype) or not dtypes.is_float(expr.dtype)
    if isinstance(expr, Const) and exact and not (dtypes.is_narrow(dtype) or dtypes.is_narrow(expr.dtype)):
        return const(expr.value, dtype, expr.lanes)
    return Cast(dtype, expr)


def lanes_of(dtype: str) -> tuple[str, int]:
    """The element dtype and the number of lanes: ``("float32", 16)`` for ``"float32x16"``."""
    element, times, count = dtype.partition("x") if isinstance(dtype, str) else (dtype, "", "")
    if times and count.isdecimal() and int(count) > 0:
        return dtypes.check(element), int(count)
    return dtypes.check(dtype), 1


def match(a: Value, b: Value) -> tuple[Expr, Expr]:
    """Convert both operands to their common dtype and lanes. A Python number takes the other operand's dtype,
    except that a float never becomes an int."""
    x, y = _number(a, b), _number(b, a)
    if x.dtype == y.dtype and x.lanes == y.lanes:
        return x, y
    dtype = dtypes.promote(x.dtype, y.dtype)
    x, y = cast(dtype, x), cast(dtype, y)
    lanes = max(x.lanes, y.lanes)
    return broadcast(x, lanes), broadcast(y, lanes)


def _number(value: Value, other: Value) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, (bool, int, float)) and not isinstance(other, (bool, int, float)):
        dtype = convert(other).dtype
        if dtype == "bool" or (isinstance(value, float) and not dtypes.is_float(dtype)):
            return const(value)
        return const(value, dtype)
    return convert(value)


def broadcast(value: Expr, lanes: int) -> Expr:
    """``value`` with ``lanes`` lanes: unchanged, or a scalar repeated."""
    if value.lanes == lanes:
        return value
    if value.lanes != 1:
        raise TensorExpressionError(f"cannot broadcast {value.lanes} lanes to {lanes}", Span.of_caller())
    if isinstance(value, Const):
        return Const(value.value, value.dtype, lanes)
    return Broadcast(value, lanes)


def div(a: Value, b: Value) -> Expr:
    """``a / b`` of floats; an error for ints, since C and Python disagree on its meaning."""
    x, y = match(a, b)
    if not dtypes.is_float(x.dtype):
        raise TensorExpressionError(
            f"'/' of {x.dtype} values is ambiguous",
            Span.of_caller(),
            hint="use // (floor), te.truncdiv, or cast to a float",
        )
    return _arith(Div, x, y)


def _negative(value: Value) -> Expr:
    x = convert(value)
    if dtypes.is_float(x.dtype):
        return _arith(Mul, x, const(-1, x.dtype))  # 0 - x would be 0 for x = 0, not -0
    return _arith(Sub, const(0, x.dtype), x)


def _arith(make: type[Binary], a: Value, b: Value) -> Expr:
    x, y = match(a, b)
    if x.dtype == "bool" and make is not Min and make is not Max:
        x, y = cast("int32", x), cast("int32", y)
    return fold(make, x, y)


def _int_arith(make: type[Binary], a: Value, b: Value) -> Expr:
    x, y = match(a, b)
    if dtypes.is_float(x.dtype):
        raise TensorExpressionError(
            f"{make.symbol!r} of {x.dtype} values, expected ints",
            Span.of_caller(),
            hint="use te.floor(a / b), or te.fmod for C's remainder",
        )
    return _arith(make, x, y)


def _compare(make: type[Binary], a: Value, b: Value) -> Expr:
    x, y = match(a, b)
    return make(x, y)


def _bits(name: str, a: Value, b: Value) -> Expr:
    x, y = match(a, b)
    if dtypes.is_float(x.dtype):
        raise TensorExpressionError(f"{name} of {x.dtype} values, expected ints", Span.of_caller())
    return Call(name, (x, y), x.dtype)


def _inverted(value: Value) -> Expr:
    x = convert(value)
    return Call("bitwise_not", (x,), x.dtype)


def contracted(expr: Expr) -> Expr:
    """``expr`` with its float sums and differences marked as contractible with products."""
    return rewrite(expr, _contracted)


def _contracted(node: Any) -> Any:
    if type(node) is Add and dtypes.is_float(node.dtype):
        return ContractedAdd(node.a, node.b)
    if type(node) is Sub and dtypes.is_float(node.dtype):
        return ContractedSub(node.a, node.b)
    return node


def fold(make: type[Binary], x: Expr, y: Expr) -> Expr:
    """``make(x, y)`` with the cheap identities of integers applied: constants, ``x + 0``, ``x * 1``.

    Floats are not folded: ``x + 0`` is not ``x`` if x is -0, nor is ``x * 0`` zero if x is NaN.
    """
    if dtypes.is_float(x.dtype):
        return make(x, y)
    if isinstance(x, Const) and isinstance(y, Const):
        value = _fold_ints(make, int(x.value), int(y.value))
        if value is not None:
            return const(value, x.dtype, x.lanes)
    zero_x, zero_y = isinstance(x, Const) and x.value == 0, isinstance(y, Const) and y.value == 0
    one_x, one_y = isinstance(x, Const) and x.value == 1, isinstance(y, Const) and y.value == 1
    if make is Add and (zero_x or zero_y):
        return y if zero_x else x
    if make is Sub and zero_y:
        return x
    if make is Mul and (zero_x or zero_y):
        return x if zero_x else y
    if make is Mul and (one_x or one_y):
        return y if one_x else x
    if make in (FloorDiv, TruncDiv) and one_y:
        return x
    if make in (FloorMod, TruncMod) and one_y:
        return const(0, x.dtype, x.lanes)
    return make(x, y)


def _fold_ints(make: type[Binary], x: int, y: int) -> int | None:
    if make is Add:
        return x + y
    if make is Sub:
        return x - y
    if make is Mul:
        return x * y
    if make is Min:
        return min(x, y)
    if make is Max:
        return max(x, y)
    if make in (FloorDiv, FloorMod, TruncDiv, TruncMod):
        if y == 0:
            return 0
        quotient = abs(x) // abs(y)
        truncated = quotient if (x < 0) == (y < 0) else -quotient
        if make is FloorDiv:
            return x // y
        if make is FloorMod:
            return x % y
        return truncated if make is TruncDiv else x - y * truncated
    return None


def all_of(conditions: Sequence[Value]) -> Expr:
    """The conjunction of ``conditions``; true if there are none."""
    result: Expr = const(True)
    for condition in conditions:
        expr = convert(condition)
        if isinstance(expr, Const) and expr.value:
            continue
        result = expr if isinstance(result, Const) and result.value else And(result, expr)
    return result


def any_of(conditions: Sequence[Value]) -> Expr:
    """The disjunction of ``conditions``; false if there are none."""
    result: Expr = const(False)
    for condition in conditions:
        expr = convert(condition)
        if isinstance(expr, Const) and not expr.value:
            continue
        result = expr if isinstance(result, Const) and not result.value else Or(result, expr)
    return result


def is_const(value: Any, number: int | float | None = None) -> bool:
    """Whether ``value`` is a constant (equal to ``number``, if given)."""
    if isinstance(value, Const):
        value = value.value
    return isinstance(value, (int, float)) and (number is None or value == number)


CONSTRUCTORS.update(
    {
        "+": partial(_arith, Add),
        "-": partial(_arith, Sub),
        "*": partial(_arith, Mul),
        "/": div,
        "//": partial(_int_arith, FloorDiv),
        "%": partial(_int_arith, FloorMod),
        "<": partial(_compare, Less),
        "<=": partial(_compare, LessEqual),
        "==": partial(_compare, Equal),
        "!=": partial(_compare, NotEqual),
        "&": partial(_bits, "bitwise_and"),
        "|": partial(_bits, "bitwise_or"),
        "^": partial(_bits, "bitwise_xor"),
        "<<": partial(_bits, "shift_left"),
        ">>": partial(_bits, "shift_right"),
        "negative": _negative,
        "not": _inverted,
        "cast": cast,
    }
)
