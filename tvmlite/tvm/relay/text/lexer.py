"""The tokens of Relay text, with spans that have columns and an end, as in TVM."""

from __future__ import annotations

from tvmlite.relay.text.lexer import Lexer, Token
from tvmlite.tvm.ir.source import TextSpan


class SpanLexer(Lexer):
    """Reads tokens one by one. A node's span goes from its first token to the last token read."""

    def span(self, token: Token) -> TextSpan:
        """The span from ``token`` to the last token read."""
        return self.span_between(token, max(token, self.peek(-1), key=lambda one: one.offset))

    def span_between(self, token: Token, last: Token) -> TextSpan:
        """The span from ``token`` to the end of ``last``."""
        line, column, content = self._position(token.offset)
        end_line, end_column, _ = self._position(last.offset + len(last.text))
        return TextSpan(self.source, line, end_line, column, end_column, content.strip())
