"""What lives in one process: compiled code, which no pickle takes along."""

from __future__ import annotations

from typing import NoReturn, TypeVar

from tvmlite.core.errors import LibraryError

Self = TypeVar("Self", bound="InProcess")


class InProcess:
    """Something whose code is at an address of this process.

    It is not pickled, so neither sent to a process of ``multiprocessing``: a LibraryError says what to do
    instead. Models are untrusted input, which this project never reads from a pickle.
    """

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise LibraryError(
            f"a {type(self).__name__} is neither pickled nor copied in depth: its code lives in this process",
            hint="lib.export('model.so') writes a file that runtime.load('model.so') loads in any process",
        )

    def __copy__(self: Self) -> Self:
        """Another object for the same code."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made
