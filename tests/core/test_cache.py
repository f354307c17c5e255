"""The cache of compiled objects holds whole entries or none, whatever happens to disk and processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from tvmlite.core import cache
from tvmlite.core.cache import ObjectCache, key_of

KEY = key_of("a", "key")


def entry_of(directory: Path) -> Path:
    (path,) = (p for p in directory.glob("??/*") if p.is_file())
    return path


def test_a_stored_entry_is_returned(tmp_path: Path) -> None:
    store = ObjectCache(tmp_path / "new")

    assert store.get(KEY) is None
    store.put(KEY, b"code")

    assert store.get(KEY) == b"code"
    assert ObjectCache(tmp_path / "new").get(KEY) == b"code"
    assert store.get(key_of("another")) is None


def test_an_entry_may_be_empty_or_large(tmp_path: Path) -> None:
    store = ObjectCache(tmp_path)

    for content in (b"", bytes(range(256)) * 5000):
        store.put(KEY, content)
        assert store.get(KEY) == content


def test_keys_depend_on_where_their_parts_begin() -> None:
    keys = {key_of("ab", "c"), key_of("a", "bc"), key_of("abc"), key_of("abc", ""), key_of(b"abc", "", "")}

    assert len(keys) == 5
    assert key_of("text") == key_of(b"text")


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "header", "longer"])
def test_a_damaged_entry_is_ignored_and_replaced(tmp_path: Path, damage: str) -> None:
    store = ObjectCache(tmp_path)
    store.put(KEY, b"some object code")
    path = entry_of(tmp_path)
    data = path.read_bytes()
    path.write_bytes(
        {
            "cut": data[:-3],
            "flip": data[:-1] + bytes([data[-1] ^ 1]),
            "empty": b"",
            "header": b"X" + data[1:],
            "longer": data + b"!",
        }[damage]
    )

    assert store.get(KEY) is None
    store.put(KEY, b"some object code")
    assert store.get(KEY) == b"some object code"


def test_the_least_recently_used_entry_is_evicted_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TVMLITE_CACHE_MB", "1")
    store = ObjectCache(tmp_path)
    keys = [key_of(str(n)) for n in range(3)]
    for number, key in enumerate(keys):
        store.put(key, bytes(300_000))
        path = tmp_path / key[:2] / key[2:]
        os.utime(path, (1000 + number, 1000 + number))
    assert store.get(keys[0]) is not None  # makes it the most recently used

    ObjectCache(tmp_path).put(key_of("last"), bytes(300_000))

    assert store.get(keys[0]) is not None
    assert store.get(keys[1]) is None
    assert store.get(keys[2]) is not None


def test_the_size_stays_within_the_limit_while_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TVMLITE_CACHE_MB", "1")
    store = ObjectCache(tmp_path)

    for number in range(60):
        store.put(key_of(str(number)), bytes(100_000))

    assert sum(p.stat().st_size for p in tmp_path.glob("??/*")) < 1_200_000


def test_old_files_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / KEY[:2]
    folder.mkdir()
    old, fresh = folder / ".writing-old", folder / ".writing-fresh"
    old.write_bytes(b"half")
    fresh.write_bytes(b"half")
    os.utime(old, (1000, 1000))

    ObjectCache(tmp_path).put(KEY, b"code")

    assert not old.exists()
    assert fresh.exists(), "somebody may be writing it"


@pytest.mark.parametrize("kind", ["a file", "inside a file"])
def test_an_unusable_directory_disables_the_cache_with_one_warning(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").write_text("in the way")
    place = tmp_path / "file" if kind == "a file" else tmp_path / "file" / "cache"
    store = ObjectCache(place)

    with pytest.warns(RuntimeWarning, match="compiled code is not kept: .*file"):
        store.put(KEY, b"code")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.put(KEY, b"code")
        ObjectCache(place).put(KEY, b"code")

    assert store.get(KEY) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_cache_is_still_read(tmp_path: Path) -> None:
    ObjectCache(tmp_path).put(KEY, b"code")
    for path in (tmp_path / KEY[:2], tmp_path):
        path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    store = ObjectCache(tmp_path)

    with pytest.warns(RuntimeWarning, match="compiled code is not kept"):
        store.put(key_of("more"), b"code")

    assert store.get(KEY) == b"code"
    for path in (tmp_path, tmp_path / KEY[:2]):
        path.chmod(stat.S_IRWXU)


def content_of(number: int) -> bytes:
    return bytes([number]) * (1000 + 7919 * number)


def write_forever(directory: str) -> None:
    store, number = ObjectCache(directory), 0
    while True:
        store.put(key_of("shared", str(number % 5)), content_of(number % 5))
        number += 1


def test_readers_see_whole_entries_while_writers_are_killed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_forever, args=(str(tmp_path),)) for _ in range(3)]
    for writer in writers:
        writer.start()
    store = ObjectCache(tmp_path)
    seen = 0
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        for number in range(5):
            found = store.get(key_of("shared", str(number)))
            assert found is None or found == content_of(number)
            seen += found is not None
    for writer in writers:
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()

    assert seen > 100
    for number in range(5):
        assert store.get(key_of("shared", str(number))) == content_of(number)


def test_a_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "replace", full)

    with pytest.warns(RuntimeWarning, match="No space left on device"):
        ObjectCache(tmp_path).put(KEY, b"code")

    assert not list(tmp_path.glob("??/*"))
    assert not list(tmp_path.glob("??/.*"))


def test_the_directory_is_listed_once_per_sixteenth_of_the_limit_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TVMLITE_CACHE_MB", "1")
    trims: list[ObjectCache] = []
    trim = ObjectCache._trim
    monkeypatch.setattr(ObjectCache, "_trim", lambda self: (trims.append(self), trim(self)))

    for number in range(20):  # as from 20 processes that know nothing of each other
        ObjectCache(tmp_path).put(key_of(str(number)), bytes(10_000))

    assert len(trims) == 1 + 19 // 6, "the first, and then every sixth: 66 KB are more than 1 MB / 16"


def test_many_processes_that_write_little_stay_within_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TVMLITE_CACHE_MB", "1")

    for number in range(200):
        ObjectCache(tmp_path).put(key_of(str(number)), bytes(20_000))

    assert sum(p.stat().st_size for p in tmp_path.glob("??/*")) < 1_000_000 * 17 / 16 + 20_000


def test_an_entry_stored_under_another_key_is_ignored(tmp_path: Path) -> None:
    store, other = ObjectCache(tmp_path), key_of("another")
    store.put(KEY, b"code")
    store.put(other, b"other code")
    (tmp_path / other[:2] / other[2:]).write_bytes(entry_bytes := (tmp_path / KEY[:2] / KEY[2:]).read_bytes())

    assert entry_bytes.endswith(b"code")
    assert store.get(other) is None
    assert store.get(KEY) == b"code"


WRITE_HALF_AND_DIE = """
import os, signal, sys
from tvmlite.core import cache
write = os.fdopen
def half(handle, mode):
    file = write(handle, mode)
    content = file.write
    class Half:
        def __enter__(self): return self
        def __exit__(self, *_): pass
        def write(self, data):
            content(data[: len(data) // 2])
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    return Half()
cache.os.fdopen = half
cache.ObjectCache(sys.argv[1]).put(sys.argv[2], b"new code" * 1000)
"""


def test_a_writer_killed_while_writing_leaves_the_old_entry(tmp_path: Path) -> None:
    store = ObjectCache(tmp_path)
    store.put(KEY, b"old code")

    run = subprocess.run([sys.executable, "-c", WRITE_HALF_AND_DIE, str(tmp_path), KEY], check=False)

    assert run.returncode == -signal.SIGKILL
    assert store.get(KEY) == b"old code"
    assert [p.stat().st_size for p in (tmp_path / KEY[:2]).glob(".writing-*")] == [(49 + 8000) // 2]
