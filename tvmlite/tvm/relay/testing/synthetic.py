"""TVM's small synthetic network: two blocks, each with a dense layer and a convolution in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.tvm.ir.module import IRModule
from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import Constant, create_workload


def get_net(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> Function:
    """The network for NCHW data, with weights of dtype ``wtype``."""
    wtype = wtype or dtype
    channels, width = input_shape[1], input_shape[3]
    data = var("data", shape=tuple(input_shape), dtype=dtype)

    def beside(body: Any, number: str) -> Any:
        weight = var(f"dense{number}_weight", shape=(width, width), dtype=wtype)
        rows = find("nn.relu")(find("nn.dense")(find("reshape")(body, (-1, width)), weight))
        kernel = var(f"conv{number}_weight", shape=(channels, channels, 3, 3), dtype=wtype)
        conv = find("nn.conv2d")(body, kernel, kernel_size=3, padding=1)
        return find("add")(find("reshape_like")(rows, data), find("nn.softmax")(conv))

    biased = find("nn.bias_add")(beside(data, ""), var("bias", dtype=wtype))
    body = beside(layers.batch_norm_infer(biased, name="batch_norm"), "2")
    return Function(free_vars(body), body)


def get_workload(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """The network as a module, and its parameters, with equal weights."""
    return create_workload(get_net(input_shape, dtype, wtype), Constant())
