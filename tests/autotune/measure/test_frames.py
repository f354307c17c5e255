"""Messages between the tuner and its worker: whole however they come, and the end of either side is told."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator

import pytest

from tvmlite.autotune.measure import frames


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    out, into = os.pipe()
    yield out, into
    for end in (out, into):
        with contextlib.suppress(OSError):  # closed by the test
            os.close(end)


@pytest.mark.parametrize("payload", [b"", b"some", bytes(range(256)) * 4096])
def test_a_message_longer_than_the_pipe_comes_as_it_was_sent(pipe: tuple[int, int], payload: bytes) -> None:
    out, into = pipe
    os.set_blocking(into, False)
    deadline = time.monotonic() + 30
    sender = threading.Thread(target=frames.send, args=(into, {"do": "it"}, payload, deadline))
    sender.start()

    assert frames.receive(out, deadline) == ({"do": "it"}, payload)
    sender.join()


def test_a_message_may_come_byte_by_byte(pipe: tuple[int, int]) -> None:
    out, into = pipe
    read, write = os.pipe()
    frames.send(write, {"number": 1}, b"xyz")
    whole = os.read(read, 1000)
    sender = threading.Thread(target=lambda: [os.write(into, whole[n : n + 1]) for n in range(len(whole))])
    sender.start()

    assert frames.receive(out) == ({"number": 1}, b"xyz")
    sender.join()
    os.close(read)
    os.close(write)


def test_nobody_waits_longer_than_the_deadline(pipe: tuple[int, int]) -> None:
    out, into = pipe
    os.set_blocking(into, False)

    with pytest.raises(frames.TooLate):
        frames.receive(out, time.monotonic() + 0.01)
    with pytest.raises(frames.TooLate):
        frames.send(into, {}, bytes(1 << 20), time.monotonic() + 0.01)


def test_the_end_of_the_other_side_is_told(pipe: tuple[int, int]) -> None:
    out, into = pipe
    os.write(into, b"1234")
    os.close(into)
    with pytest.raises(frames.Closed):
        frames.receive(out)
    os.close(out)
    with pytest.raises(frames.Closed):
        frames.send(into, {})


def test_two_messages_at_once_are_a_sign_that_the_sides_have_lost_each_other(pipe: tuple[int, int]) -> None:
    out, into = pipe
    frames.send(into, {})
    frames.send(into, {})

    with pytest.raises(frames.Closed):
        frames.receive(out)
