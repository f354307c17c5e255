"""Compiling generated C: errors quote the compiler or say what to install."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tvmlite.core.errors import LibraryError
from tvmlite.te.codegen.c.build import compile_shared


def test_sources_and_objects_become_one_library(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    path = compile_shared(
        "int half(void);\nint whole(void) { return 2 * half(); }\n",
        tmp_path / "a.so",
        ["int half(void) { return 21; }\n"],
    )
    assert ctypes.CDLL(str(path)).whole() == 42
    assert [p.name for p in tmp_path.iterdir()] == ["a.so"]


def test_a_source_that_does_not_compile_leaves_no_file(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    with pytest.raises(LibraryError, match=r"(?s)compiling generated C failed: .*nonsense"):
        compile_shared("nonsense", tmp_path / "a.so")
    assert list(tmp_path.iterdir()) == []


def test_without_a_compiler_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(LibraryError, match=r"(?s)target 'c' needs a C compiler.*pip install ziglang"):
        compile_shared("", tmp_path / "a.so")


CHECKED = """
from tvmlite import te
from tvmlite.fuzz.expected.check import check
from tvmlite.te.codegen.c import build as c_build

sources, objects, _, *others = c_build.compile_shared.__defaults__
c_build.compile_shared.__defaults__ = (sources, objects, FLAGS, *others)
PROGRAM
check(s, seed=878, backends=["c"])
"""

STRIDED = """
x, w = te.placeholder((2, 4, 31), "bfloat16"), te.placeholder((1, 4, 2), "bfloat16")
c, r = te.reduce_axis((0, 4)), te.reduce_axis((0, 2))
y = te.compute((2, 1, 30), lambda n, f, i: te.sum(
    x[n, c, i + r].astype("float32") * w[f, c, r].astype("float32"), [r, c]))
s = te.create_schedule(y)
s[y].vectorize(s[y].split(s[y].op.axis[2], 8)[1])
"""
"""The weights are read with stride 2 in a loop: GCC 12.2 reads one element too many at ``-O3``."""

COUNTED = """
x = te.placeholder((12,), "bool")
k = te.reduce_axis((0, 12))
y = te.compute((), lambda: te.sum(x[k].astype("int8"), k))
s = te.create_schedule(y)
s[y].unroll(k)
"""
"""GCC 12.2 counts downwards here at ``-O2``."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="places arrays between pages that may not be read")
@pytest.mark.parametrize("program", [STRIDED, COUNTED], ids=["strided", "counted"])
@pytest.mark.parametrize("flags", [("-O2",), ("-O3", "-march=native")], ids=" ".join)
def test_generated_c_avoids_known_miscompilations_of_gcc(program: str, flags: tuple[str, ...]) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    code = CHECKED.replace("PROGRAM", program).replace("FLAGS", repr((*flags, "-fPIC")))
    assert subprocess.run([sys.executable, "-c", code], timeout=300).returncode == 0
