"""The documentation is a site: it builds without a warning, and every link in it leads somewhere."""

from __future__ import annotations

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
