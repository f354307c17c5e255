"""Conversion of targets from and to strings: ``"native"``, ``"llvm -mcpu=znver4"``, ``"c"``."""

from __future__ import annotations

from functools import cache

from tvmlite.core import config
from tvmlite.core.errors import TargetError
from tvmlite.machine import processor
from tvmlite.machine.cores import processors
from tvmlite.machine.microcontrollers import MICROCONTROLLERS
from tvmlite.machine.target import Target, family
from tvmlite.machine.triple import Triple

_KEYS = {
    "llvm": ("-mtriple", "-mcpu", "-mattr", "-vector-bits", "-num-cores"),
    "c": ("-mcpu", "-system", "-vector-bits", "-num-cores"),
}
_ALIASES = {"wasm": "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128 -num-cores=1"}
"""Short names of targets: WebAssembly with vectors, on one thread, which every browser supports."""

_NO_VECTORS = 32
"""The vector bits of a machine without vectors: those of one float32."""
_RISCV_LINUX = ("+m", "+a", "+f", "+d", "+c")
"""The features of every RISC-V processor that runs Linux (RV64GC); its ABI passes floats in registers."""

_VECTOR_BITS = (128, 256, 512)
_MOST_CHARACTERS = 10_000
"""The most characters of a target; all features of a processor take some 2,000."""
_MOST_CORES = 4096


def parse(text: str) -> Target:
    """The target that ``text`` describes; see ``Target.parse``."""
    if not isinstance(text, str):
        raise TargetError(f"a target is a string, not a {type(text).__name__}", hint='such as "native"')
    words = text.split()
    if words in (["native"], ["llvm"]):
        override = config.native_target()
        if override is None or override.split() in (["native"], ["llvm"]):
            return native(processors())
        words = override.split()
    text = " ".join(words)
    return _parse(_ALIASES.get(text, text), processors())


def to_string(target: Target) -> str:
    """``target`` as a string that ``parse`` reads back in a process that may use the same number of cores."""
    own = processors()
    usual = 1 if target.standalone else own
    return _without_cores(target) if target.num_cores == usual else to_string_with_cores(target)


def to_string_with_cores(target: Target) -> str:
    """``target`` as a string that includes the number of cores, so that every process reads it alike."""
    words = _without_cores(target)
    is_usual = target.standalone and target.num_cores == 1
    return words if is_usual else f"{words} -num-cores={target.num_cores}"


def _without_cores(target: Target) -> str:
    """``target`` as a string without the number of cores."""
    words = [target.kind]
    if target.triple:
        words.append(f"-mtriple={target.triple}")
    if target.cpu:
        words.append(f"-mcpu={target.cpu}")
    elif target.standalone:
        words.append("-system=none")
    if target.features:
        words.append(f"-mattr={','.join(target.features)}")
    usual = _NO_VECTORS if target.standalone else _vectors(target.triple, target.instructions)[0]
    if target.vector_bits != usual:
        words.append(f"-vector-bits={target.vector_bits}")
    return " ".join(words)


@cache
def native(cores: int) -> Target:
    """The target for this machine, of which ``cores`` cores are used."""
    triple, cpu, features = processor.host()
    instructions = processor.describe(triple, cpu, features)
    return Target("llvm", triple, cpu, features, *_vectors(triple, instructions), instructions, cores)


@cache
def _parse(text: str, cores: int) -> Target:
    if len(text) > _MOST_CHARACTERS or not (text.isascii() and text.isprintable()):
        raise TargetError(f"target {text[:80]!r}: expected plain letters, {_MOST_CHARACTERS:,} at most")
    kind, *options = text.split() or [""]
    if kind not in _KEYS:
        raise TargetError(
            f"target {text!r} is of unknown kind {kind!r}; kinds are native, "
            f"{', '.join((*_KEYS, *_ALIASES))}",
            hint='for this machine, write "native"',
        )
    given: dict[str, str] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if key not in _KEYS[kind] or not equals or not value or key in given:
            known = ", ".join(f"{k}=..." for k in _KEYS[kind])
            raise TargetError(
                f"target {text!r}: cannot use {option!r}; options of {kind} are {known}, each at most once"
            )
        given[key] = value
    triple = cpu = ""
    features: tuple[str, ...] = ()
    instructions: frozenset[str] = frozenset()
    if kind == "llvm":
        triple = given.get("-mtriple", processor.host()[0])
        cpu = given.get("-mcpu", "")
        features = _features(text, given.get("-mattr", ""))
        parts = Triple.parse(triple)
        if not cpu and (parts.architecture, parts.system) == ("riscv64", "linux"):
            features = tuple(dict.fromkeys((*_RISCV_LINUX, *features)))
        instructions = processor.describe(triple, cpu, features)
    width, _ = _vectors(triple, instructions)
    standalone = kind == "c" and ("-mcpu" in given or "-system" in given)
    if standalone:
        cpu, cores, width = _microcontroller(text, given), 1, _NO_VECTORS
        instructions = MICROCONTROLLERS.get(cpu, frozenset())
    if "-vector-bits" in given:
        width = _width(text, given["-vector-bits"])
    if "-num-cores" in given:
        cores = _cores(text, given["-num-cores"])
    registers = _registers(triple, instructions, width)
    return Target(kind, triple, cpu, features, width, registers, instructions, cores, standalone)


def _microcontroller(text: str, given: dict[str, str]) -> str:
    """The processor of a machine without an operating system; empty if any will do."""
    if given.get("-system", "none") != "none":
        raise TargetError(f"target {text!r}: -system is {given['-system']!r}, expected none")
    cpu = given.get("-mcpu", "")
    if cpu and cpu not in MICROCONTROLLERS:
        known = ", ".join(MICROCONTROLLERS)
        raise TargetError(
            f"target {text!r}: -mcpu is {cpu!r}; processors without a system are {known}",
            hint="for any other, write -system=none",
        )
    return cpu


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
    """The width in bits and the number of the vector registers."""
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
    return 32 if family(triple) in ("aarch64", "riscv") else 16
