"""Edge cases of te's arithmetic in numpy, against exact Python numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmlite.relay.ops import common

INT8 = st.integers(-128, 127)


def _wrapped(value: int) -> int:
    return (value + 128) % 256 - 128


@given(INT8, INT8)
def test_division_rounds_and_wraps_as_in_te(a: int, b: int) -> None:
    x, y = np.array([a], np.int8), np.array([b], np.int8)
    toward_zero = 0 if b == 0 else int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b))

    assert common.truncating_divide(x, y)[0] == _wrapped(toward_zero)
    assert common.truncating_mod(x, y)[0] == (0 if b == 0 else a - toward_zero * b)
    assert common.floor_divide(x, y)[0] == (0 if b == 0 else _wrapped(a // b))
    assert common.floor_mod(x, y)[0] == (0 if b == 0 else a % b)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@given(value=st.floats(width=32))
def test_floats_are_truncated_and_saturated_to_integers(dtype: str, value: float) -> None:
    limits = np.iinfo(dtype)
    if math.isnan(value):
        expected = 0
    elif math.isinf(value):
        expected = limits.max if value > 0 else limits.min
    else:
        expected = min(max(math.trunc(value), limits.min), limits.max)

    assert int(common.convert_numpy(np.array(value, np.float32), dtype)) == expected


def test_a_converted_array_keeps_its_shape() -> None:
    assert common.convert_numpy(np.zeros((2, 0, 3), np.float64), "int16").shape == (2, 0, 3)
