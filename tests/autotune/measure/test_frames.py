"""Messages between the tuner and its worker arrive whole, and a closed pipe is detected."""

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
def test_a_message_longer_than_the_pipe_arrives_unchanged(pipe: tuple[int, int], payload: bytes) -> None:
    out, into = pipe
    os.set_blocking(into, False)
    deadline = time.monotonic() + 30
    sender = threading.Thread(target=frames.send, args=(into, {"do": "it"}, payload, deadline))
    sender.start()

    assert frames.receive(out, deadline) == ({"do": "it"}, payload)
    sender.join()


def test_a_message_may_arrive_byte_by_byte(pipe: tuple[int, int]) -> None:
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


def test_send_and_receive_stop_at_the_deadline(pipe: tuple[int, int]) -> None:
    out, into = pipe
    os.set_blocking(into, False)

    with pytest.raises(frames.TooLate):
        frames.receive(out, time.monotonic() + 0.01)
    with pytest.raises(frames.TooLate):
        frames.send(into, {}, bytes(1 << 20), time.monotonic() + 0.01)


def test_a_closed_pipe_raises_closed(pipe: tuple[int, int]) -> None:
    out, into = pipe
    os.write(into, b"1234")
    os.close(into)
    with pytest.raises(frames.Closed):
        frames.receive(out)
    os.close(out)
    with pytest.raises(frames.Closed):
        frames.send(into, {})


def test_a_second_pending_message_raises_closed(pipe: tuple[int, int]) -> None:
    out, into = pipe
    frames.send(into, {})
    frames.send(into, {})

    with pytest.raises(frames.Closed):
        frames.receive(out)
