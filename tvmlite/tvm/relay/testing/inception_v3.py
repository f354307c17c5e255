"""Inception v3: parallel convolutions of several sizes, their results joined (Szegedy et al., 2015)."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload


class _Builder:
    """Convolutions with names in order."""

    def __init__(self) -> None:
        self._count = 0

    def conv(self, data: Any, channels: int, size: Any = 1, stride: int = 1, padding: Any = 0) -> Any:
        """A convolution, batch normalization and relu."""
        self._count += 1
        name = f"conv{self._count}"
        pair = [(one, one) if isinstance(one, int) else one for one in (size, padding)]
        body = layers.conv2d(
            data, channels=channels, kernel_size=pair[0], strides=(stride, stride), padding=pair[1], name=name
        )
        return find("nn.relu")(layers.batch_norm_infer(body, epsilon=2e-5, scale=False, name=f"{name}_bn"))

    def chain(self, data: Any, *steps: tuple[Any, ...]) -> Any:
        """Convolutions one after the other, each of channels, size, stride and padding."""
        for step in steps:
            data = self.conv(data, *step)
        return data

    def pooled(self, data: Any, channels: int, kind: str = "avg") -> Any:
        """A pooling of 3 by 3 and a convolution."""
        pooled = find(f"nn.{kind}_pool2d")(data, pool_size=(3, 3), strides=(1, 1), padding=(1, 1))
        return self.conv(pooled, channels)

    def block_a(self, data: Any, channels: int) -> Any:
        """1x1, 5x5 and twice 3x3."""
        return _joined(
            self.conv(data, 64),
            self.chain(data, (48,), (64, 5, 1, 2)),
            self.chain(data, (64,), (96, 3, 1, 1), (96, 3, 1, 1)),
            self.pooled(data, channels),
        )

    def block_c(self, data: Any, width: int) -> Any:
        """1x1, and 7x7 as rows and columns."""
        row, column = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
        return _joined(
            self.conv(data, 192),
            self.chain(data, (width,), (width, *row), (192, *column)),
            self.chain(data, (width,), (width, *column), (width, *row), (width, *column), (192, *row)),
            self.pooled(data, 192),
        )

    def block_e(self, data: Any, kind: str) -> Any:
        """1x1, and 3x3 as rows beside columns."""
        single = self.conv(data, 384)
        double = self.chain(data, (448,), (384, 3, 1, 1))
        parts = [self.conv(data, 320)]
        for one in (single, double):
            parts += [self.conv(one, 384, (1, 3), 1, (0, 1)), self.conv(one, 384, (3, 1), 1, (1, 0))]
        return _joined(*parts, self.pooled(data, 192, kind))


def _joined(*parts: Any) -> Any:
    return find("concatenate")(tuple(parts), axis=1)


def _halved(data: Any) -> Any:
    return find("nn.max_pool2d")(data, pool_size=(3, 3), strides=(2, 2))


def get_net(batch_size: int, num_classes: int, image_shape: Any, dtype: str) -> Function:
    """The network; images are at least 75 high and wide."""
    make = _Builder()
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = make.chain(data, (32, 3, 2, 0), (32, 3, 1, 0), (64, 3, 1, 1))
    body = _halved(make.chain(_halved(body), (80,), (192, 3)))
    for channels in (32, 64, 64):
        body = make.block_a(body, channels)
    double = make.chain(body, (64,), (96, 3, 1, 1), (96, 3, 2))
    body = _joined(make.conv(body, 384, 3, 2), double, _halved(body))
    for width in (128, 160, 160, 192):
        body = make.block_c(body, width)
    first = make.chain(body, (192,), (320, 3, 2))
    second = make.chain(body, (192,), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2))
    body = _joined(first, second, _halved(body))
    for kind in ("avg", "max"):
        body = make.block_e(body, kind)
    body = find("nn.dropout")(find("nn.global_avg_pool2d")(body))
    body = layers.dense_add_bias(find("nn.batch_flatten")(body), units=num_classes, name="fc1")
    body = find("nn.softmax")(body)
    return Function(free_vars(body), body)


def get_workload(
    batch_size: int = 1, num_classes: int = 1000, image_shape: Any = (3, 299, 299), dtype: str = "float32"
) -> Any:
    """The module and its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
