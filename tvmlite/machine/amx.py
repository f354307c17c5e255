"""AMX's tiles: whether the system lets this process use them.

Linux has each process ask once, as a thread's state grows by 8 KB (``arch_prctl(2)``); unasked, the first
instruction on tiles ends the process.
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
def permitted() -> bool:
    """Ask for the permission to use tiles; whether it was given. Other systems than Linux ask for nothing."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    if sys.platform != "linux":
        return True
    call = ctypes.CDLL(None).syscall
    call.restype, call.argtypes = ctypes.c_long, [ctypes.c_long] * 3
    return call(ARCH_PRCTL, REQUEST, TILE_DATA) == 0
