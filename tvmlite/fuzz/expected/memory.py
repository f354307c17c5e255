"""Arrays that end at a protected page: an access beyond them ends the process at once."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

_PAGE = mmap.PAGESIZE
_FILL = 0xA5
_libc = ctypes.CDLL(None, use_errno=True)


class GuardedArray:
    """An array between two protected pages, directly at the second (``at_end``) or at the first.

    Where pages cannot be protected, it only has margins with a fixed pattern.
    """

    def __init__(self, values: np.ndarray, at_end: bool) -> None:
        size = max(values.nbytes, 1)
        room = -(-size // _PAGE) * _PAGE
        self._memory = mmap.mmap(-1, room + 2 * _PAGE)
        bytes_ = np.frombuffer(self._memory, np.uint8)
        bytes_[:] = _FILL
        start = _PAGE + (room - values.nbytes if at_end else 0)
        self._before, self._after = bytes_[_PAGE:start], bytes_[start + values.nbytes : _PAGE + room]
        self.array = np.frombuffer(self._memory, values.dtype, values.size, start).reshape(values.shape)
        self.array[...] = values
        self._start = bytes_.ctypes.data
        self._room = room
        self._protect(0)

    def _protect(self, kind: int) -> None:
        for place in (self._start, self._start + _PAGE + self._room):
            if hasattr(_libc, "mprotect"):
                _libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(_PAGE), ctypes.c_int(kind))

    def is_intact(self) -> bool:
        """Whether nothing was written next to the array, on its own pages."""
        return bool((self._before == _FILL).all() and (self._after == _FILL).all())
