"""A multilayer perceptron of three dense layers."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: Any = (1, 28, 28), dtype: str = "float32"
) -> Function:
    """The network, a function of ``data`` and the weights."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = find("nn.batch_flatten")(data)
    body = find("nn.relu")(layers.dense_add_bias(body, units=128, name="fc1"))
    body = find("nn.relu")(layers.dense_add_bias(body, units=64, name="fc2"))
    body = find("nn.softmax")(layers.dense_add_bias(body, units=num_classes, name="fc3"))
    return Function(free_vars(body), body)


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: Any = (1, 28, 28), dtype: str = "float32"
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
