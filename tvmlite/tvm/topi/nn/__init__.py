"""``tvm.topi.nn``: layers of neural networks as tensor expressions."""

from __future__ import annotations

from tvmlite.tvm.absent import refusing
from tvmlite.tvm.topi.nn.activation import (
    fast_softmax,
    leaky_relu,
    log_softmax,
    prelu,
    relu,
    softmax,
)
from tvmlite.tvm.topi.nn.conv import (
    conv1d_ncw,
    conv1d_nwc,
    conv2d,
    conv2d_hwcn,
    conv2d_nchw,
    conv2d_nhwc,
    conv2d_transpose_nchw,
    conv3d_ncdhw,
    conv3d_ndhwc,
    depthwise_conv2d_nchw,
    depthwise_conv2d_nhwc,
    group_conv2d_nchw,
)
from tvmlite.tvm.topi.nn.layers import (
    add,
    batch_matmul,
    batch_norm,
    dense,
    depth_to_space,
    dilate,
    flatten,
    instance_norm,
    layer_norm,
    lrn,
    matmul,
    pad,
    scale_shift_nchw,
    scale_shift_nhwc,
    space_to_depth,
)
from tvmlite.tvm.topi.nn.pooling import adaptive_pool, global_pool, pool, pool1d, pool2d, pool3d

__all__ = [
    "adaptive_pool",
    "add",
    "batch_matmul",
    "batch_norm",
    "conv1d_ncw",
    "conv1d_nwc",
    "conv2d",
    "conv2d_hwcn",
    "conv2d_nchw",
    "conv2d_nhwc",
    "conv2d_transpose_nchw",
    "conv3d_ncdhw",
    "conv3d_ndhwc",
    "dense",
    "depth_to_space",
    "depthwise_conv2d_nchw",
    "depthwise_conv2d_nhwc",
    "dilate",
    "fast_softmax",
    "flatten",
    "global_pool",
    "group_conv2d_nchw",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "lrn",
    "matmul",
    "pad",
    "pool",
    "pool1d",
    "pool2d",
    "pool3d",
    "prelu",
    "relu",
    "scale_shift_nchw",
    "scale_shift_nhwc",
    "softmax",
    "space_to_depth",
]


__getattr__ = refusing(__name__)
