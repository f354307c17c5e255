"""``tvm.target``: targets in TVM's notation."""

from __future__ import annotations

from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.target import codegen as codegen
from tvmlite.tvm.target.generic_func import GenericFunc as GenericFunc
from tvmlite.tvm.target.generic_func import generic_func as generic_func
from tvmlite.tvm.target.generic_func import get_native_generic_func as get_native_generic_func
from tvmlite.tvm.target.generic_func import override_native_generic_func as override_native_generic_func
from tvmlite.tvm.target.target import Kind as Kind
from tvmlite.tvm.target.target import Target as Target
from tvmlite.tvm.target.target import list_tags as list_tags
from tvmlite.tvm.target.target import plain as plain
from tvmlite.tvm.target.target import register_tag as register_tag
from tvmlite.tvm.target.virtual_device import VirtualDevice as VirtualDevice


def create(target: Any) -> Target:
    """Return ``Target(target)``; an older name."""
    return Target(target)


def _words(name: str, options: Any) -> list[str]:
    given = options if isinstance(options, list) else ["" if options is None else options]
    return [arguments.text(f"{name}: options", one, TargetError) for one in given]


def arm_cpu(model: str = "unknown", options: Any = None) -> Target:
    """Return the target of TVM's ``arm_cpu``; ``options`` state its triple and processor."""
    words = ["llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={model}", *_words("arm_cpu", options)]
    return Target(" ".join(words))


def _other(name: str, kind: str, *more: str) -> Any:
    """Return a function that returns a target of an unsupported ``kind``."""

    def describe(model: str = "unknown", options: Any = None, **_: Any) -> Target:
        return Target(" ".join([kind, *more, f"-model={model}", *_words(name, options)]))

    describe.__name__ = name
    describe.__doc__ = "A target that may be looked at: building for it is a TargetError."
    return describe


cuda, rocm, hexagon = (_other(kind, kind) for kind in ("cuda", "rocm", "hexagon"))
mali, intel_graphics, adreno, bifrost = (
    _other(device, "opencl", f"-device={device}")
    for device in ("mali", "intel_graphics", "adreno", "bifrost")
)
vta = _other("vta", "ext_dev", "-device=vta")


__getattr__ = refusing(__name__)
