"""Whether the operating system lets this process use AMX's tiles.

On Linux a process must request them once (``arch_prctl(2)``), since they add 8 KB to each thread's state;
without the request, the first tile instruction ends the process.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

ARCH_PRCTL = 158
"""The number of the system call on x86-64."""

REQUEST = 0x1023
"""``ARCH_REQ_XCOMP_PERM``."""

TILE_DATA = 18
"""``XFEATURE_XTILEDATA``."""


@cache
def request_tiles() -> bool:
    """Request permission to use tiles; whether it was granted. Systems other than Linux need no request."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    if sys.platform != "linux":
        return True
    call = ctypes.CDLL(None).syscall
    call.restype, call.argtypes = ctypes.c_long, [ctypes.c_long] * 3
    return call(ARCH_PRCTL, REQUEST, TILE_DATA) == 0
