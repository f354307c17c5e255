"""Devices: the CPU, and other kinds that are known by name but not supported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError
from tvmlite.core.span import Span
from tvmlite.runtime import ndarray
from tvmlite.runtime.ndarray import Device

_NUMBERS = {
    "cuda": 2,
    "gpu": 2,
    "nvptx": 2,
    "opencl": 4,
    "cl": 4,
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "rocm": 10,
    "ext_dev": 12,
    "hexagon": 14,
    "webgpu": 15,
}
"""DLPack's numbers of the kinds of devices that are not supported."""


_ALIASES = {"gpu": "cuda", "nvptx": "cuda", "cl": "opencl"}


@dataclass(frozen=True)
class AbsentDevice:
    """A device of a kind that is not supported: ``exist`` is False, and it can hold no arrays."""

    kind: str
    index: int = 0
    exist: bool = False

    @property
    def device_type(self) -> int:
        """DLPack's number of the kind."""
        return _NUMBERS[self.kind]

    @property
    def device_id(self) -> int:
        """The ``index``, under DLPack's name."""
        return self.index

    def sync(self) -> None:
        """Raise a TargetError: there is no such device."""
        require_present(self)

    def __str__(self) -> str:
        return f"{self.kind}({self.index})"


AnyDevice: TypeAlias = Device | AbsentDevice

for _name in (
    "api_version compute_version device_name driver_version max_clock_rate max_shared_memory_per_block "
    "max_thread_dimensions max_threads_per_block multi_processor_count warp_size"
).split():
    for _class in (Device, AbsentDevice):
        setattr(_class, _name, None)  # as in TVM for a CPU


def device(dev_type: Any, dev_id: int = 0) -> AnyDevice:
    """Return the device for a target's kind or a device's name or number: ``tvm.device("llvm", 0)``.
    ``exist`` is False for devices other than CPUs."""
    if isinstance(dev_type, int) and not isinstance(dev_type, bool):
        kinds = {number: kind for kind, number in _NUMBERS.items() if kind not in _ALIASES}
        dev_type = "cpu" if dev_type == 1 else kinds.get(dev_type, str(dev_type))
    words = str(dev_type).split() if isinstance(dev_type, str) or hasattr(dev_type, "kind") else []
    if words and words[0] in _NUMBERS:
        kind = _ALIASES.get(words[0], words[0])
        return AbsentDevice(kind, arguments.whole("device: dev_id", dev_id, TargetError, least=0))
    if words and words[0] in ("stackvm", "ext", "hybrid"):
        words = ["cpu"]
    number = arguments.whole("device: dev_id", dev_id, TargetError, least=0)
    return ndarray.device(words[0] if words else dev_type, number)


context = device


def cpu(dev_id: int = 0) -> Device:
    """Return the CPU of this machine."""
    return ndarray.cpu(dev_id)


def _of_kind(kind: str) -> Any:
    def make(dev_id: int = 0) -> AbsentDevice:
        return AbsentDevice(kind, arguments.whole(f"{kind}: dev_id", dev_id, TargetError, least=0))

    make.__name__ = kind
    make.__doc__ = f"A device of kind {kind}, which is not there."
    return make


cuda, opencl, vulkan, metal = (_of_kind(kind) for kind in ("cuda", "opencl", "vulkan", "metal"))
rocm, vpi, ext_dev, hexagon = (_of_kind(kind) for kind in ("rocm", "vpi", "ext_dev", "hexagon"))
webgpu, gpu = _of_kind("webgpu"), _of_kind("cuda")


def require_present(device: Any) -> Any:
    """Return ``device``; a TargetError if its kind is not supported."""
    if isinstance(device, AbsentDevice):
        raise TargetError(f"device {device} is not there: there is code for CPUs only", Span.of_caller())
    return device
