"""The classes of patterns, and the functions that create them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay.graph.attrs import plain_attrs
from tvmlite.tvm.relay.op.op import Op

_matches = later("relay.dataflow_pattern.matcher", "matches")
_partition = later("relay.dataflow_pattern.partition", "partition")


class DFPattern:
    """The base class of patterns. A pattern is equal only to itself: if it occurs several times in another
    pattern, all occurrences must match the same expression."""

    def __call__(self, *args: Any) -> CallPattern:
        """A pattern for calls of the operators or functions that this pattern matches."""
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
        """This pattern, restricted to expressions with the attributes ``attrs``."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype: Any) -> TypePattern:
        """This pattern, restricted to the type ``ttype``."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """This pattern, restricted to the dtype ``dtype``."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        """This pattern, restricted to the shape ``shape``."""
        return ShapePattern(self, shape)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """This pattern, or the pattern that ``option_constructor`` makes from it."""
        return self | option_constructor(self)

    def match(self, expr: Any) -> bool:
        """Whether this pattern matches ``expr``."""
        return _matches(self, expr) is not None

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """This pattern, dominating ``parent`` through matches of ``path`` (default: anything); see
        ``DominatorPattern``."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def partition(
        self,
        expr: Any,
        attrs: Mapping[str, Any] | None = None,
        check: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Replace the matches in ``expr`` by calls of functions with the attributes ``attrs``. ``check``
        returns whether to replace a match."""
        return _partition(self, expr, attrs, check)

    def parts(self) -> list[DFPattern]:
        """The direct sub-patterns, in order."""
        own = [getattr(self, name) for name in self._parts]
        listed = [one if isinstance(one, list) else [one] for one in own if one is not None]
        return [part for parts in listed for part in parts]

    _parts: ClassVar[tuple[str, ...]] = ()


class ExprPattern(DFPattern):
    """Matches an operator, or expressions that are structurally equal to ``expr``."""

    def __init__(self, expr: Any) -> None:
        self.expr = expr


class VarPattern(DFPattern):
    """Matches a variable with the name ``name_hint``, or with any name if that is empty."""

    def __init__(self, name_hint: str = "") -> None:
        self.name = name_hint


class ConstantPattern(DFPattern):
    """Matches a constant."""


class WildcardPattern(DFPattern):
    """Matches anything, or what the pattern given to ``redirect_to`` matches."""

    _parts = ("pattern",)

    def __init__(self) -> None:
        self.pattern: DFPattern | None = None

    def redirect_to(self, pat: DFPattern) -> None:
        """Match what ``pat`` matches from now on, which allows recursive patterns."""
        self.pattern = pat


class CallPattern(DFPattern):
    """Matches a call of ``op`` with ``args``, or with any arguments if ``args`` is None. Arguments of ``add``
    and ``multiply`` match in either order."""

    _parts = ("op", "args")

    def __init__(self, op: DFPattern, args: Sequence[DFPattern] | None = None) -> None:
        self.op, self.args = op, None if args is None else list(args)


class FunctionPattern(DFPattern):
    """Matches a function with ``params`` and ``body``, or with any parameters if ``params`` is None."""

    _parts = ("params", "body")

    def __init__(self, params: Sequence[DFPattern] | None, body: DFPattern) -> None:
        self.params, self.body = None if params is None else list(params), body


class IfPattern(DFPattern):
    """Matches an ``If``."""

    _parts = ("cond", "true_branch", "false_branch")

    def __init__(self, cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> None:
        self.cond, self.true_branch, self.false_branch = cond, true_branch, false_branch


class LetPattern(DFPattern):
    """Matches a let."""

    _parts = ("var", "value", "body")

    def __init__(self, var: DFPattern, value: DFPattern, body: DFPattern) -> None:
        self.var, self.value, self.body = var, value, body


class TuplePattern(DFPattern):
    """Matches a tuple of ``fields``, or any tuple if ``fields`` is None."""

    _parts = ("fields",)

    def __init__(self, fields: Sequence[DFPattern] | None) -> None:
        self.fields = None if fields is None else list(fields)


class TupleGetItemPattern(DFPattern):
    """Matches field ``index`` of a tuple, or any field if ``index`` is None."""

    _parts = ("tuple",)

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        self.tuple, self.index = tuple_value, index


class AltPattern(DFPattern):
    """Matches what one of two patterns matches; ``left`` is tried first."""

    _parts = ("left", "right")

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left, self.right = left, right


class AttrPattern(DFPattern):
    """Restricts ``pattern`` to calls, functions and operators with the attributes ``attrs``."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        self.pattern, self.attrs = pattern, plain_attrs(attrs)


class TypePattern(DFPattern):
    """Restricts ``pattern`` to expressions of a type."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, ttype: Any) -> None:
        self.pattern, self.type = pattern, ttype


class DataTypePattern(DFPattern):
    """Restricts ``pattern`` to tensors of a dtype."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        self.pattern, self.dtype = pattern, dtype


class ShapePattern(DFPattern):
    """Restricts ``pattern`` to tensors of a shape."""

    _parts = ("pattern",)

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]) -> None:
        self.pattern, self.shape = pattern, tuple(shape)


class DominatorPattern(DFPattern):
    """Matches ``child`` if all paths upward from its operands lead through matches of ``path`` to one match
    of ``parent``, and all paths from that parent to the root lead through the child."""

    _parts = ("parent", "path", "child")

    def __init__(self, parent: DFPattern, path: DFPattern, child: DFPattern) -> None:
        self.parent, self.path, self.child = parent, path, child


def is_var(name: str = "") -> VarPattern:
    """A pattern for variables with the name ``name``, or with any name."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """A pattern for constants."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """A pattern for expressions that are structurally equal to ``expr``."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """A pattern for the operator ``op_name``; ``is_op("add")(a, b)`` is a pattern for its calls."""
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """A pattern for tuples of ``fields``, or for all tuples if ``fields`` is None."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """A pattern for field ``index`` of a tuple, or for any field."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """A pattern for an ``If``."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """A pattern for a let."""
    return LetPattern(var, value, body)


def wildcard() -> WildcardPattern:
    """A pattern that matches anything."""
    return WildcardPattern()


def has_type(ttype: Any, pattern: DFPattern | None = None) -> TypePattern:
    """``pattern`` (default: anything), restricted to the type ``ttype``."""
    return TypePattern(pattern or wildcard(), ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """``pattern`` (default: anything), restricted to the dtype ``dtype``."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """``pattern`` (default: anything), restricted to the shape ``shape``."""
    return ShapePattern(pattern or wildcard(), shape)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """``pattern`` (default: anything), restricted to expressions with the attributes ``attrs``."""
    return AttrPattern(pattern or wildcard(), attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """A pattern for ``child`` that dominates ``parent`` through ``path``; see ``DominatorPattern``."""
    return DominatorPattern(parent, path, child)
