"""Short runs of the benchmarks of exported libraries find no faults."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]


def run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(FOLDER)}
    command = [sys.executable, str(FOLDER / "benchmarks" / name), *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_damaged_libraries_are_refused_or_harmless() -> None:
    done = run("library_faults.py", "--flips", "40", "--truncations", "20")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "net.so, " in done.stdout
    assert done.stdout.count("0 wrong, 0 crashes, 0 other errors") == 2


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang, which has ThreadSanitizer")
def test_concurrent_callers_are_right_and_sanitizers_find_nothing() -> None:
    done = run("library_threads.py", "--seconds", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"[1-9][\d,]* calls, 0 wrong", done.stdout)) >= 5
    assert "ThreadSanitizer, interface" in done.stdout
