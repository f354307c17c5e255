"""Mapped files are read unchanged and in pieces, and their pages are released."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tvmlite.core import mapped
from tvmlite.core.errors import ModelError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    np.random.default_rng(0).integers(0, 256, 200_000, np.uint8).tofile(tmp_path / "data")
    return tmp_path / "data"


def resident() -> int:
    """The resident bytes of mapped files of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssFile:"):
            return int(line.split()[1]) * 1024
    pytest.skip("the system does not tell")


@pytest.mark.parametrize(("offset", "length"), [(0, 1), (1, 4096), (4096, 100), (70_001, 120_000)])
def test_a_mapping_has_the_bytes_of_the_file(file: Path, offset: int, length: int) -> None:
    made = mapped.map_file(file, offset, length)
    assert made.tobytes() == file.read_bytes()[offset : offset + length]
    assert not made.flags.writeable


@pytest.mark.parametrize("piece", [1, 1000, 1 << 26])
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_copying_in_pieces_copies_all_elements(
    file: Path, axes: tuple[int, ...], piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped, "PIECE_BYTES", piece)
    source = mapped.map_file(file, 64, 60_000).view("<i2").reshape(20, 30, 50).transpose(axes)[1:]
    for part in (source, source[::-1]):
        out = np.empty(part.shape, part.dtype)
        mapped.copy(out, part)
        np.testing.assert_array_equal(out, part)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)])
def test_scalars_and_empty_arrays_are_copied(shape: tuple[int, ...]) -> None:
    out = np.zeros(shape)
    mapped.copy(out, np.ones(shape))
    np.testing.assert_array_equal(out, np.ones(shape))


def test_pages_are_released_after_copying(tmp_path: Path) -> None:
    size = 32 << 20
    with open(tmp_path / "large", "wb") as file:
        file.truncate(size)
    source = mapped.map_file(tmp_path / "large", 0, size)
    before = resident()
    assert not source.any()
    assert resident() - before > size // 2  # otherwise this test could not fail
    mapped.copy(np.empty(size, np.uint8), source)
    assert resident() - before < size // 8


def test_pages_are_released_after_reading(tmp_path: Path) -> None:
    size = 32 << 20
    with open(tmp_path / "large", "wb") as file:
        file.truncate(size)
    before = resident()
    with mapped.reading(mapped.map_file(tmp_path / "large")) as source:
        assert not source.any()
        assert resident() - before > size // 2
    assert resident() - before < size // 8


def rewritten(file: Path) -> None:
    with open(file, "r+b") as opened:
        opened.write(b"other bytes")
    os.utime(file, ns=(0, 1))  # the clock of a file system may be coarse


def truncated(file: Path) -> None:
    os.truncate(file, 1)


@pytest.mark.parametrize("change", [rewritten, truncated])
def test_a_file_modified_after_mapping_is_an_error(file: Path, change) -> None:
    part = mapped.map_file(file)[4096:8192].view("float32").reshape(32, 32).T
    mapped.check_unchanged(part)
    change(file)
    with pytest.raises(ModelError, match=r"data' was written to after it was imported") as raised:
        mapped.check_unchanged(part)
    assert "import it again" in str(raised.value)
    with pytest.raises(ModelError, match="written to"):
        mapped.copy(np.empty((32, 32), np.float32), part)
    with pytest.raises(ModelError, match="written to"), mapped.reading(part):
        pass


def removed(file: Path) -> None:
    file.unlink()


def replaced(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(b"other bytes")
    os.replace(other, file)


@pytest.mark.parametrize("change", [removed, replaced])
def test_a_file_removed_or_replaced_after_mapping_is_still_read(file: Path, change) -> None:
    whole = file.read_bytes()
    source = mapped.map_file(file)
    change(file)
    mapped.check_unchanged(source)
    assert source.tobytes() == whole


def test_arrays_in_memory_count_as_unchanged() -> None:
    mapped.check_unchanged(np.ones(3))


def test_pages_of_foreign_mappings_are_not_released() -> None:
    """Releasing a private mapping that was written to would lose the written values."""
    import mmap

    theirs = np.frombuffer(mmap.mmap(-1, 8192, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    theirs[:] = 7
    mapped.copy(np.empty(8192, np.uint8), theirs)
    assert (theirs == 7).all()
