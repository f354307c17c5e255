"""The generator of a DCGAN: transposed convolutions from noise to an image (Radford et al., 2015)."""

from __future__ import annotations

from typing import Any

from tvmlite.tvm.relay.analysis import free_vars
from tvmlite.tvm.relay.expr import Function, var
from tvmlite.tvm.relay.op.functions import find
from tvmlite.tvm.relay.testing import layers
from tvmlite.tvm.relay.testing.init import create_workload


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: Any = (3, 64, 64),
    ngf: int = 128,
    code: Any = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """The network from ``data``, a vector of random numbers, to images of 64 by 64 pixels."""
    if layout != "NCHW" or tuple(oshape[-2:]) != (64, 64):
        raise ValueError(f"dcgan: layout {layout!r} and oshape {tuple(oshape)}, expected NCHW and 64 by 64")
    body = var("data", dtype=dtype, shape=(batch_size, random_len)) if code is None else code
    body = find("nn.dense")(body, var("dense_weight"), units=4 * 4 * ngf * 8)
    body = find("reshape")(find("nn.relu")(body), newshape=(-1, ngf * 8, 4, 4))
    for position, channels in enumerate((ngf * 4, ngf * 2, ngf), 2):
        body = _doubled(body, channels, f"g{position}")
        body = find("nn.relu")(
            layers.batch_norm_infer(body, epsilon=1e-5, scale=False, name=f"g{position}_batch_norm")
        )
    body = find("tanh")(_doubled(body, oshape[0], "g5"))
    return Function(free_vars(body), body)


def _doubled(data: Any, channels: int, name: str) -> Any:
    """A transposed convolution that doubles the height and width."""
    return layers.conv2d_transpose(
        data, channels=channels, kernel_size=(4, 4), strides=(2, 2), padding=(1, 1), name=f"{name}_deconv"
    )


def get_workload(
    batch_size: int,
    oshape: Any = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Any:
    """The network as a module, and its parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, layout=layout, dtype=dtype))
