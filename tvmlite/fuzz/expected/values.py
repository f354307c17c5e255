"""Seeded elements for the inputs of a program: small whole numbers, normal ones, or the whole range."""

from __future__ import annotations

import random

import numpy as np

from tvmlite.core import dtype as dtypes

KINDS = ("small", "normal", "wide")

_SPECIAL = (0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"))


def make(kind: str, shape: tuple[int, ...], dtype: str, seed: int, number: int) -> np.ndarray:
    """Return the elements of input ``number``.

    "small" are whole numbers of a small range, exact in every float; "normal" are normally distributed;
    "wide" are of any size, with limits, infinities and NaN among them.
    """
    rng = np.random.default_rng([seed, number])
    wanted = dtypes.numpy_of(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(wanted)
    if dtypes.is_int(dtype):
        return _ints(kind, shape, dtype, rng)
    if kind == "small":
        return rng.integers(-4, 5, shape).astype(wanted)
    values = rng.standard_normal(shape)
    if kind == "wide":
        with np.errstate(all="ignore"):
            values = values * np.exp2(rng.integers(-20, 20, shape))
            highest = dtypes.limits(dtype)[1]
            special = np.array([*_SPECIAL, highest, -highest, highest * 2.0**-40, 1e-40, 6e-8])
            values = np.where(rng.random(shape) < 0.2, rng.choice(special, shape), values)
            return values.astype(wanted)
    return values.astype(wanted)


def _ints(kind: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    wanted = dtypes.numpy_of(dtype)
    low, high = dtypes.limits(dtype)
    if kind != "wide":
        first = 0 if dtypes.is_unsigned(dtype) else -9
        return rng.integers(first, 10, shape).astype(wanted)
    values = rng.integers(int(low), int(high), shape, dtype=wanted, endpoint=True)
    edges = np.array([int(low), int(high), int(low) + 1, 0, 1], dtype=wanted)
    return np.where(rng.random(shape) < 0.3, rng.choice(edges, shape), values).astype(wanted)


def random_kind(rnd: random.Random) -> str:
    """Return a random kind of data."""
    return rnd.choices(KINDS, (5, 3, 3))[0]
