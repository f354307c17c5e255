"""The documentation is a site: it builds without a warning, and every link in it leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]


class _Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what leads elsewhere, and what may be led to."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name == "id" and value:
                self.anchors.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, without the tutorials' output: ``test_tutorials.py`` runs those."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-D", "plot_gallery=0"]

    build = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert build.returncode == 0, build.stderr
    return folder / "html"


def _read(file: Path) -> _Page:
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


@pytest.mark.slow
def test_every_link_leads_somewhere(site: Path) -> None:
    pages = {file: _read(file) for file in site.rglob("*.html")}
    assert len(pages) > 40
    broken = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if there.is_dir():
                there /= "index.html"
            anchor = unquote(parts.fragment)
            known = not anchor or there not in pages or anchor in pages[there].anchors
            if not there.exists() or not known:
                broken.append(f"{file.relative_to(site)}: {link}")
    assert broken == []


CHAPTERS = sorted((ROOT / "docs" / "how_it_works").glob("[0-9]*.md"))

_SHOWN = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", re.M | re.S)
"""A block of Python, and the text right below it, which is what it prints."""

_DIGEST = re.compile(r"[0-9a-f]{8,}")
"""Digests name kernels and constants; they follow from the code of the package."""


def _shown() -> list[object]:
    return [
        pytest.param(block, text, id=f"{page.stem}-{number}")
        for page in CHAPTERS
        for number, (block, text) in enumerate(_SHOWN.findall(page.read_text(encoding="utf-8")), 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("block", "text"), _shown())
def test_a_chapter_shows_what_its_code_prints(block: str, text: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

    done = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert _DIGEST.sub("#", text.strip()) == _DIGEST.sub("#", done.stdout.strip())


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.stem)
def test_a_chapter_has_its_sections(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", text, re.M)

    for one in ("The problem", "Decided against", "Where to read", "Literature", "Exercises"):
        assert one in sections
    exercises = re.findall(r"^\d+\. ", text.split("## Exercises")[1].split("<details>")[0], re.M)
    answers = re.findall(r"^\d+\. ", text.split("<details>")[1], re.M)
    assert exercises == answers
    assert len(exercises) >= 3
    assert "](../../tvmlite/" in text


def test_every_chapter_is_in_the_table_of_its_index() -> None:
    index = (ROOT / "docs" / "how_it_works" / "index.md").read_text(encoding="utf-8")

    assert {page.name for page in CHAPTERS} == set(re.findall(r"\]\((\d\d_\w+\.md)\)", index))
