"""A digest of the code of this installation, for the keys of caches."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from tvmlite.core.version import VERSION


@functools.cache
def source_digest() -> str:
    """A hash of every source file of the package: code that changed never meets an old cache entry."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(VERSION.encode())
    for path in sorted((*root.rglob("*.py"), *root.rglob("*.ll"))):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
