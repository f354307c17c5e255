"""A worker process of the fuzzer: requests go out, messages come in, a crash is a message too."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tvmlite.autotune.measure.worker_process import WorkerProcess
from tvmlite.core.errors import LibraryError

WORKER = "tvmlite.fuzz.run.worker"
READY = b"ready\n"

PATIENCE = 120.0
"""Seconds of its own work without a message after which a worker is taken to be stuck; where the system does
not report how much it works, seconds."""

_IDLE = 10
"""How many times as many seconds a worker may take that hardly gets to work, or does none."""

_ENDING = 5.0
"""Seconds for a worker to end that has closed its output; its exit status is None if it goes on."""


class Member:
    """One worker process, started when it is needed and again after a crash."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.process: WorkerProcess | None = None
        self.pending = b""
        self.at: dict[str, Any] = {}
        """What it is trying: the fields of its messages about that."""
        self.last = 0.0
        self.worked: float | None = None

    def send(self, **request: Any) -> None:
        """Give it a request."""
        if self.process is None:
            self.process = WorkerProcess(WORKER, PYTHONFAULTHANDLER="1")
            self.pending = b""
            if os.read(self.process.output, len(READY)) != READY:
                raise LibraryError("a worker process of the fuzzer does not start: see python -m " + WORKER)
        self.at = {"index": -1, "stage": "start"}
        self.last, self.worked = time.monotonic(), _seconds_worked(self.process.pid)
        data = memoryview(json.dumps(request).encode() + b"\n")
        while data:
            data = data[os.write(self.process.input, data) :]

    def messages(self, timeout: float | None = None) -> Iterator[dict[str, Any]]:
        """Those that have come, or that come within ``timeout`` seconds; of a process that ended or is stuck,
        one with "crash" and what it was trying, and it is over."""
        process = self.process
        if process is None:
            return
        if not select.select([process.output], [], [], timeout)[0]:
            if self.is_stuck(process.pid):
                self.stop()
                yield self.at | {"crash": f"no answer for {self.patience:.0f} s"}
            return
        data = os.read(process.output, 1 << 16)
        self.last, self.worked = time.monotonic(), _seconds_worked(process.pid)
        if not data:
            status = process.exit_status(_ENDING)
            how = f"exit status {status}" if status is None or status >= 0 else signal.Signals(-status).name
            words = process.last_words() or "no message"
            self.stop()
            yield self.at | {"crash": f"{how}: {words}"}
            return
        *lines, self.pending = (self.pending + data).split(b"\n")
        for message in map(json.loads, lines):
            if "stage" in message:
                self.at = message if message["stage"] == "generate" else self.at | message
            else:
                yield message

    def is_stuck(self, pid: int) -> bool:
        """Whether it has worked for too long without a message, or is silent for very long. A machine that
        has much else to do makes it slow, but not wrong."""
        silent = time.monotonic() - self.last
        worked = _seconds_worked(pid)
        spent = silent if worked is None or self.worked is None else worked - self.worked
        return spent > self.patience or silent > self.patience * _IDLE

    def ask(self, **request: Any) -> list[dict[str, Any]]:
        """All messages up to the end of the request, or the crash."""
        self.send(**request)
        found: list[dict[str, Any]] = []
        while not found or not ("end" in found[-1] or "crash" in found[-1]):
            found.extend(self.messages(1.0))
        return found

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.close()
            self.process = None


def _seconds_worked(pid: int) -> float | None:
    """The processor time that a process and its finished children have used; None where the system does not
    report it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
