"""A child process for work that may abort its process: if the child is lost, that is an error with a reason.

The child is kept, since starting one may take longer than its work; it ends when this process does, and a
forked process starts its own. Requests and answers pass through its standard input and output, each as a
line of JSON, which gives the number of bytes that follow it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import IO, Any

lock = threading.Lock()
"""Held during a request; a process forked meanwhile would inherit it locked, and could not ask any more."""

_children: dict[tuple[int, str], _Child] = {}
"""The children by the id of the process that started them and the module that they run."""


class LostChild(Exception):
    """The child ended before it answered; the text is the last line of its standard error."""


def ask(module: str, request: dict[str, str], content: bytes) -> bytes:
    """The answer of the child that runs ``module``, which calls ``serve``; LostChild if there is none."""
    key = os.getpid(), module
    with lock:
        child = _children.get(key)
        if child is None:
            child = _children[key] = _Child(module)
        answer = child.ask(request, content)
        if answer is None:
            del _children[key]
            raise LostChild(child.last_words())
        return answer


def serve(answer: Callable[[dict[str, Any], bytes], bytes]) -> None:
    """Answer requests until the input ends; the main function of a child."""
    while (message := _read(sys.stdin.buffer)) is not None:
        _write(sys.stdout.buffer, {}, answer(*message))


class _Child:
    def __init__(self, module: str) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the child
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )

    def ask(self, request: dict[str, str], content: bytes) -> bytes | None:
        """The answer; None if the child was lost."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _write(self._process.stdin, request, content)
        except BrokenPipeError:
            return None
        answer = _read(self._process.stdout)
        return None if answer is None else answer[1]

    def last_words(self) -> str:
        """The last line on the standard error of a lost child, or its exit code."""
        code = self._process.wait()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        self.close()
        return lines[-1] if lines else f"exit code {code}"

    def close(self) -> None:
        """Close the child's input, so that it ends, and wait for its end."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):  # a request that a lost child did not read
                pipe.close()
        self._process.wait()
        self._stderr.close()


@atexit.register
def _end_children() -> None:
    """Close the children of this process; in a forked process, the table also has those of its parent."""
    for (parent, _), child in _children.items():
        if parent == os.getpid():
            child.close()


def _write(file: IO[bytes], fields: dict[str, str], content: bytes) -> None:
    file.write(json.dumps({**fields, "bytes": len(content)}).encode() + b"\n" + content)
    file.flush()


def _read(file: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """The next message; None at the end of ``file``, even in the middle of a message."""
    line = file.readline()
    if not line.endswith(b"\n"):
        return None
    fields = json.loads(line)
    content = file.read(fields["bytes"])
    return (fields, content) if len(content) == fields["bytes"] else None
