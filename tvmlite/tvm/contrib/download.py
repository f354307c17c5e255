"""Files from the network, kept in a folder of the user's: scripts fetch their models and pictures so."""

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
"""Where ``download_testdata`` keeps files, TVM's own folder."""

SCHEMES = ("http", "https", "file")
SECONDS = 60
"""How long a server may be silent."""


def download(
    url: str, path: str | Path, overwrite: bool = False, size_compare: bool = False, retries: int = 3
) -> None:
    """Write what is at ``url`` into the file ``path``, unless it is there: then only to ``overwrite`` it, or,
    to ``size_compare``, if it has another size than its server says. A file is written whole or not at all.

    Raises InputError for an address that is none of http, https and file, ExecutionError if ``retries``
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
        except OSError as error:  # of the network or of the disk; urllib's errors are OSErrors
            if attempt >= retries:
                raise ExecutionError(
                    f"download: {url} was not fetched: {error}",
                    Span.of_caller(),
                    hint=f"put the file at {file}, and it is taken from there",
                ) from None
            warn(f"download: attempt {attempt} of {retries} failed: {error}")


def _has_size(file: Path, url: str) -> bool:
    """Whether ``file`` is as long as its server says, if it says."""
    request = urllib.request.Request(url, method="HEAD")
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return file.stat().st_size == int(answer.headers.get("Content-Length", file.stat().st_size))


def _fetch(url: str, file: Path) -> None:
    """Write ``file`` from ``url``; nothing has its name until it is whole."""
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
    """The path of the file ``relpath`` in the folder ``module`` of ``TEST_DATA_ROOT_PATH``, downloaded from
    ``url`` if it is not there.

    Raises InputError for a path that leads out of that folder, and what ``download`` raises.
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
