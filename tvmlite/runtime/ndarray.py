"""Arrays with TVM's API: numpy arrays that also have ``numpy()``, ``copyto``, ``device`` and others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.errors import InputError, TargetError
from tvmlite.core.span import Span
from tvmlite.runtime.tensor import allocated, of_numbers

_CPUS = ("cpu", "llvm", "c", "native")


@dataclass(frozen=True)
class Device:
    """The only device, this machine's CPU; ``index`` exists for compatibility with TVM and is only shown."""

    index: int = 0
    exist: bool = True

    @property
    def device_type(self) -> int:
        """DLPack's number for main memory."""
        return 1

    @property
    def device_id(self) -> int:
        """The ``index``, under DLPack's name."""
        return self.index

    def sync(self) -> None:
        """Do nothing, as all calls are synchronous."""

    def __str__(self) -> str:
        return f"cpu({self.index})"


def cpu(index: int = 0) -> Device:
    """The CPU of this machine."""
    return Device(arguments.whole("cpu: index", index, TargetError, least=0))


def device(kind: Any, index: int = 0) -> Device:
    """The device of a target's ``kind`` (``"llvm"``, ``"cpu"``, ``"c"``, or a whole target); TargetError
    if it is not a CPU."""
    words = str(kind).split() if isinstance(kind, str) or hasattr(kind, "kind") else []
    if not words or words[0] not in _CPUS:
        given = arguments.shown(str(kind) if words else kind)
        raise TargetError(f"device {given} is not a CPU, and there is code for CPUs only", Span.of_caller())
    return cpu(index)


class NDArray(np.ndarray):
    """A numpy array with TVM's methods."""

    @property
    def handle(self) -> int:
        """The address of the first element."""
        return self.ctypes.data

    @property
    def device(self) -> Device:  # type: ignore[override]
        """The CPU, as every array is in main memory."""
        return Device()

    @property
    def is_view(self) -> bool:
        """Whether the array does not own its memory; always False."""
        return False

    def numpy(self) -> np.ndarray:
        """A plain numpy array that shares the memory."""
        return self.view(np.ndarray)

    asnumpy = numpy

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is the same object."""
        return self is other

    def copyfrom(self, source: Any) -> NDArray:
        """Copy the elements of ``source``, which must have this shape, else InputError is raised."""
        given = of_numbers("copyfrom", source, self.dtype)
        if given.shape != self.shape:
            raise InputError(f"copyfrom: {given.shape} given, expected {self.shape}")
        self[...] = given
        return self

    def copyto(self, target: Any) -> Any:
        """Copy the elements to ``target``, an array of this shape, or, for a device, to a new array."""
        if isinstance(target, Device):
            return array(self, target)
        if not isinstance(target, np.ndarray) or target.shape != self.shape:
            given = getattr(target, "shape", None) or arguments.shown(target)
            raise InputError(f"copyto: {given} given, expected an array of {self.shape}")
        target[...] = self
        return target


def array(given: Any, device: Device | None = None) -> NDArray:
    """A new array with a copy of ``given``; Python numbers get the dtype that numpy chooses."""
    require_cpu("array: device", device)
    return of_numbers("array", given, None).view(NDArray)


def empty(shape: Any, dtype: str = "float32", device: Device | None = None) -> NDArray:
    """An uninitialised array."""
    require_cpu("empty: device", device)
    return allocated(shape, dtype).view(NDArray)


def require_cpu(where: str, device: object) -> None:
    """Raise InputError if ``device`` is neither a device nor None."""
    if device is not None:
        arguments.instance(where, device, Device, "a device", InputError)
