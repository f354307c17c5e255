"""Generation of vector arithmetic with the vector types of GCC and Clang, in place of loops over lanes.

Compilers keep such vectors in registers, including an unrolled tile of accumulators, which they seldom do for
loops over lanes, and they need not analyse these loops. A vector of bools is a *mask* here: ints of the width
of the compared elements, with all bits set where the comparison holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import copysign

from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.te.codegen import contraction
from tvmlite.te.codegen.c import x86
from tvmlite.te.codegen.c.expr import ARITH, BITWISE, COMPARE, Names, Writer, strip
from tvmlite.te.codegen.c.text import FUSES, HALVES, SUFFIX, memory_type, multiply_add, work_type
from tvmlite.te.codegen.c.vector_forms import can_write, parts, shift_count, vectors
from tvmlite.te.codegen.math import functions
from tvmlite.te.loop import ir

__all__ = ["CONDITION", "VectorWriter", "can_write", "is_dense"]

CONDITION = "TL_VECTORS"
"""The macro that is 1 if these types exist."""

_LONGEST = 100
"""The most characters of an expression that is not made a temporary."""


def is_dense(index: e.Expr) -> bool:
    """Whether ``index`` is that of contiguous elements."""
    return isinstance(index, e.Ramp) and e.is_const(index.stride, 1)


@dataclass(frozen=True)
class _Text:
    """The C text of a node: ``scalar`` if it is uniform; ``mask`` is the width of a mask's elements.

    ``lanes`` is given if it differs from the writer's."""

    text: str
    dtype: str
    scalar: bool = False
    mask: int = 0
    lanes: int = 0


class VectorWriter:
    """Writes vectors of ``lanes`` elements of ``dtype``; ``scalars`` writes uniform values."""

    def __init__(self, names: Names, dtype: str, lanes: int) -> None:
        self.names, self.dtype, self.lanes = names, dtype, lanes
        self.scalars = Writer(names)
        self.typedefs: list[str] = []
        self.includes: dict[str, None] = {}
        self._texts: dict[object, _Text] = {}
        self._uses: dict[object, int] = {}
        self._lazy: set[object] = set()
        self.type = self.type_of(dtype)

    @property
    def lines(self) -> list[str]:
        """The declarations that must precede the written vectors."""
        return self.scalars.lines

    def type_of(self, dtype: str, lanes: int = 0) -> str:
        """The name of the type of vectors of ``dtype`` in memory."""
        lanes = lanes or self.lanes
        raw = "uint16" if dtype in HALVES else "uint8" if dtype == "bool" else dtype
        name, size = f"tl_{SUFFIX[raw]}x{lanes}", dtypes.bytes_of(raw)
        attributes = f"vector_size({size * lanes}), aligned({size}), may_alias"
        self.typedefs.append(f"typedef {memory_type(raw)} {name} __attribute__(({attributes}));")
        return name

    def place(self, buffer: ir.Buffer, index: e.Expr, const: str = "") -> str:
        """The vector in memory at ``index``, for which ``is_dense`` holds."""
        assert isinstance(index, e.Ramp)
        element = f"{self.names.buffer(buffer)}[{strip(self.scalars.write(index.base))}]"
        return f"*({const}{self.type_of(buffer.dtype, index.lanes)} *)({const}void *)&{element}"

    def write(self, value: e.Expr) -> str:
        """``value``, for which ``can_write`` holds, as a vector of its type in memory."""
        nodes = vectors(value)
        for node in nodes:
            for child in parts(node):
                self._uses[child] = self._uses.get(child, 0) + 1
            if isinstance(node, e.Call) and node.name == "if_then_else":
                self._lazy.update(node.args[1:])
        made = self._write(value)
        if value.dtype == "bool":
            return f"__builtin_convertvector(({self._mask(made, 8)} & 1), {self.type_of('bool')})"
        return self._vector(made)

    def _write(self, root: e.Expr) -> _Text:
        for node in vectors(root, all_versions=False):
            if node in self._texts:
                continue
            made = self._text(node)
            wanted = self._uses.get(node, 0) > 1 or len(made.text) > _LONGEST
            if wanted and not made.scalar and node not in self._lazy:
                made = self._named(made)
            self._texts[node] = made
        return self._texts[root]

    # -- one node

    def _text(self, node: e.Expr) -> _Text:
        match node:
            case e.Const():
                return _Text(self.scalars.write(e.Const(node.value, node.dtype)), node.dtype, scalar=True)
            case e.Broadcast(value=value):
                return _Text(self._same_in_all_lanes(value), node.dtype, scalar=True)
            case e.Var():
                text = f"(*(const {self.type_of(node.dtype)} *)(const void *){self.names.variable(node)})"
                return self._from_memory(text, node.dtype)
            case ir.Load():
                text = f"({self.place(node.buffer, node.indices[0], 'const ')})"
                made = self._from_memory(text, node.dtype)
                return replace(made, lanes=node.lanes)
            case e.Compare():
                return self._compare(node)
            case e.And(a, b) | e.Or(a, b):
                return self._both("&" if isinstance(node, e.And) else "|", a, b)
            case e.Not(a):
                return self._inverse(self._texts[a])
            case e.Min() | e.Max():
                return self._extreme(node)
            case e.Binary():
                return self._arith(node)
            case e.Select(condition, a, b):
                return self._select(condition, a, b)
            case e.Cast(value=value):
                return self._cast(self._texts[value], node.dtype)
            case e.Foreign():
                return self._foreign(node)
            case e.Call(functions.EITHER):
                return self._either(node)
            case e.Call():
                return self._call(node)
        raise AssertionError(f"{type(node).__name__} has no form as a vector")

    def _same_in_all_lanes(self, value: e.Expr) -> str:
        if not isinstance(value, e.Foreign) or value.kind != "bits":
            return self.scalars.write_short(value)
        load = value.args[0]  # several elements read as one number
        assert isinstance(load, ir.Load)
        assert isinstance(load.indices[0], e.Ramp)
        name, element = f"tl_{SUFFIX[value.dtype]}_bytes", work_type(value.dtype)
        self.typedefs.append(f"typedef {element} {name} __attribute__((aligned(1), may_alias));")
        place = strip(self.scalars.write(load.indices[0].base))
        return f"(*(const {name} *)(const void *)&{self.names.buffer(load.buffer)}[{place}])"

    def _from_memory(self, text: str, dtype: str) -> _Text:
        return _Text(f"({text} != 0)", "bool", mask=8) if dtype == "bool" else _Text(text, dtype)

    def _arith(self, node: e.Binary) -> _Text:
        a, b, symbol = self._texts[node.a], self._texts[node.b], ARITH[type(node)]
        if dtypes.is_float(node.dtype):
            return _Text(f"({a.text} {symbol} {b.text})", node.dtype, a.scalar and b.scalar)
        return _Text(self._wrapping(self._vector(a), symbol, self._vector(b), node.dtype), node.dtype)

    def _wrapping(self, a: str, symbol: str, b: str, dtype: str) -> str:
        """An operation of ints, computed in unsigned ones, which wrap."""
        if dtypes.is_unsigned(dtype):
            return f"({a} {symbol} {b})"
        raw = self.type_of(f"u{dtype}")
        return f"(({self.type_of(dtype)})(({raw}){a} {symbol} ({raw}){b}))"

    def _compare(self, node: e.Compare) -> _Text:
        a, b = self._texts[node.a], self._texts[node.b]
        if node.a.dtype == "bool":
            bits = max(a.mask, b.mask, 8)
            ordered = isinstance(node, (e.Less, e.LessEqual))  # true is -1 in a mask
            one, other = (self._mask(x, bits) for x in ((b, a) if ordered else (a, b)))
            return _Text(f"({one} {COMPARE[type(node)]} {other})", "bool", mask=bits)
        return self._compared(self._vector(a), COMPARE[type(node)], b, node.a.dtype)

    def _compared(self, a: str, symbol: str, b: _Text, dtype: str) -> _Text:
        bits = dtypes.bits(dtype)
        other = b.text if dtypes.is_float(dtype) else self._vector(b)
        return _Text(f"(({self.type_of(f'int{bits}')})({a} {symbol} {other}))", "bool", mask=bits)

    def _both(self, symbol: str, a: e.Expr, b: e.Expr) -> _Text:
        one, other = self._texts[a], self._texts[b]
        bits = max(one.mask, other.mask, 8)
        return _Text(f"({self._mask(one, bits)} {symbol} {self._mask(other, bits)})", "bool", mask=bits)

    def _inverse(self, mask: _Text) -> _Text:
        bits = mask.mask or 8
        return _Text(f"(~{self._mask(mask, bits)})", "bool", mask=bits)

    def _extreme(self, node: e.Min | e.Max) -> _Text:
        """The first operand (also if it is NaN) unless the second is as good or NaN."""
        a, b = self._named(self._texts[node.a], vector=True), self._texts[node.b]
        is_number = isinstance(node.b, e.Const) and node.b.value == node.b.value
        if not is_number:
            b = self._named(b, vector=True)
        if node.dtype == "float32" and self.lanes in x86.SCALED_LANES and not is_number:
            return self._extreme_by_instruction(node, a, b)
        return self._extreme_by_comparison(node, a, b, is_number)

    def _extreme_by_instruction(self, node: e.Min | e.Max, a: _Text, b: _Text) -> _Text:
        """The operation in two versions; the instruction gives the second operand if either is NaN."""
        name, asked = self.names.temporary(), x86.condition(x86.mask_needs(self.lanes))
        self.includes[asked] = None
        kind = self.type_of(node.dtype)
        self.lines.extend([f"{kind} {name};", f"#if {asked}"])
        form = x86.extreme(self.lanes, isinstance(node, e.Max), a.text, b.text)
        made = self._named(_Text(f"({kind}){form}", node.dtype))
        nan = self._compared(a.text, "!=", a, node.dtype)
        self.lines.append(f"{name} = {strip(self._blend(nan, a.text, made.text, node.dtype).text)};")
        self.lines.append("#else")
        made = self._extreme_by_comparison(node, a, b, is_number=False)
        self.lines.extend([f"{name} = {strip(made.text)};", "#endif"])
        return _Text(name, node.dtype)

    def _extreme_by_comparison(self, node: e.Min | e.Max, a: _Text, b: _Text, is_number: bool) -> _Text:
        as_good = self._compared(a.text, "<=" if isinstance(node, e.Max) else ">=", b, node.dtype)
        takes_a = self._inverse(as_good)
        if dtypes.is_float(node.dtype) and not is_number:
            number = self._compared(b.text, "==", b, node.dtype)
            takes_a = replace(takes_a, text=f"({takes_a.text} & {number.text})")
        return self._blend(takes_a, a.text, self._vector(b), node.dtype)

    def _select(self, condition: e.Expr, a: e.Expr, b: e.Expr) -> _Text:
        one, other = self._texts[a], self._texts[b]
        if a.dtype != "bool":
            return self._blend(self._texts[condition], self._vector(one), self._vector(other), a.dtype)
        bits = max(one.mask, other.mask, 8)
        return self._blend(
            self._texts[condition], self._mask(one, bits), self._mask(other, bits), f"int{bits}", bits
        )

    def _blend(self, condition: _Text, a: str, b: str, dtype: str, mask: int = 0) -> _Text:
        """``a`` where ``condition`` holds, else ``b``."""
        bits = dtypes.bits(dtype)
        whole, type_ = self.type_of(f"int{bits}"), self.type_of(dtype)
        chosen = self._named(_Text(self._mask(condition, bits), "bool", mask=bits)).text
        text = f"(({type_})((({whole}){a} & {chosen}) | (({whole}){b} & ~{chosen})))"
        return _Text(text, "bool" if mask else dtype, mask=mask)

    # -- conversions

    def _cast(self, value: _Text, to: str) -> _Text:
        source = value.dtype
        if source == to:
            return value
        if source == "bool":
            bits = dtypes.bits(to)
            return _Text(self._converted(f"({self._mask(value, bits)} & 1)", f"int{bits}", to), to)
        if to == "bool":
            zero = _Text(f"({self.type_of(source)}){{0}}", source)
            return self._compared(self._vector(value), "!=", zero, source)
        if dtypes.is_float(source) and dtypes.is_int(to):
            return self._saturated(self._named(value, vector=True), to)
        return _Text(self._converted(self._vector(value), source, to), to)

    def _converted(self, text: str, source: str, to: str) -> str:
        """A conversion as by ``__builtin_convertvector``: ints wrap."""
        same = dtypes.is_int(source) and dtypes.is_int(to) and dtypes.bits(source) == dtypes.bits(to)
        return (
            f"(({self.type_of(to)}){text})"
            if same
            else f"__builtin_convertvector({text}, {self.type_of(to)})"
        )

    def _saturated(self, x: _Text, to: str) -> _Text:
        """Floats converted to ints: truncated and saturated, 0 for NaN."""
        least, greatest = (int(limit) for limit in dtypes.limits(to))
        work = f"int{dtypes.bits(x.dtype)}"
        if dtypes.bits(to) < dtypes.bits(x.dtype):  # the limits are exact in the float type
            low, high = (_float(limit, x.dtype) for limit in (least, greatest))
            above = self._compared(x.text, ">", _Text(low, x.dtype, scalar=True), x.dtype)
            limited = self._named(self._blend(above, x.text, self._splat(low, x.dtype), x.dtype))
            below = self._compared(limited.text, "<", _Text(high, x.dtype, scalar=True), x.dtype)
            limited = self._blend(below, limited.text, self._splat(high, x.dtype), x.dtype)
            whole = self._converted(limited.text, x.dtype, work)
            if least != 0:
                whole = f"({whole} & {self._compared(x.text, '==', x, x.dtype).text})"
            return _Text(self._converted(whole, work, to), to)
        bound = 2.0 ** (dtypes.bits(to) - (least != 0))
        low, high = _float(least, x.dtype), _float(bound, x.dtype)
        under = self._named(self._compared(x.text, "<=", _Text(low, x.dtype, scalar=True), x.dtype)).text
        over = self._named(self._compared(x.text, ">=", _Text(high, x.dtype, scalar=True), x.dtype)).text
        numbers = self._compared(x.text, "==", x, x.dtype).text
        bits = f"({self.type_of(work)}){x.text} & ~({under} | {over}) & {numbers}"
        whole = self._converted(f"(({self.type_of(x.dtype)})({bits}))", x.dtype, to)
        if dtypes.bits(to) != dtypes.bits(x.dtype):
            wider = self.type_of(f"int{dtypes.bits(to)}")
            under, over = (f"__builtin_convertvector({m}, {wider})" for m in (under, over))
        type_, raw = self.type_of(to), [self._splat(self._literal(n, to), to) for n in (least, greatest)]
        return _Text(f"({whole} | ({raw[0]} & ({type_}){under}) | ({raw[1]} & ({type_}){over}))", to)

    # -- calls

    def _call(self, node: e.Call) -> _Text:
        args, dtype = [self._texts[a] for a in parts(node)], node.dtype
        bits = dtypes.bits(dtype) if dtype != "bool" else 0
        whole = self.type_of(f"int{bits}") if bits else ""
        match node.name:
            case "if_then_else":
                holds, type_ = self.scalars.write_short(node.args[0]), self.type_of(dtype)
                if self._is_padding(node):
                    return self._padded(node, holds)
                then, otherwise = (self._vector(arm) for arm in args)
                return _Text(f"({holds} ? ({type_}){then} : ({type_}){otherwise})", dtype)
            case contraction.MULTIPLY_ADD:
                a, b, c = (self._named(x, vector=True).text for x in args)
                return _Text(f"{self._multiply_add(dtype)}({a}, {b}, {c})", dtype)
            case functions.SCALE | functions.LIMIT:
                form = x86.scale if node.name == functions.SCALE else x86.limit
                a, b = (self._named(x, vector=True).text for x in args)
                return _Text(f"(({self.type_of(dtype)}){form(self.lanes, a, b)})", dtype)
            case "likely" | "fits_int32":
                return args[0]
            case "reinterpret":
                return _Text(f"(({self.type_of(dtype)}){self._vector(args[0])})", dtype)
            case "fabs" | "abs" if dtypes.is_float(dtype):
                kept = f"(({whole}){self._vector(args[0])} & {_magnitude(bits)})"
                return _Text(f"(({self.type_of(dtype)}){kept})", dtype)
            case "copysign":
                kept = f"(({whole}){self._vector(args[0])} & {_magnitude(bits)})"
                sign = f"(({whole}){self._vector(args[1])} & ~{_magnitude(bits)})"
                return _Text(f"(({self.type_of(dtype)})({kept} | {sign}))", dtype)
            case "round":
                return self._round(self._named(args[0], vector=True))
            case "isnan":
                x = self._named(args[0], vector=True)
                return self._compared(x.text, "!=", x, x.dtype)
            case "bitwise_not":
                return (
                    self._inverse(args[0]) if dtype == "bool" else _Text(f"(~{self._vector(args[0])})", dtype)
                )
            case name if name in BITWISE:
                if dtype == "bool":
                    return self._both(BITWISE[name], *node.args)
                return _Text(f"({self._vector(args[0])} {BITWISE[name]} {self._vector(args[1])})", dtype)
            case "shift_left":
                raw = self.type_of(f"uint{bits}")
                shifted = f"(({raw}){self._vector(args[0])} << {shift_count(node)})"
                return _Text(f"(({self.type_of(dtype)}){shifted})", dtype)
            case "shift_right":
                return _Text(f"({self._vector(args[0])} >> {shift_count(node)})", dtype)
        raise AssertionError(f"{node.name} has no form as a vector")

    def _multiply_add(self, dtype: str) -> str:
        """The name of the multiply-add macro: an x86 instruction, else lane by lane, else rounded twice."""
        type_, name = self.type_of(dtype), f"TL_MULTIPLY_ADD_{SUFFIX[dtype]}x{self.lanes}"
        lanes = (multiply_add(dtype, *(f"({x})[{n}]" for x in "abc")) for n in range(self.lanes))
        versions = [(FUSES, f"(({type_}){{{', '.join(lanes)}}})")]
        if form := x86.multiply_add(self.lanes, dtype, "a", "b", "c"):
            needs = x86.condition(form.needs)
            self.includes[needs] = None
            versions.insert(0, (needs, f"(({type_}){form.text})"))
        define = f"#define {name}(a, b, c)"
        texts = [f"#{'el' * (n > 0)}if {asked}\n{define} {text}" for n, (asked, text) in enumerate(versions)]
        self.typedefs.append("\n".join([*texts, f"#else\n{define} ((a) * (b) + (c))\n#endif"]))
        return name

    def _is_padding(self, node: e.Call) -> bool:
        """Whether ``node`` is a float32 vector load or else zeros, as wide as a register."""
        zero = node.args[2].value if isinstance(node.args[2], e.Broadcast) else node.args[2]
        return (
            isinstance(node.args[1], ir.Load)
            and (isinstance(zero, e.Const) and zero.value == 0 and copysign(1, zero.value) > 0)
            and node.dtype == "float32"
            and node.lanes in x86.SCALED_LANES
        )

    def _padded(self, node: e.Call, holds: str) -> _Text:
        """A padded load as a macro in two versions: without a branch if there are masks. Its address is then
        the array's own if nothing is to be read, as a load of no lanes is slow on an unmapped page."""
        load, type_ = node.args[1], self.type_of(node.dtype)
        assert isinstance(load, ir.Load)
        assert isinstance(load.indices[0], e.Ramp)
        name, asked = f"TL_PADDED_x{node.lanes}", x86.condition(x86.mask_needs(node.lanes))
        place = "(const void *)((array) + ((holds) ? (index) : 0))"
        masked = x86.padding(node.lanes, type_, "holds", place)
        branch = f"((holds) ? *(const {type_} *)(const void *)&(array)[index] : ({type_}){{0}})"
        define = f"#define {name}(holds, array, index)"
        self.typedefs.append(f"#if {asked}\n{define} {masked}\n#else\n{define} {branch}\n#endif")
        self.includes[asked] = None
        index = strip(self.scalars.write(load.indices[0].base))
        return _Text(f"{name}({holds}, {self.names.buffer(load.buffer)}, {index})", node.dtype)

    def _round(self, x: _Text) -> _Text:
        """``x`` rounded to nearest even, by adding and subtracting a number too large for fractions."""
        bits, type_ = dtypes.bits(x.dtype), self.type_of(x.dtype)
        whole, large = self.type_of(f"int{bits}"), _float(2.0 ** (23 if bits == 32 else 52), x.dtype)
        size = self._named(_Text(f"(({type_})(({whole}){x.text} & {_magnitude(bits)}))", x.dtype)).text
        small = self._compared(size, "<", _Text(large, x.dtype, scalar=True), x.dtype)
        made = self._blend(small, f"(({size} + {large}) - {large})", size, x.dtype)
        return _Text(
            f"(({type_})(({whole}){made.text} | (({whole}){x.text} & ~{_magnitude(bits)})))", x.dtype
        )

    def _either(self, node: e.Call) -> _Text:
        """An ``EITHER`` in two versions; its arguments are the plain form, that for AVX-512, the operand."""
        known, before = self._texts, self.lines
        type_, name = self.type_of(node.dtype), self.names.temporary()
        asked = x86.condition(x86.scaling_needs(self.lanes))
        self.includes[asked] = None
        made: list[list[str]] = []
        for version in (node.args[1], node.args[0]):
            self._texts, self.scalars.lines = dict(known), []
            text = strip(self._vector(self._write(version)))
            made.append([*self.lines, f"{name} = {text};"])
        self._texts, self.scalars.lines = known, before
        self.lines.extend([f"{type_} {name};", f"#if {asked}", *made[0], "#else", *made[1], "#endif"])
        return _Text(name, node.dtype)

    def _foreign(self, node: e.Foreign) -> _Text:
        args = [self._texts[a] for a in node.args]
        type_ = self.type_of(node.dtype, node.lanes)
        if node.kind == "bits":
            lanes = node.args[0].lanes
            return _Text(f"(({type_}){self._vector(args[0], lanes)})", node.dtype, lanes=node.lanes)
        values = [self._vector(t, a.lanes) for t, a in zip(args, node.args, strict=True)]
        return _Text(f"(({type_}){x86.call(node.name, values)})", node.dtype, lanes=node.lanes)

    # -- text

    def _vector(self, value: _Text, lanes: int = 0) -> str:
        """``value`` as a vector; a scalar is broadcast."""
        return self._splat(value.text, value.dtype, lanes) if value.scalar else value.text

    def _splat(self, text: str, dtype: str, lanes: int = 0) -> str:
        """A scalar broadcast to all lanes, for floats by subtracting 0, which keeps the sign of 0."""
        type_ = self.type_of(dtype, lanes)
        if dtypes.is_float(dtype):
            return f"({text} - ({type_}){{0}})"
        return f"(({type_}){{0}} + ({work_type(dtype)}){text})"

    def _mask(self, value: _Text, bits: int) -> str:
        """A vector of bools as a mask with elements of ``bits`` bits."""
        type_ = self.type_of(f"int{bits}")
        if value.scalar:
            return f"(({type_}){{0}} - (int{bits}_t){value.text})"
        return value.text if value.mask == bits else f"__builtin_convertvector({value.text}, {type_})"

    def _literal(self, value: int, dtype: str) -> str:
        return self.scalars.write(e.Const(value, dtype))

    def _named(self, value: _Text, vector: bool = False) -> _Text:
        """``value`` as a name, broadcast first if it is a scalar and ``vector`` is set."""
        text = self._vector(value) if vector else value.text
        if text.isidentifier():
            return _Text(text, value.dtype, mask=value.mask)
        name, dtype = self.names.temporary(), f"int{value.mask}" if value.mask else value.dtype
        self.lines.append(f"const {self.type_of(dtype, value.lanes)} {name} = {strip(text)};")
        return _Text(name, value.dtype, mask=value.mask, lanes=value.lanes)


def _magnitude(bits: int) -> str:
    """The mask of all bits except the sign bit."""
    return "0x7fffffff" if bits == 32 else "INT64_C(0x7fffffffffffffff)"


def _float(value: float, dtype: str) -> str:
    text = repr(float(value)) + ("" if dtype == "float64" else "f")
    return f"({text})" if value < 0 else text
