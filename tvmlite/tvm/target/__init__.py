"""TVM's ``tvm.target``: what code is for, spelt as TVM does."""

from __future__ import annotations

from typing import Any, NoReturn

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError, UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.target import codegen as codegen
from tvmlite.tvm.target.target import Kind as Kind
from tvmlite.tvm.target.target import Target as Target
from tvmlite.tvm.target.target import plain as plain


def create(target: Any) -> Target:
    """``Target(target)``, under its older name."""
    return Target(target)


def arm_cpu(model: str = "unknown", options: Any = None) -> Target:
    """The target of TVM's ``arm_cpu``: ``options`` give its triple and processor."""
    words = options if isinstance(options, list) else [options or ""]
    given = [arguments.text("arm_cpu: options", one, TargetError) for one in words]
    return Target(" ".join(["llvm", *given]))


def _other(kind: str) -> Any:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError(f"tvm.target.{kind}: there is code for CPUs only", Span.of_caller())

    refuse.__name__ = kind
    return refuse


cuda, rocm, mali, intel_graphics = (_other(k) for k in ("cuda", "rocm", "mali", "intel_graphics"))
hexagon, adreno, bifrost, vta = (_other(k) for k in ("hexagon", "adreno", "bifrost", "vta"))
