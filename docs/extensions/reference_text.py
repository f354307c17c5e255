"""Pieces of reStructuredText that the pages of the reference are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def heading(text: str, mark: str = "=") -> str:
    """A heading."""
    return f"{text}\n{mark * len(text)}\n\n"


def literal(text: str) -> str:
    """``text`` as it is, in one line that may be broken."""
    text = " ".join(text.split())
    return f"``{text}``" if "``" not in text else f"``{text.replace('``', chr(39))}``"


def row(cells: Sequence[str]) -> str:
    """A row of a table: one item for each cell, whose lines stay together."""
    lines = []
    for number, cell in enumerate(cells):
        first, *rest = (cell or "\\ ").splitlines()
        lines.append(f"   {'* -' if number == 0 else '  -'} {first}")
        lines += [f"       {line}".rstrip() for line in rest]
    return "\n".join(lines) + "\n"


def table(rows: Iterable[Sequence[str]], head: Sequence[str]) -> str:
    """A table with a line of headings."""
    body = "".join(row(cells) for cells in (head, *rows))
    return f".. list-table::\n   :header-rows: 1\n\n{body}\n"


def first_sentence(doc: str | None) -> str:
    """The first sentence of a docstring, in one line."""
    text = " ".join((doc or "").split("\n\n")[0].split())
    found = re.match(r"(.*?[.:;])(?= |$)", text)
    return (found[1] if found else text).rstrip(".:;")
