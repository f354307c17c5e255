"""The nodes of scalar expressions; ``tvmlite.te.expr`` describes their semantics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar, Union

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TensorExpressionError
from tvmlite.core.node import Printable
from tvmlite.core.span import Span
from tvmlite.te.expr.operators import Operators
from tvmlite.te.extensions import extension

BinaryType = TypeVar("BinaryType", bound="Binary")

Value: TypeAlias = Union["Expr", int, float, bool]

_set = object.__setattr__


class Expr(Operators, Printable):
    """A scalar value, or a vector after vectorization; operators build new expressions."""

    dtype: str
    lanes: int

    def as_text(self) -> str:
        """The expression in Python's syntax."""
        return extension("printer").show(self)

    def _typed(self, dtype: str, lanes: int) -> None:
        _set(self, "dtype", dtype)
        _set(self, "lanes", lanes)

    def __bool__(self) -> bool:
        raise TensorExpressionError(
            f"the expression {self} has no truth value while a compute is being written",
            Span.of_caller(),
            hint="use te.if_then_else, te.select, te.all or te.any",
        )


@dataclass(frozen=True, eq=False)
class Var(Expr):
    """A named value: a loop variable or a size. Equal only to itself."""

    name: str
    dtype: str = "int32"
    lanes: int = 1
    identity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (type(self.name) is str and dtypes.is_known(self.dtype) and type(self.lanes) is int):
            kind = type(self).__name__
            _set(self, "name", arguments.text(f"{kind}: name", self.name))
            _set(self, "dtype", dtypes.check(self.dtype))
            _set(self, "lanes", arguments.whole(f"{kind}: lanes", self.lanes, least=1))

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

    def __init__(self, value: int | float, dtype: str, lanes: int = 1) -> None:  # fast: many are made
        if type(dtype) is not str or type(lanes) is not int or not isinstance(value, (int, float)):
            arguments.instance("Const: value", value, (int, float), "a number")
            dtype, lanes = dtypes.check(dtype), arguments.whole("Const: lanes", lanes, least=1)
        _set(self, "value", value)
        _set(self, "dtype", dtype)
        _set(self, "lanes", lanes)


@dataclass(frozen=True, eq=False)
class Binary(Expr):
    """An operator on ``a`` and ``b``, which have the same dtype and number of lanes."""

    a: Expr
    b: Expr
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("a", "b")
    symbol: ClassVar[str] = ""

    def __init__(self, a: Expr, b: Expr) -> None:  # fast: most nodes are of this kind
        _set(self, "a", a)
        _set(self, "b", b)
        _set(self, "dtype", a.dtype)
        _set(self, "lanes", a.lanes)

    def children(self) -> tuple[Expr, Expr]:
        """The operands ``a`` and ``b``."""
        return self.a, self.b

    def map_children(self: BinaryType, rule: Callable[[Any], Any]) -> BinaryType:
        """The operator with ``rule`` applied to both operands; the same object if neither changed."""
        a, b = rule(self.a), rule(self.b)
        return self if a is self.a and b is self.b else type(self)(a, b)


class Add(Binary):
    """``a + b``"""

    symbol = "+"


class Sub(Binary):
    """``a - b``"""

    symbol = "-"


class ContractedAdd(Add):
    """``a + b`` that may be contracted: if one operand is a product, one multiply-add may compute both.

    The updates of reductions and tvmlite's polynomials consist of these (``contracted``). Any other
    ``x * y + z`` is rounded twice, by both code generators and by the interpreter.
    """


class ContractedSub(Sub):
    """``a - b`` that may be contracted, like ``ContractedAdd``."""


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
    """C's ``a % b``: for ints with the sign of ``a``; for floats ``fmod``."""

    symbol = "truncmod"


class Min(Binary):
    """The minimum; NaN if either operand is NaN."""

    symbol = "min"


class Max(Binary):
    """The maximum; NaN if either operand is NaN."""

    symbol = "max"


class Compare(Binary):
    """A comparison; its dtype is bool."""

    def __init__(self, a: Expr, b: Expr) -> None:
        _set(self, "a", a)
        _set(self, "b", b)
        _set(self, "dtype", "bool")
        _set(self, "lanes", a.lanes)


class Equal(Compare):
    """Whether both are equal. As a truth value: whether both are the same node."""

    symbol = "=="

    def __bool__(self) -> bool:
        return self.a is self.b


class NotEqual(Compare):
    """Whether both differ. As a truth value: whether they are different nodes."""

    symbol = "!="

    def __bool__(self) -> bool:
        return self.a is not self.b


class Less(Compare):
    """Whether the first is less than the second."""

    symbol = "<"


class LessEqual(Compare):
    """Whether the first is not greater than the second."""

    symbol = "<="


class And(Binary):
    """The conjunction of two bools; both operands are evaluated."""

    symbol = "and"


class Or(Binary):
    """The disjunction of two bools; both operands are evaluated."""

    symbol = "or"


@dataclass(frozen=True, eq=False)
class Not(Expr):
    """The negation of a bool."""

    a: Expr
    dtype: str = field(init=False)
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("a",)

    def __post_init__(self) -> None:
        self._typed("bool", self.a.lanes)


@dataclass(frozen=True, eq=False)
class Select(Expr):
    """``a`` where ``condition`` holds, else ``b``. Both are evaluated, so both must be safe to load."""

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
    """``value`` converted to ``dtype``. Float to int truncates and saturates; floats round to nearest even.

    From float32 to bfloat16, subnormal values may become 0, as a processor's instruction makes them.
    """

    dtype: str
    value: Expr
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("value",)

    def __post_init__(self) -> None:
        if not (isinstance(self.value, Expr) and dtypes.is_known(self.dtype)):
            arguments.instance("Cast: value", self.value, Expr, "an expression")
            _set(self, "dtype", dtypes.check(self.dtype))
        _set(self, "lanes", self.value.lanes)

    def children(self) -> tuple[Expr]:
        """The value to convert."""
        return (self.value,)


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """An intrinsic applied to ``args``; ``tvmlite.te.tensor.intrinsics`` lists those that exist.

    ``if_then_else(condition, a, b)`` evaluates only one of ``a`` and ``b``: a load in the other one is not
    executed.
    """

    name: str
    args: tuple[Expr, ...]
    dtype: str
    lanes: int = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("args",)

    def __post_init__(self) -> None:
        if not (isinstance(self.args, tuple) and all(isinstance(one, Expr) for one in self.args)):
            args = arguments.listed("Call: args", self.args, "expressions")
            _set(self, "args", arguments.all_instances("Call: args", args, Expr, "an expression"))
        if not (type(self.name) is str and dtypes.is_known(self.dtype)):
            arguments.text("Call: name", self.name)
            _set(self, "dtype", dtypes.check(self.dtype))
        _set(self, "lanes", max((a.lanes for a in self.args), default=1))


@dataclass(frozen=True, eq=False)
class Foreign(Expr):
    """A call of something external, identified by its ``name`` and ``kind``.

    - ``"llvm"``: an LLVM intrinsic, such as ``llvm.x86.avx512.vpdpbusd.512``; LLVM targets only.
    - ``"c"``: a C function, resolved when code is linked; ``address_of`` arguments are pointers.
    - ``"packed"``: a Python function registered by ``te.register_func``. ``form`` has a word for each
      argument: a number's dtype, or ``dtype:rank`` for an array, which is passed as an address and extents.
      The result is an int32, 0 unless the function failed. If ``form`` starts with the word ``=``, it is what
      the function returns, in the last argument's dtype, or that argument if it returns None.
    - ``"bits"``: reinterpret the bits of the argument as another dtype, with lanes of another width.
    - ``"tile"``: an instruction on AMX's tile registers (``techniques.common.amx``), executed for its effect;
      ``form`` is the register configuration. ``"packed_bytes"``: see ``llvm.packed_stores``. LLVM only.
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

    def __init__(self, base: Expr, stride: Expr, lanes: int) -> None:
        _set(self, "base", base)
        _set(self, "stride", stride)
        _set(self, "lanes", lanes)
        _set(self, "dtype", base.dtype)

    def children(self) -> tuple[Expr, Expr]:
        """``base`` and ``stride``."""
        return self.base, self.stride

    def map_children(self, rule: Callable[[Any], Any]) -> Ramp:
        """The ramp with ``rule`` applied to ``base`` and ``stride``; the same object if neither changed."""
        base, stride = rule(self.base), rule(self.stride)
        return self if base is self.base and stride is self.stride else Ramp(base, stride, self.lanes)


@dataclass(frozen=True, eq=False)
class Broadcast(Expr):
    """``value`` in each of ``lanes`` lanes."""

    value: Expr
    lanes: int
    dtype: str = field(init=False)
    children_in: ClassVar[tuple[str, ...]] = ("value",)

    def __init__(self, value: Expr, lanes: int) -> None:
        _set(self, "value", value)
        _set(self, "lanes", lanes)
        _set(self, "dtype", value.dtype)

    def children(self) -> tuple[Expr]:
        """The scalar that is repeated in all lanes."""
        return (self.value,)

    def map_children(self, rule: Callable[[Any], Any]) -> Broadcast:
        """The vector with ``rule`` applied to its scalar; the same object if that did not change."""
        value = rule(self.value)
        return self if value is self.value else Broadcast(value, self.lanes)
