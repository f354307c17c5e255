"""``DataType``: the parts of a dtype's name."""

from __future__ import annotations

import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import UnsupportedError
from tvmlite.tvm import DataType, DataTypeCode, te


@pytest.mark.parametrize(
    ("name", "code", "bits", "lanes"),
    [
        ("float32x4", DataTypeCode.FLOAT, 32, 4),
        ("bfloat16", DataTypeCode.BFLOAT, 16, 1),
        ("int8", DataTypeCode.INT, 8, 1),
        ("uint64x2", DataTypeCode.UINT, 64, 2),
        ("bool", DataTypeCode.UINT, 1, 1),
        ("handle", DataTypeCode.HANDLE, 64, 1),
    ],
)
def test_a_dtype_has_a_kind_bits_and_lanes(name: str, code: int, bits: int, lanes: int) -> None:
    dtype = DataType(name)

    assert (dtype.type_code, dtype.bits, dtype.lanes) == (code, bits, lanes)
    assert str(dtype) == dtype == name


def test_a_data_type_object_is_accepted_as_a_dtype_name() -> None:
    assert te.placeholder((2,), tvm.runtime.DataType("float16")).dtype == "float16"


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="flat32"):
        DataType("flat32")
