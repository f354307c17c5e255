"""CPU levels: the rows of processors that one library may have code for.

One row per level, in ascending order: code of a level runs on every processor of a later one. ``baseline``,
``avx2`` and ``avx512`` are levels 1, 3 and 4 of the x86-64 psABI, which LLVM accepts as processor names; they
belong to no vendor. A processor that has ``amx`` has all instruction sets of the processor in its row (they
are Intel's, from 2023 on).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError
from tvmlite.machine.target import Target, family


@dataclass(frozen=True)
class CpuLevel:
    """A level that users call ``name``; LLVM compiles for ``cpu`` with ``features``, and a processor must
    have all instruction sets that these imply. ``meaning`` is a description for users."""

    name: str
    cpu: str
    meaning: str
    features: tuple[str, ...] = field(default=())

    def target(self, triple: str, num_cores: int) -> Target:
        """The target that code of this level is compiled for."""
        features = f" -mattr={','.join(self.features)}" if self.features else ""
        return Target.parse(f"llvm -mtriple={triple} -mcpu={self.cpu}{features} -num-cores={num_cores}")


LEVELS = (
    CpuLevel("baseline", "x86-64", "every 64-bit x86 processor; vectors of 128 bits"),
    CpuLevel("avx2", "x86-64-v3", "AVX2 and multiply-adds: from 2013 (Intel) or 2015 (AMD) on"),
    CpuLevel("avx512", "x86-64-v4", "AVX-512: servers from 2017 (Intel) or 2022 (AMD) on"),
    CpuLevel("vnni", "x86-64-v4", "AVX-512 that sums products of bytes", ("+avx512vnni",)),
    CpuLevel("amx", "sapphirerapids", "tiles of products of bytes and of bfloat16"),
)


def targets_of(target: Target, names: Sequence[str], native: Target) -> dict[str, Target]:
    """The target of each level in ``names``, in ascending order, for the machine of ``target``.

    ``target`` gives triple and cores, but no processor unless it is this machine, ``native``. A TargetError
    for an unknown level, one given twice, or a target that has no levels.
    """
    where = "cpu_levels"
    given: Any = arguments.instance(where, names, (list, tuple), "a list of names", TargetError)
    arguments.all_instances(where, given, str, "a name", TargetError)
    known = {one.name: one for one in LEVELS}
    for name in given:
        if name not in known:
            raise TargetError(f"{where}: there is no level {name!r}; levels are {', '.join(known)}")
    if not given or len(set(given)) != len(given):
        raise TargetError(f"{where}: expected some of {', '.join(known)}, each once, got {list(given)}")
    if target.kind != "llvm" or family(target.triple) != "x86":
        raise TargetError(
            f"{where}: target {str(target)!r} has no CPU levels: only x86-64 targets have",
            hint='such as "llvm -mtriple=x86_64-linux-gnu"',
        )
    if (target.cpu or target.features) and target != native:
        raise TargetError(
            f"{where}: target {str(target)!r} names a processor, but cpu_levels choose it",
            hint=f'leave -mcpu and -mattr out: "llvm -mtriple={target.triple}"',
        )
    return {one.name: one.target(target.triple, target.num_cores) for one in LEVELS if one.name in given}
