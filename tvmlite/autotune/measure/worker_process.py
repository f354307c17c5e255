"""A Python process that may crash or be ended, with its pipes and the end of its standard error."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile


class WorkerProcess:
    """``python -m module arguments``, without the cache of objects, as its code is rarely compiled twice.

    Ctrl-C does not reach it: its owner ends it. ``input`` and ``output`` are descriptors of the pipes to its
    standard input and from its standard output.
    """

    def __init__(self, module: str, arguments: tuple[str, ...] = (), **environment: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        path = os.pathsep.join(p for p in sys.path if p)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            env=os.environ | {"PYTHONPATH": path, "TVMLITE_CACHE": "off"} | environment,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.input, self.output = self._process.stdin.fileno(), self._process.stdout.fileno()

    def kill(self) -> None:
        """Kill the process; ``close`` must follow."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process if it still runs, and close its pipes."""
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            assert file is not None
            file.close()

    def exit_status(self, seconds: float) -> int | None:
        """The exit status of a process that has closed its output, negative for a signal; None if it still
        runs after ``seconds``."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stderr_tail(self) -> str:
        """The end of its standard error."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 2000))
        return self._errors.read().decode(errors="replace").strip()
