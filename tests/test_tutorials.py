"""Every tutorial runs, in small, to its end."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[1] / "tutorials").glob("[0-9]*.py"))
SMALL = {
    "01_vector_add.py": ["--size", "640"],
    "05_gemm.py": ["--size", "70"],
    "18_web_page.py": ["--no-serve"],
    "17_decoder.py": ["--hidden", "256", "--layers", "1", "--tokens", "4"],
}


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_a_tutorial_runs(path: Path, tmp_path: Path) -> None:
    if path.name == "18_web_page.py" and importlib.util.find_spec("ziglang") is None:
        pytest.skip("no ziglang, which links WebAssembly")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, str(path), *SMALL.get(path.name, [])]

    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr
    assert run.stdout
