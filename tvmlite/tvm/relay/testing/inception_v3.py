"""Inception v3: concatenated parallel convolutions of several sizes (Szegedy et al., 2015)."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload

_ROW, _COLUMN = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
"""Size, stride and padding of the 1x7 and 7x1 convolutions that replace a 7x7 one."""


def _conv(data: Any, name: str, channels: int, size: Any = 1, stride: int = 1, padding: Any = 0) -> Any:
    """A convolution, batch normalization and relu."""
    sizes, paddings = ((one, one) if isinstance(one, int) else one for one in (size, padding))
    body = layers.conv2d(
        data, channels=channels, kernel_size=sizes, strides=(stride, stride), padding=paddings,
        name=f"{name}_conv1",
    )  # fmt: skip
    return find("nn.relu")(layers.batch_norm_infer(body, epsilon=2e-5, scale=False, name=f"{name}_bn"))


def _chain(data: Any, name: str, *steps: tuple[Any, ...], first: int = 0) -> Any:
    """A chain of convolutions, each given by channels, size, stride and padding. They are named ``name``,
    with their number appended unless it is 0; the first number is ``first``."""
    for number, step in enumerate(steps, first):
        data = _conv(data, f"{name}_{number}" if number else name, *step)
    return data


def _pooled(data: Any, name: str, channels: int, kind: str = "avg") -> Any:
    """A 3x3 pooling and a 1x1 convolution."""
    options = {"count_include_pad": True} if kind == "avg" else {}
    pooled = find(f"nn.{kind}_pool2d")(data, pool_size=(3, 3), strides=(1, 1), padding=(1, 1), **options)
    return _conv(pooled, name, channels)


def _joined(*parts: Any) -> Any:
    return find("concatenate")(tuple(parts), axis=1)


def _halved(data: Any) -> Any:
    return find("nn.max_pool2d")(data, pool_size=(3, 3), strides=(2, 2))


def _block_a(data: Any, name: str, channels: int) -> Any:
    """Branches: 1x1, 5x5, two 3x3, and pooling."""
    return _joined(
        _conv(data, f"{name}_conv", 64),
        _chain(data, f"{name}_tower_conv", (48,), (64, 5, 1, 2)),
        _chain(data, f"{name}_tower_1_conv", (64,), (96, 3, 1, 1), (96, 3, 1, 1)),
        _pooled(data, f"{name}_tower_2_conv", channels),
    )


def _block_b(data: Any, name: str) -> Any:
    """Branches: 3x3, two 3x3, and pooling, each halving the height and width."""
    double = _chain(data, f"{name}_tower_conv", (64,), (96, 3, 1, 1), (96, 3, 2))
    return _joined(_conv(data, f"{name}_conv", 384, 3, 2), double, _halved(data))


def _block_c(data: Any, name: str, width: int) -> Any:
    """Branches: 1x1, one and two 7x7 as 1x7 and 7x1, and pooling."""
    once = (width,), (width, *_ROW), (192, *_COLUMN)
    twice = (width,), (width, *_COLUMN), (width, *_ROW), (width, *_COLUMN), (192, *_ROW)
    return _joined(
        _conv(data, f"{name}_conv", 192),
        _chain(data, f"{name}_tower_conv", *once),
        _chain(data, f"{name}_tower_1_conv", *twice),
        _pooled(data, f"{name}_tower_2_conv", 192),
    )


def _block_d(data: Any, name: str) -> Any:
    """Branches: 3x3, 7x7 as 1x7 and 7x1, and pooling, each halving the height and width."""
    first = _chain(data, f"{name}_tower_conv", (192,), (320, 3, 2))
    second = _chain(data, f"{name}_tower_1_conv", (192,), (192, *_ROW), (192, *_COLUMN), (192, 3, 2))
    return _joined(first, second, _halved(data))


def _block_e(data: Any, name: str, kind: str) -> Any:
    """Branches: 1x1, two with parallel 1x3 and 3x1 convolutions, and pooling."""
    towers = {
        f"{name}_tower": _conv(data, f"{name}_tower_conv", 384),
        f"{name}_tower_1": _chain(data, f"{name}_tower_1_conv", (448,), (384, 3, 1, 1)),
    }
    parts = [_conv(data, f"{name}_conv", 320)]
    for tower, body in towers.items():
        parts.append(_conv(body, f"{tower}_mixed_conv", 384, (1, 3), 1, (0, 1)))
        parts.append(_conv(body, f"{tower}_mixed_conv_1", 384, (3, 1), 1, (1, 0)))
    return _joined(*parts, _pooled(data, f"{name}_tower_2_conv", 192, kind))


def get_net(batch_size: int, num_classes: int, image_shape: Any, dtype: str) -> Function:
    """The network, for images of at least 299 by 299 pixels."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = _halved(_chain(data, "conv", (32, 3, 2), (32, 3), (64, 3, 1, 1)))
    body = _halved(_chain(body, "conv", (80,), (192, 3), first=3))
    for name, channels in (("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)):
        body = _block_a(body, name, channels)
    body = _block_b(body, "mixed_3")
    for number, width in enumerate((128, 160, 160, 192), 4):
        body = _block_c(body, f"mixed_{number}", width)
    body = _block_d(body, "mixed_8")
    for name, kind in (("mixed_9", "avg"), ("mixed_10", "max")):
        body = _block_e(body, name, kind)
    body = find("nn.avg_pool2d")(body, pool_size=(8, 8), strides=(1, 1), count_include_pad=True)
    body = find("nn.dense")(find("nn.batch_flatten")(body), var("fc1_weight"), units=num_classes)
    body = find("nn.softmax")(find("nn.bias_add")(body, var("fc2_bias"), axis=-1))
    return Function(free_vars(body), body)


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, image_shape: Any = (3, 299, 299), dtype: str = "float32"
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
