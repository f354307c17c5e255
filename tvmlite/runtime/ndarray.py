"""Arrays under TVM's names: numpy arrays that also answer to ``numpy()``, ``copyto`` and ``device``."""

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
    """This machine's processors, of which there is one: ``index`` is TVM's, and only shown."""

    index: int = 0
    exist: bool = True

    @property
    def device_type(self) -> int:
        """DLPack's number for main memory."""
        return 1

    @property
    def device_id(self) -> int:
        """Its ``index``, by DLPack's name."""
        return self.index

    def sync(self) -> None:
        """Nothing: a call returns when it is done."""

    def __str__(self) -> str:
        return f"cpu({self.index})"


def cpu(index: int = 0) -> Device:
    """The processors of this machine."""
    return Device(arguments.whole("cpu: index", index, TargetError, least=0))


def device(kind: Any, index: int = 0) -> Device:
    """The device of a target's ``kind`` (``"llvm"``, ``"cpu"``, ``"c"``, or a whole target); a TargetError
    for anything that is no CPU."""
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
        """The processor, in whose memory every array is."""
        return Device()

    @property
    def is_view(self) -> bool:
        """Whether its memory may be given back while it is in use: never."""
        return False

    def numpy(self) -> np.ndarray:
        """The same memory as a plain numpy array."""
        return self.view(np.ndarray)

    asnumpy = numpy

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very array."""
        return self is other

    def copyfrom(self, source: Any) -> NDArray:
        """Take the elements of ``source``, of this shape; an InputError for another."""
        given = of_numbers("copyfrom", source, self.dtype)
        if given.shape != self.shape:
            raise InputError(f"copyfrom: {given.shape} given, expected {self.shape}")
        self[...] = given
        return self

    def copyto(self, target: Any) -> Any:
        """Give the elements to the array ``target``, of this shape, or to a new one on a device."""
        if isinstance(target, Device):
            return array(self, target)
        if not isinstance(target, np.ndarray) or target.shape != self.shape:
            given = getattr(target, "shape", None) or arguments.shown(target)
            raise InputError(f"copyto: {given} given, expected an array of {self.shape}")
        target[...] = self
        return target


def array(given: Any, device: Device | None = None) -> NDArray:
    """A copy of ``given`` in memory of its own; Python numbers have the dtype that numpy gives them."""
    require_cpu("array: device", device)
    return of_numbers("array", given, None).view(NDArray)


def empty(shape: Any, dtype: str = "float32", device: Device | None = None) -> NDArray:
    """An array whose elements are yet to be written."""
    require_cpu("empty: device", device)
    return allocated(shape, dtype).view(NDArray)


def require_cpu(where: str, device: object) -> None:
    """An InputError if ``device`` is neither a device nor None."""
    if device is not None:
        arguments.instance(where, device, Device, "a device", InputError)
