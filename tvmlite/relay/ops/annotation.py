"""Annotations that passes leave in a graph for each other. They return their operand unchanged."""

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
    """Return ``data`` unchanged, marked to be read in 8 bits by the layer ``layer`` (``relay.quantize``).

    ``tensor`` names the data: annotations with the same name share the range ``low`` to ``high``, which is
    None before calibration. ``dtype`` is the 8-bit dtype. For a constant, ``channel_axis`` is the axis with
    one scale per index, or None if the whole tensor has one scale.
    """
    return data[i]
