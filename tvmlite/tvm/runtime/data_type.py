"""``tvm.DataType``: the parts of a dtype's name."""

from __future__ import annotations

from typing import Any

from tvmlite.core import arguments
from tvmlite.core import dtype as dtypes
from tvmlite.te import expr as e
from tvmlite.tvm.absent import refusing


class DataTypeCode:
    """DLPack's codes of kinds of dtypes."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4


_BITS = {"bool": 1, "handle": 64}


class DataType(str):
    """The name of a dtype, such as ``"float32x4"``, with its kind (``type_code``), the ``bits`` of an element
    and the number of ``lanes``. An unknown dtype is an UnsupportedError."""

    type_code: int
    bits: int
    lanes: int

    def __new__(cls, type_str: Any) -> DataType:
        """Return the dtype that ``type_str`` names."""
        made = super().__new__(cls, arguments.text("DataType: type_str", str(type_str)))
        element, made.lanes = ("handle", 1) if made == "handle" else e.lanes_of(str(made))
        made.bits = _BITS[element] if element in _BITS else dtypes.width(element)
        made.type_code = _code(element)
        return made


def _code(element: str) -> int:
    if element == "handle":
        return DataTypeCode.HANDLE
    if element == "bfloat16":
        return DataTypeCode.BFLOAT
    if dtypes.is_float(element):
        return DataTypeCode.FLOAT
    return DataTypeCode.UINT if element == "bool" or dtypes.is_unsigned(element) else DataTypeCode.INT


__getattr__ = refusing(__name__)
