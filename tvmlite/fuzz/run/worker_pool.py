"""A worker process of the fuzzer: sends it requests, receives messages, and reports a crash as a message."""

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
"""The seconds of its own work without a message after which a worker is considered stuck; elapsed seconds
where the system does not report its work."""

_IDLE_FACTOR = 10
"""A worker that gets hardly any processor time may take this many times as many elapsed seconds."""

_EXIT_SECONDS = 5.0
"""The seconds that a worker may take to end after closing its output; else its exit status is None."""


class Member:
    """One worker process, started when it is needed and again after a crash."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.process: WorkerProcess | None = None
        self.pending = b""
        self.current: dict[str, Any] = {}
        """What the process is trying: the fields of its messages about that."""
        self.last = 0.0
        self.cpu_seconds: float | None = None

    def send(self, **request: Any) -> None:
        """Send a request; start the process if necessary."""
        if self.process is None:
            self.process = WorkerProcess(WORKER, PYTHONFAULTHANDLER="1")
            self.pending = b""
            if os.read(self.process.output, len(READY)) != READY:
                raise LibraryError("a worker process of the fuzzer does not start: see python -m " + WORKER)
        self.current = {"index": -1, "stage": "start"}
        self.last, self.cpu_seconds = time.monotonic(), _cpu_seconds(self.process.pid)
        data = memoryview(json.dumps(request).encode() + b"\n")
        while data:
            data = data[os.write(self.process.input, data) :]

    def messages(self, timeout: float | None = None) -> Iterator[dict[str, Any]]:
        """Yield the messages that have arrived, or that arrive within ``timeout`` seconds.

        If the process has ended or is stuck, stop it and yield one with "crash" and what it was trying.
        """
        process = self.process
        if process is None:
            return
        if not select.select([process.output], [], [], timeout)[0]:
            if self.is_stuck(process.pid):
                self.stop()
                yield self.current | {"crash": f"no answer for {self.patience:.0f} s"}
            return
        data = os.read(process.output, 1 << 16)
        self.last, self.cpu_seconds = time.monotonic(), _cpu_seconds(process.pid)
        if not data:
            status = process.exit_status(_EXIT_SECONDS)
            how = f"exit status {status}" if status is None or status >= 0 else signal.Signals(-status).name
            words = process.stderr_tail() or "no message"
            self.stop()
            yield self.current | {"crash": f"{how}: {words}"}
            return
        *lines, self.pending = (self.pending + data).split(b"\n")
        for message in map(json.loads, lines):
            if "stage" in message:
                self.current = message if message["stage"] == "generate" else self.current | message
            else:
                yield message

    def is_stuck(self, pid: int) -> bool:
        """Whether the process has worked too long without a message, or is silent for very long.

        A busy machine makes it slow, which is no error.
        """
        silent = time.monotonic() - self.last
        cpu_seconds = _cpu_seconds(pid)
        spent = silent if cpu_seconds is None or self.cpu_seconds is None else cpu_seconds - self.cpu_seconds
        return spent > self.patience or silent > self.patience * _IDLE_FACTOR

    def ask(self, **request: Any) -> list[dict[str, Any]]:
        """Send a request; return all messages up to its end, or to the crash."""
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


def _cpu_seconds(pid: int) -> float | None:
    """Return the processor time of a process and its finished children; None if unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
