"""The deep Q-network, from frames of a game to the values of actions (Mnih et al., 2015)."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Any = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """The network: three convolutions and two dense layers."""
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    kernel = layers.conv_kernel_layout(layout)
    for position, (channels, size, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 1):
        body = layers.conv2d(
            body, channels=channels, kernel_size=(size, size), strides=(stride, stride), padding=(0, 0),
            data_layout=layout, kernel_layout=kernel, name=f"conv{position}",
        )  # fmt: skip
        body = find("nn.relu")(find("nn.bias_add")(body, var(f"conv{position}_bias"), layout.index("C")))
    body = find("nn.relu")(layers.dense_add_bias(find("nn.batch_flatten")(body), units=512, name="dense1"))
    body = layers.dense_add_bias(body, units=num_actions, name="dense2")
    return Function(free_vars(body), body)


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Any = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
