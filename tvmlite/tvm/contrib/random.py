"""Tensors of random numbers, drawn in each run by numpy's generator, which starts from seed 0 (``seed``).
Packed functions of these names, such as ``"tvm.contrib.random.uniform"``, fill arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlite import te
from tvmlite.core import arguments
from tvmlite.te.tensor.registry import register_func
from tvmlite.tvm.absent import refusing

_PREFIX = "tvm.contrib.random"
_generators = {"own": np.random.default_rng(0)}


def seed(number: int) -> None:
    """Reset the generator to the seed ``number``."""
    _generators["own"] = np.random.default_rng(arguments.whole("random.seed: number", number, least=0))


def randint(low: int, high: int, size: Sequence[int], dtype: str = "int32") -> te.Tensor:
    """Return a tensor of shape ``size`` of integers uniform in ``[low, high)``."""
    if dtype not in ("int32", "uint32", "int64"):
        raise arguments.refused("random.randint: dtype", dtype, "int32, uint32 or int64")
    if not arguments.whole("random.randint: low", low) < arguments.whole("random.randint: high", high):
        raise arguments.refused("random.randint: high", high, f"more than low, {low}")
    return _drawn("randint", (low, high), size, dtype)


def uniform(low: float, high: float, size: Sequence[int]) -> te.Tensor:
    """Return a float32 tensor of shape ``size`` of numbers uniform in ``[low, high)``."""
    return _drawn("uniform", (float(low), float(high)), size, "float32")


def normal(loc: float, scale: float, size: Sequence[int]) -> te.Tensor:
    """Return a float32 tensor of shape ``size`` of normally distributed numbers with the mean ``loc`` and the
    standard deviation ``scale``."""
    return _drawn("normal", (float(loc), float(scale)), size, "float32")


def _drawn(name: str, numbers: tuple[Any, Any], size: Sequence[int], dtype: str) -> te.Tensor:
    def body(_: Any, outs: Any) -> Any:
        return te.call_packed(f"{_PREFIX}.{name}", *numbers, outs[0])

    return te.extern(size, [], body, name=name, dtype=dtype)


def _fill(array: np.ndarray) -> None:
    """Fill ``array`` with numbers from 1 to 10 for timing a kernel."""
    drawn = _generators["own"].uniform(1, 10, array.shape)
    array[...] = drawn.astype(array.dtype)


def _distribution(name: str) -> Any:
    def fill(first: Any, second: Any, out: np.ndarray) -> None:
        draw = getattr(_generators["own"], "integers" if name == "randint" else name)
        out[...] = draw(first, second, out.shape).astype(out.dtype)

    return fill


def _register() -> None:
    for name in ("randint", "uniform", "normal"):
        register_func(f"{_PREFIX}.{name}", _distribution(name))
    register_func(f"{_PREFIX}.seed", seed)
    for name in ("random_fill", "random_fill_for_measure"):
        register_func(f"{_PREFIX}.{name}", _fill)


_register()

__getattr__ = refusing(__name__)
