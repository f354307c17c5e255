"""Removes TVM's comments from Relay text: line comments, and nested block comments."""

from __future__ import annotations

import re

_PIECES = re.compile(r'"(?:[^"\\]|\\.)*"|/\*|\*/|//[^\n]*')


def without_comments(text: str) -> str:
    """``text`` with comments replaced by spaces, so that lines and columns do not change.

    ``//`` begins a comment at the start of a line and after ``;``, ``{`` or ``}``; elsewhere it divides.
    """
    found: list[str] = []
    depth, end = 0, 0
    for match in _PIECES.finditer(text):
        between, piece = text[end : match.start()], match.group()
        found.append(_blank(between) if depth else between)
        opens, closes = piece == "/*", piece == "*/" and depth > 0
        is_line = piece.startswith("//") and _is_line_comment(text, match.start())
        if piece.startswith("//") and not is_line and not depth:
            found.append("//" + without_comments(piece[2:]))
        else:
            found.append(_blank(piece) if depth or opens or is_line else piece)
        depth += opens - closes
        end = match.end()
    rest = text[end:]
    return "".join([*found, _blank(rest) if depth else rest])


def _is_line_comment(text: str, start: int) -> bool:
    before = text[text.rfind("\n", 0, start) + 1 : start].rstrip()
    return not before or before[-1] in ";{}"


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
