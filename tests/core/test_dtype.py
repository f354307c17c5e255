"""The properties of each dtype, compared with numpy and ml_dtypes."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from tvmlite.core import dtype as dtypes
from tvmlite.core.errors import UnsupportedError


@pytest.mark.parametrize("name", [*dtypes.MINIFLOATS, dtypes.POWER_OF_TWO])
def test_narrow_floats_agree_with_ml_dtypes(name: str) -> None:
    info = ml_dtypes.finfo(dtypes.numpy_of(name))

    least = float(info.smallest_normal) if name == dtypes.POWER_OF_TWO else float(info.min)
    assert dtypes.limits(name) == (least, float(info.max))
    assert dtypes.is_float(name)
    assert not dtypes.is_int(name)
    assert dtypes.bytes_of(name) == dtypes.numpy_of(name).itemsize == 1


@pytest.mark.parametrize("name", dtypes.NARROW_INTS)
def test_narrow_ints_agree_with_ml_dtypes(name: str) -> None:
    info = ml_dtypes.iinfo(dtypes.numpy_of(name))

    assert dtypes.limits(name) == (info.min, info.max)
    assert (dtypes.width(name), dtypes.bits(name)) == (info.bits, 8)
    assert dtypes.is_int(name)
    assert dtypes.is_unsigned(name) == name.startswith("u")


def test_dtype_names_agree_with_numpy() -> None:
    for name in (*dtypes.ALL, *dtypes.NARROW):
        assert dtypes.check(dtypes.numpy_of(name)) == name


def test_an_unsupported_dtype_is_refused_with_the_supported_ones() -> None:
    with pytest.raises(UnsupportedError, match=r"dtype 'complex64' is not supported; supported are .*int4"):
        dtypes.check(np.complex64)


def test_without_ml_dtypes_arrays_hold_bits_and_the_compiler_asks_for_it() -> None:
    code = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
from tvmlite.core import dtype
from tvmlite.core.errors import UnsupportedError
assert dtype.array_dtype("bfloat16") == np.uint16
assert dtype.array_dtype("int4") == dtype.array_dtype("float8_e5m2") == np.uint8
assert dtype.array_dtype("float32") == np.float32
try:
    dtype.numpy_of("int4")
except UnsupportedError as error:
    assert "dtype 'int4' needs the package ml_dtypes" in str(error), error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
