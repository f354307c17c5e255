"""``tvm.support``: build information, and a module of Python functions for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlite.core.errors import InputError
from tvmlite.tvm.absent import refusing


def libinfo() -> dict[str, str]:
    """Return build information under TVM's names: ``"ON"`` or ``"OFF"``."""
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
    """A module of Python functions by name, used in place of a compiled module."""

    def __init__(self, entry_name: str | None = None) -> None:
        self.entry_name = entry_name
        self._functions: dict[str, Callable[..., Any]] = {}

    def add_function(self, name: str, func: Callable[..., Any]) -> None:
        """Add ``func`` as the function ``name``."""
        self._functions[name] = func

    __setitem__ = add_function

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """Return the function ``name``."""
        if name not in self._functions:
            raise InputError(
                f"the module has no function {name!r}; there are: {', '.join(self._functions) or 'none'}"
            )
        return self._functions[name]

    __getitem__ = get_function


__getattr__ = refusing(__name__)
