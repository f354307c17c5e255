"""Generates inputs for a library, and compares its results with others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import ExecutionError, InputError
from tvmlite.runtime.call import arguments
from tvmlite.runtime.library.library import Library

TOLERANCE = 1e-4
"""The largest ``relative_gap`` of a correct result."""


def relative_gap(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference relative to the largest magnitude of ``theirs``; infinity if shapes,
    dtypes or non-finite elements differ."""
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        return math.inf
    a, b = ours.astype(np.float64).reshape(-1), theirs.astype(np.float64).reshape(-1)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return math.inf
    largest = float(np.max(np.abs(b[finite]), initial=0)) or 1.0
    return float(np.max(np.abs(a[finite] - b[finite]), initial=0)) / largest


def random_inputs(lib: Library, dims: Mapping[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """Return seeded random inputs: normal floats, ints in 0..9; ``dims`` has the sizes of named dimensions.

    Integers may be indices: if the model rejects 0..9, they are 0 or 1, or else 0.
    """
    made = _random_inputs(lib, dims, seed, 9)
    for highest in (1, 0):
        if all(array.dtype.kind not in "iu" for array in made.values()):
            break
        try:
            lib.run(made)
            break
        except ExecutionError:
            made = _random_inputs(lib, dims, seed, highest)
    return made


class OpenDimensions(InputError):
    """Random inputs cannot be made, because the sizes of open dimensions, ``names``, are not given."""

    def __init__(self, shapes: Mapping[str, Sequence[int | str | None]], known: Mapping[str, int]) -> None:
        missing = {
            name: dict.fromkeys(d for d in shape if isinstance(d, str) and d not in known)
            for name, shape in shapes.items()
        }
        parts = [
            f"input {name!r} has the open dimension{'s' * (len(dims) > 1)} {', '.join(map(repr, dims))}"
            for name, dims in missing.items()
            if dims
        ]
        self.names = tuple(dict.fromkeys(dim for dims in missing.values() for dim in dims))
        sizes = ", ".join(f"{name!r}: N" for name in self.names)
        super().__init__("; ".join(parts), hint=f"give arrays with inputs=, or sizes with shape={{{sizes}}}")


def require_sizes(shapes: Mapping[str, Sequence[int | str | None]], known: Mapping[str, int]) -> None:
    """Raise OpenDimensions, with all that are missing, if ``known`` lacks a named extent of ``shapes``."""
    if any(isinstance(d, str) and d not in known for shape in shapes.values() for d in shape):
        raise OpenDimensions(shapes, known)


def _random_inputs(lib: Library, dims: Mapping[str, int], seed: int, highest: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    parameters = lib.signature.of_kind("input")
    unknown = dims.keys() - {d for p in parameters for d in p.shape}
    if unknown:
        known = sorted({d for p in parameters for d in p.shape if isinstance(d, str)})
        raise InputError(
            f"--dims: there is no open dimension {min(unknown)!r}; there are {', '.join(known) or 'none'}"
        )
    require_sizes({name: p.shape for name, p in zip(lib.input_names, parameters, strict=True)}, dims)
    made = {}
    for name, parameter in zip(lib.input_names, parameters, strict=True):
        shape = [_extent(name, d, dims) for d in parameter.shape]
        arguments.check_memory(name, [("random numbers", 8 * math.prod(shape))])
        values: Any = rng.standard_normal(shape)
        if not dtypes.is_float(parameter.dtype):
            values = rng.integers(0, 1 if parameter.dtype == "bool" else highest, shape, endpoint=True)
        made[name] = values.astype(dtypes.numpy_of(parameter.dtype))
    return made


def _extent(given: str, extent: int | str | None, dims: Mapping[str, int]) -> int:
    if extent is None:
        raise InputError(
            f"input {given!r} has an extent that depends on other inputs",
            hint="give inputs with --inputs in.npz",
        )
    return extent if isinstance(extent, int) else dims[extent]
