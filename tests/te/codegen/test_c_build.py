"""Compiling generated C: what goes wrong is told in the compiler's words, or in what to install."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
from pathlib import Path

import pytest

from tvmlite.core.errors import LibraryError
from tvmlite.te.codegen.c_build import compile_shared


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


def test_a_source_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
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
