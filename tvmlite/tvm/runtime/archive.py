"""Archives of compiled functions: ``.tar`` files of their objects."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tvmlite.core.errors import LibraryError
from tvmlite.model.artifact import CompiledKernelFunction
from tvmlite.runtime.library import link

_MOST_OBJECTS = 1000


def write_objects(functions: Sequence[CompiledKernelFunction], folder: Path) -> list[Path]:
    """Write the object file of each of ``functions`` into ``folder`` and return the paths."""
    paths = [folder / f"lib{number}.o" for number in range(len(functions))]
    for function, path in zip(functions, paths, strict=True):
        function.export(path)
    return paths


def write_archive(functions: Sequence[CompiledKernelFunction], path: Path) -> None:
    """Write the objects of ``functions`` to the archive ``path``; the same functions give the same bytes."""
    made = io.BytesIO()
    with (
        link.temporary_folder("tvmlite-archive-") as folder,
        tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for one in write_objects(functions, folder):
            content = one.read_bytes()
            member = tarfile.TarInfo(one.name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    try:
        link.write_file(path, made.getvalue())
    except OSError as error:
        raise LibraryError(f"cannot write {path}: {error.strerror or error}") from error


def objects_in(path: Path) -> list[bytes]:
    """Return the top-level objects in the archive ``path``, none for one of a model. Nothing is extracted."""
    try:
        with tarfile.open(path, "r:") as archive:
            members = [
                one for one in archive if one.isreg() and one.name.endswith(".o") and "/" not in one.name
            ]
            if len(members) > _MOST_OBJECTS:
                raise LibraryError(f"{path} has {len(members)} objects, expected at most {_MOST_OBJECTS}")
            return [file.read() for one in members if (file := archive.extractfile(one)) is not None]
    except (tarfile.TarError, OSError) as error:
        raise LibraryError(f"{path} is no archive that can be read: {error}") from error
