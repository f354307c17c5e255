"""Dimensions: numbers or expressions over named sizes; comparison, broadcasting, evaluation and printing."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tvmlite.core.errors import InputError, TypeInferError
from tvmlite.core.node import Node, postorder, substitute
from tvmlite.core.span import Span
from tvmlite.relay.ir import attributes
from tvmlite.te import arith
from tvmlite.te import expr as te

Dim: TypeAlias = int | te.Expr
"""An extent: an int, or an int64 expression over named dimensions (each a ``SizeVar``)."""

Shape: TypeAlias = tuple[Dim, ...]

Binding: TypeAlias = Mapping[te.SizeVar, int]
"""The value of each named dimension in one run."""

_dims: dict[str, te.SizeVar] = {}


def dim(name: str) -> te.SizeVar:
    """The dimension called ``name``: one object per name in the whole process.

    Two models that both have a dimension ``batch`` share the object and nothing else: each call of a compiled
    function binds its own value to it.
    """
    if not isinstance(name, str):
        raise TypeInferError(f"dim: name is {attributes.describe(name)}, expected a string")
    if name not in _dims:
        _dims[name] = te.SizeVar(name, "int64")
    return _dims[name]


Assumption: TypeAlias = tuple[Dim, Dim]
"""Two extents that are assumed to be equal."""


@dataclass(frozen=True, eq=False)
class Assumable(te.SizeVar):
    """Stands for the extent ``value`` in types whose equality may be assumed (``same_dim``). ``assumed``
    collects the assumptions."""

    value: te.Expr = field(kw_only=True)
    assumed: list[Assumption] = field(kw_only=True)


def same_dim(a: Dim, b: Dim) -> bool:
    """Whether ``a`` and ``b`` are proved equal for all values of the named dimensions.

    If one of them contains an ``Assumable``, it suffices that they are not proved to differ: the equality is
    then added to ``assumed``.
    """
    if proved_equal(a, b):
        return True
    stands_for = {one: one.value for extent in (a, b) for one in _assumables(extent)}
    if not stands_for:
        return False
    a, b = (normal_dim(substitute(te.convert(extent, "int64"), stands_for)) for extent in (a, b))
    if proved_equal(a, b):
        return True
    if arith.Analyzer().prove(te.NotEqual(*te.match(te.convert(a, "int64"), te.convert(b, "int64")))):
        return False
    next(iter(stands_for)).assumed.append((a, b))
    return True


def _assumables(extent: Dim) -> list[Assumable]:
    nodes = () if isinstance(extent, (int, np.integer)) else postorder(extent)
    return [one for one in nodes if isinstance(one, Assumable)]


def proved_equal(a: Dim, b: Dim) -> bool:
    """Whether ``a`` and ``b`` are proved equal, without assumptions."""
    if a is b:
        return True
    if isinstance(a, (int, te.SizeVar)) and isinstance(b, (int, te.SizeVar)):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return arith.equal(a, b)


def same_shape(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether two shapes are proved equal."""
    return len(a) == len(b) and all(same_dim(x, y) for x, y in zip(a, b, strict=True))


def broadcast_shapes(a: Shape, b: Shape, what: str = "broadcast", span: Span | None = None) -> Shape:
    """The shape of an element-wise operation on shapes ``a`` and ``b``, as in numpy.

    An extent broadcasts with 1 or with an extent that is proved equal. Anything else, such as two named
    dimensions, is a TypeInferError that starts with ``what``, the operator's name.
    """
    rank = max(len(a), len(b))
    result: list[Dim] = []
    for x, y in zip((1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b), strict=True):
        if isinstance(x, int) and x == 1:
            result.append(y)
        elif (isinstance(y, int) and y == 1) or same_dim(x, y):
            result.append(x)
        else:
            raise TypeInferError(
                f"{what}: shapes {show_shape(a)} and {show_shape(b)} do not broadcast: "
                f"{show_dim(x)} and {show_dim(y)} are not known to be equal",
                span,
            )
    return tuple(result)


def num_elements(shape: Sequence[Dim]) -> Dim:
    """The number of elements of ``shape``: an int if every extent is an int, otherwise an expression."""
    number, symbolic = 1, None
    for extent in shape:
        if isinstance(extent, int):
            number *= extent
        else:
            symbolic = extent if symbolic is None else symbolic * extent
    if symbolic is None or number == 0:
        return number
    return normal_dim(symbolic if number == 1 else symbolic * number)


def normal_dim(extent: Any) -> Dim:
    """``extent`` in canonical form: constants as ints, expressions simplified."""
    if isinstance(extent, (int, np.integer)):
        return int(extent)
    if isinstance(extent, te.SizeVar):
        return extent
    simple = arith.simplify(extent)
    return int(simple.value) if isinstance(simple, te.Const) else simple


# --- evaluation ---------------------------------------------------------------------------------


def evaluate_dim(extent: Dim, binding: Binding) -> int:
    """The value of ``extent`` for the values of the named dimensions in ``binding``.

    Any te expression of ints and bools is accepted. A dimension that is not in ``binding`` is an InputError.
    """
    if isinstance(extent, (int, np.integer)):
        return int(extent)
    values: dict[Node, int] = {}
    for node in postorder(extent):
        if isinstance(node, te.Var):
            if node not in binding:
                raise InputError(f"dimension {node.name!r} has no value: no argument's shape determines it")
            values[node] = int(binding[node])  # type: ignore[index]
        else:
            values[node] = _evaluate(node, values)
    return values[extent]


def evaluate_shape(shape: Sequence[Dim], binding: Binding) -> tuple[int, ...]:
    """``evaluate_dim`` of each extent."""
    return tuple(evaluate_dim(extent, binding) for extent in shape)


def evaluate_attrs(attrs: tuple[tuple[str, Any], ...], binding: Binding) -> tuple[tuple[str, Any], ...]:
    """``attrs`` with every te expression replaced by its value; ``attrs`` itself if there is none."""
    if not any(is_symbolic(value) for _, value in attrs):
        return attrs
    return tuple((name, _evaluate_attr(value, binding)) for name, value in attrs)


def is_symbolic(value: Any) -> bool:
    """Whether an attribute contains a te expression."""
    if isinstance(value, tuple):
        return any(is_symbolic(v) for v in value)
    return isinstance(value, te.Expr)


def _evaluate_attr(value: Any, binding: Binding) -> Any:
    if isinstance(value, tuple):
        return tuple(_evaluate_attr(v, binding) for v in value)
    if isinstance(value, te.Expr):
        number = evaluate_dim(value, binding)
        return bool(number) if value.dtype == "bool" else number
    return value


def _evaluate(node: Node, values: Mapping[Node, int]) -> int:
    match node:
        case te.Const():
            return int(node.value)
        case te.Select() | te.Call(name="if_then_else"):
            condition, a, b = (values[child] for child in node.children())
            return a if condition else b
        case te.Not():
            return int(not values[node.a])
        case te.Cast():
            return int(te.const(values[node.value], node.dtype).value)
        case te.Binary() if type(node) in _EVALUATE:
            return int(_EVALUATE[type(node)](values[node.a], values[node.b]))
    raise InputError(f"a dimension cannot be computed with {type(node).__name__}")


def _truncdiv(a: int, b: int) -> int:
    quotient = abs(a) // abs(b) if b else 0
    return quotient if (a < 0) == (b < 0) else -quotient


_EVALUATE: dict[type[te.Binary], Callable[[int, int], Any]] = {
    te.Add: operator.add,
    te.Sub: operator.sub,
    te.Mul: operator.mul,
    te.FloorDiv: lambda a, b: a // b if b else 0,
    te.FloorMod: lambda a, b: a % b if b else 0,
    te.TruncDiv: _truncdiv,
    te.TruncMod: lambda a, b: a - b * _truncdiv(a, b) if b else 0,
    te.Min: min,
    te.Max: max,
    te.Equal: operator.eq,
    te.NotEqual: operator.ne,
    te.Less: operator.lt,
    te.LessEqual: operator.le,
    te.And: lambda a, b: a and b,
    te.Or: lambda a, b: a or b,
}


# --- as text ------------------------------------------------------------------------------------


PRECEDENCE: dict[str, int] = {
    "or": 1, "and": 2, "not": 3, "==": 4, "!=": 4, "<": 4, "<=": 4, "+": 5, "-": 5, "*": 6, "//": 6, "%": 6,
}  # fmt: skip
"""The precedence of the operators in a printed dimension (higher binds tighter); all are left-associative."""

NAMED_BINARY: dict[str, type[te.Binary]] = {
    "min": te.Min, "max": te.Max, "truncdiv": te.TruncDiv, "truncmod": te.TruncMod,
}  # fmt: skip
"""The binary operators that are printed as functions."""

RESERVED = frozenset((*NAMED_BINARY, "or", "and", "not", "select", "cast", "dim", "None", "True", "False"))
"""Names of dimensions that must be quoted, as in ``dim("min")``."""

_ATOM = 9

_BARE_NAME = re.compile(r"(?!inf|nan)[A-Za-z_][A-Za-z0-9_]*")


def show_dim(extent: Dim) -> str:
    """A dimension as text that ``relay.parse`` understands: ``(h + 1) // 2``, ``min(h, 16)``."""
    if isinstance(extent, (int, np.integer)):
        return str(int(extent))
    texts: dict[Node, tuple[str, int]] = {}
    for node in postorder(extent):
        texts[node] = _text_and_precedence(node, texts)
    return texts[extent][0]


def show_shape(shape: Sequence[Dim]) -> str:
    """A shape as text: ``(1, 3, h, w)``."""
    items = [show_dim(extent) for extent in shape]
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _text_and_precedence(node: Node, texts: Mapping[Node, tuple[str, int]]) -> tuple[str, int]:
    """The text of ``node`` and its precedence."""

    def operand(child: Node, min_precedence: int) -> str:
        text, precedence = texts[child]
        return text if precedence >= min_precedence else f"({text})"

    match node:
        case te.Var():
            return (
                node.name
                if _BARE_NAME.fullmatch(node.name) and node.name not in RESERVED
                else f"dim({json.dumps(node.name)})"
            ), _ATOM
        case te.Const():
            return _show_const(node)
        case te.Binary(symbol=symbol) if symbol in NAMED_BINARY:
            return f"{symbol}({texts[node.a][0]}, {texts[node.b][0]})", _ATOM
        case te.Binary(symbol=symbol) if symbol in PRECEDENCE:
            precedence = PRECEDENCE[symbol]
            return f"{operand(node.a, precedence)} {symbol} {operand(node.b, precedence + 1)}", precedence
        case te.Not():
            return f"not {operand(node.a, PRECEDENCE['not'])}", PRECEDENCE["not"]
        case te.Select():
            return f"select({', '.join(texts[child][0] for child in node.children())})", _ATOM
        case te.Cast():
            return f"cast({node.dtype}, {texts[node.value][0]})", _ATOM
    return f"<{type(node).__name__}>", _ATOM


def _show_const(node: te.Const) -> tuple[str, int]:
    if node.dtype == "int64":
        return str(node.value), _ATOM if node.value >= 0 else PRECEDENCE["*"]
    if node.dtype == "bool":
        return str(bool(node.value)), _ATOM
    return f"cast({node.dtype}, {node.value})", _ATOM
