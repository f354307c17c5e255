"""Metadata and constants are read back unchanged from a library through dlopen."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from data_objects import data_object

from tvmlite.machine.target import Target
from tvmlite.runtime.library import link
from tvmlite.te.codegen import jit
from tvmlite.te.codegen.library_ir import metadata_ir


def test_ten_megabytes_of_constants_and_a_text_are_read_back(native: Target, tmp_path: Path) -> None:
    if not link.linkers():
        pytest.skip("no linker")
    blob, text = bytes(range(256)) * 40_000, 'a "text"\n\\ with Größe'

    constants = data_object({"net_constants": blob}, native.triple)
    metadata = jit.compile_object(metadata_ir(text), native)
    library = ctypes.CDLL(str(link.shared([constants, metadata], tmp_path / "net.so")))

    address = ctypes.cast(library.net_constants, ctypes.c_void_p).value
    assert address is not None
    assert address % 64 == 0
    assert ctypes.string_at(address, len(blob)) == blob
    found = ctypes.cast(library.tvmlite_metadata, ctypes.c_void_p).value
    assert found is not None
    assert ctypes.string_at(found).decode() == text
