"""SqueezeNet: layers with few channels that feed 1x1 and 3x3 convolutions (Iandola et al., 2016)."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload

_FIRES = {
    "1.0": (
        (16, 64),
        (16, 64),
        (32, 128),
        "pool",
        (32, 128),
        (48, 192),
        (48, 192),
        (64, 256),
        "pool",
        (64, 256),
    ),
    "1.1": (
        (16, 64),
        (16, 64),
        "pool",
        (32, 128),
        (32, 128),
        "pool",
        (48, 192),
        (48, 192),
        (64, 256),
        (64, 256),
    ),
}
"""For each version, the fire modules' channels of squeeze and expand layers, and the poolings between."""


def _conv(data: Any, channels: int, size: int, padding: int, name: str, stride: int = 1) -> Any:
    body = layers.conv2d(
        data, channels=channels, kernel_size=(size, size), strides=(stride, stride),
        padding=(padding, padding), name=name,
    )  # fmt: skip
    return find("nn.relu")(find("nn.bias_add")(body, var(f"{name}_bias")))


def _pooled(body: Any) -> Any:
    return find("nn.max_pool2d")(body, pool_size=(3, 3), strides=(2, 2))


def get_net(batch_size: int, image_shape: Any, num_classes: int, version: str, dtype: str) -> Function:
    """The network in version "1.0" or "1.1"."""
    if version not in _FIRES:
        raise ValueError(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    first = (96, 7, 3) if version == "1.0" else (64, 3, 1)
    body = _pooled(_conv(data, *first, "conv1", stride=2))
    number = 0
    for one in _FIRES[version]:
        if isinstance(one, str):
            body = _pooled(body)
            continue
        (squeeze, expand), number = one, number + 1
        body = _conv(body, squeeze, 1, 0, f"fire{number}_input_conv")
        left = _conv(body, expand, 1, 0, f"fire{number}_left_conv")
        right = _conv(body, expand, 3, 1, f"fire{number}_right_conv")
        body = find("concatenate")((left, right), axis=1)
    body = _conv(find("nn.dropout")(body, rate=0.5), num_classes, 1, 0, "conv_final")
    body = find("nn.batch_flatten")(find("nn.global_avg_pool2d")(body))
    body = find("nn.softmax")(body)
    return Function(free_vars(body), body)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: Any = (3, 224, 224),
    dtype: str = "float32",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
