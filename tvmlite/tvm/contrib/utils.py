"""A folder for a while."""

from __future__ import annotations

import os
import tempfile

from tvmlite.tvm.absent import refusing


class TempDirectory:
    """A folder that is gone when this object is."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tvmlite-")
        self.temp_dir = self._folder.name

    def relpath(self, name: str) -> str:
        """The path of ``name`` in it."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The names in it."""
        return sorted(os.listdir(self.temp_dir))

    def remove(self) -> None:
        """Take it away now."""
        self._folder.cleanup()


def tempdir() -> TempDirectory:
    """A new one."""
    return TempDirectory()


__getattr__ = refusing(__name__)
