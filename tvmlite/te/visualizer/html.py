"""HTML pages that are one file and load nothing: the head they share, and their own text from files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources

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


def page(title: str, style: str, body: str, values: Mapping[str, str]) -> str:
    """A page with ``title``, which is plain text, and ``body``, an element in which each ``{{name}}`` stands
    for one of ``values``."""
    filled = re.sub(r"\{\{(\w+)\}\}", lambda found: values[found.group(1)], body)
    return _HEAD.format(title=escape(title), style=style, body=filled)


def resource(package: str, name: str) -> str:
    """The text of the file ``name`` that comes with ``package``."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain text whose rows begin with a name and end with a column of words, not numbers."""

    def cells(tag: str, texts: Sequence[str]) -> str:
        *numbers, words = map(escape, texts)
        end = f'<{tag} class="words">{words}</{tag.split()[0]}>'
        return "".join(f"<{tag}>{one}</{tag.split()[0]}>" for one in numbers) + end

    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{cells("td", texts)}</tr>' for name, *texts in rows
    )
    head = cells('th scope="col"', heads)
    return f'<table class="tasks"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
