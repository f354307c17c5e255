"""The expressions of a hybrid script, translated from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TvmliteError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.te import expr as e
from tvmlite.te.intrin.ir_builder import BufferVar
from tvmlite.te.loop import ir
from tvmlite.te.tensor import tensor as t

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
    ast.Pow: lambda a, b: te.power(a, b),
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}
_CALLS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(te, name) for name in ("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "power", "erf")
    },
    **{name: getattr(te, name) for name in ("popcount", "likely", "floor", "ceil", "round", "trunc", "abs")},
    "ceil_div": lambda a, b: (a + b - 1) // b,
}
_CASTS = (
    "bool",
    *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
)


class Expressions:
    """The part of the parser that translates expressions. Known numbers stay Python numbers."""

    builder: Any
    inputs: dict[t.Tensor, ir.Buffer]
    find: Callable[[str], Any]
    value_of: Callable[[Any], Any]
    error: Callable[[Any, str], TvmliteError]
    output: Callable[[str, Any, str], BufferVar]

    def expr(self, node: ast.expr, name: str = "") -> Any:
        """The value of ``node``: a number, an expression, a buffer or a list. ``name`` is the name that the
        value is assigned to."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(label):
                return self._name(node, label)
            case ast.Call():
                return self._call(node, name)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Attribute(value, attribute):
                return self._attribute(node, self.expr(value), attribute)
            case ast.BinOp(left, op, right):
                return self.binary(node, op, self.expr(left), self.expr(right))
            case ast.UnaryOp(ast.USub(), operand):
                return -self.number(node, self.expr(operand))
            case ast.UnaryOp(ast.UAdd(), operand):
                return self.number(node, self.expr(operand))
            case ast.UnaryOp(ast.Not()) | ast.BoolOp() | ast.Compare():
                return self.condition(node)
            case ast.IfExp(test, body, orelse):
                condition = self.condition(test)
                if isinstance(condition, bool):
                    return self.expr(body if condition else orelse)
                return te.if_then_else(condition, self.expr(body), self.expr(orelse))
            case ast.Tuple(elements) | ast.List(elements):
                return [self.expr(one) for one in elements]
            case _:
                kind = type(node).__name__
                raise self.error(node, f"{kind} expressions are not supported")

    def condition(self, node: ast.expr) -> Any:
        """The truth value of ``node``: True or False if it is known, else an expression."""
        match node:
            case ast.BoolOp(op, values):
                parts = [self.condition(one) for one in values]
                ends = isinstance(op, ast.Or)
                if any(isinstance(one, bool) and one is ends for one in parts):
                    return ends
                rest = [one for one in parts if not isinstance(one, bool)]
                return not ends if not rest else te.any(*rest) if ends else te.all(*rest)
            case ast.UnaryOp(ast.Not(), operand):
                inner = self.condition(operand)
                return not inner if isinstance(inner, bool) else e.Not(inner)
            case ast.Compare(left, ops, comparators):
                values = [self.expr(one) for one in (left, *comparators)]
                pairs = zip(ops, values, values[1:], strict=False)
                parts = [_compare(self, node, op, a, b) for op, a, b in pairs]
                if any(one is False for one in parts):
                    return False
                rest = [one for one in parts if one is not True]
                return te.all(*rest) if rest else True
            case _:
                value = self.expr(node)
                value = value.value if isinstance(value, e.Const) else value
                if isinstance(value, (bool, int, float)):
                    return bool(value)
                return value if value.dtype == "bool" else value != 0

    def number(self, node: Any, value: Any) -> Any:
        """``value`` as a number or a scalar expression; an error if it is neither."""
        if isinstance(value, (bool, int, float, e.Expr)):
            return value
        if isinstance(value, BufferVar):
            raise self.error(node, f"tensor {value.buffer.name} is used without indices")
        try:
            return e.convert(value)
        except TvmliteError:
            raise self.error(node, f"a {type(value).__name__} is used as a number") from None

    def binary(self, node: Any, op: ast.operator, a: Any, b: Any) -> Any:
        """``a op b``"""
        if type(op) not in _OPERATORS:
            raise self.error(node, f"operator {type(op).__name__} is not supported")
        if isinstance(a, list) and isinstance(b, list) and isinstance(op, ast.Add):
            return a + b
        return _OPERATORS[type(op)](self.number(node, a), self.number(node, b))

    def element(self, node: ast.Subscript) -> tuple[BufferVar, list[Any]]:
        """The buffer and the indices of ``a[i, j]`` or ``a[i][j]``."""
        indices: list[Any] = []
        base: ast.expr = node
        while isinstance(base, ast.Subscript):
            place = self.expr(base.slice)
            indices = [*(place if isinstance(place, list) else [place]), *indices]
            base = base.value
        buffer = self.expr(base)
        if not isinstance(buffer, BufferVar):
            raise self.error(node, "indexes a value that is not a tensor")
        if len(indices) != len(buffer.shape):
            raise self.error(
                node,
                f"tensor {buffer.buffer.name} has {len(buffer.shape)} axes, indexed with {len(indices)}",
            )
        return buffer, [self.number(node, one) for one in indices]

    def _subscript(self, node: ast.Subscript) -> Any:
        base: ast.expr = node
        while isinstance(base, ast.Subscript):
            base = base.value
        whole = self.expr(base)
        if isinstance(whole, BufferVar):
            buffer, indices = self.element(node)
            return buffer[tuple(indices)]
        value, index = self.expr(node.value), self.expr(node.slice)
        for one in index if isinstance(index, list) else [index]:
            value = self._item(node, value, one.value if isinstance(one, e.Const) else one)
        return value

    def _item(self, node: ast.Subscript, value: Any, index: Any) -> Any:
        if isinstance(value, BufferVar):
            return value[index]
        if not isinstance(value, (list, tuple)) or not isinstance(index, int):
            raise self.error(node, "an index of a list must be a constant: loop with const_range")
        if not -len(value) <= index < len(value):
            raise self.error(node, f"index {index} of a list of {len(value)}")
        return self.value_of(value[index])

    def _name(self, node: ast.expr, name: str) -> Any:
        value = self.find(name)
        if value is None and name in ("True", "False"):
            return name == "True"
        if value is None:
            raise self.error(node, f"{name} is not known here")
        memory = getattr(value, "memory", None)
        return memory[0] if memory is not None else self.value_of(value)

    def _attribute(self, node: ast.Attribute, value: Any, name: str) -> Any:
        if isinstance(value, BufferVar) and name == "shape":
            return [n.value if isinstance(n, e.Const) else e.cast("int32", n) for n in value.shape]
        if name == "dtype" and hasattr(value, "dtype"):
            return value.dtype
        found = getattr(value, name, None)
        if found is None or isinstance(value, BufferVar):
            raise self.error(node, f"there is no attribute {name} of a {type(value).__name__}")
        return self.value_of(found)

    def _call(self, node: ast.Call, name: str) -> Any:
        called = node.func.id if isinstance(node.func, ast.Name) else None
        args = [self.expr(one) for one in node.args]
        named = {one.arg: self.expr(one.value) for one in node.keywords if one.arg}
        if called in ("output_tensor", "allocate"):
            return self._memory(node, called, name or called, *args, **named)
        if called == "len":
            (value,) = args
            return len(value) if isinstance(value, list) else self._attribute_length(value)
        if called in ("min", "max"):
            first, *rest = [self.number(node, one) for one in args]
            for one in rest:
                first = getattr(te, called)(first, one)
            return first
        if called in _CASTS:
            return e.cast(called, self.number(node, args[0]))
        if called in _CALLS:
            return _CALLS[called](*(self.number(node, one) for one in args))
        function = self.expr(node.func)
        inline = getattr(function, "inlined", None)
        if inline is not None:
            return inline(self, args)
        if callable(function):
            return self.value_of(function(*args, **named))
        raise self.error(node, f"{called or 'this'} cannot be called")

    def _attribute_length(self, value: BufferVar) -> Any:
        extent = value.shape[0]
        return extent.value if isinstance(extent, e.Const) else e.cast("int32", extent)

    def _memory(
        self, node: ast.Call, kind: str, name: str, shape: Any, dtype: Any = "float32", scope: str = "global"
    ) -> BufferVar:
        extents = [self.number(node, one) for one in (shape if isinstance(shape, list) else [shape])]
        if kind == "output_tensor":
            return self.output(name, extents, dtypes.check(dtype))
        if scope == "shared":
            raise UnsupportedError("hybrid script: CPUs have no shared memory of threads", Span.of_caller())
        return self.builder.allocate(dtypes.check(dtype), tuple(extents), name)


def _compare(parser: Expressions, node: ast.Compare, op: ast.cmpop, a: Any, b: Any) -> Any:
    if type(op) not in _COMPARISONS:
        raise parser.error(node, f"comparison {type(op).__name__} is not supported")
    if isinstance(a, str) or isinstance(b, str):
        return bool(_COMPARISONS[type(op)](a, b))
    x, y = (
        one.value if isinstance(one, e.Const) else one
        for one in (parser.number(node, a), parser.number(node, b))
    )
    made = _COMPARISONS[type(op)](x, y)
    return made if not isinstance(made, e.Const) else bool(made.value)
