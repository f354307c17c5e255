"""Arrays under TVM's names: numpy arrays that also answer to ``numpy()``, ``copyto`` and ``device``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import InputError, TargetError
from tvmlite.core.span import Span

_CPUS = ("cpu", "llvm", "c", "native")


@dataclass(frozen=True)
class Device:
    """This machine's processors, of which there is one: ``index`` is TVM's, and only told."""

    index: int = 0
    exist: bool = True

    @property
    def device_type(self) -> int:
        """DLPack's number for main memory."""
        return 1

    def sync(self) -> None:
        """Nothing: a call returns when it is done."""

    def __str__(self) -> str:
        return f"cpu({self.index})"


def cpu(index: int = 0) -> Device:
    """The processors of this machine."""
    return Device(index)


def device(kind: Any, index: int = 0) -> Device:
    """The device of a target's ``kind`` (``"llvm"``, ``"cpu"``, ``"c"``, or a whole target); a TargetError
    for anything that is no CPU."""
    words = str(kind).split()
    if not words or words[0] not in _CPUS:
        raise TargetError(
            f"device {str(kind)!r} is not a CPU, and there is code for CPUs only", Span.of_caller()
        )
    return Device(index)


class NDArray(np.ndarray):
    """A numpy array with TVM's methods."""

    @property
    def handle(self) -> int:
        """The address of the first element."""
        return self.ctypes.data

    def numpy(self) -> np.ndarray:
        """The same memory as a plain numpy array."""
        return self.view(np.ndarray)

    asnumpy = numpy

    def copyfrom(self, source: Any) -> NDArray:
        """Take the elements of ``source``, of this shape; an InputError for another."""
        given = np.asarray(source)
        if given.shape != self.shape:
            raise InputError(f"copyfrom: {given.shape} given, expected {self.shape}")
        self[...] = given
        return self

    def copyto(self, target: Any) -> Any:
        """Give the elements to the array ``target``, of this shape, or to a new one on a device."""
        if isinstance(target, Device):
            return array(self, target)
        if not isinstance(target, np.ndarray) or target.shape != self.shape:
            given = getattr(target, "shape", target)
            raise InputError(f"copyto: {given} given, expected an array of {self.shape}")
        target[...] = self
        return target


def array(given: Any, device: Device | None = None) -> NDArray:
    """A copy of ``given`` in memory of its own; of Python numbers float32, as in TVM."""
    made = np.array(given, dtype=None if hasattr(given, "dtype") else np.float32, order="C")
    return made.view(NDArray)


def empty(shape: Any, dtype: str = "float32", device: Device | None = None) -> NDArray:
    """An array whose elements are yet to be written."""
    return np.empty(shape, dtypes.numpy_of(dtype)).view(NDArray)
