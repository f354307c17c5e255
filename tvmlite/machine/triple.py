"""Target triples such as ``aarch64-unknown-linux-gnu``: architecture, system, and format of object files."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from functools import cache

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Alternative names of architectures, with ours."""

_SYSTEMS = {
    "linux": "linux",
    "windows": "windows",
    "win32": "windows",
    "mingw": "windows",
    "darwin": "macos",
    "macos": "macos",
    "ios": "ios",
    "freebsd": "freebsd",
    "netbsd": "netbsd",
    "openbsd": "openbsd",
    "wasi": "wasi",
}
"""Systems, by the prefix of the triple's part that names them; a version may follow it."""

_NO_SYSTEM = ("none", "freestanding", "unknown")

_OBJECT_FORMATS = {"windows": "coff", "macos": "macho", "ios": "macho"}


@dataclass(frozen=True)
class Triple:
    """The parts of a triple, each by one canonical name.

    ``system`` is empty if there is none or it is unknown; ``environment`` is the part after it, such
    as ``gnu`` or ``musleabihf``. ``normalized`` is the triple as LLVM expects it.
    """

    architecture: str
    system: str
    environment: str
    normalized: str

    @staticmethod
    def parse(text: str) -> Triple:
        """The parts of the triple ``text``, or of this machine's if it is empty.

        LLVM always takes the second part for the vendor: it sees an unknown system in
        ``arm-linux-musleabihf``, and would write ELF files for ``x86_64-w64-mingw32``, which is Windows.
        """
        return _parse(text)

    @property
    def object_format(self) -> str:
        """The format of object files and shared libraries: ``elf``, ``coff``, ``macho`` or ``wasm``."""
        if self.architecture.startswith("wasm"):
            return "wasm"
        return _OBJECT_FORMATS.get(self.system, "elf")

    @property
    def is_native(self) -> bool:
        """Whether code for this triple runs on this machine, if its processor has the instructions."""
        here = Triple.parse("")
        return (self.architecture, self.system) == (here.architecture, here.system)


@cache
def _parse(text: str) -> Triple:
    if not text:
        return _parse(f"{platform.machine()}-{sys.platform}")
    written, *others = text.split("-")
    architecture = _ARCHITECTURES.get(written.lower(), written.lower())
    at = next((n for n, part in enumerate(others) if _system(part)), None)
    if at is None:
        vendor = ["unknown"] if others and others[0] in ("none", "freestanding") else []
        last = others[-1] if others and others[-1] not in _NO_SYSTEM else ""
        return Triple(architecture, "", last, "-".join([written, *vendor, *others]))
    system, (named, *environment) = _system(others[at]), others[at:]
    if system == "windows" and not named.startswith("windows"):
        named, environment = "windows", environment or ["gnu"]
    usual = "apple" if _OBJECT_FORMATS.get(system) == "macho" else "unknown"
    parts = [written, *(others[:at] or [usual]), named, *environment]
    return Triple(architecture, system, "-".join(environment), "-".join(parts))


def _system(part: str) -> str:
    """The system that ``part`` of a triple names; empty for none."""
    return next((system for word, system in _SYSTEMS.items() if part.startswith(word)), "")
