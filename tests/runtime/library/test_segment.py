"""Data of any size appended to the code of a shared library."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from data_objects import data_object

from tvmlite.core.errors import LibraryError, UnsupportedError
from tvmlite.runtime.library import elf, link, segment

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")

CODE = """
extern const unsigned char data[];
int data_at(long i) { return data[i]; }
int far(void) { return data[3221225479]; }
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("segment")
    (folder / "a.c").write_text(CODE)
    subprocess.run("gcc -O1 -fPIC -c a.c -o a.o".split(), cwd=folder, check=True)
    return (folder / "a.o").read_bytes()


def tools() -> list[object]:
    found: list[object] = [
        pytest.param([name], id=name) for name in ("cc", "gcc", "clang", "ld") if shutil.which(name)
    ]
    if importlib.util.find_spec("ziglang"):
        found.append(pytest.param([sys.executable, "-m", "ziglang", "cc"], id="zig"))
    return found


def linked(code: bytes, path: Path, data: np.ndarray, exports: tuple[str, ...] = ()) -> Path:
    return link.shared([code], path, ("data_at", "far", *exports), data=("data", data))


DATA = np.random.default_rng(0).integers(0, 256, 100_001, np.uint8)


@pytest.mark.parametrize("command", tools())
def test_code_linked_by_every_linker_finds_the_data(
    code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(link, "linkers", lambda triple="": [command])
    library = ctypes.CDLL(str(linked(code, tmp_path / "a.so", DATA)))
    assert [library.data_at(i) for i in (0, 1, 100_000)] == DATA[[0, 1, 100_000]].tolist()
    assert not hasattr(library, "data")


def test_exported_data_begins_at_a_page_boundary(code: bytes, tmp_path: Path) -> None:
    library = ctypes.CDLL(str(linked(code, tmp_path / "a.so", DATA, ("data",))))
    assert ctypes.addressof(ctypes.c_uint8.in_dll(library, "data")) % 4096 == 0


def test_offsets_beyond_32_bits_are_read(
    code: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uses 3 GiB of data, all but the last pages a hole in the file."""
    large = np.zeros((3 << 30) + 4096, np.uint8)
    large[-4089] = 77

    def sparse(file: object, array: np.ndarray) -> None:
        kept = min(array.nbytes, 1 << 16)
        file.seek(array.nbytes - kept, 1)  # type: ignore[attr-defined]
        file.write(array[array.nbytes - kept :].data)  # type: ignore[attr-defined]

    monkeypatch.setattr(segment, "_write", sparse)
    path = linked(code, tmp_path / "a.so", large)
    elf.check_shared_library(path)
    library = ctypes.CDLL(str(path))
    library.data_at.argtypes = [ctypes.c_long]
    assert (library.far(), library.data_at((3 << 30) + 7), library.data_at(5)) == (77, 77, 0)


@pytest.mark.skipif(shutil.which("strip") is None, reason="no strip")
def test_a_stripped_library_keeps_its_data(code: bytes, tmp_path: Path) -> None:
    path = linked(code, tmp_path / "a.so", DATA)
    subprocess.run(["strip", str(path)], check=True)
    elf.check_shared_library(path)
    assert ctypes.CDLL(str(path)).data_at(100_000) == DATA[100_000]


def test_appending_data_is_deterministic(code: bytes, tmp_path: Path) -> None:
    first, second = (linked(code, tmp_path / name, DATA) for name in ("a.so", "b.so"))
    assert first.read_bytes() == second.read_bytes()


def test_a_library_without_the_placeholder_section_is_refused(code: bytes, tmp_path: Path) -> None:
    path = link.shared([code, data_object({"data": DATA.tobytes()})], tmp_path / "a.so")
    with pytest.raises(LibraryError, match=r"without a section \.tvmlite\.data"):
        segment.append(path, DATA)


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "x86_64-linux-gnu"])
def test_llvm_reads_the_placeholder_object_for_other_machines(triple: str) -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    made = llvm.ObjectFileRef.from_data(segment.placeholder("data", triple))
    sizes = {section.name(): section.size() for section in made.sections()}
    assert sizes[b".tvmlite.data"] == 64
    assert sizes[b".note.tvmlite"] == 20


def test_a_target_without_elf_is_named() -> None:
    with pytest.raises(UnsupportedError, match="arm64-apple-darwin"):
        segment.placeholder("data", "arm64-apple-darwin")
