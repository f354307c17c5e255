"""A base class for objects with compiled code, which exists in one process and cannot be pickled."""

from __future__ import annotations

from typing import NoReturn, TypeVar

from tvmlite.core.errors import LibraryError

Self = TypeVar("Self", bound="InProcess")


class InProcess:
    """An object whose code is at an address of this process.

    It cannot be pickled, nor sent to a process of ``multiprocessing``: a LibraryError says what to do
    instead. Models are untrusted input, which tvmlite never reads from a pickle.
    """

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise LibraryError(
            f"a {type(self).__name__} is neither pickled nor copied in depth: its code lives in this process",
            hint="lib.export('model.so') writes a file that runtime.load('model.so') loads in any process",
        )

    def __copy__(self: Self) -> Self:
        """A shallow copy, which has the same code."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made
