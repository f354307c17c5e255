"""VGG: plain stacks of 3x3 convolutions (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload

_CONVOLUTIONS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_CHANNELS = (64, 128, 256, 512, 512)


def get_net(
    batch_size: int,
    image_shape: Any,
    num_classes: int,
    dtype: str,
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """The network with 11, 13, 16 or 19 layers."""
    if num_layers not in _CONVOLUTIONS:
        raise ValueError(f"vgg: num_layers is {num_layers}, expected one of 11, 13, 16, 19")
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for stage, (count, channels) in enumerate(zip(_CONVOLUTIONS[num_layers], _CHANNELS, strict=True), 1):
        for position in range(1, count + 1):
            name = f"conv{stage}_{position}"
            body = layers.conv2d(body, channels=channels, kernel_size=(3, 3), padding=(1, 1), name=name)
            body = find("nn.bias_add")(body, var(f"{name}_bias"))
            if batch_norm:
                body = layers.batch_norm_infer(body, name=f"bn{stage}_{position}")
            body = find("nn.relu")(body)
        body = find("nn.max_pool2d")(body, pool_size=(2, 2), strides=(2, 2))
    body = find("nn.batch_flatten")(body)
    for name in ("fc6", "fc7"):
        body = find("nn.dropout")(
            find("nn.relu")(layers.dense_add_bias(body, units=4096, name=name)), rate=0.5
        )
    body = find("nn.softmax")(layers.dense_add_bias(body, units=num_classes, name="fc8"))
    return Function(free_vars(body), body)


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: Any = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
