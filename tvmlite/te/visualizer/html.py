"""HTML pages that are one file and load nothing: the head they share, and their own text from files."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
