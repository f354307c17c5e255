"""Extracts models from the archives of packages, which are not trusted: nothing in them is executed, a member
is written inside its folder or refused, and no archive can fill the disk."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO

MODELS = ("*.onnx", "*.onnx.data", "*.onnx_data")
"""The members that are extracted: models, and files with their weights."""

LARGEST_FILE = 2**30
LARGEST_PACKAGE = 2**31
"""The most bytes that are unpacked from one member, and from one archive."""


class ArchiveError(ValueError):
    """An archive has a member that cannot be extracted safely."""


def extract_models(archive: Path, folder: Path) -> list[Path]:
    """Unpack the models in ``archive``, a wheel, zip or tar file, into ``folder``; return their sorted paths.

    Links and all other members are skipped. A name that leads out of ``folder``, or more bytes than the
    limits of this module, raises an ArchiveError.
    """
    left, made = LARGEST_PACKAGE, []
    opened = _zip_members if zipfile.is_zipfile(archive) else _tar_members
    with opened(archive) as members:
        for name, stream in members:
            target = inside(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            left -= _copy(stream, target, min(LARGEST_FILE, left))
            made.append(target)
    return sorted(one for one in made if one.suffix == ".onnx")


def inside(folder: Path, name: str) -> Path:
    """The path of the member ``name`` in ``folder``; raises an ArchiveError if it is outside."""
    pure = PurePosixPath(name)
    target = (folder / pure).resolve()
    strange = pure.is_absolute() or ".." in pure.parts or "\\" in name or ":" in name or "\0" in name
    if strange or not target.is_relative_to(folder.resolve()):
        raise ArchiveError(f"the member {name!r} lies outside the archive's folder")
    return target


def _wanted(name: str) -> bool:
    return any(fnmatchcase(name.lower(), pattern) for pattern in MODELS)


@contextmanager
def _zip_members(archive: Path) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    """Names and streams of the models in a zip file."""
    with zipfile.ZipFile(archive) as opened:

        def members() -> Iterator[tuple[str, IO[bytes]]]:
            for info in opened.infolist():
                regular = (info.external_attr >> 16) & 0o170000 in (0, 0o100000)  # a symbolic link is not
                if regular and not info.is_dir() and _wanted(info.filename):
                    with opened.open(info) as stream:
                        yield info.filename, stream

        yield members()


@contextmanager
def _tar_members(archive: Path) -> Iterator[Iterator[tuple[str, IO[bytes]]]]:
    """Names and streams of the models in a tar file, as far as the filter ``data`` accepts them."""
    with tarfile.open(archive) as opened:

        def members() -> Iterator[tuple[str, IO[bytes]]]:
            for info in opened:
                if not info.isfile() or not _wanted(info.name):
                    continue
                try:
                    tarfile.data_filter(info, str(archive.parent))
                except tarfile.FilterError as error:
                    raise ArchiveError(str(error)) from error
                stream = opened.extractfile(info)
                assert stream is not None  # it is a regular file
                with stream:
                    yield info.name, stream

        yield members()


def _copy(stream: IO[bytes], target: Path, limit: int) -> int:
    """Write ``stream`` to ``target``, completely or not at all; return its bytes, at most ``limit``."""
    partial = target.with_name(target.name + ".partial")
    size = 0
    try:
        with partial.open("wb") as out:
            while block := stream.read(2**20):
                size += len(block)
                if size > limit:
                    raise ArchiveError(f"{target.name} has more than {limit} bytes")
                out.write(block)
        shutil.move(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return size
