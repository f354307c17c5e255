"""TVM's DenseNet (Huang et al., 2016): each layer reads the one before it, and the result of a block is the
concatenation of its layers."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload

_SPECIFICATIONS = {
    121: (64, 32, (6, 12, 24, 16)), 161: (96, 48, (6, 12, 36, 24)), 169: (69, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}  # fmt: skip
"""As in TVM: channels of the first convolution, growth rate, and number of layers in each block."""


def _activated(data: Any, name: str) -> Any:
    return find("nn.relu")(layers.batch_norm_infer(data, name=name))


def _layer(data: Any, growth: int, bottleneck: int, index: str) -> Any:
    body = _activated(data, f"batch_1_{index}")
    body = layers.conv2d(body, channels=bottleneck * growth, kernel_size=(1, 1), name=f"conv2d_1_{index}")
    body = _activated(body, f"batch_2_{index}")
    return layers.conv2d(body, channels=growth, kernel_size=(3, 3), padding=(1, 1), name=f"conv2d_2_{index}")


def get_net(densenet_size: int, classes: int, data_shape: Any, dtype: str, bn_size: int = 4) -> Function:
    """The network with 121, 161, 169 or 201 layers."""
    if densenet_size not in _SPECIFICATIONS:
        raise ValueError(
            f"densenet: size is {densenet_size}, expected one of {', '.join(map(str, _SPECIFICATIONS))}"
        )
    channels, growth, blocks = _SPECIFICATIONS[densenet_size]
    data = var("data", shape=data_shape, dtype=dtype)
    body = layers.conv2d(
        data, channels=channels, kernel_size=(7, 7), strides=(2, 2), padding=(3, 3), name="conv1"
    )
    body = _activated(body, "batch1")
    body = find("nn.max_pool2d")(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for position, count in enumerate(blocks):
        pieces = []
        for layer in range(count):
            body = _layer(body, growth, bn_size, f"{position}_{layer}")
            pieces.append(body)
        body = find("concatenate")(tuple(pieces), axis=1)
        channels += count * growth
        if position < len(blocks) - 1:
            channels //= 2
            body = _activated(body, f"batch_t_{position}")
            body = layers.conv2d(body, channels=channels, kernel_size=(1, 1), name=f"conv_t_{position}")
            body = find("nn.avg_pool2d")(body, pool_size=(2, 2), strides=(2, 2))
    body = find("nn.avg_pool2d")(_activated(body, "batch2"), pool_size=(7, 7))
    body = layers.dense_add_bias(find("nn.batch_flatten")(body), units=classes, name="dense")
    return Function(free_vars(body), body)


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: Any = (3, 224, 224),
    dtype: str = "float32",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(densenet_size, classes, (batch_size, *image_shape), dtype))
