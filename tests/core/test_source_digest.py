"""Digests of source files change with any edit, and files are read only once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tvmlite.core import source_digest as module
from tvmlite.core.source_digest import SCHEDULES, digests, files_below, source_digest


@pytest.fixture
def package(tmp_path: Path, empty_cache: Path) -> Path:
    """A folder of source files that were changed an hour ago."""
    root = tmp_path / "package"
    (root / "passes" / "__pycache__").mkdir(parents=True)
    (root / "passes" / "fuse.py").write_text("LIMIT = 1")
    (root / "table.json").write_text("{}")
    (root / "passes" / "__pycache__" / "fuse.pyc").write_bytes(b"byte code")
    for path in root.rglob("*"):
        os.utime(path, (time.time() - 3600,) * 2)
    return root


def digests_of(root: Path) -> dict[str, str]:
    return digests(root, files_below(root))


def test_source_and_data_files_count_but_byte_code_does_not(package: Path) -> None:
    assert list(digests_of(package)) == ["passes/fuse.py", "table.json"]


@pytest.mark.parametrize("settled", [0, -(10**6)], ids=["kept in the cache", "not kept"])
def test_an_edited_file_has_another_digest(
    package: Path, monkeypatch: pytest.MonkeyPatch, settled: float
) -> None:
    monkeypatch.setattr(module, "_UNSTABLE_SECONDS", settled or 10**6)
    before, times = digests_of(package), (package / "passes" / "fuse.py").stat()
    (package / "passes" / "fuse.py").write_text("LIMIT = 2")  # same size, and below the same times
    os.utime(package / "passes" / "fuse.py", ns=(times.st_atime_ns, times.st_mtime_ns))

    after = digests_of(package)

    assert after["passes/fuse.py"] != before["passes/fuse.py"]
    assert after["table.json"] == before["table.json"]


def test_files_with_unchanged_size_and_times_are_not_read_again(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_UNSTABLE_SECONDS", 0)
    read: list[Path] = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (read.append(path), read_bytes(path))[1])

    first, second = digests_of(package), digests_of(package)

    assert first == second
    assert sorted(path.name for path in read if package in path.parents) == ["fuse.py", "table.json"]


def test_files_changed_just_now_are_not_cached(package: Path, empty_cache: Path) -> None:
    (package / "table.json").write_text("[]")

    digests_of(package)

    assert not list(empty_cache.glob("??/*"))


def test_each_part_has_its_own_digest() -> None:
    assert (
        len({source_digest(), source_digest("core"), source_digest("core", "te"), source_digest("te")}) == 4
    )
    assert len(source_digest(*SCHEDULES)) == 64
    with pytest.raises(AssertionError, match="no_such_room"):
        source_digest("core", "no_such_room")


DIGESTS = """
import pathlib, sys
from tvmlite.core.source_digest import source_digest
import tvmlite.core
pass_ = pathlib.Path(sys.argv[1]) / "core" / "node.py"
if sys.argv[2:]:
    pass_.write_text(pass_.read_text() + "# changed")
print(source_digest(), source_digest("core"), source_digest("machine"))
"""


def test_an_edited_pass_changes_the_digest_of_the_package(tmp_path: Path) -> None:
    copy = tmp_path / "tvmlite"
    for room in ("core", "machine"):
        shutil.copytree(module.ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "__init__.py").write_text("")

    def run(*words: str) -> list[str]:
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "TVMLITE_CACHE": str(tmp_path / "cache")}
        command = [sys.executable, "-c", DIGESTS, str(copy), *words]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.split()

    first, second = run(), run()
    own = run("change it after the import")
    changed, again = run(), run()

    assert first == second
    assert changed == again
    assert [one == other for one, other in zip(first, changed, strict=True)] == [False, False, True]
    assert not set(own) & {*first, *changed}, "the old code ran, the new code lies there"
