"""The number of multiply-adds of a convolution or matrix product, as TVM counts them."""

from __future__ import annotations

import math
from typing import Any

from tvmlite.relay.ir import nodes
from tvmlite.relay.ir.infer import type_of


def multiply_adds(call: nodes.Call) -> int:
    """The multiply-adds of ``call``; 0 for other operators. The extents must be numbers."""
    name = str(call.op)
    if not name.startswith(("nn.conv", "nn.dense", "nn.matmul", "nn.batch_matmul")):
        return 0
    result: Any = type_of(call)
    data: Any = type_of(call.args[0])
    weight: Any = type_of(call.args[1])
    if name.startswith("nn.conv"):
        # for a transposed convolution too, TVM counts a whole window for each element of the result
        outputs = weight.shape[call["kernel_layout"].index("O")]
        return math.prod(result.shape) * math.prod(weight.shape) // outputs
    terms = data.shape[-2 if dict(call.attrs).get("transpose_a") else -1]
    return math.prod(result.shape) * terms
