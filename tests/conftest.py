"""Shared by the tests: this folder on the path, restored threads, an empty kernel cache, options."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from command_line import folder, tvmlite  # noqa: F401  (fixtures; the path above finds them)


@pytest.fixture
def threads() -> Iterator[None]:
    """Restore the number of threads after the test."""
    from tvmlite import runtime

    before = runtime.num_threads()
    yield
    runtime.set_num_threads(before)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the kernel cache while the test runs, empty at its start."""
    cache = tmp_path / "kernel-cache"
    monkeypatch.setenv("TVMLITE_CACHE", str(cache))
    return cache


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options for the number and the seed of the made-up calls of public functions."""
    parser.addoption("--constructor-calls", type=int, default=500, help="made-up calls of public functions")
    parser.addoption("--constructor-seed", type=int, default=0, help="the seed of those calls")
