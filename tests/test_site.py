"""The documentation builds as a site without warnings, and every link in it resolves."""

from __future__ import annotations

import argparse
import ast
import fcntl
import functools
import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tvmlite import cli
from tvmlite.relay import ops
from tvmlite.relay.ir import op

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "docs" / "extensions"))

reference: Any = importlib.import_module("reference_pages")
pages_of_reference = functools.cache(reference.pages)
reference_groups: Any = importlib.import_module("reference_groups")
reference_messages: Any = importlib.import_module("reference_messages")
reference_operators: Any = importlib.import_module("reference_operators")


class _Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect links and anchors."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name == "id" and value:
                self.anchors.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, without the output of tutorials, which ``test_tutorials.py`` runs.

    If several processes run tests, the first one builds it for all.
    """
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    folder = tmp_path_factory.getbasetemp().parent if is_worker else tmp_path_factory.getbasetemp()
    folder /= "site"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            _build(folder)
            (folder / "built").touch()
    return folder / "html"


def _build(folder: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-D", "plot_gallery=0"]

    build = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert build.returncode == 0, build.stderr


OF_SPHINX = ("genindex.html", "py-modindex.html", "search.html", "sg_execution_times.html")
"""Generated pages that no other page links to."""


def _read(file: Path) -> _Page:
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


@pytest.mark.exhaustive
def test_every_link_of_the_site_resolves(site: Path) -> None:
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


@pytest.mark.exhaustive
def test_every_page_has_a_title_and_is_reachable_from_the_index(site: Path) -> None:
    pages = {file: file.read_text(encoding="utf-8") for file in site.rglob("*.html")}
    titles = {file: re.search(r"<title>(.*?)</title>", text, re.S) for file, text in pages.items()}
    nameless = [
        str(file.relative_to(site)) for file, found in titles.items() if not found or not found[1].strip()
    ]
    assert nameless == []
    assert [str(file.relative_to(site)) for file, text in pages.items() if "&lt;no title&gt;" in text] == []

    seen, waiting = set(), [site / "index.html"]
    while waiting:
        file = waiting.pop()
        if file in pages and file not in seen:
            seen.add(file)
            links = (urlsplit(link) for link in _read(file).links)
            waiting += [(file.parent / unquote(one.path)).resolve() for one in links if not one.netloc]
    unreached = {str(file.relative_to(site)) for file in pages.keys() - seen}
    assert {name for name in unreached if Path(name).name not in OF_SPHINX} == set()


@pytest.mark.exhaustive
def test_every_public_name_and_method_is_in_the_built_reference(site: Path) -> None:
    lines = zlib.decompress((site / "objects.inv").read_bytes().split(b"zlib.\n", 1)[1]).decode().splitlines()
    known = {line.split(" ")[0] for line in lines}
    wanted = set()
    for room in reference.ROOMS:
        for name in reference.public_names(room):
            wanted.add(f"{room}.{name}")
            value = getattr(importlib.import_module(room), name)
            if inspect.isclass(value) and value.__name__ == name:
                wanted |= {f"{room}.{name}.{one}" for one in _own_methods(value)}

    assert len(wanted) > 200
    assert sorted(wanted - known) == []


def _own_methods(owner: type) -> list[str]:
    """The methods with docstrings that a class defines itself."""
    found = {name: value for name, value in vars(owner).items() if inspect.isfunction(value)}
    return [name for name, value in found.items() if not name.startswith("_") and value.__doc__]


def test_every_public_name_has_its_entry_in_the_reference() -> None:
    pages = pages_of_reference()
    for room in (*reference.ROOMS, *reference.tvm_rooms()):
        text = pages[room]
        for name in reference.public_names(room):
            entry = (
                rf"^\.\. auto\w+:: {re.escape(room)}\.{name}$|^\.\. py:data:: {name}$|^   \* - ``{name}``$"
            )
            assert re.search(entry, text, re.M), f"{room}.{name}"


def test_no_literal_in_a_docstring_is_followed_by_a_letter() -> None:
    """For example ``x`` in double backquotes with an s right after them: Sphinx warns of that."""
    found = []
    for file in sorted((ROOT / "tvmlite").rglob("*.py")):
        for text in re.findall(r'"""(.*?)"""', file.read_text(encoding="utf-8"), re.DOTALL):
            pieces = text.split("``")
            behind = zip(pieces[1::2], pieces[2::2], strict=False)
            found += [f"{file}: {literal}" for literal, after in behind if after[:1].isalnum()]
    assert found == []


def test_the_reference_has_no_addresses_of_objects() -> None:
    assert [name for name, text in pages_of_reference().items() if " object at 0x" in text] == []


def test_names_in_the_groups_of_the_reference_exist() -> None:
    for room, groups in reference_groups.GROUPS.items():
        listed = [name for names in groups.values() for name in names.split()]
        assert len(set(listed)) == len(listed)
        assert set(listed) <= set(reference.public_names(room))
    for path, parts in reference_groups.MEMBERS.items():
        room, _, name = path.rpartition(".")
        members = set(reference.members_of(getattr(importlib.import_module(room), name)))
        assert {one for names in parts.values() for one in names.split()} <= members


def test_every_operator_has_a_family_and_an_entry() -> None:
    page = pages_of_reference()["operators"]
    entries = set(re.findall(r"^\.\. py:function:: relay\.([\w.]+)\(", page, re.M))

    folders = {init.parent.name for init in Path(ops.__path__[0]).glob("*/__init__.py")}

    assert set(op.names()) <= entries
    assert len(reference_operators.families()) == len(folders) + 2
    assert folders == set(ops.FAMILIES)


def test_every_option_of_every_command_is_in_the_reference() -> None:
    page = pages_of_reference()["commands"]
    for command in cli.COMMANDS:
        section = page.split(f"\ntvmlite {command.NAME}\n---")[1].split("\n.. _command-")[0]
        parser = argparse.ArgumentParser()
        command.arguments(parser)
        for action in parser._actions:
            for name in action.option_strings:
                assert re.search(rf"``{name}[ `]", section), f"{command.NAME} {name}"


def test_every_environment_variable_is_in_the_reference() -> None:
    source = (ROOT / "tvmlite" / "core" / "config.py").read_text(encoding="utf-8")

    assert set(re.findall(r'"(TVMLITE_\w+)"', source)) <= set(
        re.findall(r"TVMLITE_\w+", pages_of_reference()["variables"])
    )


@pytest.mark.parametrize(
    "message",
    [
        "ScheduleError: split: axis {axis} of stage {stage} needs either factor= or nparts=",
        "TypeInferError: {operator}: dtypes are {given}, expected one dtype",
        "LibraryError: {library} is damaged: its bytes are not those that were written",
        "InputError: function {name} takes {params} arguments, {arguments} given",
        "ExecutionError: the extents {have} and {want} must be equal",
        "InputError: {function}: {kind} {name} overlaps {name}, expected memory of its own",
    ],
)
def test_messages_are_in_the_reference_as_users_see_them(message: str) -> None:
    name, text = message.split(": ", 1)

    assert f"``{name}``\n" in pages_of_reference()["messages"]
    assert f"- ``{text}``\n" in pages_of_reference()["messages"]


def test_every_message_has_a_section_in_the_reference() -> None:
    assert reference_messages.ELSEWHERE not in pages_of_reference()["messages"]


CHAPTERS = sorted((ROOT / "docs" / "how_it_works").glob("[0-9]*.md"))

_SHOWN = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", re.M | re.S)
"""A block of Python, and the text right below it, which shows its output."""

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
def test_a_chapter_has_the_required_sections(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", text, re.M)

    for one in ("The problem", "Alternatives", "Where to read", "Literature", "Exercises"):
        assert one in sections
    exercises = re.findall(r"^\d+\. ", text.split("## Exercises")[1].split("<details>")[0], re.M)
    answers = re.findall(r"^\d+\. ", text.split("<details>")[1], re.M)
    assert exercises == answers
    assert len(exercises) >= 3
    assert "](../../tvmlite/" in text


def test_the_docs_extra_lists_the_packages_of_the_tutorials() -> None:
    conf = ast.parse((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    (packages,) = [
        ast.literal_eval(node.value)
        for node in conf.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PACKAGES"
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = {re.split(r"[^\w-]", one)[0] for one in project["optional-dependencies"]["docs"]}

    assert packages.keys() <= {path.stem for path in (ROOT / "tutorials").glob("*.py")}
    assert {name.replace("_", "-") for names in packages.values() for name in names} <= extra


def test_every_chapter_is_in_the_table_of_its_index() -> None:
    index = (ROOT / "docs" / "how_it_works" / "index.md").read_text(encoding="utf-8")

    assert {page.name for page in CHAPTERS} == set(re.findall(r"\]\((\d\d_\w+\.md)\)", index))
