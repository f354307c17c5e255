"""Conversion of TVM's targets to tvmlite's."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tvmlite.machine.target import Target
from tvmlite.tvm import target as tvm_target
from tvmlite.tvm.target.target import parsed


def machine(target: Any) -> Target:
    """Return the machine that ``target`` (a string or one of TVM's) describes; for None this machine."""
    return Target.parse("native") if target is None else parsed(target)[0]


def kind(target: Any) -> str:
    """Return ``cpu`` for a CPU target, else the name of the target's kind."""
    name = str(getattr(target, "kind", target)).split(" ", 1)[0]
    return "cpu" if name in ("llvm", "c", "native", "cpu", "wasm") else name


def current() -> Any:
    """Return the target of the enclosing ``with`` block, as TVM does; None outside any."""
    ask = getattr(tvm_target.Target, "current", None)
    return None if ask is None else ask(allow_none=True)


def within(target: Any) -> AbstractContextManager[Any]:
    """Return a context in which ``target`` is the current one, if it is one of TVM's targets."""
    return target if hasattr(target, "__enter__") else nullcontext()
