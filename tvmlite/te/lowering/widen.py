"""Index arithmetic in int64: axes and size variables are int32 to the user, as in TVM."""

from __future__ import annotations

from collections.abc import Iterable

from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.expr import INDEX, Expr
from tvmlite.te.schedule.relations import Number, plain
from tvmlite.te.tensor.tensor import TensorRead

_NARROW = ("int32", "int64")
_ARITHMETIC = (e.Add, e.Sub, e.Mul, e.FloorDiv, e.FloorMod, e.TruncDiv, e.TruncMod, e.Min, e.Max)


class Widening:
    """Rewrites expressions so that indices, extents and comparisons between them are int64.

    Each int32 variable has one int64 counterpart; those in ``extents`` are known to be at least 0. A variable
    used as a value is cast back, so values keep their dtype. Index arithmetic is assumed not to overflow;
    arithmetic on values wraps as before.
    """

    def __init__(self, extents: Iterable[e.Var] = ()) -> None:
        self._extents = frozenset(extents)
        self._variables: dict[e.Var, e.Var] = {}
        self._kept: set[e.Var] = set()
        self._values: dict[Expr, Expr] = {}
        self._indices: dict[Expr, Expr | None] = {}

    def keep(self, var: e.Var) -> None:
        """Keep the dtype of ``var``, which represents a value, such as a Let's."""
        self._kept.add(var)

    def variable(self, var: e.Var) -> e.Var:
        """The variable that represents ``var`` in loops: itself, unless it is int32."""
        if var.dtype not in _NARROW or var in self._kept:
            return var
        known = self._variables.get(var)
        if known is None:
            positive = isinstance(var, e.SizeVar) or var in self._extents
            if var.dtype == INDEX and positive == isinstance(var, e.SizeVar):
                known = var
            else:
                known = (e.SizeVar if positive else e.Var)(var.name, INDEX)
            self._variables[var] = known
        return known

    def extent(self, value: Number) -> Number:
        """``value``, an extent, as an int or an int64 expression."""
        return value if isinstance(value, int) else plain(self.index(e.convert(value)))

    def index(self, root: Expr) -> Expr:
        """``root``, an integer expression, as an int64 index."""
        self._visit(root)
        return self._as_index(root)

    def value(self, root: Expr) -> Expr:
        """``root`` with its dtype, and the indices in it widened."""
        self._visit(root)
        return self._values[root]

    def _visit(self, root: Expr) -> None:
        if root in self._values:
            return
        for node in postorder(root):
            if node not in self._values:
                assert isinstance(node, Expr)
                self._indices[node] = self._index(node) if node.dtype in _NARROW else None
                self._values[node] = self._value(node)

    def _as_index(self, node: Expr) -> Expr:
        """An integer node as int64: widened if it is index arithmetic, else its value cast."""
        known = self._indices[node]
        if known is not None:
            return known
        if type(node) in _ARITHMETIC and node.dtype in _NARROW:
            assert isinstance(node, e.Binary)
            return e.fold(type(node), self._as_index(node.a), self._as_index(node.b))
        return e.cast(INDEX, self._values[node])

    def _index(self, node: Expr) -> Expr | None:
        """The int64 form of an expression that contains only variables and constants; None for others."""
        known = self._indices
        match node:
            case e.Const():
                return e.const(node.value, INDEX, node.lanes)
            case e.Var():
                return None if node in self._kept else self.variable(node)
            case e.Cast() if node.value.dtype in _NARROW:
                return known[node.value]
            case e.Binary() if type(node) in _ARITHMETIC:
                a, b = known[node.a], known[node.b]
                return None if a is None or b is None else e.fold(type(node), a, b)
            case e.Select():
                a, b = known[node.a], known[node.b]
                return None if a is None or b is None else e.Select(self._values[node.condition], a, b)
            case e.Call(name="if_then_else", args=(condition, x, y)):
                a, b = known[x], known[y]
                if a is None or b is None:
                    return None
                return e.Call("if_then_else", (self._values[condition], a, b), INDEX)
            case _:
                return None

    def _value(self, node: Expr) -> Expr:
        match node:
            case e.Var():
                return e.cast(node.dtype, self.variable(node))
            case TensorRead():
                return TensorRead(node.tensor, tuple(self._as_index(i) for i in node.indices))
            case e.Compare():
                a, b = self._indices[node.a], self._indices[node.b]
                if a is not None and b is not None:
                    return type(node)(a, b)
            case e.Cast(dtype=dtype) if dtype == INDEX:
                wide = self._indices[node]
                if wide is not None:
                    return wide
        return node.map_children(self._values.__getitem__)
