"""ResNet with normalization before each convolution (He et al., 2016: "Identity Mappings")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload

_EPSILON = 2e-5

_UNITS = {
    18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3),
    200: (3, 24, 36, 3), 269: (3, 30, 48, 8),
}  # fmt: skip
"""The number of residual units in each stage, by the number of layers."""


class Layers:
    """Makes layers for images or volumes in a given data layout."""

    def __init__(self, layout: str) -> None:
        self.layout = layout
        self.rank = len(layout) - 2
        self._kernel = layers.conv_kernel_layout(layout)
        self._axis = layout.index("C")

    def centred(self, data: Any, name: str) -> Any:
        """Batch normalization without a scale."""
        return layers.batch_norm_infer(data, epsilon=_EPSILON, axis=self._axis, scale=False, name=name)

    def activated(self, data: Any, name: str) -> Any:
        """Batch normalization and relu."""
        return find("nn.relu")(layers.batch_norm_infer(data, epsilon=_EPSILON, axis=self._axis, name=name))

    def conv(self, data: Any, channels: int, size: Any, stride: Any, padding: Any, name: str) -> Any:
        """A convolution; a single number for ``size``, ``stride`` or ``padding`` applies to all axes."""
        size, stride, padding = (
            (one,) * self.rank if isinstance(one, int) else one for one in (size, stride, padding)
        )
        convolve = layers.conv3d if self.rank == 3 else layers.conv2d
        return convolve(
            data, channels=channels, kernel_size=size, strides=stride, padding=padding,
            data_layout=self.layout, kernel_layout=self._kernel, name=name,
        )  # fmt: skip

    def stages(self, data: Any, units: Sequence[int], filters: Sequence[int], bottle_neck: bool) -> Any:
        """The stages of residual units; the first unit of each stage except the first halves the extents."""
        for stage, (count, channels) in enumerate(zip(units, filters, strict=True), 1):
            for unit in range(1, count + 1):
                stride = 2 if unit == 1 and stage > 1 else 1
                name = f"stage{stage}_unit{unit}"
                data = residual_unit(data, channels, stride, unit > 1, name, bottle_neck, self.layout)
        return data


def residual_unit(
    data: Any,
    num_filter: int,
    stride: Any,
    dim_match: bool,
    name: str,
    bottle_neck: bool = True,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
) -> Any:
    """Two convolutions, or three with a bottleneck, plus a shortcut, which is the data itself if
    ``dim_match``, else a convolution of it."""
    make = Layers(data_layout)
    first = make.activated(data, f"{name}_bn1")
    if bottle_neck:
        body = make.conv(first, num_filter // 4, 1, stride, 0, f"{name}_conv1")
        body = make.conv(make.activated(body, f"{name}_bn2"), num_filter // 4, 3, 1, 1, f"{name}_conv2")
        body = make.conv(make.activated(body, f"{name}_bn3"), num_filter, 1, 1, 0, f"{name}_conv3")
    else:
        body = make.conv(first, num_filter, 3, stride, 1, f"{name}_conv1")
        body = make.conv(make.activated(body, f"{name}_bn2"), num_filter, 3, 1, 1, f"{name}_conv2")
    shortcut = data if dim_match else make.conv(first, num_filter, 1, stride, 0, f"{name}_sc")
    return find("add")(body, shortcut)


def resnet(
    units: Sequence[int],
    num_stages: int,
    filter_list: Sequence[int],
    num_classes: int,
    data_shape: Sequence[int],
    bottle_neck: bool = True,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """The network, with ``units`` residual units in each stage and ``filter_list`` channels."""
    make = Layers(layout)
    data = var("data", shape=tuple(data_shape), dtype=dtype)
    body = make.centred(data, "bn_data")
    if data_shape[layout.index("H")] <= 32:  # images of CIFAR-10
        body = make.conv(body, filter_list[0], 3, 1, 1, "conv0")
    else:
        body = make.activated(make.conv(body, filter_list[0], 7, 2, 3, "conv0"), "bn0")
        body = find("nn.max_pool2d")(body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), layout=layout)
    body = make.stages(body, units[:num_stages], filter_list[1 : num_stages + 1], bottle_neck)
    body = find("nn.global_avg_pool2d")(make.activated(body, "bn1"), layout=layout)
    body = layers.dense_add_bias(find("nn.batch_flatten")(body), units=num_classes, name="fc1")
    body = find("nn.softmax")(body)
    return Function(free_vars(body), body)


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Function:
    """The network with ``num_layers`` layers. For images of a height up to 28, it has three stages, as for
    CIFAR-10."""
    shape = (batch_size, *image_shape)
    units, filters, bottle_neck = configuration(num_layers, shape[layout.index("H")])
    return resnet(units, len(units), filters, num_classes, shape, bottle_neck, layout, dtype)


def configuration(num_layers: int, height: int) -> tuple[Sequence[int], list[int], bool]:
    """The units of each stage, the channels of the first convolution and of each stage, and whether units
    have a bottleneck, for images of height ``height``."""
    if height <= 28:
        deep = num_layers >= 164 and (num_layers - 2) % 9 == 0
        if not deep and ((num_layers - 2) % 6 or num_layers >= 164):
            raise ValueError(f"resnet: no network of {num_layers} layers for images {height} high")
        units = [(num_layers - 2) // (9 if deep else 6)] * 3
        return units, [16, 64, 128, 256] if deep else [16, 16, 32, 64], deep
    if num_layers not in _UNITS:
        raise ValueError(
            f"resnet: no network of {num_layers} layers; there are {', '.join(map(str, _UNITS))}"
        )
    deep = num_layers >= 50
    return _UNITS[num_layers], [64, 256, 512, 1024, 2048] if deep else [64, 64, 128, 256, 512], deep


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
