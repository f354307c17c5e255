"""Every ``TVMLITE_*`` environment variable, read here and nowhere else.

==========================  ================================================================================
``TVMLITE_DUMP=dir``        write the IR after every pass to ``dir/NN_pass.txt``
``TVMLITE_VERIFY=1``        check the IR between passes
``TVMLITE_NUM_THREADS=n``   threads of the pool; default: the processors this process may use
``TVMLITE_CACHE=dir``       where compiled objects are kept (``~/.cache/tvmlite``); ``off`` keeps none
``TVMLITE_CACHE_MB=n``      the size the cache is trimmed to; default 2048
``TVMLITE_LOOP_LIMIT=n``    iterations after which a loop that a condition should end stops with an error,
                            compiled into the model; default 10000000
``TVMLITE_LOOP_SECONDS=n``  seconds after which a loop without a number of iterations, or with 2**31 - 1 and
                            more, stops with an error, compiled into the model; default 10
``TVMLITE_CPU_LEVEL=name``  which of a library's CPU levels runs; default: the highest the processor has
``TVMLITE_TARGET=string``   what ``target="native"`` means; default: the machine we run on
==========================  ================================================================================
"""

from __future__ import annotations

import os
from pathlib import Path

from tvmlite.core.errors import ConfigError


def dump_dir() -> Path | None:
    """The directory to write the IR to after each pass, or None."""
    value = os.environ.get("TVMLITE_DUMP")
    return Path(value) if value else None


def verify_between_passes() -> bool:
    """Whether the IR's verifier runs after each pass."""
    return _flag("TVMLITE_VERIFY")


def num_threads() -> int | None:
    """The number of threads of the pool, including the caller's, if the user sets it."""
    value = os.environ.get("TVMLITE_NUM_THREADS")
    return None if value is None else _positive("TVMLITE_NUM_THREADS", value)


def cache_dir() -> Path | None:
    """Where compiled objects are kept, or None for no cache."""
    value = os.environ.get("TVMLITE_CACHE")
    if value in ("off", "0"):
        return None
    if value:
        return Path(value)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tvmlite"


def cache_megabytes() -> int:
    """The size the cache is trimmed to, in MB."""
    return _positive("TVMLITE_CACHE_MB", os.environ.get("TVMLITE_CACHE_MB", "2048"))


def loop_limit() -> int:
    """The most iterations of a loop that has no trip count and ends by a condition."""
    return _positive("TVMLITE_LOOP_LIMIT", os.environ.get("TVMLITE_LOOP_LIMIT", "10000000"))


def loop_seconds() -> int:
    """The most seconds that a loop without a trip count may take."""
    return _positive("TVMLITE_LOOP_SECONDS", os.environ.get("TVMLITE_LOOP_SECONDS", "10"))


def cpu_level() -> str | None:
    """The CPU level whose code a library is to run, if the user sets it."""
    return os.environ.get("TVMLITE_CPU_LEVEL") or None


def native_target() -> str | None:
    """What ``"native"`` means, if the user overrides it."""
    return os.environ.get("TVMLITE_TARGET") or None


def _flag(name: str) -> bool:
    value = os.environ.get(name, "0")
    if value not in ("0", "1"):
        raise ConfigError(f"{name} is {value!r}, expected 0 or 1")
    return value == "1"


def _positive(name: str, value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise ConfigError(f"{name} is {value!r}, expected a positive whole number")
    return int(value)
