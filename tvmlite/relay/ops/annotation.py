"""Marks that passes leave for each other in a graph: they compute nothing."""

from __future__ import annotations

import numpy as np

from tvmlite.relay.ir.attributes import INTEGER, NUMBER, Attribute
from tvmlite.relay.ir.nodes import Call
from tvmlite.relay.ir.op import Rounding, choice
from tvmlite.relay.ir.types import TensorType
from tvmlite.relay.ops.common import FLOAT, expect
from tvmlite.relay.ops.register import Indices, elemwise
from tvmlite.te import expr as e
from tvmlite.te.tensor.tensor import Tensor


def _type(call: Call, data: TensorType) -> TensorType:
    expect(call, "data is", data.dtype, FLOAT)
    return data


def _numpy(call: Call, data: np.ndarray) -> np.ndarray:
    return data


@elemwise(
    "annotation.quantize",
    rounding=Rounding.ONCE,
    mark=True,
    infer=_type,
    reference=_numpy,
    attrs={
        "layer": "",
        "tensor": "",
        "dtype": choice("uint8", "int8"),
        "channel_axis": Attribute(None, lambda _: INTEGER),
        "low": Attribute(None, lambda _: NUMBER),
        "high": Attribute(None, lambda _: NUMBER),
    },
)
def quantize(call: Call, i: Indices, data: Tensor) -> e.Expr:
    """``data`` itself, which the layer called ``layer`` is to read in 8 bits (``relay.quantize``).

    ``tensor`` names the data: marks of one name have one range, ``low`` to ``high``, None before calibration.
    Of a constant, ``channel_axis`` is the axis along which each place has a scale of its own, None if all
    have one.
    """
    return data[i]
