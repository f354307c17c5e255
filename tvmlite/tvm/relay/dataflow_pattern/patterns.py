"""The patterns, and the functions that write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay.graph.attrs import plain_attrs
from tvmlite.tvm.relay.op.op import Op

_matches = later("relay.dataflow_pattern.matcher", "matches")
_partition = later("relay.dataflow_pattern.partition", "partition")


class DFPattern:
    """A pattern. Equal only to itself: where one stands twice in another, both match one expression."""

    def __call__(self, *args: Any) -> CallPattern:
        """The pattern of a call of what this matches."""
        given = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        return CallPattern(self, None if given == [None] else given)

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """This, of which some attributes are given."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype: Any) -> TypePattern:
        """This, of the type ``ttype``."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """This, of the dtype ``dtype``."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """This, of the shape ``shape``."""
        return ShapePattern(self, shape)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """This, or what ``option_constructor`` makes of it."""
        return self | option_constructor(self)

    def match(self, expr: Any) -> bool:
        """Whether ``expr`` is what this describes."""
        return _matches(self, expr) is not None

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """This, which all results of ``parent`` lead to, over calls of ``path`` only."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def partition(
        self,
        expr: Any,
        attrs: Mapping[str, Any] | None = None,
        check: Callable[[Any], Any] | None = None,
    ) -> Any:
        """``expr`` with what matches as calls of functions, which have ``attrs``; ``check`` says of a match
        whether it is to be one."""
        return _partition(self, expr, attrs, check)

    def parts(self) -> list[DFPattern]:
        """The patterns that this one is made of, in order."""
        own = [getattr(self, name) for name in self._parts]
        listed = [one if isinstance(one, list) else [one] for one in own if one is not None]
        return [part for parts in listed for part in parts]

    _parts: ClassVar[tuple[str, ...]] = ()


class ExprPattern(DFPattern):
    """An operator, or an expression that is structurally equal to ``expr``."""

    def __init__(self, expr: Any) -> None:
        self.expr = expr


class VarPattern(DFPattern):
    """A variable, of any name if ``name_hint`` is empty."""

    def __init__(self, name_hint: str = "") -> None:
        self.name = name_hint


class ConstantPattern(DFPattern):
    """A constant."""


class WildcardPattern(DFPattern):
    """Anything."""

    _parts = ("pattern",)

    def __init__(self) -> None:
        self.pattern: DFPattern | None = None

    def redirect_to(self, pat: DFPattern) -> None:
        """Stand for ``pat`` from now on."""
        self.pattern = pat


class CallPattern(DFPattern):
    """A call of ``op`` with ``args``, or with any if these are None. Sums and products match in both
    orders."""

    _parts = ("op", "args")

    def __init__(self, op: DFPattern, args: Sequence[DFPattern] | None = None) -> None:
        self.op, self.args = op, None if args is None else list(args)


class FunctionPattern(DFPattern):
    """A function of ``params``, of any if these are None."""

    _parts = ("params", "body")

    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern) -> None:
        self.params, self.body = None if params is None else list(params), body


class IfPattern(DFPattern):
    """A choice between two values."""

    _parts = ("cond", "true_branch", "false_branch")

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> None:
        self.cond, self.true_branch, self.false_branch = cond, true_branch, false_branch


class LetPattern(DFPattern):
    """A let."""

    _parts = ("var", "value", "body")

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern) -> None:
        self.var, self.value, self.body = var, value, body


class TuplePattern(DFPattern):
    """A tuple of ``fields``, of any if these are None."""

    _parts = ("fields",)

    def __init__(self, fields: Sequence[DFPattern] | None) -> None:
        self.fields = None if fields is None else list(fields)


class TupleGetItemPattern(DFPattern):
    """A field of a tuple, any if ``index`` is None."""

    _parts = ("tuple",)

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self.tuple, self.index = tuple_value, index


class AltPattern(DFPattern):
    """One of two patterns."""

    _parts = ("left", "right")

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left, self.right = left, right


class AttrPattern(DFPattern):
    """What ``pattern`` matches: a call, a function or an operator with the attributes ``attrs``."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        self.pattern, self.attrs = pattern, plain_attrs(attrs)


class TypePattern(DFPattern):
    """What ``pattern`` matches, of a type."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, ttype: Any) -> None:
        self.pattern, self.type = pattern, ttype


class DataTypePattern(DFPattern):
    """What ``pattern`` matches, of a dtype."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        self.pattern, self.dtype = pattern, dtype


class ShapePattern(DFPattern):
    """What ``pattern`` matches, of a shape."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]) -> None:
        self.pattern, self.shape = pattern, tuple(shape)


class DominatorPattern(DFPattern):
    """``child``, whose ways up to its inputs lead over calls of ``path`` only, and all end at one ``parent``
    that nothing else reads."""

    _parts = ("parent", "path", "child")

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern) -> None:
        self.parent, self.path, self.child = parent, path, child


def is_var(name: str = "") -> VarPattern:
    """A variable called ``name``, or any."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """What is structurally equal to ``expr``."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """The operator ``op_name``: ``is_op("add")(a, b)`` is the pattern of its calls."""
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """A tuple of ``fields``, of any if these are None."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """The field ``index`` of a tuple, or any."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """A choice between two values."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """A let."""
    return LetPattern(var, value, body)


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def has_type(ttype: Any, pattern: DFPattern | None = None) -> TypePattern:
    """What ``pattern`` matches, by default anything, of the type ``ttype``."""
    return TypePattern(pattern or wildcard(), ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """What ``pattern`` matches, by default anything, of the dtype ``dtype``."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """What ``pattern`` matches, by default anything, of the shape ``shape``."""
    return ShapePattern(pattern or wildcard(), shape)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """What ``pattern`` matches, by default anything, with some attributes."""
    return AttrPattern(pattern or wildcard(), attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """``child``, which all results of ``parent`` lead to, over calls of ``path`` only."""
    return DominatorPattern(parent, path, child)
