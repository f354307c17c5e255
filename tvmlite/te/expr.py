"""Scalar expressions: what a tensor's element is computed from, and what loops compute with.

Semantics, once and for all:

- Integers wrap around in two's complement. ``FloorDiv``/``FloorMod`` round towards minus
  infinity (Python's ``//`` and ``%``), ``TruncDiv``/``TruncMod`` towards zero (C's). Division by
  zero and ``INT_MIN / -1`` give 0 and ``INT_MIN``; the remainders give 0: no signal, ever.
- Floats are IEEE; ``Min`` and ``Max`` of floats give NaN when either side is NaN.
- ``Cast`` float to int truncates, saturates at the limits of the type, and takes NaN to 0.
- ``And``/``Or`` evaluate both sides and have no effects; ``if_then_else`` evaluates one side.
- A vector has ``lanes`` > 1; binary nodes need equal lanes, operators broadcast a scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar, Union

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import Node
from tvmlite.core.span import Span

BinaryType = TypeVar("BinaryType", bound="Binary")

Value: TypeAlias = Union["Expr", int, float, bool]

INDEX = "int64"
"""The dtype of all index arithmetic after lowering (axes and ``te.var`` start as int32, as in TVM)."""


class Expr(Node):
    """A scalar (or, after vectorisation, vector) value; operators build new expressions.

    ``==`` builds an ``Equal``; its truth value is object identity, so that expressions still work
    as keys and in ``in`` tests. ``<`` and kin build comparisons that have no truth value.
    """

    dtype: str
    lanes: int

    def _typed(self, dtype: str, lanes: int) -> None:
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "lanes", lanes)

    def astype(self, dtype: str) -> Expr:
        """This value converted to ``dtype``; see ``cast``."""
        return cast(dtype, self)

    def __add__(self, other: Value) -> Expr:
        return _arith(Add, self, other)

    def __radd__(self, other: Value) -> Expr:
        return _arith(Add, other, self)

    def __sub__(self, other: Value) -> Expr:
        return _arith(Sub, self, other)

    def __rsub__(self, other: Value) -> Expr:
        return _arith(Sub, other, self)

    def __mul__(self, other: Value) -> Expr:
        return _arith(Mul, self, other)

    def __rmul__(self, other: Value) -> Expr:
        return _arith(Mul, other, self)

    def __truediv__(self, other: Value) -> Expr:
        return div(self, other)

    def __rtruediv__(self, other: Value) -> Expr:
        return div(other, self)

    def __floordiv__(self, other: Value) -> Expr:
        return _int_arith(FloorDiv, self, other)

    def __rfloordiv__(self, other: Value) -> Expr:
        return _int_arith(FloorDiv, other, self)

    def __mod__(self, other: Value) -> Expr:
        return _int_arith(FloorMod, self, other)

    def __rmod__(self, other: Value) -> Expr:
        return _int_arith(FloorMod, other, self)

    def __neg__(self) -> Expr:
        if dtypes.is_float(self.dtype):
            return _arith(Mul, self, const(-1, self.dtype))  # 0 - x would make 0 of 0, not -0
        return _arith(Sub, const(0, self.dtype), self)

    def __lt__(self, other: Value) -> Expr:
        return _compare(Less, self, other)

    def __le__(self, other: Value) -> Expr:
        return _compare(LessEqual, self, other)

    def __gt__(self, other: Value) -> Expr:
        return _compare(Less, other, self)

    def __ge__(self, other: Value) -> Expr:
        return _compare(LessEqual, other, self)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, (Expr, int, float)):
            return NotImplemented
        return _compare(Equal, self, other)

    def __ne__(self, other: Any) -> Any:
        if not isinstance(other, (Expr, int, float)):
            return NotImplemented
        return _compare(NotEqual, self, other)

    def equal(self, other: Value) -> Expr:
        """``==`` by TVM's name."""
        return _compare(Equal, self, other)

    __hash__ = object.__hash__

    def _bits(self, name: str, other: Value) -> Expr:
        a, b = match(self, other)
        if dtypes.is_float(a.dtype):
            raise TensorExpressionError(f"{name} of {a.dtype} values, expected ints", Span.of_caller())
        return Call(name, (a, b), a.dtype)

    def __and__(self, other: Value) -> Expr:
        return self._bits("bitwise_and", other)

    def __or__(self, other: Value) -> Expr:
        return self._bits("bitwise_or", other)

    def __xor__(self, other: Value) -> Expr:
        return self._bits("bitwise_xor", other)

    def __lshift__(self, other: Value) -> Expr:
        return self._bits("shift_left", other)

    def __rshift__(self, other: Value) -> Expr:
        return self._bits("shift_right", other)

    def __invert__(self) -> Expr:
        return Call("bitwise_not", (self,), self.dtype)

    def __bool__(self) -> bool:
        raise TensorExpressionError(
            f"the expression {self} has no truth value while a compute is being written",
            Span.of_caller(),
            hint="use te.if_then_else, te.select, te.all or te.any",
        )

    def __str__(self) -> str:
        from tvmlite.te.loop.printer import show_expr  # the printer knows the nodes, not they it

        return show_expr(self)


@dataclass(frozen=True, eq=False)
class Var(Expr):
    """A named value: a loop's variable or a size. Equal only to itself."""

    name: str
    dtype: str = "int32"
    lanes: int = 1
    identity: ClassVar[bool] = True

    def __repr__(self) -> str:
        return f"Var({self.name})"


@dataclass(frozen=True, eq=False)
class SizeVar(Var):
    """A variable known to be at least 0: an extent (``te.size_var``, a model's dynamic dimension)."""


@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A constant; ``value`` is an int for ints and bools, a float for floats."""

    value: int | float
    dtype: str
    lanes: int = 1


@dataclass(frozen=True, eq=False)
class Binary(Expr):
    """``a`` and ``b`` of one dtype and one number of lanes."""

    a: Expr
    b: Expr
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("a", "b")
    symbol: ClassVar[str] = ""

    def __post_init__(self) -> None:
        self._typed(self.a.dtype, self.a.lanes)

    def children(self) -> tuple[Expr, Expr]:
        return self.a, self.b  # as any node's, but most nodes are of this kind

    def map_children(self: BinaryType, rule: Callable[[Any], Any]) -> BinaryType:
        a, b = rule(self.a), rule(self.b)
        return self if a is self.a and b is self.b else type(self)(a, b)


class Add(Binary):
    """``a + b``"""

    symbol = "+"


class Sub(Binary):
    """``a - b``"""

    symbol = "-"


class Mul(Binary):
    """``a * b``"""

    symbol = "*"


class Div(Binary):
    """``a / b`` of floats."""

    symbol = "/"


class FloorDiv(Binary):
    """``a // b`` of ints, rounded towards minus infinity."""

    symbol = "//"


class FloorMod(Binary):
    """``a - b * (a // b)`` of ints."""

    symbol = "%"


class TruncDiv(Binary):
    """C's ``a / b`` of ints, rounded towards zero."""

    symbol = "truncdiv"


class TruncMod(Binary):
    """C's ``a % b``: of ints, the sign of ``a``; of floats, ``fmod``."""

    symbol = "truncmod"


class Min(Binary):
    """The lesser; NaN when either is NaN."""

    symbol = "min"


class Max(Binary):
    """The greater; NaN when either is NaN."""

    symbol = "max"


class Compare(Binary):
    """A comparison; its dtype is bool."""

    def __post_init__(self) -> None:
        self._typed("bool", self.a.lanes)


class Equal(Compare):
    symbol = "=="

    def __bool__(self) -> bool:
        return self.a is self.b


class NotEqual(Compare):
    symbol = "!="

    def __bool__(self) -> bool:
        return self.a is not self.b


class Less(Compare):
    symbol = "<"


class LessEqual(Compare):
    symbol = "<="


class And(Binary):
    """Both, of bools; both sides are evaluated."""

    symbol = "and"


class Or(Binary):
    """Either, of bools; both sides are evaluated."""

    symbol = "or"


@dataclass(frozen=True, eq=False)
class Not(Expr):
    """The opposite of a bool."""

    a: Expr
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("a",)

    def __post_init__(self) -> None:
        self._typed("bool", self.a.lanes)


@dataclass(frozen=True, eq=False)
class Select(Expr):
    """``a`` where ``condition`` holds, else ``b``; both are evaluated. No side may be unsafe to load."""

    condition: Expr
    a: Expr
    b: Expr
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("condition", "a", "b")

    def __post_init__(self) -> None:
        self._typed(self.a.dtype, self.a.lanes)


@dataclass(frozen=True, eq=False)
class Cast(Expr):
    """``value`` converted to ``dtype``: truncating and saturating from float to int, else to nearest even.

    From float32 to bfloat16, what is subnormal may become 0: an instruction does so.
    """

    dtype: str
    value: Expr
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("value",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lanes", self.value.lanes)


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """An intrinsic applied to ``args``; see ``tvmlite.te.intrinsics`` for those that exist.

    ``if_then_else(condition, a, b)`` evaluates one of ``a`` and ``b``: a load in the other is
    never carried out.
    """

    name: str
    args: tuple[Expr, ...]
    dtype: str
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("args",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lanes", max((a.lanes for a in self.args), default=1))

    @property
    def op(self) -> Intrinsic:
        """What is applied, under TVM's name."""
        return Intrinsic(f"tir.{self.name}")


@dataclass(frozen=True)
class Intrinsic:
    """An intrinsic, by TVM's name (``"tir.exp"``)."""

    name: str


@dataclass(frozen=True, eq=False)
class Foreign(Expr):
    """A call of what only ``name`` tells: its ``kind`` says of what.

    - ``"llvm"``: an LLVM intrinsic, such as ``llvm.x86.avx512.vpdpbusd.512``; LLVM targets only.
    - ``"c"``: a C function, found when code is linked; ``address_of`` arguments are pointers.
    - ``"packed"``: a Python function given to ``te.register_func``. ``form`` has a word an argument: the
      dtype of a number, ``dtype:rank`` of an array, for which an address and the extents are passed.
      Gives an int32: 0, or another number if the function failed.
    - ``"bits"``: the bits of the one argument read as another dtype, lanes of another width.
    """

    kind: str
    name: str
    args: tuple[Expr, ...]
    dtype: str
    lanes: int = 1
    form: str = ""
    children_in: ClassVar[tuple[str, ...]] = ("args",)


@dataclass(frozen=True, eq=False)
class Ramp(Expr):
    """``base, base + stride, base + 2 * stride, ...``: ``lanes`` values."""

    base: Expr
    stride: Expr
    lanes: int
    dtype: str = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("base", "stride")

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.base.dtype)

    def children(self) -> tuple[Expr, Expr]:
        return self.base, self.stride

    def map_children(self, rule: Callable[[Any], Any]) -> Ramp:
        base, stride = rule(self.base), rule(self.stride)
        return self if base is self.base and stride is self.stride else Ramp(base, stride, self.lanes)


@dataclass(frozen=True, eq=False)
class Broadcast(Expr):
    """``value`` in each of ``lanes`` lanes."""

    value: Expr
    lanes: int
    dtype: str = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("value",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.value.dtype)

    def children(self) -> tuple[Expr]:
        return (self.value,)


def const(value: int | float | bool, dtype: str | None = None, lanes: int = 1) -> Const:
    """A constant; ``dtype`` defaults to int32, float32 or bool, by the Python type.

    An int that int32 cannot hold becomes an int64. A value outside ``dtype`` wraps, as arithmetic does.
    """
    if dtype is None:
        if isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, float):
            dtype = "float32"
        else:
            dtype = "int32" if -(2**31) <= value < 2**31 else "int64"
    if dtypes.is_float(dtype):
        return Const(float(value), dtype, lanes)
    if dtype == "bool":
        return Const(int(bool(value)), dtype, lanes)
    width = dtypes.width(dtype)
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
    if hasattr(value, "dtype") and hasattr(value, "item"):  # a numpy scalar
        return const(value.item(), dtype or dtypes.check(value.dtype))
    as_expr = getattr(value, "as_expr", None)  # an iteration variable or a rank-0 tensor
    if as_expr is not None:
        return as_expr()
    raise TensorExpressionError(f"{value!r} is not a scalar expression", Span.of_caller())


def cast(dtype: str, value: Value) -> Expr:
    """``value`` converted to ``dtype``; a constant is converted at once.

    ``"float32x16"`` makes a scalar, converted to float32, a vector of 16 equal lanes.
    """
    dtype, lanes = lanes_of(dtype)
    expr = convert(value)
    if lanes > 1 and expr.lanes != lanes:
        return broadcast(cast(dtype, expr), lanes)
    if expr.dtype == dtype:
        return expr
    exact = dtypes.is_float(dtype) or not dtypes.is_float(expr.dtype)
    if isinstance(expr, Const) and exact and not (dtypes.is_narrow(dtype) or dtypes.is_narrow(expr.dtype)):
        return const(expr.value, dtype, expr.lanes)
    return Cast(dtype, expr)


def lanes_of(dtype: str) -> tuple[str, int]:
    """The dtype of the elements and the number of lanes: ``("float32", 16)`` of ``"float32x16"``."""
    element, times, count = dtype.partition("x") if isinstance(dtype, str) else (dtype, "", "")
    if times and count.isdecimal() and int(count) > 0:
        return dtypes.check(element), int(count)
    return dtypes.check(dtype), 1


def match(a: Value, b: Value) -> tuple[Expr, Expr]:
    """Both sides in their common dtype and lanes: a Python number takes the other's dtype,
    except that a float never becomes an int."""
    x, y = _number(a, b), _number(b, a)
    dtype = dtypes.promote(x.dtype, y.dtype)
    x, y = cast(dtype, x), cast(dtype, y)
    lanes = max(x.lanes, y.lanes)
    return broadcast(x, lanes), broadcast(y, lanes)


def _number(value: Value, other: Value) -> Expr:
    if isinstance(value, (bool, int, float)) and not isinstance(other, (bool, int, float)):
        dtype = convert(other).dtype
        if dtype == "bool" or (isinstance(value, float) and not dtypes.is_float(dtype)):
            return const(value)
        return const(value, dtype)
    return convert(value)


def broadcast(value: Expr, lanes: int) -> Expr:
    """``value`` with ``lanes`` lanes: itself, or a scalar repeated."""
    if value.lanes == lanes:
        return value
    if value.lanes != 1:
        raise TensorExpressionError(f"cannot broadcast {value.lanes} lanes to {lanes}")
    if isinstance(value, Const):
        return Const(value.value, value.dtype, lanes)
    return Broadcast(value, lanes)


def div(a: Value, b: Value) -> Expr:
    """``a / b`` of floats; of ints an error, since C and Python disagree on its meaning."""
    x, y = match(a, b)
    if not dtypes.is_float(x.dtype):
        raise TensorExpressionError(
            f"'/' of {x.dtype} values is ambiguous",
            Span.of_caller(),
            hint="use // (floor), te.truncdiv, or cast to a float",
        )
    return _arith(Div, x, y)


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


def fold(make: type[Binary], x: Expr, y: Expr) -> Expr:
    """``make(x, y)`` with the cheap identities of integers applied: constants, ``x + 0``, ``x * 1``.

    Floats are left alone: ``x + 0`` is not ``x`` when x is -0, nor ``x * 0`` zero when x is NaN.
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
    """The conjunction of ``conditions``; of none, true."""
    result: Expr = const(True)
    for condition in conditions:
        expr = convert(condition)
        if isinstance(expr, Const) and expr.value:
            continue
        result = expr if isinstance(result, Const) and result.value else And(result, expr)
    return result


def any_of(conditions: Sequence[Value]) -> Expr:
    """The disjunction of ``conditions``; of none, false."""
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
