"""Random scalar expressions, as text of a known dtype."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tvmlite.core import dtype as dtypes

_UNARY_FLOAT = (
    *("te.floor({0})", "te.ceil({0})", "te.round({0})", "te.trunc({0})", "te.abs({0})", "(-{0})"),
    *("te.exp({0})", "te.tanh({0})", "te.sigmoid({0})", "te.erf({0})", "te.sin({0})", "te.cos({0})"),
    *("te.sqrt(te.abs({0}))", "te.sqrt({0})", "te.rsqrt({0})", "te.log({0})", "te.log(te.abs({0}) + 1.0)"),
    *("te.atan({0})", "te.log2({0})", "te.log10({0})", "te.sinh({0})", "te.cosh({0})", "te.asinh({0})"),
    *("te.acosh({0})", "te.atanh({0})", "te.asin({0})", "te.acos({0})", "te.tan({0})"),
)
_BINARY_FLOAT = (
    *("({0} + {1})", "({0} + {1})", "({0} - {1})", "({0} - {1})", "({0} * {1})", "({0} * {1})"),
    *("({0} / {1})", "te.max({0}, {1})", "te.min({0}, {1})", "te.copysign({0}, {1})"),
    *("te.power({0}, {1})", "te.fmod({0}, {1})", "te.atan2({0}, {1})"),
)
_UNARY_INT = ("te.abs({0})", "(-{0})", "(~{0})", "te.popcount({0})", "te.clz({0})")
_BINARY_INT = (
    *("({0} + {1})", "({0} + {1})", "({0} - {1})", "({0} * {1})", "te.max({0}, {1})", "te.min({0}, {1})"),
    *("({0} // {1})", "({0} % {1})", "te.truncdiv({0}, {1})", "te.truncmod({0}, {1})"),
    *("({0} & {1})", "({0} | {1})", "({0} ^ {1})", "({0} << {1})", "({0} >> {1})"),
)
_COMPARE = ("({0} < {1})", "({0} <= {1})", "({0} > {1})", "({0} >= {1})", "({0} == {1})", "({0} != {1})")


@dataclass(frozen=True)
class Text:
    """An expression; ``index`` is whether it consists of axes and constants only: such index arithmetic
    must not overflow."""

    text: str
    index: bool = False


@dataclass(frozen=True)
class Leaf:
    """An operand of expressions: an element of a tensor."""

    text: str
    dtype: str


class Expressions:
    """Random expressions over ``leaves`` and ``axes`` (their names)."""

    def __init__(self, rnd: random.Random, leaves: Sequence[Leaf], axes: Sequence[str]) -> None:
        self.rnd, self.leaves, self.axes = rnd, list(leaves), list(axes)

    def value(self, dtype: str, depth: int) -> str:
        """Return an expression of ``dtype``, about ``depth`` operations deep."""
        return self._value(dtype, depth).text

    def condition(self, depth: int) -> str:
        """Return a bool expression."""
        return self._bool(depth).text

    def _value(self, dtype: str, depth: int) -> Text:
        if depth <= 0 or self.rnd.random() < 0.15:
            return self._leaf(dtype)
        if dtype == "bool":
            return self._bool(depth)
        rules: list[tuple[int, Callable[[str, int], Text]]] = [
            (6, self._binary),
            (3, self._unary),
            (2, self._choice),
            (1, self._fold_of_cast),
        ]
        if dtype in ("float32", "float64"):
            rules.append((1, self._fma))
        if dtype in ("int32", "uint32", "float32", "int64", "float64", "int16", "uint16"):
            rules.append((1, self._reinterpret))
        weights, makers = zip(*rules, strict=True)
        return self.rnd.choices(makers, weights)[0](dtype, depth)

    def _leaf(self, dtype: str) -> Text:
        same = [leaf for leaf in self.leaves if leaf.dtype == dtype]
        choice = self.rnd.random()
        if same and choice < 0.75:
            return Text(self.rnd.choice(same).text)
        if self.leaves and choice < 0.85:
            leaf = self.rnd.choice(self.leaves)
            return Text(leaf.text if leaf.dtype == dtype else f'{leaf.text}.astype("{dtype}")')
        if self.axes and choice < 0.93 and dtype != "bool":
            return self._axis(dtype)
        return Text(self._constant(dtype), True)

    def _axis(self, dtype: str) -> Text:
        axis = self.rnd.choice(self.axes)
        text = self.rnd.choice((axis, axis, f"({axis} * 3 - 2)", f"({axis} % 3)", f"({axis} // 2)"))
        if dtype == "int32" and self.rnd.random() < 0.6:
            return Text(text, True)
        return Text(f'{text}.astype("{dtype}")', dtype == "int64")

    def _constant(self, dtype: str) -> str:
        if dtype == "bool":
            return f"te.const({self.rnd.random() < 0.5})"
        if dtypes.is_float(dtype):
            return f'te.const({self.rnd.choice((0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 1.1, 100.0))}, "{dtype}")'
        low, high = dtypes.limits(dtype)
        choices = [0, 1, 2, 3, 5, 7, 8, 16, 100, int(high), int(low)]
        choices += [] if dtypes.is_unsigned(dtype) else [-1, -2, -3, -7]
        return f'te.const({self.rnd.choice(choices)}, "{dtype}")'

    def _opaque(self, dtype: str, part: Text) -> str:
        """Return ``part`` as an operand that wraps, so that it is not index arithmetic."""
        return f'{part.text}.astype("int16").astype("{dtype}")' if part.index else part.text

    def _binary(self, dtype: str, depth: int) -> Text:
        if dtypes.is_float(dtype):
            a, b = self._value(dtype, depth - 1), self._value(dtype, depth - self.rnd.randint(1, 2))
            return Text(self.rnd.choice(_BINARY_FLOAT).format(a.text, b.text))
        form = self.rnd.choice(_BINARY_INT)
        a = self._value(dtype, depth - 1)
        b = self._value(dtype, depth - 1)
        if "<<" in form or ">>" in form:
            b = Text(f'te.const({self.rnd.randint(0, dtypes.bits(dtype))}, "{dtype}")') if depth % 2 else b
        elif self.rnd.random() < 0.3:
            b = Text(self._constant(dtype), True)
        return Text(form.format(self._opaque(dtype, a), b.text))

    def _unary(self, dtype: str, depth: int) -> Text:
        forms = _UNARY_FLOAT if dtypes.is_float(dtype) else _UNARY_INT
        return Text(self.rnd.choice(forms).format(self._opaque(dtype, self._value(dtype, depth - 1))))

    def _choice(self, dtype: str, depth: int) -> Text:
        name = self.rnd.choice(("te.select", "te.if_then_else"))
        a, b = self._value(dtype, depth - 1), self._value(dtype, depth - 1)
        return Text(
            f"{name}({self._bool(depth - 1).text}, {self._opaque(dtype, a)}, {self._opaque(dtype, b)})"
        )

    def _fold_of_cast(self, dtype: str, depth: int) -> Text:
        other = self.rnd.choice([d for d in dtypes.ALL if d != dtype])
        inner = self._value(other, depth - 1)
        return Text(f'{self._opaque(other, inner) if other != "bool" else inner.text}.astype("{dtype}")')

    def _fma(self, dtype: str, depth: int) -> Text:
        parts = [self._value(dtype, depth - 1).text for _ in range(3)]
        return Text(f"te.fma({', '.join(parts)})")

    def _reinterpret(self, dtype: str, depth: int) -> Text:
        width = dtypes.bits(dtype)
        others = [d for d in dtypes.ALL if d not in (dtype, "bool") and dtypes.bits(d) == width]
        other = self.rnd.choice(others)
        inner = self._value(other, depth - 1)
        return Text(f'te.reinterpret("{dtype}", {self._opaque(other, inner)})')

    def _bool(self, depth: int) -> Text:
        choice = self.rnd.random()
        if depth > 1 and choice < 0.2:
            name = self.rnd.choice(("te.all", "te.any"))
            return Text(f"{name}({self._bool(depth - 1).text}, {self._bool(depth - 1).text})")
        kinds = [leaf.dtype for leaf in self.leaves if leaf.dtype != "bool"] or ["int32"]
        dtype = self.rnd.choice(kinds)
        if dtypes.is_float(dtype) and choice < 0.3:
            name = self.rnd.choice(("isnan", "isinf", "isfinite"))
            return Text(f"te.{name}({self._value(dtype, depth - 1).text})")
        if self.axes and choice < 0.5:
            axis = self.rnd.choice(self.axes)
            return Text(self.rnd.choice(_COMPARE).format(axis, self.rnd.choice((0, 1, 2, 3, 5, 8))))
        a, b = self._value(dtype, depth - 1), self._value(dtype, depth - 1)
        return Text(self.rnd.choice(_COMPARE).format(self._opaque(dtype, a), b.text))
