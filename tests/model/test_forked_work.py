"""Work is divided among processes: every piece is done once, and no process is left behind."""

from __future__ import annotations

import os
import sys
import time
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest

from tvmlite.model import forked_work

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is shared out")


@pytest.fixture(autouse=True)
def three_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked_work, "processors", lambda: 3)


def test_every_piece_is_done_once(tmp_path: Path) -> None:
    def work(number: int) -> None:
        (tmp_path / f"{number} by {os.getpid()}").touch()
        while len({one.name.split(" by ")[1] for one in tmp_path.iterdir()}) < 2:
            time.sleep(0.01)  # until another process has also begun

    with forked_work.divided_among_processes(range(100), work, nullcontext()) as mine:
        for number in mine:
            work(number)

    done = sorted((name.name.split(" by ") for name in tmp_path.iterdir()), key=lambda one: int(one[0]))
    assert [int(number) for number, _ in done] == list(range(100))
    assert 1 < len({process for _, process in done}) <= 3


def test_few_pieces_are_left_to_the_caller() -> None:
    with forked_work.divided_among_processes(
        range(2 * forked_work.FEWEST_ITEMS - 1), lambda number: 1 / 0, nullcontext()
    ) as mine:
        assert list(mine) == list(range(2 * forked_work.FEWEST_ITEMS - 1))


def test_a_piece_that_fails_in_a_child_is_left_to_the_caller(tmp_path: Path) -> None:
    parent = os.getpid()

    def work(number: int) -> None:
        if number % 3 == 0:
            raise ValueError(number)
        if number % 3 == 1:
            warnings.warn("as good as an error", RuntimeWarning, stacklevel=1)
        assert os.getpid() != parent
        (tmp_path / str(number)).touch()

    with forked_work.divided_among_processes(range(60), work, nullcontext()) as mine:
        while not any(tmp_path.iterdir()):
            time.sleep(0.01)  # until another process has begun
        left = list(mine)

    assert {int(one.name) for one in tmp_path.iterdir()} == set(range(2, 60, 3)) - set(left)
    assert len(left) < 60


def _children() -> set[str]:
    """The ids of child processes."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def test_an_error_in_the_caller_ends_the_children() -> None:
    began, before = time.monotonic(), _children()

    with (
        pytest.raises(KeyboardInterrupt),
        forked_work.divided_among_processes(range(60), lambda number: time.sleep(60), nullcontext()),
    ):
        raise KeyboardInterrupt

    assert time.monotonic() - began < 30
    assert _children() == before


def test_a_lock_held_while_forking_is_free_in_the_children(tmp_path: Path) -> None:
    from threading import Lock

    lock = Lock()

    def work(number: int) -> None:
        assert lock.acquire(timeout=10)
        lock.release()
        (tmp_path / str(number)).touch()

    with forked_work.divided_among_processes(range(60), work, lock) as mine:
        time.sleep(0.3)
        left = list(mine)

    assert len(left) + len(list(tmp_path.iterdir())) == 60
