"""A comparison of two texts as HTML: added and removed lines, and the words of a line that changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html import escape

_COMMENT = {"loops": r"#.*", "c": r"/\*.*?\*/|//.*", "asm": r"#.*|//.*"}
_TOKEN = {
    language: re.compile(rf"{comment}|[A-Za-z_%.#][\w.]*|\d[\w.]*|\s+|.")
    for language, comment in _COMMENT.items()
}

_WORDS = {
    "loops": set("for in range if else def out allocate view at and or not".split()),
    "kinds": {"parallel", "vectorize", "unroll", "vectorized", "unrolled"},
    "c": set(
        "for if else return const restrict static int int8_t int16_t int32_t int64_t uint8_t uint16_t "
        "uint32_t uint64_t float double void typedef sizeof while".split()
    ),
}

LONGEST = 500
"""The most lines of a text that are shown."""


def compared(before: str | None, after: str, language: str) -> str:
    """The lines of ``after`` as HTML, together with removed lines of ``before``: ``<ins>`` marks added lines,
    ``<del>`` removed ones, ``<mark>`` the new words of a changed line. Lines of which only the indentation
    grew or shrank have the class "deeper" or "higher". ``language`` is "loops", "c" or "asm".

    With ``before=None`` nothing is marked. Lines beyond ``LONGEST`` are left out; a last line counts them.
    """
    new, rest = _cut(after)
    old = new if before is None else _cut(before)[0]
    lines = list(_lines(old, new, language))
    if rest:
        lines.append(f'<span class="rest">... {rest} more lines</span>')
    return "".join(lines)


def _cut(text: str) -> tuple[list[str], int]:
    lines = text.rstrip("\n").split("\n")
    return lines[:LONGEST], max(len(lines) - LONGEST, 0)


def _lines(old: Sequence[str], new: Sequence[str], language: str) -> Iterator[str]:
    bare_old, bare_new = [line.strip() for line in old], [line.strip() for line in new]
    for tag, a, b, x, y in SequenceMatcher(None, bare_old, bare_new, autojunk=False).get_opcodes():
        if tag == "equal":
            for before, line in zip(old[a:b], new[x:y], strict=True):
                moved = (len(line) > len(before)) - (len(line) < len(before))
                kind = ("l", "l deeper", "l higher")[moved]
                yield f'<span class="{kind}">{_coloured(line, language)}</span>'
            continue
        partners = dict(zip(range(x, y), old[a:b], strict=False)) if tag == "replace" else {}
        yield from (f'<del class="l">{_coloured(line, language)}</del>' for line in old[a:b])
        for number in range(x, y):
            marks = _changed(partners.get(number), new[number], language)
            yield f'<ins class="l">{_coloured(new[number], language, marks)}</ins>'


def _changed(old: str | None, new: str, language: str) -> set[int]:
    """The numbers of the words of ``new`` that ``old`` lacks; none if the lines have little in common."""
    if old is None:
        return set()
    before, after = _TOKEN[language].findall(old), _TOKEN[language].findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < 0.5:
        return set()
    spans = [(x, y) for tag, _, _, x, y in matcher.get_opcodes() if tag in ("replace", "insert")]
    return {number for x, y in spans for number in range(x, y) if not after[number].isspace()}


def _coloured(line: str, language: str, marks: set[int] = frozenset()) -> str:  # type: ignore[assignment]
    """A line as HTML with its keywords, numbers and comments in spans."""
    parts: list[str] = []
    for number, token in enumerate(_TOKEN[language].findall(line)):
        kind = _kind(token, language)
        text = f'<span class="{kind}">{escape(token)}</span>' if kind else escape(token)
        parts.append(f"<mark>{text}</mark>" if number in marks else text)
    return "".join(parts).replace("</mark><mark>", "") or " "


def _kind(token: str, language: str) -> str:
    if len(token) > 1 and re.fullmatch(_COMMENT[language], token):
        return "o"
    if token.startswith("#"):
        return "p"
    if token[0].isdigit():
        return "n"
    if token in _WORDS["kinds"] and language == "loops":
        return "s"
    if language == "asm":
        return "s" if token.startswith(("vfmadd", "vfnmadd", "fmla", "vpdp", "vdp")) else ""
    return "k" if token in _WORDS[language] else ""
