"""Shared by the tests of vectors in C: edge values, and a check of C code against the interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tvmlite.core import dtype as dtypes
from tvmlite.runtime.call.compiled import CompiledFunction
from tvmlite.runtime.pool import pool
from tvmlite.te import expr as e
from tvmlite.te.codegen.c import generator as c
from tvmlite.te.codegen.c.build import compile_shared
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.signature import signature_of

STRICT = "-std=c99 -O1 -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror -fPIC -fno-math-errno".split()
STRICT.append("-ffp-contract=off")
MACHINES = pytest.mark.parametrize(
    "flags", [[], ["-march=native"], ["-DTVMLITE_PORTABLE"]], ids=["plain", "native", "portable"]
)
LENGTH = 64
PLACE = e.Var("i", "int64")


def values(dtype: str, seed: int) -> np.ndarray:
    """The limits of ``dtype``, values around 0 and random numbers, in random order."""
    source = np.random.default_rng(seed)
    if dtype == "bool":
        return source.integers(0, 2, LENGTH).astype(bool)
    if dtypes.is_float(dtype):
        edges = [0.0, -0.0, 0.5, 1.5, -2.5, 1e30, -1e30, np.inf, -np.inf, np.nan, 2.0**31, -(2.0**31), 255.7]
        edges += [2147483520.0, 1e-40, -129.5, 8388609.0, 0.49999997, 1.0, 3e9, -1.0]
    else:
        low, high = (int(limit) for limit in dtypes.limits(dtype))
        edges = [low, low + 1, high, high - 1, 0, 1, 2, 7]
        more = source.integers(low, high, LENGTH - len(edges), dtype, endpoint=True)
        return source.permutation(np.concatenate([np.array(edges, dtype), more]))
    numbers = np.concatenate([edges, source.standard_normal(LENGTH - len(edges)) * 90]).astype(dtype)
    return source.permutation(numbers)


def check(functions: Sequence[ir.Function], path: Path, flags: Sequence[str], tolerance: float = 0.0) -> None:
    """Check that ``functions`` compile without warnings and compute what the interpreter computes."""
    file = compile_shared(c.generate(functions), path / "code.so", [pool.source()], (), [*STRICT, *flags])
    library = ctypes.CDLL(str(file))
    for function in functions:
        address = ctypes.cast(getattr(library, function.name), ctypes.c_void_p).value or 0
        made = CompiledFunction(signature_of(function), address, 0, keep=library)
        inputs = [values(b.dtype, seed) for seed, b in enumerate(function.buffers[:-1])]
        wanted = np.zeros(LENGTH, dtypes.numpy_of(function.outputs[0].dtype))
        with np.errstate(all="ignore"):
            interpret(function, [*inputs, wanted])
        result = made(*inputs)
        if tolerance:
            np.testing.assert_allclose(result, wanted, tolerance, err_msg=function.name)
        else:
            np.testing.assert_array_equal(result, wanted, function.name)
            assert dtypes.is_float(result.dtype.name) is False or np.array_equal(
                np.signbit(result)[wanted == 0], np.signbit(wanted)[wanted == 0]
            ), function.name
