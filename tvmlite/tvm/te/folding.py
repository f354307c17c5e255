"""Scalar operators with TVM's meaning: fold constant operands, and refuse some operands at once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.expr.operators import CONSTRUCTORS
from tvmlite.tvm.marks import as_vector, is_marked, is_marked_itself, mark

_OF_CONSTANTS: dict[str, Callable[[Any, Any], Any]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_OF_FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_SHIFTS: dict[str, Callable[[Any, Any], Any]] = {"<<": operator.lshift, ">>": operator.rshift}
_FOLDED_FLOATS = ("float32", "float64")
_WHOLE: dict[str, Callable[[Any], Any]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "nearbyint": np.rint,
    "round": np.rint,
    "trunc": np.trunc,
}


def _folded(symbol: str) -> Callable[[Any, Any], e.Expr]:
    ours, compute = CONSTRUCTORS[symbol], _OF_CONSTANTS[symbol]

    def make(a: Any, b: Any) -> e.Expr:
        made = ours(a, b)
        x, y = made.children()
        if not (isinstance(x, e.Const) and isinstance(y, e.Const)) or made.lanes != 1:
            return _shown(made)
        if not any(map(is_marked_itself, (x, y, a, b))):  # a cast of one is another constant
            return made
        whole = not dtypes.is_float(x.dtype)
        values = (int(x.value), int(y.value)) if whole else (x.value, y.value)
        return mark(e.const(compute(*values), made.dtype))

    return make


def _shown(made: e.Expr) -> e.Expr:
    """``made``; a vector written by a TVM program gets TVM's vector dtype."""
    return as_vector(made) if made.lanes > 1 and is_marked(made) else made


def _folded_float(symbol: str) -> Callable[[Any, Any], e.Expr]:
    """The operator ``symbol``, folded for two float32 or float64 constants with one rounding. A division by
    zero is not folded; of float16 constants only neutral and absorbing elements are."""
    ours, compute = CONSTRUCTORS[symbol], _OF_FLOATS[symbol]

    def make(a: Any, b: Any) -> e.Expr:
        made: Any = ours(a, b)
        if made.dtype == "float16" and isinstance(made, e.Binary):
            return _neutral(symbol, made)
        if made.dtype not in _FOLDED_FLOATS or not isinstance(made, e.Binary):
            return _kept(made, a, b)
        x, y = made.children()
        if not (isinstance(x, e.Const) and isinstance(y, e.Const)) or (symbol == "/" and y.value == 0):
            return _shown(made)
        if not any(map(is_marked_itself, (x, y, a, b))):  # a cast of one is another constant
            return made
        number = np.dtype(made.dtype).type
        with np.errstate(all="ignore"):
            found = compute(number(x.value), number(y.value)).item()
        return mark(e.const(found, made.dtype, made.lanes))

    return make


def _neutral(symbol: str, made: Any) -> e.Expr:
    """``made``, or one of its operands if both are float16 constants and that operand is the result by an
    identity such as ``x + 0``, ``x * 1`` or ``0 * x``."""
    x, y = made.children()
    if not (
        isinstance(x, e.Const) and isinstance(y, e.Const) and (is_marked_itself(x) or is_marked_itself(y))
    ):
        return made
    if (symbol in "+-" and y.value == 0) or (symbol in "*/" and (y.value == 1 or x.value == 0 != y.value)):
        return x
    if (symbol == "+" and x.value == 0) or (symbol == "*" and (x.value == 1 or y.value == 0)):
        return y
    return made


def _kept(made: e.Expr, *operands: Any) -> e.Expr:
    """``made``, marked if it is a constant and an operand is a marked constant."""
    if isinstance(made, e.Const) and any(isinstance(x, e.Const) and is_marked_itself(x) for x in operands):
        return mark(made)
    return _shown(made)


def _kept_of(symbol: str) -> Callable[..., e.Expr]:
    ours = CONSTRUCTORS[symbol]
    return lambda *operands: _kept(ours(*operands), *operands)


def rounding(name: str) -> Callable[..., e.Expr]:
    """``te``'s rounding function ``name``, folded for float32 and float64 constants. Ints and bools are
    returned unchanged."""
    ours = getattr(te, name)

    def apply(x: Any, span: Any = None) -> e.Expr:
        value = e.scalar(name, x)
        if value.dtype == "bool":
            return value
        if isinstance(value, e.Const) and value.dtype in _FOLDED_FLOATS:
            return mark(e.const(_WHOLE[name](value.value).item(), value.dtype, value.lanes))
        return ours(value)

    apply.__name__, apply.__doc__ = name, ours.__doc__
    return apply


ceil, floor, nearbyint, round, trunc = (rounding(name) for name in sorted(_WHOLE))


def _shift(symbol: str) -> Callable[[Any, Any], e.Expr]:
    ours, compute = CONSTRUCTORS[symbol], _SHIFTS[symbol]

    def make(a: Any, b: Any) -> e.Expr:
        made: Any = ours(a, b)
        if not is_marked(made):
            return made
        made = as_vector(made)
        (value, by), width = made.args, dtypes.width(made.dtype)
        if isinstance(by, e.Const) and not 0 <= by.value < width:
            raise TensorExpressionError(
                f"{made.name} of {made.dtype} by {by.value}: other must be 0 to {width - 1}", Span.of_caller()
            )
        if isinstance(value, e.Const) and isinstance(by, e.Const):
            return mark(e.const(compute(value.value, by.value), made.dtype, made.lanes))
        return made

    return make


def _inverted(value: Any) -> e.Expr:
    made: Any = _plain_not(value)
    if dtypes.is_float(made.dtype) and is_marked(made):
        raise TensorExpressionError(f"bitwise_not of {made.dtype} values, expected ints", Span.of_caller())
    return made


_plain_not = CONSTRUCTORS["not"]


def _reflected(symbol: str) -> Callable[[Any, Any], e.Expr]:
    return lambda value, other: CONSTRUCTORS[symbol](other, value)


def enter() -> None:
    """Install these operators, and the bit operators with a Python number as the left operand."""
    if CONSTRUCTORS["not"] is _inverted:
        return
    CONSTRUCTORS["not"] = _inverted
    CONSTRUCTORS.update({symbol: _folded(symbol) for symbol in _OF_CONSTANTS})
    CONSTRUCTORS.update({symbol: _folded_float(symbol) for symbol in _OF_FLOATS})
    CONSTRUCTORS.update({symbol: _shift(symbol) for symbol in _SHIFTS})
    CONSTRUCTORS.update({symbol: _kept_of(symbol) for symbol in ("//", "%", "negative", "cast")})
    names = {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}
    for name, symbol in names.items():
        setattr(e.Operators, f"__r{name}__", _reflected(symbol))
