"""The instruction sets of this processor, by LLVM's names."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tvmlite.machine import amx

_CHECKED = re.compile(
    r"s?sse[0-9]|avx(?!10)|fma$|f16c$|bmi|popcnt$|lzcnt$|movbe$|gfni$|vaes$|vpclmulqdq$|amx|"
    r"dotprod$|fullfp16$|bf16$|i8mm$|sve|lse$"
)
"""Names of the instruction sets that are checked: those that a code generator may use.
(``avx10.1`` stands for several, which have their own names.)"""

_LINUX = {
    "sse3": "pni",
    "bmi": "bmi1",
    "lzcnt": "abm",
    "dotprod": "asimddp",
    "fullfp16": "asimdhp",
    "lse": "atomics",
}
"""Linux's names where they differ from LLVM's."""


def missing_features(features: Iterable[str]) -> list[str]:
    """Those of ``features``, LLVM's names, that this processor lacks; none if the system does not report it.

    AMX's features count as missing if the system refuses them to this process; they are requested here.
    """
    present = _flags()
    if not present:
        return []
    return [
        name
        for name in features
        if _CHECKED.match(name)
        and (
            _plain(_LINUX.get(name, name)) not in present
            or (name.startswith("amx-") and not amx.request_tiles())
        )
    ]


def processor_name() -> str:
    """The vendor's name of the processor; its architecture if the system does not report a name."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^(?:model name|Model|cpu)\s*: *(\S.*)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


@cache
def _flags() -> frozenset[str]:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if re.match(r"(flags|Features)\s*:", line):
                    return frozenset(map(_plain, line.split(":", 1)[1].split()))
    except OSError:
        pass
    return frozenset()


def _plain(name: str) -> str:
    """``name`` in lower-case letters and digits: ``sse4_1`` and ``sse4.1`` become equal."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
