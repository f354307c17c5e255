"""Workers and what they are told to do: requests go out, messages come in, a crash is a message too."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tvmlite.core.errors import LibraryError

WORKER = "tvmlite.fuzz.run.worker"
READY = b"ready\n"

PATIENCE = 120.0
"""Seconds of its own work without a message after which a worker is taken to be stuck; where the system does
not tell how much it works, seconds."""

_TOLD = 2000
"""Bytes that are told of what a process wrote before it ended."""

_IDLE = 10
"""How many times as many seconds a worker may take that hardly gets to work, or does none."""


class Member:
    """One worker process, started when it is needed and again after a crash."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.process: subprocess.Popen[bytes] | None = None
        self.pending = b""
        self.last = 0.0
        self.worked: float | None = None
        self.complaints = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115  (as long as we)
        """What the process writes to its standard error: of LLVM, say, when it ends the process."""

    def send(self, **request: Any) -> None:
        """Give it a request."""
        if self.process is None:
            self.complaints.seek(0)
            self.complaints.truncate()
            environment = os.environ | {"TVMLITE_CACHE": "off", "PYTHONFAULTHANDLER": "1"}
            self.process = subprocess.Popen(
                [sys.executable, "-m", WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                stderr=self.complaints,
                env=environment,
                start_new_session=True,  # Ctrl-C is for us: we stop it
            )
            self.pending = b""
            if self.process.stdout is None or self.process.stdout.readline() != READY:
                raise LibraryError("a worker process of the fuzzer does not start: see python -m " + WORKER)
        assert self.process.stdin is not None
        self.last, self.worked = time.monotonic(), _seconds_worked(self.process.pid)
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def stream(self) -> Any:
        """Where messages come from; only while a request is carried out."""
        assert self.process is not None
        return self.process.stdout

    def messages(self, timeout: float | None = None) -> Iterator[dict[str, Any]]:
        """Those that have come, or that come within ``timeout`` seconds; of a process that ended or is stuck,
        one with "crash", and it is over."""
        process = self.process
        if process is None or process.stdout is None:
            return
        if not select.select([process.stdout], [], [], timeout)[0]:
            if self.is_stuck(process.pid):
                self.stop()
                yield {"crash": f"no answer for {self.patience:.0f} s"}
            return
        data = os.read(process.stdout.fileno(), 1 << 16)
        self.last, self.worked = time.monotonic(), _seconds_worked(process.pid)
        if not data:
            code = process.wait()
            self.process = None
            how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            yield {"crash": f"{how}: {self.complained()}"}
            return
        *lines, self.pending = (self.pending + data).split(b"\n")
        yield from (json.loads(line) for line in lines)

    def complained(self) -> str:
        """What the process wrote to its standard error last."""
        self.complaints.seek(max(0, self.complaints.seek(0, os.SEEK_END) - _TOLD))
        return self.complaints.read().decode(errors="replace").strip() or "nothing said"

    def is_stuck(self, pid: int) -> bool:
        """Whether it has worked for too long without a word, or is silent for very long. A machine that has
        much else to do makes it slow, but not wrong."""
        silent = time.monotonic() - self.last
        worked = _seconds_worked(pid)
        told = silent if worked is None or self.worked is None else worked - self.worked
        return told > self.patience or silent > self.patience * _IDLE

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
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    stream.close()
            self.process = None


def _seconds_worked(pid: int) -> float | None:
    """The processor time that a process and its finished children have used; None where it is not told."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
