"""The code on pages of the documentation runs, each block alone, as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tvmlite.core.errors import TvmliteError
from tvmlite.relay import passes

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))


def blocks_of(page: Path) -> list[str]:
    """The blocks of Python on ``page``, top to bottom."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def _blocks() -> list[object]:
    """Every block of every page, named by its page and place."""
    return [
        pytest.param(page, block, id=f"{page.stem}-{number}")
        for page in PAGES
        for number, block in enumerate(blocks_of(page), 1)
    ]


def _run(code: str, folder: Path, **environment: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
    command = [sys.executable, "-c", code]

    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("page", "block"), _blocks())
def test_a_block_runs_alone(page: Path, block: str, tmp_path: Path) -> None:
    for other in blocks_of(page):  # a block that begins with the name of a file is that file
        named = re.match(r"# (\w+\.py)\n", other)
        if named:
            (tmp_path / named[1]).write_text(other, encoding="utf-8")

    _run(block, tmp_path)


def test_every_level_is_documented() -> None:
    rows = re.findall(r"^\| (\d) \| ", (DOCS / "graph.md").read_text(encoding="utf-8"), re.M)

    assert [int(row) for row in rows] == list(range(passes.MAX_LEVEL + 1))


def test_a_changed_operator_of_the_users_is_compiled_anew(tmp_path: Path) -> None:
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
