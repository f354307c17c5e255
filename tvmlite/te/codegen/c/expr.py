"""Generation of C expressions: shared nodes become temporaries, lazy branches stay lazy, lanes a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.core.node import Node, postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen import contraction
from tvmlite.te.codegen.c import extern_calls
from tvmlite.te.codegen.c.text import (
    HALVES,
    Helpers,
    float_bits,
    float_literal,
    int_literal,
    unsigned_type,
    work_type,
)
from tvmlite.te.codegen.math import functions
from tvmlite.te.codegen.math.expand import LIBRARY
from tvmlite.te.codegen.math.quantizing import ROUND_TO
from tvmlite.te.loop import ir

_LONGEST = 100
"""The most characters of an expression that is not made a temporary."""

COMPARE = {e.Equal: "==", e.NotEqual: "!=", e.Less: "<", e.LessEqual: "<="}
ARITH = {e.Add: "+", e.Sub: "-", e.Mul: "*", e.Div: "/"}
_DIVIDE = {e.FloorDiv: "floordiv", e.FloorMod: "floormod", e.TruncDiv: "truncdiv", e.TruncMod: "truncmod"}
_LIBM = {name: name for name in (*LIBRARY, "sqrt", "floor", "ceil", "trunc", "fabs", "copysign", "fma")} | {
    "abs": "fabs",
    "round": "nearbyint",
}
BITWISE = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_HELPERS = {name: name for name in (contraction.MULTIPLY_ADD, "isinf", "isfinite", "popcount", "clz")} | {
    "shift_left": "shl",
    "shift_right": "shr",
}
"""The kinds of ``Helpers`` that intrinsics are written with."""

_EXACT = frozenset(("floor", "ceil", "trunc", "round", "fabs", "abs", "copysign"))
"""Intrinsics whose results for halves are exact halves."""


class Names(Protocol):
    """The names of the C function that an expression is written in."""

    helpers: Helpers

    def variable(self, var: e.Var) -> str:
        """The value of ``var`` in its ``work_type``; for a vector, the array of its lanes."""
        ...

    def buffer(self, buffer: ir.Buffer) -> str:
        """The pointer to the first element of ``buffer``."""
        ...

    def element(self, buffer: ir.Buffer, place: str) -> str:
        """The element of ``buffer`` at ``place``."""
        ...

    def is_counter(self, var: e.Var) -> bool:
        """Whether ``var`` is a loop variable or a size, whose arithmetic never overflows."""
        ...

    def is_nonnegative(self, var: e.Var) -> bool:
        """Whether ``var`` is known to be at least 0."""
        ...

    @property
    def index_type(self) -> str:
        """The C type of arithmetic with variables for which ``is_counter`` holds."""
        ...

    def temporary(self) -> str:
        """A new name."""
        ...

    def declare(self, text: str) -> None:
        """Add the declaration ``text`` before all functions."""
        ...

    def define(self, name: str) -> None:
        """Add the definition of the technique's C function ``name`` before all kernels."""
        ...


class Writer:
    """Writes expressions of one statement; ``lines`` are the declarations that have to precede it.

    With ``lane``, the name of the loop variable over lanes, vectors are written for that lane, and uniform
    values are declared by ``outer``, the writer for the code before the loop over lanes.
    """

    def __init__(self, names: Names, lane: str = "", outer: Writer | None = None) -> None:
        self.names, self.helpers = names, names.helpers
        self.lane, self.outer = lane, outer
        self.lines: list[str] = []
        self._known: list[dict[Node, str]] = [{}]
        self._uses: dict[Node, int] = {}
        self._counters: dict[Node, bool] = {} if outer is None else outer._counters
        self._nonnegatives: dict[Node, bool] = {} if outer is None else outer._nonnegatives

    def write(self, root: e.Expr) -> str:
        """``root`` as a C expression, to be used at most once, after ``lines``."""
        for node in postorder(root):
            for child in node.children():
                self._uses[child] = self._uses.get(child, 0) + 1
        return self._write(root)

    def write_short(self, root: e.Expr) -> str:
        """``root`` as a name or constant, which may be used repeatedly, after ``lines``."""
        text = self.write(root)
        if isinstance(root, (e.Const, e.Var)) or text.isidentifier():
            return text
        return self._declare(root, text)

    def is_nonnegative(self, written: e.Expr) -> bool:
        """Whether ``written`` is known to be at least 0."""
        return self._nonnegatives.get(written, False)

    def is_counter(self, written: e.Expr) -> bool:
        """Whether ``written`` is arithmetic with loop variables, sizes and constants."""
        return self._counters.get(written, False)

    # -- order

    def _write(self, root: e.Expr) -> str:
        for node in self._order(root):
            if self._is_same_in_all_lanes(node) and self.outer is not None:
                self._known[-1][node] = self.outer.write_short(node)
                continue
            self._learn(node)
            text = self._text(node)
            leaf = isinstance(node, (e.Const, e.Var))
            if not leaf and (self._uses.get(node, 0) > 1 or len(text) > _LONGEST) and not text.isidentifier():
                text = self._declare(node, text)
            self._known[-1][node] = text
        return self._find(root)

    def _order(self, root: e.Expr) -> Iterator[e.Expr]:
        """The nodes of ``root`` that are not written yet, children first; without lazy branches."""
        stack: list[tuple[e.Expr, bool]] = [(root, False)]
        seen: set[e.Expr] = set()
        while stack:
            node, ready = stack.pop()
            if ready:
                yield node
                continue
            if node in seen or any(node in known for known in self._known):
                continue
            seen.add(node)
            stack.append((node, True))
            if self._is_same_in_all_lanes(node):
                continue
            children = tuple(node.children())
            if isinstance(node, e.Call) and node.name in ("if_then_else", functions.EITHER):
                children = node.args[:1]
            elif isinstance(node, e.Call) and node.name == "address_of":
                children = tuple(node.args[0].children())
            stack.extend((child, False) for child in reversed(children))  # type: ignore[misc]

    def _is_same_in_all_lanes(self, node: e.Expr) -> bool:
        """Whether ``outer`` writes ``node``; not in a lazy branch, which must not be evaluated early."""
        return self.outer is not None and node.lanes == 1 and len(self._known) == 1

    def _find(self, node: e.Expr) -> str:
        for known in reversed(self._known):
            if node in known:
                return known[node]
        raise AssertionError("an expression is used before it is written")

    def _declare(self, node: e.Expr, text: str) -> str:
        name = self.names.temporary()
        counter = self._counters.get(node, False) and node.dtype == e.INDEX
        kind = self.names.index_type if counter else work_type(node.dtype)
        self.lines.append(f"const {kind} {name} = {strip(text)};")
        return name

    def _learn(self, node: e.Expr) -> None:
        """Record whether ``node`` is index arithmetic, which never overflows, and whether it is >= 0."""
        parts = [c for c in node.children() if isinstance(c, e.Expr)]
        match node:
            case e.Const():
                counter, nonnegative = True, node.value >= 0
            case e.Var():
                counter, nonnegative = self.names.is_counter(node), self.names.is_nonnegative(node)
            case (
                e.Add() | e.Mul() | e.FloorDiv() | e.FloorMod() | e.Min() | e.Max() | e.Ramp() | e.Broadcast()
            ):
                counter = all(self._counters.get(p, False) for p in parts)
                nonnegative = all(self._nonnegatives.get(p, False) for p in parts)
            case e.Sub() | e.TruncDiv() | e.TruncMod() | e.Select():
                counter, nonnegative = all(self._counters.get(p, False) for p in parts), False
            case _:
                counter, nonnegative = node.dtype == "bool", False
        self._counters[node] = counter and node.dtype in (e.INDEX, "bool")
        self._nonnegatives[node] = nonnegative

    # -- one node

    def _text(self, node: e.Expr) -> str:
        match node:
            case e.Const():
                return self._constant(node)
            case e.Var():
                name = self.names.variable(node)
                return f"{name}[{self.lane}]" if node.lanes > 1 else name
            case e.And(a=a, b=b):
                return f"({self._find(a)} && {self._find(b)})"
            case e.Or(a=a, b=b):
                return f"({self._find(a)} || {self._find(b)})"
            case e.Not(a=a):
                return f"(!{self._find(a)})"
            case e.Compare():
                return self._compare(node)
            case e.Binary():
                return self._binary(node)
            case e.Select(condition=c, a=a, b=b):
                return self._choice(self._find(c), self._find(a), self._find(b), node.dtype)
            case e.Cast(value=value):
                return self._cast(self._find(value), value.dtype, node.dtype)
            case e.Broadcast(value=value):
                return self._find(value)
            case e.Ramp(base=base, stride=stride):
                return self._ramp(node, base, stride)
            case ir.Load():
                return self._load(node)
            case e.Foreign():
                return self._foreign(node)
            case e.Call():
                return self._call(node)
        raise AssertionError(f"{type(node).__name__} does not belong in legal loop IR")

    def _constant(self, node: e.Const) -> str:
        if not dtypes.is_float(node.dtype):
            return int_literal(int(node.value), node.dtype)
        text = float_literal(float(node.value), node.dtype)
        if text is not None:
            return text
        kind = "float64" if node.dtype == "float64" else "float32"
        return f"{self.helpers.name('from_bits', kind)}({float_bits(float(node.value), kind)})"

    def _compare(self, node: e.Compare) -> str:
        a, b = node.a, node.b
        if dtypes.is_unsigned(a.dtype) and isinstance(node, (e.Less, e.LessEqual)):
            if isinstance(node, e.Less) and e.is_const(b, 0):
                return "0"  # an unsigned int is never below 0, and compilers warn of the comparison
            if isinstance(node, e.LessEqual) and e.is_const(a, 0):
                return "1"
        as_int = "(int)" if a.dtype == "bool" else ""
        return f"({as_int}{self._find(a)} {COMPARE[type(node)]} {as_int}{self._find(b)})"

    def _binary(self, node: e.Binary) -> str:
        a, b, kind = self._find(node.a), self._find(node.b), type(node)
        if kind in _DIVIDE:
            return self._divide(node, a, b)
        if kind in (e.Min, e.Max):
            if node.dtype == "bool":
                return f"({a} {'&&' if kind is e.Min else '||'} {b})"
            dtype = "float32" if node.dtype in HALVES else self._index_dtype(node)
            return f"{self.helpers.name(kind.__name__.lower(), dtype)}({strip(a)}, {strip(b)})"
        both = isinstance(node.a, e.Const) and isinstance(node.b, e.Const)
        return self._arith(ARITH[kind], node.dtype, a, b, self._counters[node] and not both)

    def _arith(self, symbol: str, dtype: str, a: str, b: str, cannot_overflow: bool) -> str:
        if dtypes.is_float(dtype):
            text = f"({a} {symbol} {b})"
            return f"{self.helpers.name('round', dtype)}{text}" if dtype in HALVES else text
        if cannot_overflow or dtype in ("uint32", "uint64"):
            return f"({a} {symbol} {b})"
        if dtypes.bits(dtype) < 32:  # in int, or unsigned, where even uint16 * uint16 fits
            wide = "(uint32_t)" if dtype == "uint16" else ""
            return f"(({work_type(dtype)})({wide}{a} {symbol} {wide}{b}))"
        raw = unsigned_type(dtype)
        return f"(({work_type(dtype)})(({raw}){a} {symbol} ({raw}){b}))"

    def _divide(self, node: e.Binary, a: str, b: str) -> str:
        if dtypes.is_float(node.dtype):
            return self._library("fmod", node.dtype, [a, b])
        divisor = node.b.value if isinstance(node.b, e.Broadcast) else node.b
        if isinstance(divisor, e.Const) and divisor.value > 0 and self._nonnegatives.get(node.a):
            symbol = "/" if isinstance(node, (e.FloorDiv, e.TruncDiv)) else "%"
            return self._narrow(f"({a} {symbol} {b})", node.dtype)
        return f"{self.helpers.name(_DIVIDE[type(node)], self._index_dtype(node))}({strip(a)}, {strip(b)})"

    def _index_dtype(self, node: e.Expr) -> str:
        """The dtype in which ``node`` is computed: arithmetic with loop variables has their type."""
        narrow = self._counters.get(node, False) and self.names.index_type == "int32_t"
        return "int32" if narrow and node.dtype == e.INDEX else node.dtype

    def _narrow(self, text: str, dtype: str) -> str:
        """``text``, which C computes in int, cast back to its narrower type."""
        narrow = dtypes.is_int(dtype) and dtypes.bits(dtype) < 32
        return f"(({work_type(dtype)}){text})" if narrow else text

    def _choice(self, condition: str, then: str, otherwise: str, dtype: str) -> str:
        """A ternary; if both values have the same text, just that, as source checkers warn of it."""
        if then == otherwise:
            return then
        return self._narrow(f"({condition} ? {then} : {otherwise})", dtype)

    def _ramp(self, node: e.Ramp, base: e.Expr, stride: e.Expr) -> str:
        plain = node.dtype == e.INDEX
        lane = self.lane if plain else f"({work_type(node.dtype)}){self.lane}"
        step = (
            lane if e.is_const(stride, 1) else self._arith("*", node.dtype, lane, self._find(stride), plain)
        )
        if e.is_const(base, 0):
            return step if step.startswith("(") or plain else f"({step})"
        return self._arith("+", node.dtype, self._find(base), step, plain)

    def _load(self, node: ir.Load) -> str:
        element = self.names.element(node.buffer, strip(self._find(node.indices[0])))
        text = self.from_memory(element, node.dtype)
        if node.predicate is None:
            return text
        return self._narrow(f"({self._find(node.predicate)} ? {text} : 0)", node.dtype)

    def from_memory(self, element: str, dtype: str) -> str:
        """The value, in its ``work_type``, of an element in memory."""
        if dtype in HALVES:
            return f"{self.helpers.name('load', dtype)}({element})"
        return f"({element} != 0)" if dtype == "bool" else element

    def to_memory(self, value: str, dtype: str) -> str:
        """The text to store for ``value``, which is in its ``work_type``."""
        return f"{self.helpers.name('store', dtype)}({strip(value)})" if dtype in HALVES else strip(value)

    # -- conversions and calls

    def _cast(self, value: str, source: str, to: str) -> str:
        if source == to:
            return value
        if to == "bool":
            return f"({value} != 0)"
        if to in HALVES:
            wide = self._cast(value, source, "float32") if source != "float64" else ""
            wide = wide or f"{self.helpers.name('odd', 'float64')}({strip(value)})"
            return f"{self.helpers.name('round', to)}({strip(wide)})"
        if source in HALVES:
            source = "float32"
            if to == source:
                return value
        if dtypes.is_float(source) and dtypes.is_int(to):
            return f"{self.helpers.name('to', source, to)}({strip(value)})"
        return f"(({work_type(to)}){value})"

    def _call(self, node: e.Call) -> str:
        if _is_lazy(node):
            return self._either(node)
        if node.name == "address_of":
            load = node.args[0]
            assert isinstance(load, ir.Load), "an address is that of a load"
            return f"&{self.names.element(load.buffer, strip(self._find(load.indices[0])))}"
        if node.name == functions.EITHER:
            return self._find(node.args[0])
        args, dtype = [self._find(a) for a in node.args], node.args[0].dtype
        work = "float32" if dtype in HALVES else dtype
        match node.name:
            case "likely" | "fits_int32":
                return args[0]
            case name if name == ROUND_TO:
                return f"{self.helpers.name('round_to', node.dtype)}({', '.join(map(strip, args))})"
            case "reinterpret":
                return self._reinterpret(args[0], dtype, node.dtype)
            case "isnan":
                short = args[0] if args[0].isidentifier() else self._declare(node.args[0], args[0])
                return f"({short} != {short})"
            case name if name in _HELPERS:
                exact = dtype if name not in ("isinf", "isfinite") else work
                return f"{self.helpers.name(_HELPERS[name], exact)}({', '.join(map(strip, args))})"
            case "bitwise_not":
                return f"(!{args[0]})" if dtype == "bool" else self._narrow(f"(~{args[0]})", dtype)
            case name if name in BITWISE:
                if dtype == "bool":
                    return f"(({args[0]} != 0) {BITWISE[name]} ({args[1]} != 0))"
                return self._narrow(f"({args[0]} {BITWISE[name]} {args[1]})", dtype)
            case "abs" if not dtypes.is_float(dtype):
                signed = dtype in dtypes.SIGNED
                return f"{self.helpers.name('abs', dtype)}({strip(args[0])})" if signed else args[0]
        return self._library(node.name, dtype, args)

    def _foreign(self, node: e.Foreign) -> str:
        return extern_calls.call(self.names, node, [strip(self._find(a)) for a in node.args])

    def _library(self, name: str, dtype: str, args: list[str]) -> str:
        if name not in _LIBM or not dtypes.is_float(dtype):
            raise UnsupportedError(f"intrinsic {name!r} of {dtype} has no form in C")
        self.helpers.libm = True
        suffix = "" if dtype == "float64" else "f"
        text = f"{_LIBM[name]}{suffix}({', '.join(map(strip, args))})"
        if dtype in HALVES and name not in _EXACT:
            return f"{self.helpers.name('round', dtype)}({text})"
        return text

    def _reinterpret(self, value: str, source: str, to: str) -> str:
        if source in HALVES:
            raw = f"{self.helpers.name('store', source)}({strip(value)})"
        elif dtypes.is_float(source):
            raw = f"{self.helpers.name('bits', source)}({strip(value)})"
        else:
            raw = value
        if to in HALVES:
            return f"{self.helpers.name('load', to)}((uint16_t){raw})"
        if dtypes.is_float(to):
            return f"{self.helpers.name('from_bits', to)}(({unsigned_type(to)}){raw})"
        return f"({raw} != 0)" if to == "bool" else f"(({work_type(to)}){raw})"

    def _either(self, node: e.Call) -> str:
        """Evaluate only one side: by a ternary, or by an if statement if a side needs temporaries."""
        condition, before = self._find(node.args[0]), self.lines
        sides: list[tuple[list[str], str]] = []
        for side in node.args[1:]:
            self.lines = []
            self._known.append({})
            text = self._write(side)
            self._known.pop()
            sides.append((self.lines, text))
        self.lines = before
        (then_lines, then), (else_lines, otherwise) = sides
        if not then_lines and not else_lines:
            return self._choice(condition, then, otherwise, node.dtype)
        name = self.names.temporary()
        self.lines.append(f"{work_type(node.dtype)} {name};")
        self.lines.append(f"if ({strip(condition)}) {{")
        self.lines += [*(f"    {line}" for line in then_lines), f"    {name} = {strip(then)};", "} else {"]
        self.lines += [*(f"    {line}" for line in else_lines), f"    {name} = {strip(otherwise)};", "}"]
        return name


def _is_lazy(node: Node) -> bool:
    return isinstance(node, e.Call) and node.name == "if_then_else"


def strip(text: str) -> str:
    """``text`` without parentheses that enclose all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text
