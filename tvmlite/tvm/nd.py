"""TVM's ``tvm.nd``: arrays on a device, which here are numpy arrays."""

from tvmlite.runtime.ndarray import NDArray, array, cpu, device, empty

__all__ = ["NDArray", "array", "cpu", "device", "empty"]
