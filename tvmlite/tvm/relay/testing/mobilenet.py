"""MobileNet: alternating depthwise and pointwise convolutions (Howard et al., 2017)."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload

_FIRST = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2))
_DEEP, _SHALLOW = (*((512, 1),) * 5, (1024, 2), (1024, 1)), ((1024, 2), (1024, 2))
"""Channels and stride of the later separable convolutions; ``_FIRST`` has those of the first ones."""


def conv_block(
    data: Any,
    name: str,
    channels: int,
    kernel_size: Any = (3, 3),
    strides: Any = (1, 1),
    padding: Any = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
) -> Any:
    """A convolution, batch normalization and relu."""
    body = layers.conv2d(
        data, channels=channels, kernel_size=kernel_size, strides=strides, padding=padding,
        data_layout=layout, kernel_layout=layers.conv_kernel_layout(layout), name=f"{name}_conv",
    )  # fmt: skip
    axis = layout.index("C")
    return find("nn.relu")(layers.batch_norm_infer(body, epsilon=epsilon, axis=axis, name=f"{name}_bn"))


def separable_conv_block(
    data: Any,
    name: str,
    depthwise_channels: int,
    pointwise_channels: int,
    kernel_size: Any = (3, 3),
    downsample: bool = False,
    padding: Any = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Any:
    """A depthwise convolution, then a pointwise (1x1) one, each followed by batch normalization and relu."""
    axis, kernel = layout.index("C"), layers.conv_kernel_layout(layout, True)
    extents = {"O": depthwise_channels, "I": 1, "H": kernel_size[0], "W": kernel_size[1]}
    weight = var(f"{name}_weight", shape=tuple(extents[one] for one in kernel), dtype=dtype)
    strides = (2, 2) if downsample else (1, 1)
    body = layers.conv2d(
        data, weight, channels=depthwise_channels, kernel_size=kernel_size, strides=strides, padding=padding,
        groups=depthwise_channels, data_layout=layout, kernel_layout=kernel, name=name,
    )  # fmt: skip
    body = find("nn.relu")(layers.batch_norm_infer(body, epsilon=epsilon, axis=axis, name=f"{name}_bn1"))
    body = layers.conv2d(
        body, channels=pointwise_channels, kernel_size=(1, 1), strides=(1, 1), padding=(0, 0),
        data_layout=layout, kernel_layout=layers.conv_kernel_layout(layout), name=f"{name}_conv2",
    )  # fmt: skip
    return find("nn.relu")(layers.batch_norm_infer(body, epsilon=epsilon, axis=axis, name=f"{name}_bn2"))


def mobile_net(
    num_classes: int = 1000,
    data_shape: Any = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """The network, with ``alpha`` times the channels; if ``is_shallow``, without the five equal blocks."""
    data = var("data", shape=data_shape, dtype=dtype)
    inputs = int(32 * alpha)
    body = conv_block(data, "conv_block_1", inputs, strides=(2, 2), layout=layout)
    for position, (channels, stride) in enumerate((*_FIRST, *(_SHALLOW if is_shallow else _DEEP)), 1):
        name, outputs = f"separable_conv_block_{position}", int(channels * alpha)
        body = separable_conv_block(
            body, name, inputs, outputs, downsample=stride == 2, layout=layout, dtype=dtype
        )
        inputs = outputs
    body = find("nn.batch_flatten")(find("nn.global_avg_pool2d")(body, layout=layout))
    body = find("nn.bias_add")(find("nn.dense")(body, var("fc_weight"), units=num_classes), var("fc_bias"))
    body = find("nn.softmax")(body)
    return Function(free_vars(body), body)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Any = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout))
