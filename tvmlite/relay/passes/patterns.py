"""A language of patterns for passes that recognise what is written out in smaller operators.

A pattern is a formula over what may stand in it, in Python's operators::

    x = Wildcard("x")
    silu = x / (1 + op("exp", -x))

    found = first(silu, node)      # {"x": data} if node is that formula, else None

Sums, products, minima and maxima match in either order of their arguments; a name that stands twice is one
node. Where Python's ``match`` says the same, as of one operator and its attributes, passes use that.
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

CLOSE = 2e-5
"""How far, relatively, a constant may be from the one that is meant: exporters write few digits."""

WITHOUT_AXES = {"a_min", "a_max", "alpha", "approximate", "conditions", "dtype", "message"}
"""Attributes of element-wise operators that do not speak of axes."""


Match: TypeAlias = "dict[str, Any]"
"""What the names in a pattern stand for."""

COMMUTATIVE = frozenset(("add", "multiply", "minimum", "maximum"))


class Pattern:
    """What expressions may look like. ``matches`` gives each way in which ``expr`` does, with what is
    ``known`` by name already."""

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """Each way in which ``expr`` matches: ``known`` with what the pattern's names stand for added."""
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
    """The first way in which ``expr`` matches ``pattern``; None if it does not."""
    return next(pattern.matches(expr, known), None)


@dataclass(frozen=True)
class Wildcard(Pattern):
    """Any expression, or any of ``pattern``, called ``name``."""

    name: str
    pattern: Pattern | None = None

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """One way, or those of ``pattern``; none where the name stands for another node already."""
        if known.get(self.name, expr) is expr:
            known = {**known, self.name: expr}
            yield from [known] if self.pattern is None else self.pattern.matches(expr, known)


@dataclass(frozen=True)
class Number(Pattern):
    """A constant all of whose elements are ``value``, up to ``tolerance`` of it, or any one number called
    ``name``."""

    value: float | None = None
    name: str = ""
    tolerance: float = 0.0

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """At most one way: ``expr`` is a constant of one number, close to ``value`` or any."""
        number = scalar_of(expr)
        if number is None:
            return
        if self.value is None:
            yield {**known, self.name: number}
        elif abs(number - self.value) <= self.tolerance * abs(self.value):
            yield known


@dataclass(frozen=True)
class Op(Pattern):
    """A call of the operator ``name``, its attributes whatever they are."""

    name: str
    args: tuple[Pattern, ...]

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """The ways in which the arguments match; of a commutative operator in both orders."""
        if isinstance(expr, Call) and expr.op == self.name:
            yield from _all(self.args, expr.args, known)
            if self.name in COMMUTATIVE:
                yield from _all(self.args, expr.args[::-1], known)


@dataclass(frozen=True)
class Reduction(Pattern):
    """The ``mean``, ``sum`` or ``max`` of what matches ``data`` along one axis, called ``axis``, which is
    kept."""

    kind: str
    data: Pattern

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """The ways in which what is reduced matches ``data``, where the axis agrees with ``known``."""
        found = mean_of(expr, self.kind)
        if found is not None and known.get("axis", found[1]) == found[1]:
            yield from self.data.matches(found[0], {**known, "axis": found[1]})


@dataclass(frozen=True)
class Negative(Pattern):
    """What matches ``pattern`` times -1, in whatever factors that is written."""

    pattern: Pattern

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """The ways in which ``expr`` without its factor of -1 matches."""
        value, factor = scaled(expr)
        if factor == -1.0:
            yield from self.pattern.matches(value, known)


@dataclass(frozen=True)
class Either(Pattern):
    """What matches one of ``patterns``."""

    patterns: tuple[Pattern, ...]

    def matches(self, expr: Expr, known: Match) -> Iterator[Match]:
        """The ways of each pattern, one pattern after the other."""
        for one in self.patterns:
            yield from one.matches(expr, known)


def op(name: str, *args: Pattern | float) -> Pattern:
    """A call of the operator ``name``; a number stands for a constant of it."""
    return Op(name, tuple(arg if isinstance(arg, Pattern) else Number(arg) for arg in args))


def _all(patterns: Sequence[Pattern], exprs: Sequence[Expr], known: Match) -> Iterator[Match]:
    """The ways in which each of ``exprs`` matches that one of ``patterns``."""
    if not patterns:
        yield known
        return
    for found in patterns[0].matches(exprs[0], known):
        yield from _all(patterns[1:], exprs[1:], found)


# --- what passes ask of expressions ---------------------------------------------------------------


def rewrite_with_readers(
    body: Expr, rule: Callable[[Expr, Readers], Expr], kept: Container[Expr] = ()
) -> Expr:
    """As ``core.node.rewrite``; the rule also learns how many readers each node has (the body: one more).

    It is not asked about nodes of ``body`` that are ``kept``.
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
    """The one number that every element of ``expr`` is, if it is a constant of that kind."""
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
    """The two arguments of ``expr``, in both orders, if it is a call of ``op``."""
    if isinstance(expr, Call) and expr.op == op:
        first, second = expr.args
        yield first, second
        yield second, first


def close(value: float | None, expected: float) -> bool:
    """Whether ``value`` is the constant that is meant by ``expected``."""
    return value is not None and abs(value - expected) <= CLOSE * abs(expected)


def selects(value: Expr) -> bool:
    """Whether each element of ``value`` is one of its argument's elements (``is_selection``), which alone are
    floats."""
    if not (isinstance(value, Call) and is_selection(value.op)):
        return False
    return [arg for arg in value.args if is_float(arg)] == [value.args[0]] and is_float(value)


def through_views(expr: Expr) -> Expr:
    """What ``expr`` shows in another shape."""
    while isinstance(expr, Call) and is_view(expr):
        (expr,) = expr.args
    return expr


def mean_of(expr: Expr, of: str = "mean") -> tuple[Expr, int] | None:
    """``(x, axis)`` if ``expr`` is the mean (``of``: sum, max) of ``x`` along an axis, which is kept."""
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
    return found if isinstance(extent, int) and extent and close(factor * extent, 1.0) else None


def scaled(expr: Expr) -> tuple[Expr, float]:
    """``(x, c)`` with ``expr`` = ``x * c``, all scalar factors and divisors taken off."""
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
    """Whether a tensor of ``shape``, broadcast to ``rank``, varies along ``axis`` at most, and may there."""
    padded = [1] * (rank - len(shape)) + list(shape)
    return len(padded) == rank and all(is_one(extent) for k, extent in enumerate(padded) if k != axis)  # type: ignore[arg-type]
