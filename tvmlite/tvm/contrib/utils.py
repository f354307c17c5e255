"""Temporary folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from typing import ClassVar

from tvmlite.tvm.absent import refusing


class TempDirectory:
    """A folder that is deleted together with this object, unless ``keep_for_debug``; created at
    ``custom_path`` if given. ``path`` and ``temp_dir`` are its path."""

    kept: ClassVar[bool] = False

    @classmethod
    @contextlib.contextmanager
    def set_keep_for_debug(cls, set_to: bool = True) -> Iterator[None]:
        """Keep the folders that are created in this context if ``set_to`` is true, else delete them."""
        before, cls.kept = cls.kept, set_to
        try:
            yield
        finally:
            cls.kept = before

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool | None = None) -> None:
        if custom_path is None:
            self.path = self.temp_dir = tempfile.mkdtemp(prefix="tvmlite-")
        else:
            os.mkdir(custom_path)
            self.path = self.temp_dir = str(custom_path)
        if not (self.kept if keep_for_debug is None else keep_for_debug):
            self._gone = weakref.finalize(self, shutil.rmtree, self.path, True)

    def relpath(self, name: str) -> str:
        """Return the path of ``name`` in the folder."""
        return os.path.join(self.path, name)

    def listdir(self) -> list[str]:
        """Return the names in the folder."""
        return sorted(os.listdir(self.path))

    def remove(self) -> None:
        """Delete the folder now."""
        shutil.rmtree(self.path, ignore_errors=True)

    def __truediv__(self, other: str) -> str:
        return self.relpath(other)


def tempdir(custom_path: str | None = None, keep_for_debug: bool | None = None) -> TempDirectory:
    """Create a ``TempDirectory``."""
    return TempDirectory(custom_path, keep_for_debug)


__getattr__ = refusing(__name__)
