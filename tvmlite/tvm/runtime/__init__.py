"""``tvm.runtime``: compiled modules, arrays and devices."""

from __future__ import annotations

import importlib
from typing import Any

from tvmlite.core.errors import TvmliteError as TVMError
from tvmlite.runtime.ndarray import Device, NDArray
from tvmlite.runtime.pool.threads import num_threads, set_num_threads
from tvmlite.tvm.absent import refusing
from tvmlite.tvm.executors.benchmark import BenchmarkResult as BenchmarkResult
from tvmlite.tvm.registry import PackedFunc, get_global_func
from tvmlite.tvm.runtime import container
from tvmlite.tvm.runtime.container import ADT, ShapeTuple, String
from tvmlite.tvm.runtime.convert import const, convert
from tvmlite.tvm.runtime.data_type import DataType, DataTypeCode
from tvmlite.tvm.runtime.devices import cpu, cuda, device, metal, opencl, rocm, vulkan
from tvmlite.tvm.runtime.module import Module, enabled, load_static_library, system_lib
from tvmlite.tvm.runtime.object_path import ObjectPath
from tvmlite.tvm.runtime.profiling import Report
from tvmlite.tvm.runtime_params import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)

__all__ = [
    "ADT",
    "DataType",
    "DataTypeCode",
    "Device",
    "Module",
    "NDArray",
    "ObjectPath",
    "PackedFunc",
    "Report",
    "ShapeTuple",
    "String",
    "TVMError",
    "const",
    "container",
    "convert",
    "cpu",
    "cuda",
    "device",
    "enabled",
    "get_global_func",
    "load_module",  # pyright: ignore[reportUnsupportedDunderAll]
    "load_param_dict",
    "load_param_dict_from_file",
    "load_static_library",
    "metal",
    "num_threads",
    "opencl",
    "rocm",
    "save_param_dict",
    "save_param_dict_to_file",
    "set_num_threads",
    "system_lib",
    "vulkan",
]

_others = refusing(__name__)


def __getattr__(name: str) -> Any:
    if name == "profiler_vm":  # imported late: relay imports this package
        return importlib.import_module(f"{__name__}.{name}")
    if name == "load_module":  # imported late: the executors import this package
        return importlib.import_module(f"{__name__}.loading").load_module
    return _others(name)
