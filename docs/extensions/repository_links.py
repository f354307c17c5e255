"""Links of pages to files of the repository: ``../tvmlite/driver.py`` leads to that file's text in the site.

On a page read in the repository such a link opens the file. In the site, files outside ``docs`` are no pages,
so each one that a page links to becomes one: its text, with line numbers.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
SOURCES = DOCS / "source"
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")

ROOT_PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "index.md",
}
"""Pages at the root of the repository, and the pages of the site that stand for them."""

_LANGUAGES = {".py": "python", ".c": "c", ".h": "c", ".js": "javascript", ".toml": "toml"}


def target_of(link: str, folder: Path) -> Path | None:
    """The file of the repository that a link on a page in ``folder`` leads to, if it leads to one."""
    file = (folder / link).resolve()
    inside = "://" not in link and not link.startswith("/") and ROOT in file.parents
    return file if inside and file.exists() else None


def page_of(file: Path) -> str:
    """The page that shows ``file`` of the repository, from the site's root."""
    if DOCS in file.parents:
        return f"/{file.relative_to(DOCS)}"
    name = str(file.relative_to(ROOT))
    if name.startswith("tutorials/") and re.match(r"tutorials/\d\d_\w+\.py$", name):
        return f"/{name.removesuffix('.py')}.rst"
    return f"/{ROOT_PAGES.get(name) or f'source/{name}.md'}"


def write_page(file: Path) -> None:
    """Write the page that shows ``file``, if it is not there as it should be."""
    if file.is_dir():
        rows = sorted(child.name for child in file.iterdir() if not child.name.startswith(("_", ".")))
        text = "".join(f"- `{name}`\n" for name in rows)
    else:
        language = _LANGUAGES.get(file.suffix, "text")
        body = file.read_text(encoding="utf-8")
        text = f"``````{{code-block}} {language}\n:linenos:\n\n{body}``````\n"
    page = DOCS / page_of(file)[1:]
    whole = f"---\norphan: true\n---\n\n# {file.relative_to(ROOT)}\n\n{text}"
    if not page.exists() or page.read_text(encoding="utf-8") != whole:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(whole, encoding="utf-8")


def linked_files() -> list[Path]:
    """Files outside ``docs`` that its pages, and the pages at the root, link to. README is no page of the
    site: ``index.md`` stands for it."""
    found = set()
    shown = (ROOT / name for name in ROOT_PAGES if name != "README.md")
    for page in (*DOCS.rglob("*.md"), *shown):
        if SOURCES not in page.parents:
            for link, _ in _LINK.findall(page.read_text(encoding="utf-8")):
                found.add(target_of(link, page.parent))
    return sorted(file for file in found if file and page_of(file).startswith("/source/"))


def _changed(text: str, folder: Path) -> str:
    """``text`` of a page in ``folder``, with links to files of the repository led to pages of the site."""

    def change(match: re.Match[str]) -> str:
        file = target_of(match[1], folder)
        return match[0] if file is None else f"]({page_of(file)}{match[2] or ''})"

    return _LINK.sub(change, text)


def _read(app: Any, docname: str, content: list[str]) -> None:
    if not docname.startswith(("source/", "tutorials/", "reference/generated/")):
        content[0] = _changed(content[0], (DOCS / docname).parent)


def _include(app: Any, path: Path, parent: str, content: list[str]) -> None:
    content[0] = _changed(content[0], (DOCS / path).resolve().parent)


def _write(app: Any) -> None:
    files = linked_files()
    for file in files:
        write_page(file)
    wanted = {DOCS / page_of(file)[1:] for file in files}
    for page in SOURCES.rglob("*.md"):  # of links that are gone
        if page not in wanted:
            page.unlink()


def setup(app: Any) -> dict[str, Any]:
    """Write the pages of linked files before Sphinx looks for pages, and lead links to them."""
    app.connect("builder-inited", _write)
    app.connect("source-read", _read)
    app.connect("include-read", _include)
    return {"parallel_read_safe": True, "version": "1"}
