"""Reads the leaves of Relay text: types, dimension expressions, attributes and constants."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError
from tvmlite.relay.ir.dims import NAMED_BINARY, PRECEDENCE, Dim, dim
from tvmlite.relay.ir.nodes import Constant
from tvmlite.relay.ir.types import FuncType, TensorType, TupleType, Type
from tvmlite.relay.text import literals
from tvmlite.relay.text.lexer import Lexer, Token
from tvmlite.te import expr as te

MAX_NESTING = 100
"""The maximum nesting depth of parentheses, brackets and calls in an expression."""

_BINARY: dict[str, type[te.Binary]] = {
    "or": te.Or, "and": te.And, "==": te.Equal, "!=": te.NotEqual, "<": te.Less, "<=": te.LessEqual,
    "+": te.Add, "-": te.Sub, "*": te.Mul, "//": te.FloorDiv, "%": te.FloorMod,
}  # fmt: skip

_DTYPES = {suffix: dtype for dtype, suffix in literals.SUFFIXES.items()} | {
    "f32": "float32",
    "i": "int32",
    "u": "uint32",
}


Read = TypeVar("Read", bound=Callable[..., Any])


def limited_nesting(read: Read) -> Read:
    """Decorate a method that reads nested text: raise a ParseError if the nesting is too deep."""

    @functools.wraps(read)
    def limited(self: ValueReader, *given: Any) -> Any:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.lexer.fail(f"an expression nested deeper than {MAX_NESTING} levels")
        made = read(self, *given)
        self.depth -= 1
        return made

    return limited  # type: ignore[return-value]


class ValueReader:
    """Reads the leaves of the grammar; ``metadata`` has the large constants in the text."""

    lexer_class: type[Lexer] = Lexer

    def __init__(self, text: str, source: str, metadata: Mapping[str, Constant]) -> None:
        self.lexer = self.lexer_class(text, source)
        self._metadata = metadata
        self.depth = 0

    # --- types ---

    @limited_nesting
    def type(self) -> Type:
        """Read ``Tensor[(1, h), float32]``, a dtype alone for a scalar, ``(A, B)``, or ``fn (A) -> B``."""
        lexer = self.lexer
        if lexer.accept("Tensor"):
            lexer.expect("[")
            shape = self.shape()
            lexer.expect(",")
            dtype = self.dtype()
            lexer.expect("]")
            return TensorType(shape, dtype)
        if lexer.accept("fn"):
            params = self._types()
            lexer.expect("->")
            return FuncType(params, self.type())
        if lexer.at("("):
            return self._tuple_type()
        return TensorType((), self.dtype())

    def _tuple_type(self) -> Type:
        """``(A, B)``, ``(A,)``, ``()``; ``(A)`` is ``A``."""
        lexer = self.lexer
        lexer.expect("(")
        if lexer.accept(")"):
            return TupleType(())
        first = self.type()
        if lexer.accept(")"):
            return first
        lexer.expect(",")
        rest = lexer.items_until(")", self.type)
        lexer.expect(")")
        return TupleType((first, *rest))

    def _types(self) -> tuple[Type, ...]:
        return tuple(self.lexer.items_between("(", ")", self.type))

    def dtype(self) -> str:
        """Read the name of a dtype."""
        token = self.lexer.expect_kind("name", "a dtype")
        try:
            return dtypes.check(token.text)
        except UnsupportedError as error:
            self.lexer.fail(error.message, token)

    def shape(self) -> tuple[Dim, ...]:
        """``(1, 3, h, w // 2)``"""
        return tuple(self.lexer.items_between("(", ")", self._extent))

    def _extent(self) -> Dim:
        if self.lexer.at("?"):
            self.lexer.fail("an unknown extent must have a name here: write h, not ?")
        return self.dimension()

    # --- dimension expressions ---

    @limited_nesting
    def dimension(self, min_precedence: int = 1) -> Dim:
        """Read an expression over named dimensions, of operators with a precedence of at least
        ``min_precedence``."""
        left = self._operand()
        while self.lexer.token.text in _BINARY and PRECEDENCE[self.lexer.token.text] >= min_precedence:
            operator = self.lexer.take()
            right = self.dimension(PRECEDENCE[operator.text] + 1)
            left = self._binary(_BINARY[operator.text], left, right, operator)
        return left

    def _operand(self) -> Dim:
        lexer = self.lexer
        token = lexer.take()
        if token.kind == "number" and token.text.isdigit():
            return int(token.text)
        if token.text == "-" and lexer.token.kind == "number" and lexer.token.text.isdigit():
            return -int(lexer.take().text)
        if token.text == "(":
            inner = self.dimension()
            lexer.expect(")")
            return inner
        if token.kind == "name":
            return self._named_operand(token)
        return lexer.fail(
            f"expected a dimension, found {token.text!r}" if token.text else "the text ends here", token
        )

    def _named_operand(self, token: Token) -> Dim:
        lexer, word = self.lexer, token.text
        if word in NAMED_BINARY:
            a, b = self._operands(2)
            return self._binary(NAMED_BINARY[word], a, b, token)
        if word == "select":
            condition, a, b = map(_as_expr, self._operands(3))
            return te.Select(condition, a, b)
        if word == "not":
            return te.Not(_as_expr(self.dimension(PRECEDENCE["not"])))
        if word == "cast":
            lexer.expect("(")
            dtype = self.dtype()
            lexer.expect(",")
            value = self.dimension()
            lexer.expect(")")
            return te.const(value, dtype) if isinstance(value, int) else te.Cast(dtype, value)
        if word == "dim":
            lexer.expect("(")
            name = lexer.unquote(lexer.expect_kind("string", "the dimension's name in quotes"))
            lexer.expect(")")
            return dim(name)
        if word in ("True", "False"):
            return te.const(word == "True")
        if "." in word:
            lexer.fail(f"{word!r} is no name of a dimension", token)
        return dim(word)

    def _operands(self, count: int) -> list[Dim]:
        self.lexer.expect("(")
        found = [self.dimension()]
        while self.lexer.accept(","):
            found.append(self.dimension())
        if len(found) != count:
            self.lexer.fail(f"expected {count} values, found {len(found)}")
        self.lexer.expect(")")
        return found

    def _binary(self, make: type[te.Binary], a: Dim, b: Dim, token: Token) -> te.Expr:
        left, right = _as_expr(a), _as_expr(b)
        if left.dtype != right.dtype:
            self.lexer.fail(f"{token.text!r} of a {left.dtype} and a {right.dtype}", token)
        return make(left, right)

    # --- attributes ---

    @limited_nesting
    def attribute(self) -> Any:
        """The value of an attribute: see ``literals.show_attribute``."""
        lexer = self.lexer
        if lexer.at("["):
            return tuple(lexer.items_between("[", "]", self.attribute))
        if lexer.token.kind == "string":
            return lexer.unquote(lexer.take())
        if lexer.accept("None"):
            return None
        number = self._float()
        if number is not None:
            return number
        value = self.dimension()
        return bool(value.value) if isinstance(value, te.Const) and value.dtype == "bool" else value

    def _float(self) -> float | None:
        """The next tokens as a float, with its sign; None if they are not a float."""
        lexer = self.lexer
        negative = lexer.at("-")
        token = lexer.peek() if negative else lexer.token
        match = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?|inf|nan)f?", token.text.lower())
        if token.kind != "number" or token.text.isdigit() or match is None:
            return None
        if negative:
            lexer.take()
        lexer.take()
        value = float(match[1])
        return -value if negative else value

    # --- constants ---

    def scalar(self) -> Constant:
        """``1f``, ``-2i64``, ``1.5f64``, ``True``: a number's suffix is its dtype; ``2`` is an int32."""
        token = self.lexer.token
        if self.lexer.accept("True") or self.lexer.accept("False"):
            return Constant(np.asarray(token.text == "True"), self.lexer.span(token))
        sign = "-" if self.lexer.accept("-") else ""
        number = self.lexer.expect_kind("number", "a number")
        match = re.fullmatch(r"(inf|nan|[\d.]+(?:[eE][+-]?\d+)?)(\w*)", number.text)
        assert match is not None
        digits, suffix = match.groups()
        dtype = _DTYPES[suffix] if suffix else "int32" if digits.isdigit() else "float32"
        return Constant(
            self._array(self._parsed_number(sign + digits, dtype, number), dtype, None, number),
            self.lexer.span(token),
        )

    def array(self) -> Constant:
        """``const([[1, 2], [3, 4]], float32)``, with ``shape=`` where there are no elements."""
        lexer = self.lexer
        start = lexer.expect("const")
        lexer.expect("(")
        items = self._items()
        lexer.expect(",")
        dtype = self.dtype()
        shape: tuple[Dim, ...] | None = None
        if lexer.accept(","):
            lexer.expect("shape")
            lexer.expect("=")
            shape = self.shape()
        lexer.expect(")")
        return Constant(self._array(self._typed_items(items, dtype), dtype, shape, start), lexer.span(start))

    @limited_nesting
    def _items(self) -> Any:
        """Nested lists of number tokens with their signs."""
        lexer = self.lexer
        if lexer.at("["):
            return lexer.items_between("[", "]", self._items)
        sign = "-" if lexer.accept("-") else ""
        token = lexer.take() if lexer.at("True", "False") else lexer.expect_kind("number", "a number")
        return (sign + token.text, token)

    def _typed_items(self, items: Any, dtype: str) -> Any:
        if isinstance(items, list):
            return [self._typed_items(item, dtype) for item in items]
        return self._parsed_number(items[0], dtype, items[1])

    def _parsed_number(self, text: str, dtype: str, token: Token) -> Any:
        if dtypes.is_float(dtype) and text not in ("True", "False"):
            try:
                return float(text)
            except ValueError:
                self.lexer.fail(f"{text} is not a number", token)
        if dtype == "bool" and text in ("True", "False"):
            return text == "True"
        if not dtypes.is_int(dtype) or not text.lstrip("-").isdigit():
            self.lexer.fail(f"{text} is not a {dtype}", token)
        low, high = dtypes.limits(dtype)
        if not low <= int(text) <= high:
            self.lexer.fail(f"{text} does not fit in a {dtype}", token)
        return int(text)

    def _array(self, items: Any, dtype: str, shape: tuple[Dim, ...] | None, token: Token) -> np.ndarray:
        if shape is not None and not all(isinstance(extent, int) for extent in shape):
            self.lexer.fail("the shape of a constant is made of numbers", token)
        try:
            return literals.array_of(items, dtype, shape)  # type: ignore[arg-type]
        except (ValueError, TypeError, OverflowError) as error:
            self.lexer.fail(f"this is no array: {error}", token)

    def meta(self) -> Constant:
        """``meta[relay.Constant]["hash"]`` or ``meta[relay.Constant][number]``."""
        lexer = self.lexer
        start = lexer.expect("meta")
        lexer.expect("[")
        lexer.expect("relay.Constant")
        lexer.expect("]")
        lexer.expect("[")
        if lexer.token.kind == "number" and lexer.token.text.isdigit():
            position = int(lexer.take().text)
            key = list(self._metadata)[position] if position < len(self._metadata) else f"number {position}"
        else:
            key = lexer.unquote(lexer.expect_kind("string", "the constant's hash in quotes"))
        lexer.expect("]")
        found = self._metadata.get(key) or literals.recall(key)
        if found is None:
            lexer.fail(
                f"constant {key!r} is not in this text, nor alive in this process: "
                "print with astext(show_meta_data=True) or tvmlite show --constants to keep large ones",
                start,
            )
        return found


def _as_expr(value: Dim) -> te.Expr:
    return te.const(value, "int64") if isinstance(value, int) else value
