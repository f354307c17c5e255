"""``tvm.topi``: operators as tensor expressions, each the compute of the relay operator of its meaning."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tvmlite.tvm import te as te
from tvmlite.tvm.absent import lookup
from tvmlite.tvm.te import tag as tag
from tvmlite.tvm.topi import math, schedules, transform

generic, x86 = schedules.generic, schedules.x86
sys.modules[generic.__name__], sys.modules[x86.__name__] = generic, x86

_MODULES = ("nn", "testing", "utils", "math", "transform")
_OF_MATH = "log10 clip cast reinterpret full full_like elemwise_sum broadcast_to".split()
_OF_TRANSFORM = """
    arange argsort concatenate cumprod cumsum expand_dims flip gather gather_nd layout_transform matmul
    one_hot repeat reshape reverse_sequence sequence_mask shape sort split squeeze stack strided_slice take
    tile topk transpose trilu unravel_index where
""".split()

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "generic",
    "x86",
    "tag",
    *_MODULES,
    *math.functions,
    *_OF_MATH,
    *_OF_TRANSFORM,
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tvmlite.tvm.topi.{name}")
    if name in math.functions:
        return math.functions[name]
    if name in _OF_MATH:
        return getattr(math, name)
    if name in _OF_TRANSFORM:
        return getattr(transform, name)
    return lookup(__name__, name)


def __dir__() -> list[str]:
    return __all__
