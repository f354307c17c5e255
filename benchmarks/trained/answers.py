"""Sets of arrays by name, inputs or results of a model: stored in files, and compared with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Arrays = list[dict[str, np.ndarray]]
"""One dict of arrays for each size."""

TOLERANCE, QUANTIZED_TOLERANCE = 2e-3, 5e-2
"""The largest ``relative_gap`` of a correct result."""


def as_array(answer: Any) -> Any:
    """An output of ONNX Runtime as an array; maps of classes become columns, as with ``from_onnx``."""
    if isinstance(answer, list) and answer and all(isinstance(row, dict) for row in answer):
        return np.asarray([list(row.values()) for row in answer], np.float32)
    return answer


def gap(made: Mapping[str, Any], want: Mapping[str, Any]) -> float:
    """The largest ``relative_gap`` of all outputs."""
    from tvmlite.model.example_inputs import relative_gap

    pairs = zip(map(np.asarray, made.values()), map(np.asarray, want.values()), strict=True)
    return max((_gap(a, b, relative_gap) for a, b in pairs), default=0.0)


def _gap(made: np.ndarray, want: np.ndarray, relative_gap: Callable[..., float]) -> float:
    if want.dtype.kind in "OSU":
        return 0.0 if made.shape == want.shape and (made == want).all() else float("inf")
    return relative_gap(made, want)


def differing(made: Mapping[str, Any], want: Mapping[str, Any]) -> str:
    """A text about the first output with another shape or dtype, else about the one that differs most."""
    worst, far = "", 0.0
    for name, theirs in want.items():
        ours = made[name] if name in made else np.empty(0)
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            return f"{name} is {ours.dtype}{list(ours.shape)}, expected {theirs.dtype}{list(theirs.shape)}"
        off = gap({name: ours}, {name: theirs})
        if off > far:
            worst, far = name, off
    return worst


def save(path: str, sets: Arrays) -> None:
    """Write sets of arrays by name."""
    arrays: dict[str, Any] = {f"{index}/{name}": one[name] for index, one in enumerate(sets) for name in one}
    np.savez(path, **arrays)


def load(path: str) -> Arrays:
    """Read what ``save`` wrote."""
    sets: dict[int, dict[str, np.ndarray]] = {}
    with np.load(path) as file:
        for key in file.files:
            index, name = key.split("/", 1)
            sets.setdefault(int(index), {})[name] = file[key]
    return [sets[index] for index in sorted(sets)]
