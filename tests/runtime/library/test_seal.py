"""The end of a library's file: any damage is found before anything in the file is run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvmlite
from tvmlite import relay, runtime
from tvmlite.core.errors import LibraryError
from tvmlite.runtime.library import seal

TEXT = '{"name": "größe"}'


@pytest.fixture
def body() -> bytes:
    """More than two blocks, and no whole number of words."""
    return np.random.default_rng(0).integers(0, 256, 600_003, dtype=np.uint8).tobytes()


@pytest.fixture
def sealed(body: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "model.so"
    path.write_bytes(body)
    seal.append(path, TEXT)
    return path


def test_the_text_comes_back_and_the_library_stays(sealed: Path, body: bytes) -> None:
    assert seal.read(sealed) == TEXT
    assert sealed.read_bytes()[: len(body)] == body
    assert sealed.stat().st_size == len(body) + len(TEXT.encode()) + seal.FOOTER.size


def test_the_same_bytes_have_the_same_end(sealed: Path, body: bytes, tmp_path: Path) -> None:
    other = tmp_path / "again.so"
    other.write_bytes(body)
    seal.append(other, TEXT)
    assert other.read_bytes() == sealed.read_bytes()


def test_every_flipped_bit_is_found(sealed: Path, tmp_path: Path) -> None:
    whole = bytearray(sealed.read_bytes())
    rng = np.random.default_rng(1)
    end = len(whole) - seal.FOOTER.size - len(TEXT.encode())
    places = [*rng.integers(0, end, 60).tolist(), *range(end, len(whole))]
    bad = tmp_path / "bad.so"
    for place in places:
        bit = 1 << int(rng.integers(8))
        whole[place] ^= bit
        bad.write_bytes(whole)
        with pytest.raises(LibraryError, match=r"bad\.so (is damaged|does not end as|has format)"):
            seal.read(bad)
        whole[place] ^= bit


def test_blocks_in_another_order_are_found(sealed: Path) -> None:
    whole = sealed.read_bytes()
    size = 1 << 18
    sealed.write_bytes(whole[size : 2 * size] + whole[:size] + whole[2 * size :])
    with pytest.raises(LibraryError, match="is damaged"):
        seal.read(sealed)


def test_every_truncation_is_found(sealed: Path, tmp_path: Path) -> None:
    whole = sealed.read_bytes()
    bad = tmp_path / "bad.so"
    for keep in (0, 1, 71, 72, 5000, 600_003, *range(len(whole) - 120, len(whole))):
        bad.write_bytes(whole[:keep])
        with pytest.raises(LibraryError, match=r"bad\.so does not end as a tvmlite library does"):
            seal.read(bad)


def test_more_behind_it_is_found(sealed: Path) -> None:
    sealed.write_bytes(sealed.read_bytes() + b"\0")
    with pytest.raises(LibraryError, match="does not end as"):
        seal.read(sealed)


def test_another_format_is_named(sealed: Path) -> None:
    whole = bytearray(sealed.read_bytes())
    whole[-seal.FOOTER.size + 16] = seal.FORMAT + 1
    sealed.write_bytes(whole)
    with pytest.raises(LibraryError, match=f"has format {seal.FORMAT + 1}, this runtime reads {seal.FORMAT}"):
        seal.read(sealed)


def test_lengths_that_do_not_add_up_are_named(sealed: Path) -> None:
    whole = sealed.read_bytes()
    sealed.write_bytes(whole[1000:])
    with pytest.raises(LibraryError, match=r"is damaged: .* bytes, its footer says"):
        seal.read(sealed)


def test_nothing_of_a_damaged_model_is_loaded(tmp_path: Path) -> None:
    """Weights too: a flipped bit there would be a wrong answer, and no crash."""
    x = relay.var("x", shape=(2, 300), dtype="float32")
    weight = relay.const(np.random.default_rng(0).standard_normal((200, 300)).astype("float32"))
    lib = tvmlite.compile(relay.IRModule.from_expr(relay.Function((x,), relay.nn.dense(x, weight))))
    path = tmp_path / "good.so"
    lib.export(path)
    whole = bytearray(path.read_bytes())
    given = np.ones((2, 300), np.float32)
    np.testing.assert_array_equal(runtime.load(path)(given), lib(given))
    rng = np.random.default_rng(2)
    for number, place in enumerate(rng.integers(0, len(whole), 40).tolist()):
        whole[place] ^= 1 << int(rng.integers(8))
        bad = tmp_path / f"bad{number}.so"
        bad.write_bytes(whole)
        with pytest.raises(LibraryError, match=rf"bad{number}\.so"):
            runtime.load(bad)
