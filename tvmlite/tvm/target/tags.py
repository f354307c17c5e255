"""Names of machines that stand for the options of a target: ``Target("raspberry-pi/4b-aarch64")``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError
from tvmlite.core.span import Span

_CORES = {
    "skylake-avx512": {"large": 1, "xlarge": 2, "2xlarge": 4, "4xlarge": 8, "9xlarge": 18, "18xlarge": 36},
    "cascadelake": {"12xlarge": 24, "24xlarge": 48},
}
"""The cores of Amazon's machines of the family c5, by processor."""

_BOARDS = {"jetson-nano": "sm_53", "jetson-tx1": "sm_53", "jetson-tx2": "sm_62"}
_CARDS = {"geforce-rtx-2080-ti": "sm_75", "nvidia-a100": "sm_80"}


def _cuda(arch: str, registers: int) -> dict[str, Any]:
    return {
        "kind": "cuda",
        "arch": arch,
        "max_shared_memory_per_block": 49152,
        "max_threads_per_block": 1024,
        "thread_warp_size": 32,
        "registers_per_block": registers,
    }


_tags: dict[str, Mapping[str, Any]] = {
    "raspberry-pi/4b-aarch64": {
        "kind": "llvm",
        "mtriple": "aarch64-linux-gnu",
        "mcpu": "cortex-a72",
        "mattr": ["+neon"],
        "num-cores": 4,
        "keys": ["arm_cpu", "cpu"],
    },
    **{
        f"aws/cpu/c5.{size}": {"kind": "llvm", "mcpu": cpu, "num-cores": count, "keys": ["x86", "cpu"]}
        for cpu, sizes in _CORES.items()
        for size, count in sizes.items()
    },
    **{f"nvidia/{name}": _cuda(arch, 32768) for name, arch in _BOARDS.items()},
    **{f"nvidia/{name}": _cuda(arch, 65536) for name, arch in _CARDS.items()},
}


def config_of(text: str) -> Mapping[str, Any] | None:
    """What the tag ``text`` stands for; None if it is none."""
    return _tags.get(text)


def names() -> list[str]:
    """The tags there are, in order."""
    return sorted(_tags)


def add(name: str, config: Mapping[str, Any], override: bool) -> None:
    """Let ``name`` stand for ``config``; a TargetError if it is in use, unless ``override``."""
    arguments.text("register_tag: name", name, TargetError)
    if name in _tags and not override:
        raise TargetError(f"register_tag: there is a tag {name!r} already", Span.of_caller())
    _tags[name] = dict(config)
