"""The functions that a hybrid script may call when it runs as plain Python on numpy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from tvmlite.core.errors import UnsupportedError
from tvmlite.core.span import Span
from tvmlite.tvm.absent import refusing


class bind:
    """A loop over a thread axis of a graphics processor, run sequentially."""

    def __init__(self, tag: str, extent: int) -> None:
        self._extent = extent

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._extent))


def allocate(shape: Any, dtype: str = "float32", scope: str = "global") -> np.ndarray:
    """Scratch memory, initialized to zero."""
    return np.zeros(shape, dtype)


output_tensor = allocate


def rsqrt(x: Any) -> Any:
    """One over the square root."""
    return 1 / np.sqrt(x)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``"""
    return 1 / (1 + np.exp(-x))


def popcount(x: int) -> int:
    """The number of bits of ``x`` that are 1."""
    return int(x).bit_count()


def ceil_div(a: int, b: int) -> int:
    """``a / b``, rounded up."""
    return -(-a // b)


def max_num_threads(allow_none: bool = True) -> int:
    """Raise an UnsupportedError: only graphics processors have this limit."""
    raise UnsupportedError("max_num_threads: there is code for CPUs only", Span.of_caller())


HYBRID_GLOBALS: dict[str, Any] = {
    **dict.fromkeys(("unroll", "vectorize", "parallel", "const_range", "serial"), range),
    **{name: getattr(np, name) for name in "exp log sqrt tanh power round floor ceil trunc".split()},
    **{name: getattr(np, name) for name in "float16 float32 float64 int8 int16 int32 int64".split()},
    **{name: getattr(np, name) for name in "uint8 uint16 uint32 uint64".split()},
    "bind": bind,
    "allocate": allocate,
    "output_tensor": output_tensor,
    "rsqrt": rsqrt,
    "sigmoid": sigmoid,
    "popcount": popcount,
    "likely": lambda condition: condition,
    "erf": math.erf,
    "max_num_threads": max_num_threads,
    "ceil_div": ceil_div,
}
"""Names that a script may use without importing them."""


def with_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of ``function`` that also sees the names of ``HYBRID_GLOBALS``; its module is not changed."""
    assert isinstance(function, FunctionType)
    names = {**HYBRID_GLOBALS, **function.__globals__}
    made = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


__getattr__ = refusing(__name__)
