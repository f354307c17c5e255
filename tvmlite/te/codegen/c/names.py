"""The C names of a function's parameters, variables and buffers, and what a whole source has in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tvmlite.core import abi
from tvmlite.core.alike import alike
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.codegen.c.text import Helpers
from tvmlite.te.codegen.math.expand import LIBRARY
from tvmlite.te.loop import ir

RESERVED = sorted(
    {name + suffix for name in LIBRARY for suffix in ("", "f")}
    | {
        name + suffix
        for name in ("sqrt", "floor", "ceil", "trunc", "fabs", "copysign", "fma")
        for suffix in ("", "f")
    }
    | {
        "nearbyint",
        "nearbyintf",
        "j0",
        "j1",
        "jn",
        "y0",
        "y1",
        "yn",
        "gamma",
        "signgam",
        "begin",
        "end",
        "thread",
    }
    | {"closure", "given", "code", "start", "runs", "errno", "linux", "unix"}
    | {abi.PARALLEL_FOR, abi.SWEEP, abi.NEXT_RUN, abi.NOW}
    | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)

"""Names of ours and of the C library's mathematics, which no local name may hide."""

BUILT_IN = frozenset(
    "main abs labs llabs exit abort malloc calloc free printf puts memcpy memmove memset strlen index".split()
) | frozenset(RESERVED)
"""Names that a function of ours may not have: C compilers know them already."""


@dataclass
class Module:
    """One C source in the making: ``signatures`` of its functions, and what they turn out to need."""

    signatures: Mapping[str, abi.Signature]
    helpers: Helpers = field(default_factory=Helpers)
    used: set[str] = field(default_factory=set)
    typedefs: dict[str, None] = field(default_factory=dict)
    intrinsics: dict[str, None] = field(default_factory=dict)
    declarations: dict[str, None] = field(default_factory=dict)
    definitions: list[str] = field(default_factory=list)


def parameter_keys(function: ir.Function) -> list[object]:
    """What names the parameters, in the signature's order."""
    keys: list[object] = [*function.params, *function.sizes]
    if function.workspace is not None:
        keys += ["workspace", ir.THREADS]
    if function.told is not None:
        keys += [function.told, ir.CAPACITY]
    return [*keys, "profile"] if function.kernels else keys


def unique_names(function: ir.Function, module: Module) -> dict[object, str]:
    """A C name for each parameter, variable and buffer of ``function``, each of its own."""
    wanted: dict[object, str] = {("reserved", name): name for name in (*RESERVED, *module.signatures)}
    keys = parameter_keys(function)
    for node in postorder(function.body):
        match node:
            case ir.For(var=bound) | ir.Let(var=bound) | ir.Allocate(buffer=bound) | ir.View(buffer=bound):
                keys.append(bound)
    for key in keys:
        text = key if isinstance(key, str) else key.name  # type: ignore[attr-defined]
        wanted.setdefault(key, f"v_{text}" if text.startswith("tl_") else text)
    return abi.unique_names(wanted)


def reads_elsewhere(value: e.Expr, buffer: ir.Buffer, index: e.Expr) -> bool:
    """Whether ``value`` reads elements of ``buffer`` other than those at ``index``."""
    loads = (node for node in postorder(value) if isinstance(node, ir.Load) and node.buffer is buffer)
    return any(not alike(load.indices[0], index) for load in loads)
