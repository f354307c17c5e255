"""Every tutorial runs with small sizes, prints something, and makes at least one figure."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvmlite import te

FOLDER = Path(__file__).parents[1] / "tutorials"
TUTORIALS = sorted(FOLDER.glob("[0-9]*.py"))
SMALL = {
    "01_vector_add.py": ["--size", "640"],
    "03_reductions.py": ["--size", "65536"],
    "04_scan.py": ["--hidden", "64"],
    "05_gemm.py": ["--size", "70"],
    "06_tensorize.py": ["--size", "192"],
    "07_intrinsics.py": ["--samples", "4096"],
    "08_convolution.py": ["--size", "14", "--channels", "32"],
    "09_template.py": ["--size", "64", "--trials", "4"],
    "10_tune_model.py": ["--budget", "3s"],
    "16_coming_from_tvm.py": ["--size", "64", "--trials", "2"],
    "17_decoder.py": ["--hidden", "256", "--layers", "1", "--tokens", "4", "--cache", "int8"],
    "18_web_page.py": ["--no-serve"],
}
SLOW = {
    "09_template.py",
    "10_tune_model.py",
    "11_quantize.py",
    "16_coming_from_tvm.py",
    "17_decoder.py",
    "18_web_page.py",
}

COUNTED = """
import runpy, sys
import matplotlib.pyplot as plt
path, *sys.argv[1:] = sys.argv[1:]
sys.argv[0] = path
sys.path.insert(0, path.rpartition("/")[0])
runpy.run_path(path, run_name="__main__")
print("figures:", len(plt.get_fignums()))
"""
"""Run a script as Python does, and count the figures that it has made."""

WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
sys.path.insert(0, sys.argv[1])
import pictures
"""


def run(program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "MPLBACKEND": "Agg"}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_each_exercise_has_an_answer(path: Path) -> None:
    exercises, answers = path.read_text(encoding="utf-8").split("# Exercises\n")[1].split("Answers</summary>")
    numbers = [re.findall(r"^# (\d+)\. ", part, re.M) for part in (exercises, answers)]

    assert numbers[0] == numbers[1] != []


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(one, marks=[pytest.mark.slow] if one.name in SLOW else [], id=one.name)
        for one in TUTORIALS
    ],
)
def test_a_tutorial_runs_prints_and_draws(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    if path.name == "18_web_page.py" and importlib.util.find_spec("ziglang") is None:
        pytest.skip("no ziglang, which links WebAssembly")

    ran = run(COUNTED, path.as_posix(), *SMALL.get(path.name, []), folder=tmp_path)

    assert ran.returncode == 0, ran.stderr
    printed, _, figures = ran.stdout.rpartition("figures: ")
    assert printed.strip()
    assert int(figures) >= 1


def test_tutorial_numbers_are_consecutive() -> None:
    numbers = sorted({int(one.name[:2]) for one in FOLDER.iterdir() if one.name[:2].isdigit()})

    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_a_tutorial_alternates_text_and_code_and_ends_with_exercises(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    cells = text.split("# %%\n")

    assert len(cells) > 3
    assert re.match(r'"""(.+)\n=+\n', text)
    assert cells[-1].startswith("# Exercises\n# ---------\n") or "\n# Exercises\n# ---------\n" in cells[-1]


def test_without_matplotlib_the_error_says_how_to_install_it(tmp_path: Path) -> None:
    ran = run(WITHOUT_MATPLOTLIB, str(FOLDER), folder=tmp_path)

    assert ran.returncode != 0
    assert "the tutorials draw with matplotlib: pip install 'tvmlite[docs]'" in ran.stderr


def _pictures() -> Any:
    """The drawing module in the folder of the tutorials."""
    pytest.importorskip("matplotlib").use("Agg")
    spec = importlib.util.spec_from_file_location("pictures", FOLDER / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["pictures"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _plain(rows: int, columns: int) -> tuple[Any, list[Any]]:
    a = te.placeholder((rows, columns), name="A")
    c = te.compute((rows, columns), lambda i, j: a[i, j] + 1.0, name="C")
    return te.create_schedule(c.op), [a, c]


def test_visits_follow_the_order_of_the_loops() -> None:
    s, args = _plain(2, 3)
    i, j = args[1].op.axis
    np.testing.assert_array_equal(_pictures().visit_order(te.lower(s, args), "C"), [[0, 1, 2], [3, 4, 5]])
    s[args[1]].reorder(j, i)
    np.testing.assert_array_equal(_pictures().visit_order(te.lower(s, args), "C"), [[0, 2, 4], [1, 3, 5]])


def test_lanes_of_a_vector_are_visited_in_one_step() -> None:
    s, args = _plain(2, 4)
    s[args[1]].vectorize(s[args[1]].split(args[1].op.axis[1], factor=2)[1])

    np.testing.assert_array_equal(
        _pictures().visit_order(te.lower(s, args), "C"), [[0, 0, 1, 1], [2, 2, 3, 3]]
    )


def test_visits_have_bodies_parallel_iterations_and_reads() -> None:
    s, args = _plain(2, 4)
    i, j = args[1].op.axis
    s[args[1]].parallel(i)
    s[args[1]].unroll(s[args[1]].split(j, factor=2)[1])

    seen = _pictures().visits(te.lower(s, args), reads=True)

    written = [visit for visit in seen if not visit.is_read]
    assert [visit.index for visit in written] == [(i, j) for i in range(2) for j in range(4)]
    assert [visit.iteration for visit in written] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert len({visit.body for visit in written}) == 4
    read = [visit for visit in seen if visit.is_read]
    assert [(visit.buffer, visit.index, visit.step) for visit in read] == [
        ("A", visit.index, visit.step) for visit in written
    ]
