"""Targets in TVM's words, as the machine that code is made for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tvmlite.machine.target import Target
from tvmlite.tvm import target as tvm_target
from tvmlite.tvm.target.target import parsed


def machine(target: Any) -> Target:
    """The machine that ``target`` (a string, or a target of TVM's) describes; this one for None."""
    return Target.parse("native") if target is None else parsed(target)[0]


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
