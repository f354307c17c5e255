"""Targets in TVM's words, as the machine that code is made for."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tvmlite.core.errors import TargetError
from tvmlite.core.span import Span
from tvmlite.machine.target import Target
from tvmlite.tvm import target as tvm_target

_IGNORED = (
    "-keys=",
    "-device=",
    "-model=",
    "-libs=",
    "-link-params=",
    "-opt-level=",
    "-mabi=",
    "-host=",
    "-jit=",
)
"""Options of TVM's that say nothing of the code made here."""


def machine(target: Any) -> Target:
    """The machine that ``target`` (a string, or a target of TVM's) describes; this one for None."""
    if target is None:
        return Target.parse("native")
    if type(target) is Target:
        return target
    if isinstance(target, Target):  # of a class that TVM's programs see: here it is what it describes
        values = {one.name: getattr(target, one.name) for one in dataclasses.fields(Target)}
        return Target(**{**values, "kind": str(target.kind)})
    kept = [word for word in str(target).split() if not word.startswith(_IGNORED)]
    if not kept:
        raise TargetError(f"target {target!r} is no target", Span.of_caller(), 'such as "llvm"')
    return Target.parse(" ".join(kept))


def kind(target: Any) -> str:
    """What ``target`` is for: ``cpu``, or the name of a device that is none."""
    name = str(getattr(target, "kind", target)).split(" ", 1)[0]
    return "cpu" if name in ("llvm", "c", "native", "cpu", "wasm") else name


def current() -> Any:
    """The target of the block around, as TVM gives it; None where there is none."""
    ask = getattr(tvm_target.Target, "current", None)
    return None if ask is None else ask(allow_none=True)


def within(target: Any) -> AbstractContextManager[Any]:
    """``target`` is the current one within the block, if it is one of TVM's."""
    return target if hasattr(target, "__enter__") else nullcontext()
