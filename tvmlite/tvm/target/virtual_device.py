"""TVM's ``VirtualDevice``: a description of where a value is located."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvmlite.core import arguments
from tvmlite.core.errors import TargetError
from tvmlite.runtime.ndarray import Device
from tvmlite.tvm.runtime.devices import AbsentDevice
from tvmlite.tvm.target.target import Target


@dataclass(frozen=True, init=False)
class VirtualDevice:
    """A device, the target of its code and a memory scope, each of which may be unspecified. It only
    describes: code is always compiled for the CPU."""

    device_type: int
    virtual_device_id: int
    target: Any
    memory_scope: str

    def __init__(self, device: Any = None, target: Any = None, memory_scope: str = "") -> None:
        if device is not None:
            kinds = (Device, AbsentDevice)
            arguments.instance("VirtualDevice: device", device, kinds, "a device as tvm.cpu()", TargetError)
        scope = arguments.text("VirtualDevice: memory_scope", memory_scope, TargetError)
        fields = {
            "device_type": -1 if device is None else device.device_type,
            "virtual_device_id": -1 if device is None else device.device_id,
            "target": None if target is None else Target(target),
            "memory_scope": scope,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def device_type_int(self) -> int:
        """DLPack's number of the kind of device, -1 if it is unspecified."""
        return self.device_type
