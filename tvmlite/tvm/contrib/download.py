"""Download files, such as the models and pictures of scripts, and keep them in a folder of the user's."""

from __future__ import annotations

import os
import shutil
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.core.span import Span, warn

TEST_DATA_ROOT_PATH = Path(os.environ.get("TEST_DATA_ROOT_PATH") or Path.home() / ".tvm_test_data")
"""The folder in which ``download_testdata`` keeps files; the same as TVM's."""

SCHEMES = ("http", "https", "file")
SECONDS = 60
"""The timeout for a server's response."""


def download(
    url: str, path: str | Path, overwrite: bool = False, size_compare: bool = False, retries: int = 3
) -> None:
    """Download ``url`` to the file ``path``, unless it exists. An existing file is replaced with
    ``overwrite``, or, with ``size_compare``, if its size differs from the one that the server reports. A file
    is written completely or not at all.

    Raises InputError if the scheme of ``url`` is not http, https or file, ExecutionError if ``retries``
    attempts failed.
    """
    if urlsplit(url).scheme not in SCHEMES:
        raise InputError(
            f"download: the url is {url!r}, expected one of {', '.join(SCHEMES)}", Span.of_caller()
        )
    file = Path(path).resolve()
    for attempt in range(1, max(retries, 1) + 1):
        try:
            if overwrite or not file.is_file() or (size_compare and not _has_size(file, url)):
                _fetch(url, file)
            return
        except OSError as error:  # network or disk; urllib's errors are OSErrors
            if attempt >= retries:
                raise ExecutionError(
                    f"download: {url} was not fetched: {error}",
                    Span.of_caller(),
                    hint=f"put the file at {file}, and it is taken from there",
                ) from None
            warn(f"download: attempt {attempt} of {retries} failed: {error}")


def _has_size(file: Path, url: str) -> bool:
    """Whether ``file`` has the size that the server reports; true if it reports none."""
    request = urllib.request.Request(url, method="HEAD")
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return file.stat().st_size == int(answer.headers.get("Content-Length", file.stat().st_size))


def _fetch(url: str, file: Path) -> None:
    """Download ``url`` to ``file``, which appears only when it is complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=file.parent) as folder,
        urllib.request.urlopen(url, timeout=SECONDS) as answer,
    ):
        part = Path(folder, file.name)
        with part.open("wb") as writer:
            shutil.copyfileobj(answer, writer)
        expected, got = answer.headers.get("Content-Length"), part.stat().st_size
        if expected is not None and int(expected) != got:
            raise OSError(f"{got} of {expected} bytes came")
        part.replace(file)


def download_testdata(
    url: str, relpath: str, module: str | Sequence[str] | None = None, overwrite: bool = False
) -> str:
    """Return the path of the file ``relpath`` in the folder ``module`` of ``TEST_DATA_ROOT_PATH``; download
    it from ``url`` if it does not exist.

    Raises InputError for a path outside that folder, and the errors of ``download``.
    """
    folders = [module] if isinstance(module, str) else list(module or ())
    root = TEST_DATA_ROOT_PATH.resolve()
    file = root.joinpath(*folders, relpath).resolve()
    if not file.is_relative_to(root) or file == root:
        raise InputError(
            f"download_testdata: {'/'.join([*folders, relpath])} is not a file below {root}", Span.of_caller()
        )
    download(url, file, overwrite=overwrite)
    return str(file)
