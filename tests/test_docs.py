"""The pages are right: each block of Python runs alone, commands parse, links resolve."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tvmlite import cli
from tvmlite.core.errors import TvmliteError
from tvmlite.relay import passes

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
HOW_IT_WORKS = DOCS / "how_it_works"
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(HOW_IT_WORKS.glob("*.md")),
)
FRONT = (ROOT / "README.md", DOCS / "schedules.md")
"""Pages whose blocks run in every test run; the blocks of the other pages are marked slow."""

LINKED = (*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md")


def blocks_of(page: Path) -> list[str]:
    """The blocks of Python on ``page``, top to bottom."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def _is_compared(page: Path, block: str) -> bool:
    """Whether a chapter shows what ``block`` prints: ``test_site.py`` runs it then."""
    return page.parent == HOW_IT_WORKS and f"{block}```\n\n```text" in page.read_text(encoding="utf-8")


def _blocks() -> list[object]:
    """Every block of every page, named by its page and place."""
    return [
        pytest.param(
            page, block, id=f"{page.stem}-{number}", marks=[] if page in FRONT else [pytest.mark.slow]
        )
        for page in PAGES
        for number, block in enumerate(blocks_of(page), 1)
        if not _is_compared(page, block)
    ]


def _run(code: str, folder: Path, **environment: str) -> str:
    """The output of ``code``, run in a separate process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
    command = [sys.executable, "-c", code]

    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("page", "block"), _blocks())
def test_a_block_runs_alone(page: Path, block: str, tmp_path: Path) -> None:
    for other in blocks_of(page):  # a block that begins with the name of a file is that file
        named = re.match(r"# (\w+\.py)\n", other)
        if named:
            (tmp_path / named[1]).write_text(other, encoding="utf-8")

    _run(block, tmp_path)


def test_the_page_of_schedules_shows_the_loops_that_its_code_prints(tmp_path: Path) -> None:
    page = DOCS / "schedules.md"
    (shown,) = re.findall(r"^```\n(def .*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)

    assert shown in _run(blocks_of(page)[0], tmp_path)


def test_every_optimization_level_is_documented() -> None:
    rows = re.findall(r"^\| (\d) \| ", (DOCS / "graph.md").read_text(encoding="utf-8"), re.M)

    assert [int(row) for row in rows] == list(range(passes.MAX_LEVEL + 1))


@pytest.mark.slow
def test_a_changed_user_operator_is_compiled_again(tmp_path: Path) -> None:
    code = blocks_of(DOCS / "adding_an_operator.md")[0]
    use = """
import tvmlite
from tvmlite import relay
x = relay.var("x", shape=(4,))
lib = tvmlite.compile(relay.Function([x], relay.make("example.snake", x)), verify=True)
"""
    changed = code.replace("x[i] +", "x[i] -").replace("return x +", "return x -")
    assert changed != code

    for one in (code, changed):
        _run(one + use, tmp_path, TVMLITE_CACHE=str(tmp_path / "cache"))


def test_a_second_converter_of_an_operator_is_an_error() -> None:
    from tvmlite.relay.onnx import converter

    with pytest.raises(TvmliteError, match="Relu has a converter since opset 1 already"):
        converter("Relu")(lambda node, x: x)


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_readme_links_to_every_page() -> None:
    links = set(re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8")))

    assert {f"docs/{page.name}" for page in DOCS.glob("*.md")} <= links


def _anchors(page: Path) -> set[str]:
    """What follows the ``#`` in links to the headings of ``page``, as GitHub makes it."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_links_on_pages_resolve(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        there = (page.parent / path) if path else page
        assert there.exists(), link
        assert not anchor or anchor in _anchors(there), link


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_files_named_on_pages_exist(page: Path) -> None:
    here = [str(path.relative_to(ROOT)) for path in (ROOT / "tvmlite").rglob("*.*")]
    for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|c))`", page.read_text(encoding="utf-8")):
        assert (ROOT / name).exists() or any(f"/{path}".endswith(f"/{name}") for path in here), name


def _commands(page: Path) -> Iterator[str]:
    """The ``tvmlite`` commands in indented and fenced code of ``page``; two spaces end a command."""
    fenced = False
    for line in page.read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        if fenced or line.startswith("    "):
            for command in re.split(r"\s{2,}|;", line):
                if re.match(r"tvmlite [a-z]+( |$)", command):
                    yield command.split(" > ")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_pages_parse(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in _commands(page):
        try:
            parsed = cli.parser().parse_args(shlex.split(command)[1:])
        except SystemExit:
            pytest.fail(f"{command}\n{capsys.readouterr().err}")
        assert isinstance(parsed, argparse.Namespace)


def test_every_command_is_on_its_page() -> None:
    page = (DOCS / "command_line.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^\| `tvmlite (\w+)` \|", page, re.M)) == {one.NAME for one in cli.COMMANDS}


def test_every_environment_variable_is_documented() -> None:
    config = (ROOT / "tvmlite" / "core" / "config.py").read_text(encoding="utf-8")
    page = (DOCS / "python.md").read_text(encoding="utf-8")

    assert set(re.findall(r"TVMLITE_\w+", config)) == set(re.findall(r"TVMLITE_\w+(?==)", page))


def test_the_plot_and_means_in_the_readme_match_the_table() -> None:
    spec = importlib.util.spec_from_file_location("plot_models", DOCS / "plot_models.py")
    assert spec is not None
    assert spec.loader is not None
    plot = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plot)
    rows = plot.read_rows((DOCS / "measured.md").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert len(rows) == 20
    assert (DOCS / "models.svg").read_text(encoding="utf-8") == plot.draw(rows, threads=1)
    one, two = (plot.geometric_mean(rows, threads) for threads in (1, 2))
    assert (
        f"{one:.2f} of the time of the faster of ONNX Runtime and OpenVINO on one thread, {two:.2f} on two"
        in readme
    )
