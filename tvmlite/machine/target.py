"""Targets: the machine to compile for. ``target_string`` parses the strings that users write."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.core.abi import symbols
from tvmlite.core.errors import TargetError
from tvmlite.machine.cores import processors

if TYPE_CHECKING:
    from tvmlite.machine.machine import Machine

_MODULES = {"strings": "tvmlite.machine.target_string", "table": "tvmlite.machine.table"}
"""Modules imported on first use: when a target is read from or written as a string, or its machine used."""


_LARGEST_ELEMENT = 8
"""Bytes of a float64 or int64."""


def _module(name: str) -> Any:
    return importlib.import_module(_MODULES[name])


def family(triple: str) -> str:
    """The architecture's family: x86, aarch64, arm, riscv, wasm, or its own name."""
    architecture = triple.split("-", 1)[0]
    if re.fullmatch(r"x86_64h?|amd64|i[3-9]86", architecture):
        return "x86"
    if architecture.startswith(("aarch64", "arm64")):
        return "aarch64"
    for prefix in ("arm", "thumb", "riscv", "wasm"):
        if architecture.startswith(prefix):
            return "arm" if prefix == "thumb" else prefix
    return architecture


@dataclass(frozen=True)
class Target:
    """A machine to compile for.

    ``kind`` is ``"llvm"`` (LLVM IR) or ``"c"`` (C99 source, for any machine: no triple).
    ``features`` are the differences from the processor's own, such as ``"+avx512f"`` or ``"-sve"``, and
    ``instructions`` the resulting instruction sets. ``vector_bits`` is the vector width to use and
    ``vector_registers`` the number of vector registers. ``num_cores`` is the number of cores that kernels
    are divided among, by default as many as this process may use. ``standalone``: C for a machine without an
    operating system, in one file that needs no thread pool and no allocation.
    """

    kind: str
    triple: str = ""
    cpu: str = ""
    features: tuple[str, ...] = ()
    vector_bits: int = 128
    vector_registers: int = 16
    instructions: frozenset[str] = frozenset()
    num_cores: int = field(default_factory=processors)
    standalone: bool = False

    def __post_init__(self) -> None:
        for name in ("kind", "triple", "cpu"):
            arguments.text(f"Target: {name}", getattr(self, name), TargetError)
        for name in ("vector_bits", "vector_registers", "num_cores"):
            arguments.whole(f"Target: {name}", getattr(self, name), TargetError, least=1)
        for name, kind in (("features", tuple), ("instructions", frozenset)):
            where, what = f"Target: {name}", f"a {kind.__name__} of strings"
            given: Any = arguments.instance(where, getattr(self, name), kind, what, TargetError)
            arguments.all_instances(where, given, str, "a string", TargetError)

    @staticmethod
    def parse(text: str | Target) -> Target:
        """The target that ``text`` describes; a Target is returned as it is.

        - ``"native"``, or ``"llvm"`` alone: this machine (or what ``TVMLITE_TARGET`` says);
        - ``"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+dotprod"``: another machine;
          ``-mtriple`` defaults to this machine's, ``-mcpu`` to the architecture's baseline;
        - ``"wasm"``: WebAssembly; ``"c"``, ``"c -vector-bits=512"``: C source;
        - ``"c -mcpu=cortex-m4"``, ``"c -system=none"``: C source for a machine without an operating system;
        - ``"c -system=none -num-cores=4"``: for up to four threads, which the caller provides;
        - ``"llvm -mcpu=znver4 -num-cores=32"``: for a machine of 32 cores; without ``-num-cores`` as many as
          this process may use.

        Unknown kinds, keys and processors are TargetErrors.
        """
        return text if isinstance(text, Target) else _module("strings").parse(text)

    def lanes(self, dtype: str) -> int:
        """The number of elements of ``dtype`` that one vector holds."""
        return max(1, self.vector_bits // dtypes.bits(dtype))

    @property
    def scalar(self) -> bool:
        """Whether no vectors are used: a vector holds one float32."""
        return self.lanes("float32") == 1

    @property
    def alignment(self) -> int:
        """The alignment of intermediate arrays, in bytes: a cache line, or the largest element if the target
        is standalone and without vectors, as its memory is small."""
        return symbols.WORKSPACE_ALIGNMENT if not (self.standalone and self.scalar) else _LARGEST_ELEMENT

    def has(self, instruction_set: str) -> bool:
        """Whether the machine has ``instruction_set``, given by LLVM's name (``"avx512f"``)."""
        return instruction_set in self.instructions

    @cached_property
    def machine(self) -> Machine:
        """The properties of the processor that schedules depend on."""
        return _module("table").machine_of(self.cpu, self.vector_bits, self.vector_registers, self.num_cores)

    def __str__(self) -> str:
        """The target as a string that ``parse`` reads back in a process that may use as many cores."""
        return _module("strings").to_string(self)

    @property
    def with_cores(self) -> str:
        """The target as a string that includes the number of cores, so that every process reads it alike."""
        return _module("strings").to_string_with_cores(self)
