"""TVM's ``tvm.support``: what this build has, and a module of Python functions for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing


def libinfo() -> dict[str, str]:
    """What TVM's builds say of themselves, by its names: ``"ON"`` or ``"OFF"``."""
    from llvmlite import binding

    there = ("USE_GRAPH_EXECUTOR", "USE_GRAPH_EXECUTOR_DEBUG", "USE_PROFILER")
    absent = (
        *("USE_CUBLAS", "USE_CUDA", "USE_CUDNN", "USE_METAL", "USE_MICRO", "USE_MKL", "USE_OPENCL"),
        *("USE_ROCM", "USE_RPC", "USE_TENSORRT_CODEGEN", "USE_VULKAN"),
    )
    version = ".".join(map(str, binding.llvm_version_info))
    return (
        {"LLVM_VERSION": version, "USE_LLVM": "ON"}
        | dict.fromkeys(there, "ON")
        | dict.fromkeys(absent, "OFF")
    )


class FrontendTestModule:
    """Functions of Python by name, where a compiled module's are expected."""

    def __init__(self, entry_name: str | None = None) -> None:
        self.entry_name = entry_name
        self._functions: dict[str, Callable[..., Any]] = {}

    def add_function(self, name: str, func: Callable[..., Any]) -> None:
        """Have ``func`` as the function ``name``."""
        self._functions[name] = func

    __setitem__ = add_function

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """The function ``name``."""
        if name not in self._functions:
            raise InputError(
                f"the module has no function {name!r}; there are: {', '.join(self._functions) or 'none'}"
            )
        return self._functions[name]

    __getitem__ = get_function


__getattr__ = refusing(__name__)
