"""TVM's ``tvm.nd``: arrays on a device, which here are numpy arrays."""

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
    """A copy of ``arr`` in memory of its own; Python numbers have the dtype that numpy gives them. ``ctx`` is
    the older name of ``device``."""
    _check_scope("array", mem_scope)
    return ndarray.array(arr, require_present(device if ctx is None else ctx))


def empty(
    shape: Any, dtype: str = "float32", device: Any = None, mem_scope: str | None = None, ctx: Any = None
) -> NDArray:
    """An array whose elements are yet to be written."""
    _check_scope("empty", mem_scope)
    return ndarray.empty(shape, dtype, require_present(device if ctx is None else ctx))


def from_dlpack(tensor: Any) -> NDArray:
    """The memory of ``tensor``, of another library that speaks DLPack, as an array."""
    if isinstance(tensor, type) or not hasattr(tensor, "__dlpack__"):
        raise arguments.refused("from_dlpack: tensor", tensor, "an object with __dlpack__", InputError)
    return np.from_dlpack(tensor).view(NDArray)


def numpyasarray(np_data: Any) -> NDArray:
    """``np_data`` itself, with TVM's methods."""
    return arguments.instance("numpyasarray: np_data", np_data, np.ndarray, "an array", InputError).view(
        NDArray
    )


def _check_scope(where: str, scope: str | None) -> None:
    if scope not in (None, "global"):
        raise arguments.refused(f"{where}: mem_scope", scope, "None or 'global'", InputError)


def _to_dlpack(array: NDArray) -> NDArray:
    """The array itself, which speaks DLPack: ``from_dlpack`` of any library takes it."""
    return array


NDArray.to_dlpack = _to_dlpack  # type: ignore[attr-defined]

__getattr__ = refusing(__name__)
