"""A parser for TVM 0.11's Relay text, with untyped variables, infix operators and calls by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TvmliteError, UnsupportedError
from tvmlite.relay.ir import nodes
from tvmlite.relay.ir import op as table
from tvmlite.relay.text import literals
from tvmlite.relay.text.lexer import Token
from tvmlite.relay.text.parser import Parser
from tvmlite.relay.text.values import limited_nesting
from tvmlite.tvm.lazy import later
from tvmlite.tvm.relay import ty
from tvmlite.tvm.relay.expr import Call, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var, adopt
from tvmlite.tvm.relay.op.absent import ABSENT
from tvmlite.tvm.relay.op.op import Op
from tvmlite.tvm.relay.text.comments import without_comments
from tvmlite.tvm.relay.text.lexer import SpanLexer
from tvmlite.tvm.relay.text.metadata import constants_of
from tvmlite.tvm.relay.text.operators import ARGUMENTS, with_defaults

_builder = later("relay.op.functions", "find")

_BINARY = {
    "*": ("multiply", 4), "/": ("divide", 4), "+": ("add", 3), "-": ("subtract", 3), "<": ("less", 2),
    "<=": ("less_equal", 2), ">": ("greater", 2), ">=": ("greater_equal", 2), "==": ("equal", 1),
    "!=": ("not_equal", 1),
}  # fmt: skip
"""The operator and precedence of each sign."""

_UNREAD = {
    "ref": "references", "ref_read": "references", "ref_write": "references", "match": "algebraic data types",
    "type": "algebraic data types", "extern": "algebraic data types",
}  # fmt: skip

_SHORT_DTYPES = {"float": "float32", "int": "int32", "uint": "uint32"}

_OF_VECTORS = re.compile(r"(int|uint|float|bfloat)\d+x\d+")

_REPEATED = (nodes.Constant, type(None))
"""The values of attributes in TVM's text that only repeat an argument."""

_INT32, _INT64 = 2**31, 2**63


class TvmParser(Parser):
    """Our parser extended to TVM's expressions; it builds nodes of ``relay.expr``."""

    lexer: SpanLexer
    lexer_class = SpanLexer

    def __init__(self, text: str, source: str, metadata: Mapping[str, Any] | None = None) -> None:
        body, mark, section = text.partition(f"\n{literals.METADATA}\n")
        constants = dict(metadata or {})
        if mark:
            constants |= constants_of(section)
        super().__init__(without_comments(body), constants, source)
        self._file = source

    # --- entry points ---

    def functions(self) -> dict[str, Any]:
        """Parse a module; return its functions by name."""
        self._version()
        found: dict[str, Any] = {}
        while self.lexer.token.kind != "end":
            self._refuse()
            self.lexer.expect("def")
            token = self.lexer.expect_kind("global", "a function's name, as in @main")
            name = self.lexer.unquote(token)
            if name in found:
                self.lexer.fail(f"@{name} is defined twice", token)
            self._function(token, lambda function, name=name: found.__setitem__(name, adopt(function)))
            self._read_blocks()
        return found

    def whole(self) -> Any:
        """Parse an expression, which follows the declarations of its free variables."""
        self._version()
        made: list[Any] = []
        while self.lexer.accept("free_var"):
            name, var = self._variable("a variable, as in %x")
            self._names[name] = var
            self.lexer.expect(";")
        self._open(made.append)
        self._blocks[-1].end = None
        self._read_blocks()
        if self.lexer.token.kind != "end":
            self.lexer.unexpected("the end of the text")
        return made[0] if isinstance(made[0], Op) else adopt(made[0])

    def whole_type(self) -> Any:
        """Parse a type that is the whole text."""
        made = self.type()
        if self.lexer.token.kind != "end":
            self.lexer.unexpected("the end of the text")
        return made

    def _version(self) -> None:
        version = self._header().get("version", "0.0.5")
        if version != "0.0.5":
            self.lexer.fail(f"version {version!r} of the text, expected '0.0.5'")

    def _refuse(self) -> None:
        word = self.lexer.token.text
        if word in _UNREAD and self.lexer.token.kind == "name":
            span = self.lexer.span(self.lexer.token)
            raise UnsupportedError(f"{word!r}: {_UNREAD[word]} are not supported", span)

    # --- variables and functions ---

    def _function(self, token: Token, finish: Any) -> None:
        if self.lexer.at("["):
            raise UnsupportedError(
                "a function with type parameters is not supported",
                self.lexer.span(self.lexer.token),
                "write its types in full, or leave them out to be inferred",
            )
        super()._function(token, finish)

    def _variable(self, what: str) -> tuple[str, Any]:
        token = self.lexer.expect_kind("local", what)
        return token.text, self._var(token, self.type() if self.lexer.accept(":") else ty.INCOMPLETE)

    def _var(self, token: Token, type_: Any) -> Any:
        name = re.sub(r"^v(?=\d)", "", self.lexer.unquote(token))
        return Var(name, type_, self.lexer.span_between(token, token))

    def _let(self, start: Token) -> None:
        """Parse a let. If its value is a function, that can refer to the variable, to call itself."""
        if self.lexer.at("dims"):
            super()._let(start)
            return
        name, var = self._variable("a variable, as in %x")
        self.lexer.expect("=")
        if self.lexer.at("fn"):
            self._define(name, var)

        def finish(value: Any) -> None:
            self.lexer.expect(";")
            self._blocks[-1].lets.append(lambda body: Let(var, value, body, self.lexer.span(start)))
            self._define(name, var)

        self._right_side(finish)

    def _build_function(self, params: Any, body: Any, attrs: Any, result: Any, token: Token) -> Any:
        return Function(params, body, result, attrs=attrs, span=self.lexer.span(token))

    def _if(self, token: Token, finish: Any) -> None:
        super()._if(token, lambda made: finish(If(*made.children(), span=self.lexer.span(token))))

    def _close(self, value: Any) -> None:
        """End a block; but a value followed by ``;`` is bound to an unused variable, as in ``();  ()``."""
        token = self.lexer.token
        if self.lexer.accept(";"):
            var = Var("_", ty.INCOMPLETE, self.lexer.span(token))
            self._blocks[-1].lets.append(lambda body: Let(var, value, body, self.lexer.span(token)))
            return
        super()._close(value)

    # --- types ---

    def dtype(self) -> str:
        """Parse a dtype; a name without a width means 32 bits."""
        token = self.lexer.token
        if _OF_VECTORS.fullmatch(token.text):
            raise UnsupportedError(
                f"dtype {token.text!r}: tensors of vectors are not supported",
                self.lexer.span_between(token, token),
                "write the lanes as a last axis of the shape",
            )
        if token.text not in _SHORT_DTYPES:
            return super().dtype()
        return _SHORT_DTYPES[self.lexer.take().text]

    def type(self) -> Any:
        """Parse a type; ``_`` is a type to infer."""
        if self.lexer.token.text == "_":
            self.lexer.take()
            return ty.INCOMPLETE
        return ty.adopted(super().type())

    def _extent(self) -> Any:
        return ty.Any() if self.lexer.accept("?") else super()._extent()

    # --- expressions ---

    def _right_side(self, finish: Any) -> None:
        token = self.lexer.token
        if token.text == "{" or (token.kind == "name" and token.text in ("fn", "if", "loop")):
            super()._right_side(lambda value: finish(self._infix_after(token, self._called(token, value), 1)))
        else:
            finish(self.expression())

    def expression(self) -> Any:
        """Parse infix operators between calls, literals and expressions in parentheses."""
        return self._infix(1)

    @limited_nesting
    def _infix(self, least: int) -> Any:
        start = self.lexer.token
        return self._infix_after(start, self._prefix(), least)

    def _infix_after(self, start: Token, left: Any, least: int) -> Any:
        """Parse infix operators of precedence ``least`` or more after ``left``, which begins at ``start``."""
        while self.lexer.token.kind == "sign" and _BINARY.get(self.lexer.token.text, ("", 0))[1] >= least:
            name, strength = _BINARY[self.lexer.take().text]
            left = Call(Op(name), [left, self._infix(strength + 1)], span=self.lexer.span(start))
        return left

    def _prefix(self) -> Any:
        lexer, token = self.lexer, self.lexer.token
        if lexer.at("-") and lexer.peek().kind != "number":
            lexer.take()
            value = self._prefix()
            if isinstance(value, nodes.Constant):
                return nodes.Constant(np.negative(value.data), value.span)
            return Call(Op("negative"), [value], span=lexer.span(token))
        return self._called(token, self._primary())

    def _called(self, start: Token, value: Any) -> Any:
        """Parse calls and field accesses after ``value``, which begins at ``start``."""
        lexer = self.lexer
        while lexer.token.kind == "field" or lexer.at("("):
            if lexer.at("("):
                args, attrs = self._call_items()
                value = self._call(value, args, attrs, start)
            else:
                index = int(lexer.take().text[1:])
                value = TupleGetItem(value, index, span=lexer.span(start))
        return value

    def _call(self, value: Any, args: Any, attrs: Any, token: Token) -> Any:
        if not isinstance(value, Op):
            if attrs:
                self.lexer.fail("a call of a function has no attributes", token)
            return Call(value, args, span=self.lexer.span(token))
        row = table.get(value)
        attrs = {
            key: one
            for key, one in with_defaults(value, attrs).items()
            if not (key in row.argument_names and isinstance(one, _REPEATED))
            and (key in row.attrs or one != "")
        }
        if row.num_inputs is not None and row.num_inputs < len(args) == len(ARGUMENTS.get(value, ())):
            return self._built(value, args, attrs, token)
        unknown = sorted(set(attrs) - set(row.attrs))
        if unknown:
            self.lexer.fail(f"{value}: no attribute {unknown[0]!r}", token)
        return Call(value, args, attrs, span=self.lexer.span(token))

    def _built(self, op: Op, args: Any, attrs: Mapping[str, Any], token: Token) -> Any:
        """A call of an operator for which some of TVM's arguments are attributes here: ``arange(0, 5, 1)``.
        If TVM's text has an attribute of the same name, that is used, as it is a constant even where the
        argument is a variable."""
        given = dict(zip(ARGUMENTS[op], args, strict=True))
        given |= {key: one for key, one in attrs.items() if one is not None or key not in given}
        try:
            return _builder(str(op))(**given)
        except TvmliteError as error:
            self.lexer.fail(error.message, token)

    def _primary(self) -> Any:
        lexer, token = self.lexer, self.lexer.token
        self._refuse()
        if token.kind == "global":
            lexer.take()
            return GlobalVar(lexer.unquote(token), span=lexer.span(token))
        if token.kind == "local":
            lexer.take()
            if token.text not in self._names:
                lexer.fail(f"{token.text} is not defined here", token)
            return self._names[token.text]
        if (token.kind == "name" and token.text in ("fn", "if", "let", "loop")) or lexer.at("{"):
            return self._block_value(token)
        if token.kind == "name" and token.text not in ("meta", "const", "True", "False"):
            lexer.take()
            if token.text in ABSENT:
                name = f"the operator {token.text}"
                raise UnsupportedError(f"{name} is not in tvmlite", lexer.span(token), ABSENT[token.text])
            if not table.is_known(token.text):
                lexer.fail(f"there is no operator {token.text!r}", token)
            if not lexer.at("(") and lexer.token.kind != "end":
                lexer.fail(f"{token.text} is an operator, which has to be called: {token.text}(...)", token)
            return Op(token.text)
        return super()._primary()

    def _block_value(self, token: Token) -> Any:
        """Parse a value that opens a block, inside an expression."""
        made: list[Any] = []
        if token.text == "let":
            self._open(made.append)
            self._blocks[-1].end = None
        else:
            super()._right_side(made.append)
        self._read_blocks()
        return made[0]

    def attribute(self) -> Any:
        """Parse an attribute's value, which in TVM's text may also be a constant of the metadata."""
        return self.meta() if self.lexer.at("meta") else super().attribute()

    def meta(self) -> Any:
        """Parse a reference to a constant of the metadata. Other objects in TVM's metadata are an error."""
        kind = self.lexer.peek(2)
        if self.lexer.peek().text == "[" and kind.text != "relay.Constant":
            self.lexer.fail(
                f"{kind.text} of the metadata is not read, relay.Constant is: write attributes as name=value",
                kind,
            )
        return super().meta()

    def _tuple(self, token: Token) -> Any:
        made = super()._tuple(token)
        return Tuple(made.fields, made.span) if type(made) is nodes.Tuple else made

    def scalar(self) -> Any:
        """Parse a number. An integer without a suffix that does not fit in int32 is an int64."""
        signs = [self.lexer.token.text] if self.lexer.at("-") else []
        number = self.lexer.peek(len(signs))
        if number.kind == "number" and number.text.isdigit():
            value = int(number.text) * (-1 if signs else 1)
            if not -_INT64 <= value < _INT64:
                self.lexer.fail(f"{value} does not fit in an int64", number)
            if not -_INT32 <= value < _INT32:
                for _ in range(len(signs) + 1):
                    self.lexer.take()
                return nodes.Constant(np.asarray(value, np.int64), self.lexer.span(number))
        with np.errstate(over="ignore"):  # an overflow is reported below
            made = super().scalar()
        if (
            dtypes.is_float(dtypes.check(made.data.dtype))
            and np.isinf(made.data)
            and "inf" not in number.text
        ):
            self.lexer.fail(f"{number.text} does not fit in a {made.data.dtype}", number)
        return made
