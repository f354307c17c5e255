"""Splits Relay text into tokens, with the offset of each for errors."""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from tvmlite.core.errors import ParseError
from tvmlite.core.span import Span

_PATTERN = re.compile(
    r"""
      (?P<space>\s+|/\*.*?\*/)
    | (?P<number>(?:\d+\.?\d*(?:[eE][+-]?\d+)?|(?:inf|nan)(?=f|bf|\b))
        (?:bf16|f16|f32|f64|f|[iu](?:8|16|32|64)?)?(?![\w]))
    | (?P<local>%(?:[A-Za-z_]\w*|\d+|"(?:[^"\\]|\\.)*"))
    | (?P<global>@(?:[A-Za-z_]\w*|"(?:[^"\\]|\\.)*"))
    | (?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<field>\.\d+)
    | (?P<sign>->|//|==|!=|<=|>=|\#\[|[()\[\]{}<>=+\-*/%,:;?])
    """,
    re.VERBOSE | re.DOTALL,
)

_CONTEXT_CHARACTERS = 100
"""The number of characters that an error shows on either side of its position in a long line."""


Item = TypeVar("Item")


@dataclass(frozen=True)
class Token:
    """A token: its kind, its characters, and the offset where they begin."""

    kind: str
    text: str
    offset: int


class Lexer:
    """The tokens of ``text``, one after the other; ``source`` is its name in errors."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._tokens = self._tokenize()
        self._next = 0

    @property
    def token(self) -> Token:
        """The current token; its kind is ``end`` after the last."""
        return self._tokens[self._next]

    def peek(self, ahead: int = 1) -> Token:
        """The token that is ``ahead`` tokens after the current one."""
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Return the current token and advance to the next."""
        token = self.token
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def at(self, *texts: str) -> bool:
        """Whether the current token is one of ``texts`` (a sign or a word, not a string)."""
        return self.token.text in texts and self.token.kind in ("sign", "name")

    def accept(self, text: str) -> bool:
        """Take the current token if it is ``text``, and return whether it was."""
        if self.at(text):
            self.take()
            return True
        return False

    def expect(self, text: str) -> Token:
        """Take the current token, which must be ``text``."""
        if not self.at(text):
            self.fail(f"expected {text!r}, found {self._shown_token()}")
        return self.take()

    def items_until(self, end: str, read: Callable[[], Item]) -> list[Item]:
        """The results of ``read`` for items separated by commas, up to the sign ``end``, which is left."""
        found: list[Item] = []
        while not self.at(end):
            found.append(read())
            if not self.accept(","):
                break
        return found

    def items_between(self, begin: str, end: str, read: Callable[[], Item]) -> list[Item]:
        """The results of ``read``, called for items between the signs ``begin`` and ``end``."""
        self.expect(begin)
        found = self.items_until(end, read)
        self.expect(end)
        return found

    def expect_kind(self, kind: str, what: str) -> Token:
        """Take the current token, which must be of ``kind``; ``what`` describes the kind in errors."""
        if self.token.kind != kind:
            self.fail(f"expected {what}, found {self._shown_token()}")
        return self.take()

    def unexpected(self, wanted: str) -> NoReturn:
        """Raise a ParseError: the current token is not what was ``wanted``."""
        self.fail(f"expected {wanted}, found {self._shown_token()}")

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise a ParseError at ``token``, or at the current one, with line, column, and the line's text."""
        offset = (token or self.token).offset
        line, column, content = self._position(offset)
        first = max(0, column - 1 - _CONTEXT_CHARACTERS)
        shown = content.expandtabs(1)[first : column + _CONTEXT_CHARACTERS]
        before, after = "..." * (first > 0), "..." * (column + _CONTEXT_CHARACTERS < len(content))
        mark = " " * (len(before) + column - 1 - first)
        raise ParseError(f"{self.source}:{line}:{column}: {message}\n  {before}{shown}{after}\n  {mark}^")

    def span(self, token: Token) -> Span:
        """The span of ``token``: its line."""
        line, _, content = self._position(token.offset)
        return Span(self.source, line, content.strip())

    def unquote(self, token: Token) -> str:
        """The name in ``%x``, ``@main`` or ``%"odd name"``, or the content of a string."""
        bare = token.text[1:] if token.text[0] in "%@" else token.text
        if not bare.startswith('"'):
            return bare
        try:
            return json.loads(bare, strict=False)
        except ValueError as error:
            self.fail(f"a string that cannot be read: {error}", token)

    def _position(self, offset: int) -> tuple[int, int, str]:
        line = bisect.bisect_right(self._line_starts, offset)
        start = self._line_starts[line - 1]
        end = self.text.find("\n", start)
        return line, offset - start + 1, self.text[start : end if end >= 0 else len(self.text)]

    def _shown_token(self) -> str:
        return "the end of the text" if self.token.kind == "end" else repr(self.token.text)

    def _tokenize(self) -> list[Token]:
        tokens: list[Token] = []
        offset = 0
        while offset < len(self.text):
            match = _PATTERN.match(self.text, offset)
            if match is None:
                self.fail(f"unexpected character {self.text[offset]!r}", Token("", "", offset))
            if match.lastgroup != "space":
                assert match.lastgroup is not None
                tokens.append(Token(match.lastgroup, match.group(), offset))
            offset = match.end()
        return [*tokens, Token("end", "", len(self.text))]
