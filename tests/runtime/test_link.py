"""Linking: with any linker there is, whole or not at all, or an error that says what to install."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tvmlite.core.errors import LibraryError
from tvmlite.runtime import link

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


@pytest.fixture
def code(tmp_path: Path) -> bytes:
    (tmp_path / "a.c").write_text(
        "#include <math.h>\nint inner(void) { return 3; }\n"
        "double answer(double x) { return sin(x) + inner(); }\n"
    )
    subprocess.run("gcc -O1 -fPIC -c a.c -o a.o".split(), cwd=tmp_path, check=True)
    return (tmp_path / "a.o").read_bytes()


def tools() -> list[object]:
    found: list[object] = [
        pytest.param([name], id=name) for name in ("cc", "gcc", "clang", "ld") if shutil.which(name)
    ]
    if importlib.util.find_spec("ziglang"):
        found.append(pytest.param([sys.executable, "-m", "ziglang", "cc"], id="zig"))
    return found


@needs_gcc
@pytest.mark.parametrize("command", tools())
def test_every_linker_makes_a_library(
    code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(link, "linkers", lambda triple="": [command])
    path = link.shared([code], tmp_path / "a.so", exports=["answer"])
    library = ctypes.CDLL(str(path))
    library.answer.restype, library.answer.argtypes = ctypes.c_double, [ctypes.c_double]
    assert library.answer(0.0) == 3.0
    assert not hasattr(library, "inner")


@needs_gcc
def test_without_a_linker_the_error_says_what_to_install(
    code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(LibraryError, match=r"(?s)a.so.*no linker on this machine.*pip install ziglang"):
        link.shared([code], tmp_path / "a.so")


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    if not link.linkers():
        pytest.skip("no linker")
    (tmp_path / "a.so").write_bytes(b"old")
    with pytest.raises(LibraryError, match=r"linking .*a.so failed"):
        link.shared([b"not an object"], tmp_path / "a.so")
    assert [p.name for p in tmp_path.iterdir()] == ["a.so"]
    assert (tmp_path / "a.so").read_bytes() == b"old"


@needs_gcc
def test_a_folder_that_is_not_there_is_named(code: bytes, tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"cannot write .*missing/a.so: No such file"):
        link.shared([code], tmp_path / "missing" / "a.so")


def test_triples_are_told_native_from_foreign() -> None:
    assert link.is_native("")
    assert not link.is_native("riscv64-unknown-linux-gnu")
