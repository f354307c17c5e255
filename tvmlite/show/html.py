"""Self-contained HTML pages, and fragments of HTML by which notebooks display objects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="tvmlite">
<title>{title}</title>
<style>
{style}</style>
</head>
{body}</html>
"""


class Page(str):
    """The HTML of a whole page, which a notebook displays in its own frame."""

    __slots__ = ()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to ``path``, and return the path."""
        written = Path(path)
        written.write_text(self, encoding="utf-8")
        return written

    def __repr__(self) -> str:
        return f"<page of {len(self):,} characters: save(path) writes it to a file>"

    def _repr_html_(self) -> str:
        """The page in a sandboxed frame: its scripts run inside it, and its style is kept separate."""
        style = "width: 100%; height: 40em; border: 1px solid #8884; box-sizing: border-box"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(self)}"></iframe>'


def page(title: str, style: str, body: str, values: Mapping[str, str]) -> Page:
    """A page with the plain-text ``title`` and the element ``body``, in which each ``{{name}}`` is replaced
    by its value in ``values``."""
    filled = re.sub(r"\{\{(\w+)\}\}", lambda found: values[found.group(1)], body)
    return Page(_HEAD.format(title=escape(title), style=style, body=filled))


def resource(package: str, name: str) -> str:
    """The text of the file ``name`` in ``package``."""
    from importlib import resources  # only for pages: programs that just run libraries show tables

    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain text; each row begins with a name and ends with a cell of words instead of numbers."""

    def cells(tag: str, texts: Sequence[str]) -> str:
        *numbers, words = map(escape, texts)
        end = f'<{tag} class="words">{words}</{tag.split()[0]}>'
        return "".join(f"<{tag}>{one}</{tag.split()[0]}>" for one in numbers) + end

    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{cells("td", texts)}</tr>' for name, *texts in rows
    )
    head = cells('th scope="col"', headings)
    return f'<table class="tasks"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def grid(rows: Sequence[Sequence[str]]) -> str:
    """A table of plain text whose first row is the heading, in the style of the surrounding page."""
    lines = [
        "".join(f'<{tag} style="text-align: left">{escape(cell.strip())}</{tag}>' for cell in row)
        for tag, row in zip(["th", *["td"] * (len(rows) - 1)], rows, strict=True)
    ]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def paragraphs(lines: Iterable[str]) -> str:
    """Paragraphs, one for each line of plain text that is not empty."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)


def collapsible(title: str, text: str) -> str:
    """Preformatted text, collapsed under ``title``."""
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
