"""A long short-term memory, its steps written out."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """So many steps from states of zeros, all of the same ``data``; the weights are shared by the steps."""
    shape = (batch_size, num_hidden)
    data = var("data", shape=shape, dtype=dtype)
    names = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
    weights = {name: var(name) for name in names}
    hidden = cell = find("zeros")(shape, dtype)
    for _ in range(iterations):
        gates = find("add")(
            layers.dense_add_bias(
                data, weights["i2h_weight"], weights["i2h_bias"], 4 * num_hidden, name="i2h"
            ),
            layers.dense_add_bias(
                hidden, weights["h2h_weight"], weights["h2h_bias"], 4 * num_hidden, name="h2h"
            ),
        )
        entry, forget, change, out = find("split")(gates, indices_or_sections=4, axis=1)
        kept = find("multiply")(find("sigmoid")(forget), cell)
        cell = find("add")(kept, find("multiply")(find("sigmoid")(entry), find("tanh")(change)))
        hidden = find("multiply")(find("sigmoid")(out), find("tanh")(cell))
    return Function(free_vars(hidden), hidden)


def get_workload(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Any:
    """The module and its parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
