"""All pools share one number of threads, and scratch memory is always large enough for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tvmlite.core.errors import ConfigError
from tvmlite.runtime.call.scratch import ScratchPool
from tvmlite.runtime.pool import threads


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = threads.num_threads()
    yield
    threads.set_num_threads(before)


def test_pools_receive_the_number_of_threads_on_registration_and_change() -> None:
    told: list[int] = []
    threads.set_num_threads(2)
    threads.register_pool("test", told.append)
    threads.set_num_threads(3)
    threads.register_pool("test", lambda _: None)
    assert told[0] == 2
    assert told[-1] == 3
    assert threads.num_threads() == 3


@pytest.mark.parametrize("number", [0, -1, 2000, 1.5, True, "2"])
def test_an_invalid_number_of_threads_is_refused(number: object) -> None:
    with pytest.raises(
        ConfigError, match=f"set_num_threads: {number!r} threads, expected a number from 1 to 1024"
    ):
        threads.set_num_threads(number)  # type: ignore[arg-type]


def test_more_threads_wait_for_running_calls_with_scratch_for_fewer() -> None:
    threads.set_num_threads(1)
    pool = ScratchPool()
    scratch = pool.take()
    assert scratch.threads == 1
    told = threading.Event()
    threads.register_pool("waits", lambda n: told.set() if n == 2 else None)
    setter = threading.Thread(target=threads.set_num_threads, args=(2,))
    setter.start()
    assert not told.wait(0.05)
    other = pool.take()
    assert other.threads == 2, "a call that begins now brings enough"
    pool.put(scratch)
    setter.join(5)
    assert told.is_set()
    pool.put(other)
    threads.register_pool("waits", lambda _: None)


def test_scratch_memory_is_reused_and_grows() -> None:
    pool = ScratchPool()
    scratch = pool.take()
    scratch.grow(100, "f")
    first = scratch.address
    scratch.grow(50, "f")
    assert scratch.address is first
    pool.put(scratch)
    assert pool.take() is scratch
    assert pool.take() is not scratch
