"""The glossary, and that the words it replaces occur in no names, messages or pages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tvmlite"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

MADE = ("source", "tutorials", "reference/generated")
"""Folders of ``docs/`` that building the site makes."""

PAGES = (
    *sorted(ROOT.glob("*.md")),
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not any(page.is_relative_to(ROOT / "docs" / folder) for folder in MADE)
    ),
)

NAMES_LEFT = 0
MESSAGES_LEFT = 0
"""How many names and messages may still have a replaced word; lower these, never raise them."""


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below ``heading``, row by row, without its head."""
    section = re.split(r"^#+ ", GLOSSARY.split(f"# {heading}\n")[1], flags=re.M)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def dialect() -> re.Pattern[str]:
    """The pattern of words and phrases that messages and pages must not use."""
    phrases = "|".join(re.escape(row[0]) for row in rows("In messages and prose"))
    return re.compile(rf"\b(?:{phrases})\b", re.IGNORECASE)


def words_of(name: str) -> list[str]:
    """``_toldApart2`` is made of the words ``told`` and ``apart``."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def _messages(tree: ast.Module) -> Iterator[str]:
    """The strings of several words that are no docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            if " " in node.value.strip():
                yield node.value


@cache
def _modules() -> list[tuple[str, ast.Module]]:
    return [
        (str(path.relative_to(PACKAGE).with_suffix("")), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


@pytest.mark.parametrize("heading", ["Terms", "In names", "In messages and prose"])
def test_tables_of_the_glossary_are_sorted_and_complete(heading: str) -> None:
    table = rows(heading)
    firsts = [row[0].strip("`").lower() for row in table]

    assert all(cell for row in table for cell in row)
    assert len(set(firsts)) == len(firsts) > 30
    plain = [first for first in firsts if "/" not in first]
    assert plain == sorted(plain)


def test_no_name_has_a_replaced_word() -> None:
    entries = [row[0].strip("`") for row in rows("In names")]
    words, paths = {one for one in entries if "/" not in one}, [one for one in entries if "/" in one]
    at_fault = []
    for module, tree in _modules():
        if any(f"/{module}".endswith(f"/{path}") for path in paths) or words & set(
            words_of(Path(module).name)
        ):
            at_fault.append(module)
        at_fault += [f"{module}: {name}" for name in _names(tree) if words & set(words_of(name))]

    assert len(at_fault) <= NAMES_LEFT, "\n".join(at_fault)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_replaced_word(page: Path) -> None:
    text = page.read_text(encoding="utf-8").split("\n## Words we do not use")[0]

    assert dialect().findall(text) == []


def test_no_message_has_a_replaced_word() -> None:
    phrases = "|".join(re.escape(row[0]) for row in rows("In messages and prose"))
    pattern = re.compile(rf"\b(?:{phrases})\b", re.IGNORECASE)
    at_fault = [
        f"{module}: {text!r}"
        for module, tree in _modules()
        for text in _messages(tree)
        if pattern.search(text)
    ]

    assert len(at_fault) <= MESSAGES_LEFT, "\n".join(at_fault)
