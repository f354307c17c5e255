"""Data objects can be linked, and damaged libraries are detected."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

import pytest
from data_objects import data_object

from tvmlite.core.errors import LibraryError, UnsupportedError
from tvmlite.runtime.library import elf, link


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not link.linkers():
        pytest.skip("no linker")
    path = tmp_path_factory.mktemp("elf") / "data.so"
    data = data_object({"first": b"abc", "second": bytes(range(256)) * 40_000, "third": b"\0"})
    return link.shared([data], path)


def test_ten_megabytes_of_data_are_read_back_through_dlopen(library: Path) -> None:
    handle = ctypes.CDLL(str(library))
    for name, wanted in (("first", b"abc"), ("second", bytes(range(256)) * 40_000)):
        address = ctypes.cast(getattr(handle, name), ctypes.c_void_p).value
        assert address is not None
        assert address % 64 == 0
        assert ctypes.string_at(address, len(wanted)) == wanted


def test_creating_a_data_object_is_fast_and_deterministic() -> None:
    blob = bytes(10_000_000)
    start = time.perf_counter()
    made = data_object({"blob": blob})
    assert time.perf_counter() - start < 1
    assert made == data_object({"blob": blob})


def test_llvm_objects_link_with_data(tmp_path: Path) -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(
        "@blob = external constant i32\ndefine i32 @read() {\n  %x = load i32, ptr @blob\n  ret i32 %x\n}\n"
    )
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic")
    code = machine.emit_object(module)
    path = link.shared([code, data_object({"blob": (1234).to_bytes(4, "little")})], tmp_path / "both.so")
    assert ctypes.CDLL(str(path)).read() == 1234


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "riscv64-linux-gnu", "x86_64-linux-gnu"])
def test_llvm_reads_data_objects_for_other_machines(triple: str) -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    made = llvm.ObjectFileRef.from_data(data_object({"x": b"abc", "y": b"d"}, triple))
    data = {section.name(): section.data() for section in made.sections()}
    assert data[b".rodata"] == b"abc" + bytes(61) + b"d"
    assert b"\0x\0y\0" in data[b".strtab"]


def test_a_target_without_elf_is_named() -> None:
    with pytest.raises(UnsupportedError, match="arm64-apple-darwin"):
        data_object({}, "arm64-apple-darwin")


def test_an_intact_library_is_accepted(library: Path) -> None:
    elf.check_shared_library(library)


@pytest.mark.parametrize("keep", [0, 3, 20, 63])
def test_files_without_a_complete_header_are_refused(library: Path, tmp_path: Path, keep: int) -> None:
    (tmp_path / "cut.so").write_bytes(library.read_bytes()[:keep])
    with pytest.raises(LibraryError, match=r"truncated|not a shared library"):
        elf.check_shared_library(tmp_path / "cut.so")


def test_foreign_files_are_refused(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.so"
    file.write_text("#!/bin/sh\n" * 100)
    with pytest.raises(LibraryError, match="not a shared library"):
        elf.check_shared_library(file)
    other = bytearray(library.read_bytes())
    other[18:20] = (40).to_bytes(2, "little")
    file.write_bytes(other)
    with pytest.raises(LibraryError, match="another processor"):
        elf.check_shared_library(file)
    other[4] = 1
    file.write_bytes(other)
    with pytest.raises(LibraryError, match="64-bit"):
        elf.check_shared_library(file)
