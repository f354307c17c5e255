"""The tokens of Relay text, whose places have a column and an end, as TVM's spans do."""

from __future__ import annotations

from tvmlite.relay.text.lexer import Lexer, Token
from tvmlite.tvm.ir.source import TextSpan


class SpanLexer(Lexer):
    """Tokens one by one; a node's place is from the token that it begins with to the last one read."""

    def span(self, token: Token) -> TextSpan:
        """From ``token`` to the last token that was taken."""
        return self.span_between(token, max(token, self.peek(-1), key=lambda one: one.offset))

    def span_between(self, token: Token, last: Token) -> TextSpan:
        """From ``token`` to the end of ``last``."""
        line, column, content = self._position(token.offset)
        end_line, end_column, _ = self._position(last.offset + len(last.text))
        return TextSpan(self.source, line, end_line, column, end_column, content.strip())
