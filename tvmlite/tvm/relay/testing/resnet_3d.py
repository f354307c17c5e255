"""ResNet for volumes, such as the frames of a video (Hara et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload
from tvmlite.tvm.relay.testing.resnet import Layers, configuration


def resnet(
    units: Sequence[int],
    num_stages: int,
    filter_list: Sequence[int],
    num_classes: int,
    data_shape: Sequence[int],
    bottle_neck: bool = True,
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> Function:
    """The network, with ``units`` residual units in each stage and ``filter_list`` channels."""
    make = Layers(layout)
    data = var("data", shape=tuple(data_shape), dtype=dtype)
    body = make.centred(data, "bn_data")
    if data_shape[layout.index("H")] <= 32:
        body = make.conv(body, filter_list[0], 3, 1, 1, "conv0")
    else:
        body = make.conv(body, filter_list[0], (3, 7, 7), (1, 2, 2), (1, 3, 3), "conv0")
        body = make.activated(body, "bn0")
    body = make.stages(body, units[:num_stages], filter_list[1 : num_stages + 1], bottle_neck)
    body = find("nn.adaptive_avg_pool3d")(make.activated(body, "bn1"), output_size=(1, 1, 1), layout=layout)
    body = layers.dense_add_bias(find("nn.batch_flatten")(body), units=num_classes, name="fc1")
    body = find("nn.softmax")(body)
    return Function(free_vars(body), body)


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Function:
    """The network with ``num_layers`` layers. For volumes of a height up to 28, it has three stages."""
    shape = (batch_size, *image_shape)
    units, filters, bottle_neck = configuration(num_layers, shape[layout.index("H")])
    return resnet(units, len(units), filters, num_classes, shape, bottle_neck, layout, dtype)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
    **kwargs: Any,
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **kwargs))
