"""Vectors written by hand: dtypes with lanes, and contiguous loads and stores."""

from __future__ import annotations

import pytest

from tvmlite import te
from tvmlite.core.errors import UnsupportedError
from tvmlite.te import expr as e


def test_a_dtype_may_have_lanes() -> None:
    assert e.lanes_of("float32x16") == ("float32", 16)
    assert e.lanes_of("int8") == ("int8", 1)
    for wrong in ("float32x0", "float32x", "x4", "fx8"):
        with pytest.raises(UnsupportedError):
            e.lanes_of(wrong)


def test_a_cast_to_lanes_broadcasts_a_scalar() -> None:
    x = te.var("x")
    wide = e.cast("float32x4", x)
    assert (wide.dtype, wide.lanes) == ("float32", 4)
    assert str(wide) == "broadcast(float32(x), 4)"
    assert str(e.const(1).astype("int64x2")) == "broadcast(1, 2)"


def test_contiguous_vector_loads_and_stores() -> None:
    buffer = te.decl_buffer((4, 8), name="B")
    assert str(buffer.vload((1, 2), "float32x4")) == "B[1, ramp(2, 1, 4)]"
    assert str(buffer.vload((1, 2))) == "B[1, 2]"
    assert str(buffer.vstore((0, 0), e.const(1.0, lanes=8))) == "B[0, ramp(0, 1, 8)] = broadcast(1.0, 8)"
    assert str(buffer.access_ptr("r", offset=3)) == "address_of(B[3])"
