"""Plain vector arithmetic with the vector types of GCC and Clang, for what portable C does lane by lane.

Compilers keep such vectors in registers, an unrolled tile of accumulators too, which they seldom do for
loops over lanes.
"""

from __future__ import annotations

from tvmlite.core import dtype as dtypes
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen.c_expr import Names, Writer, strip
from tvmlite.te.codegen.c_text import SUFFIX, work_type
from tvmlite.te.loop import ir

CONDITION = "TL_VECTORS"
"""The macro that is 1 where these types exist."""

_ARITH = {e.Add: "+", e.Sub: "-", e.Mul: "*", e.Div: "/"}
_DTYPES = ("float32", "float64")
_WIDEST = 256


def can_write(value: e.Expr) -> bool:
    """Whether ``value`` has a form here: float vectors, loaded side by side, added, multiplied, compared,
    chosen by a condition that is the same in all lanes."""
    size = value.lanes * dtypes.bytes_of(value.dtype)
    if value.lanes & (value.lanes - 1) or value.lanes < 2 or size > _WIDEST:
        return False
    return all(_is_plain(node, value.dtype) for node in _vectors(value))


def is_dense(index: e.Expr) -> bool:
    """Whether ``index`` is that of elements side by side."""
    return isinstance(index, e.Ramp) and e.is_const(index.stride, 1)


def _vectors(root: e.Expr) -> list[e.Expr]:
    """The vectors that ``root`` is made of, children first; not what they are indexed with."""
    inside: set[object] = set()
    nodes = [n for n in postorder(root) if isinstance(n, e.Expr)]
    for node in reversed(nodes):
        if node is root or node in inside:
            inside.add(node)
            inside.update(_parts(node))
    return [n for n in nodes if n in inside]


def _parts(node: e.Expr) -> tuple[e.Expr, ...]:
    """The vectors that ``node`` is computed from."""
    match node:
        case e.Binary(a, b) | e.Call("if_then_else", (_, a, b)):
            return a, b
        case _:
            return ()


def _is_plain(node: e.Expr, dtype: str) -> bool:
    if node.dtype != dtype or dtype not in _DTYPES or node.lanes == 1:
        return False
    match node:
        case ir.Load(predicate=None, indices=(index,)):
            return is_dense(index)
        case e.Const() | e.Broadcast() | e.Var():
            return True
        case e.Call("if_then_else", (condition, a, b)):
            return condition.lanes == 1 and _is_written_in_place(a) and _is_written_in_place(b)
        case _:
            return type(node) in (*_ARITH, e.Min, e.Max)


def _is_written_in_place(value: e.Expr) -> bool:
    """Whether ``value`` needs no declaration that reads memory: it stays in its branch."""
    match value:
        case ir.Load(indices=(index,)):
            return value.lanes > 1 and not any(isinstance(n, ir.Load) for n in postorder(index))
        case e.Const():
            return value.lanes > 1
        case e.Broadcast(value=inner):
            return isinstance(inner, (e.Const, e.Var))
        case _:
            return False


class VectorWriter:
    """Writes vectors of ``lanes`` elements of ``dtype``; ``scalars`` writes what is the same in all lanes."""

    def __init__(self, names: Names, dtype: str, lanes: int) -> None:
        self.names, self.dtype, self.lanes = names, dtype, lanes
        self.scalars = Writer(names)
        self.type = f"tl_{SUFFIX[dtype]}x{lanes}"
        bits = dtypes.bits(dtype)
        self.mask = f"tl_i{bits}x{lanes}"
        self.typedefs = [
            _typedef(work_type(dtype), self.type, dtype, lanes),
            _typedef(f"int{bits}_t", self.mask, dtype, lanes),
        ]

    @property
    def lines(self) -> list[str]:
        """The declarations that must come before what was written."""
        return self.scalars.lines

    def place(self, buffer: ir.Buffer, index: e.Expr, const: str = "") -> str:
        """The vector in memory at ``index``, which is dense."""
        assert isinstance(index, e.Ramp)
        element = f"{self.names.buffer(buffer)}[{strip(self.scalars.write(index.base))}]"
        return f"*({const}{self.type} *)({const}void *)&{element}"

    def write(self, value: e.Expr) -> str:
        """``value``, of which ``can_write`` holds, as a vector."""
        nodes = _vectors(value)
        uses: dict[object, int] = {}
        for node in nodes:
            for child in _parts(node):
                uses[child] = uses.get(child, 0) + 1
        lazy = {arm for node in nodes if isinstance(node, e.Call) for arm in _parts(node)}
        texts: dict[object, tuple[str, bool]] = {}
        for node in nodes:
            text, scalar = self._text(node, texts)
            if uses.get(node, 0) > 1 and not scalar and node not in lazy:
                text = self._declare(text)
            texts[node] = text, scalar
        return self._vector(*texts[value])

    def _text(self, node: e.Expr, texts: dict[object, tuple[str, bool]]) -> tuple[str, bool]:
        """Its text, and whether that is a scalar, the same in all lanes."""
        match node:
            case e.Const():
                return self.scalars.write(e.Const(node.value, node.dtype)), True
            case e.Broadcast(value=value):
                return self.scalars.write_short(value), True
            case e.Var():
                return f"(*(const {self.type} *)(const void *){self.names.variable(node)})", False
            case ir.Load():
                return f"({self.place(node.buffer, node.indices[0], 'const ')})", False
            case e.Call("if_then_else", (condition, *arms)):
                holds = self.scalars.write_short(condition)
                then, otherwise = (self._vector(*texts[arm]) for arm in arms)
                return f"({holds} ? ({self.type}){then} : ({self.type}){otherwise})", False
        assert isinstance(node, e.Binary)
        (a, a_scalar), (b, b_scalar) = texts[node.a], texts[node.b]
        if type(node) in _ARITH:
            return f"({a} {_ARITH[type(node)]} {b})", a_scalar and b_scalar
        a, b = self._declare(self._vector(a, a_scalar)), self._declare(self._vector(b, b_scalar))
        first = self._declare(
            f"({a} {'<' if isinstance(node, e.Min) else '>'} {b}) | ({a} != {a})", self.mask
        )
        return f"(({self.type})((({self.mask}){a} & {first}) | (({self.mask}){b} & ~{first})))", False

    def _vector(self, text: str, scalar: bool) -> str:
        """A scalar in every lane: minus 0 keeps the sign of 0."""
        return f"({text} - ({self.type}){{0}})" if scalar else text

    def _declare(self, text: str, kind: str = "") -> str:
        if text.isidentifier():
            return text
        name = self.names.temporary()
        self.lines.append(f"const {kind or self.type} {name} = {strip(text)};")
        return name


def _typedef(element: str, name: str, dtype: str, lanes: int) -> str:
    size = dtypes.bytes_of(dtype)
    attributes = f"vector_size({size * lanes}), aligned({size}), may_alias"
    return f"typedef {element} {name} __attribute__(({attributes}));"


def merged(lines: list[str]) -> list[str]:
    """``lines`` with neighbouring statements in two versions joined: one ``#if`` for all of them."""
    result: list[str] = []
    versions: tuple[list[str], list[str]] = ([], [])
    inside = -1
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if line == f"#if {CONDITION}":
            inside = 0
        elif line == "#else":
            inside = 1
        elif line == "#endif":
            inside = -1
            if following != f"#if {CONDITION}":
                result += [f"#if {CONDITION}", *versions[0], "#else", *versions[1], "#endif"]
                versions = ([], [])
        elif inside >= 0:
            versions[inside].append(line)
        else:
            result.append(line)
    return result
