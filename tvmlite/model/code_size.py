"""The code size of C for a machine without a system, function by function, and limits on it."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tvmlite.core.errors import InputError, LibraryError, UnsupportedError
from tvmlite.machine.microcontrollers import COMPILERS
from tvmlite.machine.target import Target
from tvmlite.runtime.library import link

FLAGS = ("-std=c99", "-Os", "-ffunction-sections", "-fno-inline-functions-called-once")
"""Options for the compiler: each kernel stays a separate function, so that its size is known."""

BYTES_AN_OPERATION = 3.3
"""The estimated bytes of an operator, a call or a subscript of C. For four networks, in float32 and in 8
bits, the code that GCC 12 compiles for a small processor with ``-Os`` is 0.7 to 1.0 times the estimate."""

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}
_FUNCTION = re.compile(
    r"^(?:static |TL_\w+ )?[\w ]*?\b(\w+)\([^;{]*\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
_OPERATIONS = re.compile(r"[-+*/%<>=!&|^?\[]=?|\w\(")
_ELSEWHERE = re.compile(r"^#if .*?^#else\n(.*?)^#endif\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class CodeSize:
    """The bytes of each function, and ``by``, their source: a compiler, or an estimate."""

    functions: dict[str, int]
    by: str

    @property
    def total(self) -> int:
        """The bytes of all functions."""
        return sum(self.functions.values())

    def __str__(self) -> str:
        """Return the functions, the largest first."""
        rows = sorted(self.functions.items(), key=lambda row: (-row[1], row[0]))
        return ", ".join(f"{name} {size:,}" for name, size in rows)


def budget(text: str | int) -> int:
    """Return the bytes that ``text`` means: ``32768``, ``"32k"`` (of 1,024), ``"1M"``; else an InputError."""
    found = re.fullmatch(r"([1-9]\d{0,9})([kKmM]?)", str(text)) if type(text) in (str, int) else None
    if found is None:
        raise InputError(f"code_size is {text!r}, expected a number of bytes, such as 32768 or '32k'")
    return int(found[1]) * _UNITS[found[2].lower()]


def code_size(source: Path, target: Target) -> CodeSize:
    """Return the code size of the C file ``source``, which has its header beside it: as the compiler for
    ``target`` makes it, if there is one, otherwise by estimate. Weights do not count."""
    family = next((name for name in COMPILERS if target.cpu.startswith(name)), None)
    if family is None or shutil.which(COMPILERS[family][0]) is None:
        return estimate(source.read_text())
    compiler, size, *flags = COMPILERS[family]
    with link.temporary_folder("tvmlite-size-") as folder:
        made = folder / "size.o"
        command = [compiler, *FLAGS, *flags, f"-mcpu={target.cpu}", "-c", str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LibraryError(f"{compiler} cannot compile {source.name}: {done.stderr.strip()[:500]}")
        listed = subprocess.run([size, "-A", str(made)], capture_output=True, text=True, check=True).stdout
    functions: dict[str, int] = {}
    for name, count in re.findall(r"^\.text\.(\w+)(?:\.\S+)?\s+(\d+)", listed, re.MULTILINE):
        functions[name] = functions.get(name, 0) + int(count)
    return CodeSize(functions, f"{compiler} {' '.join(FLAGS[1:2])}")


def estimate(text: str) -> CodeSize:
    """Estimate the code size from the operations in ``text``, without the variants for instruction sets."""
    plain = _ELSEWHERE.sub(lambda found: found[1], text)
    functions = {
        name: round(BYTES_AN_OPERATION * len(_OPERATIONS.findall(body)))
        for name, body in _FUNCTION.findall(plain)
    }
    return CodeSize(functions, "estimate")


def require(sizes: list[CodeSize], most: int, name: str) -> int:
    """Return the index of the first of ``sizes`` of at most ``most`` bytes; if there is none, an
    UnsupportedError has the least size."""
    for number, one in enumerate(sizes):
        if one.total <= most:
            return number
    least = min(sizes, key=lambda one: one.total)
    raise UnsupportedError(
        f"{name}: code_size is {most:,} bytes, and its smallest code is {least.total:,}, "
        f"by {least.by}: {least}",
        hint="kernels of equal shapes are one function: layers of fewer different shapes need less",
    )
