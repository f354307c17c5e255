"""Linking works with any linker and leaves whole files; without a linker the error says what to install."""

from __future__ import annotations

import ctypes
import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import link, segment

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
        zig = [sys.executable, "-m", "ziglang", "cc"]
        found.append(pytest.param(zig, id="zig", marks=pytest.mark.exhaustive))
    return found


@needs_gcc
@pytest.mark.parametrize("command", tools())
def test_every_linker_produces_a_library(
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


def test_a_failed_link_leaves_only_the_old_file(tmp_path: Path) -> None:
    if not link.linkers():
        pytest.skip("no linker")
    (tmp_path / "a.so").write_bytes(b"old")
    with pytest.raises(LibraryError, match=r"linking .*a.so failed"):
        link.shared([b"not an object"], tmp_path / "a.so")
    assert [p.name for p in tmp_path.iterdir()] == ["a.so"]
    assert (tmp_path / "a.so").read_bytes() == b"old"


@needs_gcc
def test_a_missing_output_folder_is_named(code: bytes, tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"cannot write .*missing/a.so: No such file"):
        link.shared([code], tmp_path / "missing" / "a.so")


# Failures to write are reported as such: installing a compiler does not help against a full disk.


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_an_unwritable_file_is_named_with_the_reason(tmp_path: Path, code: int) -> None:
    def make(_: Path) -> None:
        raise OSError(code, os.strerror(code))

    (tmp_path / "a.so").write_bytes(b"old")
    with pytest.raises(LibraryError) as caught:
        link.write_atomically(tmp_path / "a.so", make)
    assert caught.value.message == f"cannot write {tmp_path}/a.so: {os.strerror(code)}"
    assert [p.name for p in tmp_path.iterdir()] == ["a.so"]
    assert (tmp_path / "a.so").read_bytes() == b"old"


@needs_gcc
def test_a_disk_that_fills_up_while_writing_data_is_reported(
    code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "_write", _full)
    (tmp_path / "out").mkdir()
    with pytest.raises(LibraryError) as caught:
        link.shared([code], tmp_path / "out" / "a.so", data=("x", np.zeros(10, np.uint8)))
    assert caught.value.message == f"cannot write {tmp_path}/out/a.so: No space left on device"
    assert not list((tmp_path / "out").iterdir())


@needs_gcc
def test_a_full_temporary_folder_is_named(
    code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "write_bytes", _full)
    with pytest.raises(
        LibraryError, match=r"(?s)cannot write .*tvmlite-link-.*0\.o: No space left.*\n.*TMPDIR"
    ):
        link.shared([code], tmp_path / "a.so")


@needs_gcc
def test_a_missing_temporary_folder_is_reported(
    code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(
        LibraryError, match=r"cannot make a temporary folder.*No such file or directory: '.*missing/"
    ):
        link.shared([code], tmp_path / "a.so")


LIMITED = """
import resource, sys
from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import elf, link
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    objects = [elf.relocatable_object(".rodata", bytes(40_000), 64, {name: (0, 40_000)}) for name in "xy"]
    link.shared(objects, sys.argv[1])
except LibraryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux" or not link.linkers(), reason="no linker, or no limits")
def test_a_linker_that_exceeds_a_size_limit_is_quoted(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "a.so")], capture_output=True, text=True
    )
    assert re.search(r"linking .*a\.so failed: .*(too large|signal 25|size limit|-25)", done.stdout, re.S), (
        done
    )
    assert "install" not in done.stdout
    assert not list(tmp_path.iterdir())
