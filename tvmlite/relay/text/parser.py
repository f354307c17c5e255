"""Reads Relay's text format: ``parse(str(module))`` returns an equal module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tvmlite.core.errors import ParseError, TvmliteError, TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir import op
from tvmlite.relay.ir.attributes import describe
from tvmlite.relay.ir.infer import same_type, show_type, type_of
from tvmlite.relay.ir.nodes import (
    Attrs,
    Call,
    Expr,
    Function,
    If,
    Let,
    LetDims,
    Loop,
    Module,
    Tuple,
    TupleGetItem,
    Var,
    canonical,
)
from tvmlite.relay.ir.types import TensorType, Type
from tvmlite.relay.text import literals
from tvmlite.relay.text.lexer import Token
from tvmlite.relay.text.values import ValueReader, limited_nesting
from tvmlite.te import expr as te

MAX_BLOCKS = 150
"""The maximum nesting depth of branches and functions in a text."""


def parse(text: str, source: str = "<relay text>") -> Module:
    """The module in ``text``.

    Invalid text is a ParseError with line and column in ``source``. Attributes that are left out take their
    defaults; a result type in the text is checked.
    """
    return Parser(*_split(text, source), source).module()


def parse_expr(text: str, source: str = "<relay text>") -> Expr:
    """The expression in ``text``; its ``free_var`` lines create new variables."""
    return Parser(*_split(text, source), source).whole_expression()


def _split(text: str, source: str) -> tuple[str, dict[str, Any]]:
    for name, value in (("text", text), ("source", source)):
        if not isinstance(value, str):
            raise ParseError(f"parse: {name} is {describe(value)}, expected a string", Span.of_caller())
    body, mark, section = text.partition(f"\n{literals.METADATA}\n")
    return body, literals.read_metadata(section) if mark else {}


@dataclass
class _Block:
    """A block being read: the function that takes its value, its Lets, and the outer names that it hides."""

    finish: Callable[[Expr], None]
    end: str | None
    lets: list[Callable[[Expr], Expr]] = field(default_factory=list)
    shadowed: list[tuple[str, Expr | None]] = field(default_factory=list)


class Parser(ValueReader):
    """Reads line by line, with a stack of the open blocks and of what to do when each is closed."""

    def __init__(self, text: str, metadata: dict[str, Any], source: str) -> None:
        super().__init__(text, source, metadata)
        self._names: dict[str, Expr] = {}
        self._blocks: list[_Block] = []

    # --- modules and expressions ---

    def module(self) -> Module:
        """Read the header, then definitions."""
        attrs = self._header()
        functions: dict[str, Function] = {}
        while self.lexer.token.kind != "end":
            self.lexer.expect("def")
            token = self.lexer.expect_kind("global", "a function's name, as in @main")
            name = self.lexer.unquote(token)
            if name in functions:
                self.lexer.fail(f"@{name} is defined twice", token)
            self._function(token, lambda function, name=name: functions.__setitem__(name, function))
            self._read_blocks()
        if not functions:
            self.lexer.fail("expected 'def @main(...)', found no function")
        output_names = attrs.pop("output_names", ())
        return Module(functions, output_names, tuple(attrs.items()))

    def whole_expression(self) -> Expr:
        """Read free variables, then lines up to the end of the text."""
        found: list[Expr] = []
        while self.lexer.accept("free_var"):
            name, var = self._variable("a variable, as in %x")
            self._names[name] = var
            self.lexer.expect(";")
        self._blocks.append(_Block(found.append, None))
        self._read_blocks()
        if self.lexer.token.kind != "end":
            self.lexer.unexpected("the end of the text")
        return found[0]

    def _header(self) -> dict[str, Any]:
        if not self.lexer.accept("#["):
            return {}
        attrs = self._attributes("]")
        self.lexer.expect("]")
        return attrs

    def _variable(self, what: str) -> tuple[str, Var]:
        """Read ``%x: type``; return the name as written, and the variable."""
        token = self.lexer.expect_kind("local", what)
        self.lexer.expect(":")
        return token.text, self._var(token, self.type())

    # --- methods that dialects of the text override ---

    def _var(self, token: Token, type_: Type) -> Var:
        """The variable declared at ``token``."""
        return Var(self.lexer.unquote(token), type_, self.lexer.span(token))

    def _let_var(self, token: Token, declared: Type | None, value: Expr) -> Var:
        """The variable of a Let, with the declared type, if there is one, or the type of its value."""
        return self._var(token, declared if declared is not None else type_of(value))

    def _build_function(
        self, params: tuple[Var, ...], body: Expr, attrs: Attrs, result: Type | None, token: Token
    ) -> Function:
        """A function; if its result type is declared, the type is checked."""
        span = self.lexer.span(token)
        if result is not None:
            _check_result(body, result, span)
        return Function(params, body, attrs, span)

    # --- blocks ---

    def _read_blocks(self) -> None:
        """Read lines until the block that was opened last, and all blocks inside it, are closed."""
        base = len(self._blocks) - 1
        while len(self._blocks) > base:
            token = self.lexer.token
            if self.lexer.accept("let"):
                self._let(token)
            elif token.kind == "local" and self.lexer.peek().text == "=":
                self.lexer.take()
                self.lexer.take()
                self._right_side(lambda value, name=token.text: self._assign(name, value))
            else:
                self._right_side(self._close)

    def _open(self, finish: Callable[[Expr], None]) -> None:
        if len(self._blocks) > MAX_BLOCKS:
            self.lexer.fail(f"blocks nested deeper than {MAX_BLOCKS} levels")
        self._blocks.append(_Block(finish, "}"))

    def _assign(self, name: str, value: Expr) -> None:
        self.lexer.expect(";")
        self._define(name, value)

    def _define(self, name: str, value: Expr) -> None:
        self._blocks[-1].shadowed.append((name, self._names.get(name)))
        self._names[name] = value

    def _let(self, start: Token) -> None:
        if self.lexer.accept("dims"):
            self._let_dims(start)
            return
        token = self.lexer.expect_kind("local", "a variable, as in %x")
        declared = self.type() if self.lexer.accept(":") else None
        self.lexer.expect("=")

        def finish(value: Expr) -> None:
            self.lexer.expect(";")
            var = self._let_var(token, declared, value)
            self._blocks[-1].lets.append(lambda body: Let(var, value, body, self.lexer.span(start)))
            self._define(token.text, var)

        self._right_side(finish)

    def _let_dims(self, start: Token) -> None:
        """``let dims (n, m) = value;``"""
        token = self.lexer.token
        given = self.shape()
        dims = tuple(extent for extent in given if isinstance(extent, te.SizeVar))
        if not dims or len(set(dims)) != len(given):
            self.lexer.fail("expected the names of dimensions, each once, as in let dims (n, m)", token)
        self.lexer.expect("=")
        span = self.lexer.span(start)

        def finish(value: Expr) -> None:
            self.lexer.expect(";")
            self._blocks[-1].lets.append(lambda body: LetDims(dims, value, body, span))

        self._right_side(finish)

    def _close(self, value: Expr) -> None:
        """Close the innermost block with ``value`` as its value: wrap its Lets around it."""
        block = self._blocks.pop()
        if block.end is not None:
            self.lexer.expect(block.end)
        for let in reversed(block.lets):
            value = let(value)
        for name, before in reversed(block.shadowed):
            if before is None:
                del self._names[name]
            else:
                self._names[name] = before
        block.finish(value)

    def _right_side(self, finish: Callable[[Expr], None]) -> None:
        """Read a value and pass it to ``finish``: at once, or, if it opens a block, when that is closed."""
        token = self.lexer.token
        if self.lexer.accept("fn"):
            self._function(token, finish)
        elif self.lexer.accept("if"):
            self._if(token, finish)
        elif self.lexer.accept("loop"):
            self._loop(token, finish)
        elif self.lexer.accept("{"):
            self._open(finish)
        else:
            finish(self.expression())

    def _function(self, token: Token, finish: Callable[[Any], None]) -> None:
        lexer = self.lexer
        lexer.expect("(")
        params: list[tuple[str, Var]] = []
        while lexer.token.kind == "local":
            params.append(self._variable("a parameter"))
            if not lexer.accept(","):
                break
        attrs = canonical(self._attributes(")"))
        lexer.expect(")")
        result = self.type() if lexer.accept("->") else None
        lexer.expect("{")

        def done(body: Expr) -> None:
            finish(self._build_function(tuple(p for _, p in params), body, attrs, result, token))

        self._open(done)
        for name, param in params:
            self._define(name, param)

    def _if(self, token: Token, finish: Callable[[Expr], None]) -> None:
        lexer = self.lexer
        lexer.expect("(")
        condition = self.expression()
        lexer.expect(")")
        lexer.expect("{")

        def then_read(then: Expr) -> None:
            lexer.expect("else")
            lexer.expect("{")
            self._open(lambda otherwise: finish(If(condition, then, otherwise, lexer.span(token))))

        self._open(then_read)

    def _loop(self, token: Token, finish: Callable[[Expr], None]) -> None:
        """``loop (%i < trip_count, while %go, %s: type = initial, ...) { (%on, next, ...) }``"""
        lexer = self.lexer
        lexer.expect("(")
        counter = lexer.expect_kind("local", "the number of the iteration, as in %i")
        lexer.expect("<")
        trip_count = self.dimension()
        condition = None
        states: list[tuple[str, Var]] = []
        initial: list[Expr] = []
        while lexer.accept(","):
            if lexer.accept("while"):
                condition = self.expression()
                continue
            states.append(self._variable("a state, as in %s: float32 = 0f"))
            lexer.expect("=")
            initial.append(self.expression())
        lexer.expect(")")
        lexer.expect("{")
        index = Var(lexer.unquote(counter), TensorType((), "int64"), lexer.span(counter))

        def done(body: Expr) -> None:
            variables = tuple(var for _, var in states)
            finish(Loop(index, variables, trip_count, condition, tuple(initial), body, lexer.span(token)))

        self._open(done)
        for name, var in ((counter.text, index), *states):
            self._define(name, var)

    # --- expressions ---

    @limited_nesting
    def expression(self) -> Expr:
        """Read a variable, constant, call or tuple, with projections."""
        value = self._primary()
        while self.lexer.token.kind == "field":
            token = self.lexer.take()
            value = TupleGetItem(value, int(token.text[1:]), self.lexer.span(token))
        return value

    def _primary(self) -> Expr:
        lexer, token = self.lexer, self.lexer.token
        if token.kind == "number" or lexer.at("-", "True", "False"):
            return self.scalar()
        if lexer.at("meta"):
            return self.meta()
        if lexer.at("const"):
            return self.array()
        if lexer.accept("("):
            return self._tuple(token)
        if token.kind == "local":
            return self._local(lexer.take())
        if lexer.at("fn", "if", "let", "loop", "{"):
            lexer.fail(f"{token.text!r} must begin a line of its own: give it a name first")
        if token.kind == "name":
            return self._operator_call(lexer.take())
        return lexer.unexpected("an expression")

    def _local(self, token: Token) -> Expr:
        value = self._names.get(token.text)
        if value is None:
            self.lexer.fail(f"{token.text} is not defined here", token)
        if not self.lexer.at("("):
            return value
        if not isinstance(value, Function):
            self.lexer.fail(f"{token.text} is called, but is no function", token)
        args, attrs = self._call_items()
        if attrs:
            self.lexer.fail("a call of a function has no attributes", token)
        return Call(value, args, span=self.lexer.span(token))

    def _tuple(self, token: Token) -> Expr:
        fields: list[Expr] = []
        comma = True
        while not self.lexer.at(")"):
            fields.append(self.expression())
            comma = self.lexer.accept(",")
            if not comma:
                break
        self.lexer.expect(")")
        return fields[0] if len(fields) == 1 and not comma else Tuple(tuple(fields), self.lexer.span(token))

    def _operator_call(self, token: Token) -> Call:
        if not self.lexer.at("("):
            self.lexer.fail(f"expected an expression, found {token.text!r}", token)
        if not op.is_known(token.text):
            self.lexer.fail(f"there is no operator {token.text!r}", token)
        args, attrs = self._call_items()
        try:
            return op.completed(token.text, args, attrs, self.lexer.span(token))
        except TvmliteError as error:
            self.lexer.fail(error.message, token)

    def _call_items(self) -> tuple[tuple[Expr, ...], dict[str, Any]]:
        lexer = self.lexer
        lexer.expect("(")
        args: list[Expr] = []
        while not lexer.at(")") and lexer.peek().text != "=":
            args.append(self.expression())
            if not lexer.accept(","):
                break
        attrs = self._attributes(")")
        lexer.expect(")")
        return tuple(args), attrs

    def _attributes(self, end: str) -> dict[str, Any]:
        """Read ``name=value`` pairs up to ``end``."""
        attrs: dict[str, Any] = {}

        def pair() -> None:
            token = self.lexer.expect_kind("name", "an attribute")
            if token.text in attrs:
                self.lexer.fail(f"attribute {token.text!r} is given twice", token)
            self.lexer.expect("=")
            attrs[token.text] = self.attribute()

        self.lexer.items_until(end, pair)
        return attrs


def _check_result(body: Expr, declared: Type, span: Span) -> None:
    inferred = type_of(body)
    if not same_type(inferred, declared):
        raise TypeInferError(
            f"the result is written as {show_type(declared)}, it is {show_type(inferred)}", span
        )


__all__ = ["ParseError", "parse", "parse_expr"]
