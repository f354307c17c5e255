"""Functions of bytes by table: one load in place of a formula."""

from __future__ import annotations

import numpy as np

from tvmlite import te
from tvmlite.core import dtype as dtypes
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import Dtypes, agree, expect, fault
from tvmlite.relay.ops.register import Indices, elemwise
from tvmlite.te import expr as e

BYTES: Dtypes = "int8 or uint8", lambda dtype: dtype in ("int8", "uint8")
CODES = 256
"""How many values a byte has."""


def _type(call: Call, data: TensorType, table: TensorType) -> TensorType:
    expect(call, "data is", data.dtype, BYTES)
    if table.ndim != 1:
        raise fault(call, f"the table has {table.ndim} axes, expected one")
    agree(call, "the extent of the table", table.shape[0], CODES)
    return TensorType(data.shape, table.dtype)


def lookup_numpy(call: Call, data: np.ndarray, table: np.ndarray) -> np.ndarray:
    """nn.contrib_lookup in numpy."""
    return table[data.astype(np.int32) - int(dtypes.limits(str(data.dtype))[0])]


@elemwise("nn.contrib_lookup", rounding=Rounding.ONCE, infer=_type, reference=lookup_numpy)
def lookup(call: Call, i: Indices, data: te.Tensor, table: te.Tensor) -> e.Expr:
    """``table[code]`` for each code of ``data``, which are bytes: the table has 256 elements, the first one
    for the least code (-128 of int8)."""
    return table[data[i].astype("int32") - int(dtypes.limits(data.dtype)[0])]
