"""Patterns for passes that recognize operations that are written in smaller operators.

A pattern is a formula with placeholders, written with Python's operators::

    x = Wildcard("x")
    silu = x / (1 + op("exp", -x))

    found = first(silu, node)      # {"x": data} if node is that formula, else None

Sums, products, minima and maxima match with their arguments in either order; a name that occurs twice stands
for the same node. Where Python's ``match`` suffices, as for a single operator, passes use that.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.infer import same_type, tensor_type_of, type_of
from tvmlite.relay.ir.nodes import Call, Constant, Expr
from tvmlite.relay.ir.op import is_selection, is_view
from tvmlite.relay.ops.common import is_one
from tvmlite.relay.passes.graph_pass import readers_of, rebuild

Readers: TypeAlias = Mapping[Expr, int]

CONSTANT_TOLERANCE = 2e-5
"""The largest relative difference from an expected constant: exporters write few digits."""

WITHOUT_AXES = {"a_min", "a_max", "alpha", "approximate", "conditions", "dtype", "message"}
"""Attributes of element-wise operators that do not refer to axes."""


Match: TypeAlias = "dict[str, Any]"
"""The values of the names in a pattern."""

COMMUTATIVE = frozenset(("add", "multiply", "minimum", "maximum"))


class Pattern:
    """A set of expressions. ``matches`` yields each way in which ``expr`` is in it, given ``known`` names."""

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """Each way in which ``expr`` matches: ``known``, extended by the values of the pattern's names."""
        raise NotImplementedError

    def __add__(self, other: Pattern | float) -> Pattern:
        return op("add", self, other)

    def __radd__(self, other: float) -> Pattern:
        return op("add", other, self)

    def __sub__(self, other: Pattern | float) -> Pattern:
        return op("subtract", self, other)

    def __mul__(self, other: Pattern | float) -> Pattern:
        return op("multiply", self, other)

    def __truediv__(self, other: Pattern | float) -> Pattern:
        return op("divide", self, other)

    def __rtruediv__(self, other: float) -> Pattern:
        return op("divide", other, self)

    def __pow__(self, exponent: Pattern | float) -> Pattern:
        return op("power", self, exponent)

    def __neg__(self) -> Pattern:
        return Negative(self)

    def __or__(self, other: Pattern) -> Pattern:
        return Either((self, other))


def first(pattern: Pattern, expr: Expr, **known: Any) -> Match | None:
    """The first way in which ``expr`` matches ``pattern``; None if it does not match."""
    return next(pattern.matches(expr, known), None)


@dataclass(frozen=True)
class Wildcard(Pattern):
    """Any expression, or any that matches ``pattern``, under the name ``name``."""

    name: str
    pattern: Pattern | None = None

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """One way, or those of ``pattern``; none if the name already stands for another node."""
        if known.get(self.name, expr) is expr:
            known = {**known, self.name: expr}
            yield from [known] if self.pattern is None else self.pattern.matches(expr, known)


@dataclass(frozen=True)
class Number(Pattern):
    """A constant whose elements all equal ``value``, within a relative ``tolerance``; without a ``value``, a
    constant with one distinct value, called ``name``."""

    value: float | None = None
    name: str = ""
    tolerance: float = 0.0

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """At most one way: ``expr`` is a constant with one distinct value, close to ``value`` if given."""
        number = scalar_of(expr)
        if number is None:
            return
        if self.value is None:
            yield {**known, self.name: number}
        elif abs(number - self.value) <= self.tolerance * abs(self.value):
            yield known


@dataclass(frozen=True)
class Op(Pattern):
    """A call of the operator ``name``, with any attributes."""

    name: str
    args: tuple[Pattern, ...]

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """The ways in which the arguments match, in both orders if the operator is commutative."""
        if isinstance(expr, Call) and expr.op == self.name:
            yield from _matches_of_all(self.args, expr.args, known)
            if self.name in COMMUTATIVE:
                yield from _matches_of_all(self.args, expr.args[::-1], known)


@dataclass(frozen=True)
class Reduction(Pattern):
    """The ``mean``, ``sum`` or ``max`` of ``data`` along one axis, called ``axis``, with the axis kept."""

    kind: str
    data: Pattern

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """The ways in which the operand matches ``data``, if the axis agrees with ``known``."""
        found = mean_of(expr, self.kind)
        if found is not None and known.get("axis", found[1]) == found[1]:
            yield from self.data.matches(found[0], {**known, "axis": found[1]})


@dataclass(frozen=True)
class Negative(Pattern):
    """An expression that matches ``pattern``, multiplied by -1, however the factors are written."""

    pattern: Pattern

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """The ways in which ``expr`` without its factor of -1 matches."""
        value, factor = scaled(expr)
        if factor == -1.0:
            yield from self.pattern.matches(value, known)


@dataclass(frozen=True)
class Either(Pattern):
    """An expression that matches one of ``patterns``."""

    patterns: tuple[Pattern, ...]

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """The ways of each pattern, one pattern after the other."""
        for one in self.patterns:
            yield from one.matches(expr, known)


def op(name: str, *args: Pattern | float) -> Pattern:
    """A call of the operator ``name``; a number stands for a constant with that value."""
    return Op(name, tuple(arg if isinstance(arg, Pattern) else Number(arg) for arg in args))


def _matches_of_all(patterns: Sequence[Pattern], exprs: Sequence[Expr], known: Match) -> Iterator[Match]:
    """The ways in which each of ``exprs`` matches the pattern at the same position."""
    if not patterns:
        yield known
        return
    for found in patterns[0].matches(exprs[0], known):
        yield from _matches_of_all(patterns[1:], exprs[1:], found)


# --- predicates and queries on expressions ---------------------------------------------------------------


def rewrite_with_readers(
    body: Expr, rule: Callable[[Expr, Readers], Expr], kept: Container[Expr] = ()
) -> Expr:
    """Like ``core.node.rewrite``; the rule also gets the number of readers of each node (one more for the
    body).

    It is not applied to nodes of ``body`` that are in ``kept``.
    """
    readers = {node: len(found) for node, found in readers_of(body).items()}

    def replaced(node: Expr, made: Expr) -> Expr:
        readers.setdefault(made, readers[node])
        made = made if node in kept else rule(made, readers)
        readers.setdefault(made, readers[node])
        return made

    return rebuild(body, replaced)


def is_float(expr: Expr) -> bool:
    """Whether ``expr`` is a tensor of floats."""
    return dtypes.is_float(getattr(type_of(expr), "dtype", "bool"))


def scalar_of(expr: Expr) -> float | None:
    """The value of all elements of ``expr``, if it is a constant with one distinct value."""
    if isinstance(expr, Constant) and 0 < expr.size <= 4096 and expr.dtype.kind in "fiu":
        first = expr.data.reshape(-1)[0]
        if expr.size == 1 or bool((expr.data == first).all()):
            return float(first)
    if (
        isinstance(expr, Call)
        and (is_view(expr) or expr.op in ("full", "broadcast_to", "cast"))
        and is_float(expr)
    ):
        return scalar_of(expr.args[0])
    return None


def commuted(expr: Expr, op: str) -> Iterator[tuple[Expr, Expr]]:
    """The two arguments of ``expr`` in both orders, if it is a call of ``op``."""
    if isinstance(expr, Call) and expr.op == op:
        first, second = expr.args
        yield first, second
        yield second, first


def is_close(value: float | None, expected: float) -> bool:
    """Whether ``value`` equals ``expected`` up to the digits that exporters write."""
    return value is not None and abs(value - expected) <= CONSTANT_TOLERANCE * abs(expected)


def selects(value: Expr) -> bool:
    """Whether each element of ``value`` is an element of its first argument (``is_selection``), its only
    float argument."""
    if not (isinstance(value, Call) and is_selection(value.op)):
        return False
    return [arg for arg in value.args if is_float(arg)] == [value.args[0]] and is_float(value)


def through_views(expr: Expr) -> Expr:
    """The expression of which ``expr`` is a view, directly or through other views."""
    while isinstance(expr, Call) and is_view(expr):
        (expr,) = expr.args
    return expr


def mean_of(expr: Expr, of: str = "mean") -> tuple[Expr, int] | None:
    """``(x, axis)`` if ``expr`` is the mean (``of``: sum, max) of ``x`` along one axis, which is kept."""
    inner = through_views(expr)
    if isinstance(inner, Call) and inner.op == of:
        return _reduced(expr, inner)
    if of == "mean":
        return _sum_by_count(expr)
    return None


def _reduced(expr: Expr, call: Call) -> tuple[Expr, int] | None:
    (x,) = call.args
    type_ = tensor_type_of(x)
    given = call["axis"]
    axes = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(axes) != 1 or axes[0] is None or call["exclude"]:
        return None
    axis = axes[0] % type_.ndim
    kept = type_.shape[:axis] + (1,) + type_.shape[axis + 1 :]
    wanted = tensor_type_of(x).__class__(kept, type_.dtype)
    return (x, axis) if same_type(type_of(expr), wanted) else None


def _sum_by_count(expr: Expr) -> tuple[Expr, int] | None:
    value, factor = scaled(expr)
    if value is expr:
        return None
    found = mean_of(value, "sum")
    if found is None:
        return None
    extent = tensor_type_of(found[0]).shape[found[1]]
    return found if isinstance(extent, int) and extent and is_close(factor * extent, 1.0) else None


def scaled(expr: Expr) -> tuple[Expr, float]:
    """``(x, c)`` with ``expr`` = ``x * c``: all scalar factors and divisors are collected in ``c``."""
    factor = 1.0
    while True:
        for value, other in commuted(expr, "multiply"):
            number = scalar_of(other)
            if number is not None and same_type(type_of(value), type_of(expr)):
                expr, factor = value, factor * number
                break
        else:
            if isinstance(expr, Call) and expr.op == "negative":
                expr, factor = expr.args[0], -factor
            elif isinstance(expr, Call) and expr.op == "divide":
                number = scalar_of(expr.args[1])
                if not number or not same_type(type_of(expr.args[0]), type_of(expr)):
                    return expr, factor
                expr, factor = expr.args[0], factor / number
            else:
                return expr, factor


def is_vector_along(shape: Sequence[object], rank: int, axis: int) -> bool:
    """Whether a tensor of ``shape``, broadcast to ``rank``, varies along no axis but ``axis``."""
    padded = [1] * (rank - len(shape)) + list(shape)
    return len(padded) == rank and all(is_one(extent) for k, extent in enumerate(padded) if k != axis)  # type: ignore[arg-type]
