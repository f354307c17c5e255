"""``tvm.nd``: arrays on a device, which here are numpy arrays on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlite.core import arguments
from tvmlite.core.errors import InputError
from tvmlite.runtime import ndarray
from tvmlite.runtime.ndarray import Device, NDArray
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.runtime.devices import (
    context,
    cpu,
    cuda,
    device,
    ext_dev,
    gpu,
    hexagon,
    metal,
    opencl,
    require_present,
    rocm,
    vpi,
    vulkan,
    webgpu,
)

__all__ = [
    "Device",
    "NDArray",
    "array",
    "context",
    "cpu",
    "cuda",
    "device",
    "empty",
    "ext_dev",
    "from_dlpack",
    "gpu",
    "hexagon",
    "metal",
    "numpyasarray",
    "opencl",
    "rocm",
    "vpi",
    "vulkan",
    "webgpu",
]


def array(arr: Any, device: Any = None, mem_scope: str | None = None, ctx: Any = None) -> NDArray:
    """Copy ``arr`` into a new array. Python numbers get numpy's default dtype. ``ctx`` is TVM's older name
    for ``device``."""
    _check_scope("array", mem_scope)
    return ndarray.array(arr, require_present(device if ctx is None else ctx))


def empty(
    shape: Any, dtype: str = "float32", device: Any = None, mem_scope: str | None = None, ctx: Any = None
) -> NDArray:
    """Allocate an uninitialized array."""
    _check_scope("empty", mem_scope)
    return ndarray.empty(shape, dtype, require_present(device if ctx is None else ctx))


def from_dlpack(tensor: Any) -> NDArray:
    """An array that shares the memory of ``tensor``, an object of any library that supports DLPack."""
    if isinstance(tensor, type) or not hasattr(tensor, "__dlpack__"):
        raise arguments.refused("from_dlpack: tensor", tensor, "an object with __dlpack__", InputError)
    return np.from_dlpack(tensor).view(NDArray)


def numpyasarray(np_data: Any) -> NDArray:
    """A view of the numpy array ``np_data`` as an NDArray, without a copy."""
    return arguments.instance("numpyasarray: np_data", np_data, np.ndarray, "an array", InputError).view(
        NDArray
    )


def _check_scope(where: str, scope: str | None) -> None:
    if scope not in (None, "global"):
        raise arguments.refused(f"{where}: mem_scope", scope, "None or 'global'", InputError)


def _to_dlpack(array: NDArray) -> NDArray:
    """The array itself: it supports DLPack, so that the ``from_dlpack`` of any library accepts it."""
    return array


NDArray.to_dlpack = _to_dlpack  # type: ignore[attr-defined]

__getattr__ = refusing(__name__)
