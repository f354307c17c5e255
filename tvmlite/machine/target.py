"""Targets: the machine to compile for, as users write it (``"native"``, ``"llvm -mcpu=znver4"``, ``"c"``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from tvmlite.core import arguments, config
from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import TargetError
from tvmlite.machine import processor
from tvmlite.machine.machine import Machine
from tvmlite.machine.table import machine_of

_KEYS = {
    "llvm": ("-mtriple", "-mcpu", "-mattr", "-vector-bits", "-num-cores"),
    "c": ("-vector-bits", "-num-cores"),
}
_VECTOR_BITS = (128, 256, 512)
_LONGEST = 10_000
"""Letters of a target; all features of a processor are some 2,000."""
_MOST_CORES = 4096


@dataclass(frozen=True)
class Target:
    """A machine to compile for.

    ``kind`` is ``"llvm"`` (LLVM IR) or ``"c"`` (C99 source, for any machine: no triple, no cpu).
    ``features`` are what differs from the processor's own, such as ``"+avx512f"`` or ``"-sve"``, and
    ``instructions`` the instruction sets there are in the end. ``vector_bits`` is the width of the vectors to
    use and ``vector_registers`` how many of them there are. ``num_cores`` is the number of cores that kernels
    are divided among, by default as many as this process may use.
    """

    kind: str
    triple: str = ""
    cpu: str = ""
    features: tuple[str, ...] = ()
    vector_bits: int = 128
    vector_registers: int = 16
    instructions: frozenset[str] = frozenset()
    num_cores: int = field(default_factory=config.processors)

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
        - ``"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+dotprod"``: another one; without
          ``-mtriple`` this machine's, without ``-mcpu`` the plainest of its architecture;
        - ``"c"``, ``"c -vector-bits=512"``: C source;
        - ``"llvm -mcpu=znver4 -num-cores=32"``: for a machine of 32 cores; without ``-num-cores`` as many as
          this process may use.

        Unknown kinds, keys and processors are TargetErrors.
        """
        if isinstance(text, Target):
            return text
        if not isinstance(text, str):
            raise TargetError(f"a target is a string, not a {type(text).__name__}", hint='such as "native"')
        words = text.split()
        if words in (["native"], ["llvm"]):
            override = config.native_target()
            if override is None or override.split() in (["native"], ["llvm"]):
                return _native(config.processors())
            words = override.split()
        return _parse(" ".join(words), config.processors())

    def lanes(self, dtype: str) -> int:
        """How many elements of ``dtype`` one vector holds."""
        return max(1, self.vector_bits // dtypes.bits(dtype))

    def has(self, instruction_set: str) -> bool:
        """Whether the machine has ``instruction_set``, by LLVM's name for it (``"avx512f"``)."""
        return instruction_set in self.instructions

    @cached_property
    def machine(self) -> Machine:
        """What is known of the processor."""
        return machine_of(self.cpu, self.vector_bits, self.vector_registers, self.num_cores)

    def __str__(self) -> str:
        """The target as a string that ``parse`` reads back in a process that may use as many cores."""
        cores = [f"-num-cores={self.num_cores}"] if self.num_cores != config.processors() else []
        return " ".join([*self._words(), *cores])

    @property
    def with_cores(self) -> str:
        """The target as a string that every process reads alike: with the number of cores."""
        return " ".join([*self._words(), f"-num-cores={self.num_cores}"])

    def _words(self) -> list[str]:
        """What ``parse`` reads, but for the number of cores."""
        words = [self.kind]
        if self.triple:
            words.append(f"-mtriple={self.triple}")
        if self.cpu:
            words.append(f"-mcpu={self.cpu}")
        if self.features:
            words.append(f"-mattr={','.join(self.features)}")
        if self.vector_bits != _vectors(self.triple, self.instructions)[0]:
            words.append(f"-vector-bits={self.vector_bits}")
        return words


@cache
def _native(cores: int) -> Target:
    triple, cpu, features = processor.host()
    instructions = processor.describe(triple, cpu, features)
    return Target("llvm", triple, cpu, features, *_vectors(triple, instructions), instructions, cores)


@cache
def _parse(text: str, cores: int) -> Target:
    if len(text) > _LONGEST or not (text.isascii() and text.isprintable()):
        raise TargetError(f"target {text[:80]!r}: expected plain letters, {_LONGEST:,} at most")
    kind, *options = text.split() or [""]
    if kind not in _KEYS:
        raise TargetError(
            f"target {text!r} is of unknown kind {kind!r}; kinds are native, {', '.join(_KEYS)}",
            hint='for this machine, write "native"',
        )
    given: dict[str, str] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if key not in _KEYS[kind] or not equals or not value or key in given:
            known = ", ".join(f"{k}=..." for k in _KEYS[kind])
            raise TargetError(f"target {text!r}: cannot use {option!r}; {kind} knows {known}, each once")
        given[key] = value
    triple = cpu = ""
    features: tuple[str, ...] = ()
    instructions: frozenset[str] = frozenset()
    if kind == "llvm":
        triple = given.get("-mtriple", processor.host()[0])
        cpu = given.get("-mcpu", "")
        features = _features(text, given.get("-mattr", ""))
        instructions = processor.describe(triple, cpu, features)
    width, _ = _vectors(triple, instructions)
    if "-vector-bits" in given:
        width = _width(text, given["-vector-bits"])
    if "-num-cores" in given:
        cores = _cores(text, given["-num-cores"])
    registers = _registers(triple, instructions, width)
    return Target(kind, triple, cpu, features, width, registers, instructions, cores)


def _features(text: str, value: str) -> tuple[str, ...]:
    features = tuple(one for one in value.split(",") if one)
    for one in features:
        if one[0] not in "+-" or len(one) < 2:
            raise TargetError(f"target {text!r}: feature {one!r} of -mattr starts with neither + nor -")
    return features


def _width(text: str, value: str) -> int:
    if value not in map(str, _VECTOR_BITS):
        raise TargetError(f"target {text!r}: -vector-bits is {value!r}, expected 128, 256 or 512")
    return int(value)


def _cores(text: str, value: str) -> int:
    if not value.isdecimal() or len(value) > len(str(_MOST_CORES)) or not 1 <= int(value) <= _MOST_CORES:
        raise TargetError(
            f"target {text!r}: -num-cores is {value!r}, expected a whole number from 1 to {_MOST_CORES}"
        )
    return int(value)


def _vectors(triple: str, instructions: frozenset[str]) -> tuple[int, int]:
    """Width and number of the vector registers."""
    width = 128
    if "avx512f" in instructions:
        width = 512
    elif "avx" in instructions:
        width = 256
    return width, _registers(triple, instructions, width)


def _registers(triple: str, instructions: frozenset[str], width: int) -> int:
    if not triple:  # C source: as many as the machines with such vectors have
        return 32 if width == 512 else 16
    if "avx512f" in instructions:
        return 32 if width == 512 or "avx512vl" in instructions else 16
    return 32 if processor.family(triple) in ("aarch64", "riscv") else 16
