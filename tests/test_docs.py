"""The code on pages of the documentation runs, as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tvmlite.core.errors import TvmliteError
from tvmlite.relay import passes

DOCS = Path(__file__).parents[1] / "docs"


def code_of(page: Path) -> str:
    """The Python on ``page``, top to bottom."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S))


def _run(code: str, folder: Path, **environment: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
    command = [sys.executable, "-c", code]

    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", ["adding_an_operator.md", "graph.md", "tuning.md"])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path) -> None:
    _run(code_of(DOCS / page), tmp_path)


def test_every_level_is_documented() -> None:
    rows = re.findall(r"^\| (\d) \| ", (DOCS / "graph.md").read_text(encoding="utf-8"), re.M)

    assert [int(row) for row in rows] == list(range(passes.MAX_LEVEL + 1))


def test_a_changed_operator_of_the_users_is_compiled_anew(tmp_path: Path) -> None:
    code = code_of(DOCS / "adding_an_operator.md").split("\nimport onnx")[0]
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
    from tvmlite.relay.frontend.onnx import converter

    with pytest.raises(TvmliteError, match="Relu has a converter since opset 1 already"):
        converter("Relu")(lambda node, x: x)
