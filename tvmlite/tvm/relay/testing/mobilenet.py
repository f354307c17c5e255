"""MobileNet: depthwise and pointwise convolutions in alternation (Howard et al., 2017)."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload

_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
"""Channels and stride of each separable convolution."""


def conv_block(
    data: Any,
    name: str,
    channels: int,
    kernel_size: Any = (3, 3),
    strides: Any = (1, 1),
    padding: Any = (1, 1),
    epsilon: float = 1e-5,
    layout: str = "NCHW",
    groups: int = 1,
) -> Any:
    """A convolution, batch normalization and relu."""
    kernel = layers.conv_kernel_layout(layout, groups > 1)
    body = layers.conv2d(
        data, channels=channels, kernel_size=kernel_size, strides=strides, padding=padding, groups=groups,
        data_layout=layout, kernel_layout=kernel, name=f"{name}_conv",
    )  # fmt: skip
    axis = layout.index("C")
    return find("nn.relu")(layers.batch_norm_infer(body, epsilon=epsilon, axis=axis, name=f"{name}_bn"))


def mobile_net(
    num_classes: int = 1000,
    data_shape: Any = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> Function:
    """The network, with ``alpha`` times the channels; shallow, without the five equal blocks."""
    data = var("data", shape=data_shape, dtype=dtype)
    inputs = int(32 * alpha)
    body = conv_block(data, "conv_block_1", inputs, strides=(2, 2), layout=layout)
    blocks = [one for position, one in enumerate(_BLOCKS) if not (is_shallow and 6 <= position < 11)]
    for position, (channels, stride) in enumerate(blocks):
        name, outputs = f"separable_conv_block_{position + 1}", int(channels * alpha)
        strides = (stride, stride)
        body = conv_block(body, f"{name}_depthwise", inputs, strides=strides, layout=layout, groups=inputs)
        body = conv_block(body, f"{name}_pointwise", outputs, (1, 1), padding=(0, 0), layout=layout)
        inputs = outputs
    body = find("nn.batch_flatten")(find("nn.global_avg_pool2d")(body, layout=layout))
    body = find("nn.softmax")(layers.dense_add_bias(body, units=num_classes, name="fc"))
    return Function(free_vars(body), body)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Any = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Any:
    """The module and its parameters."""
    return create_workload(mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout))
