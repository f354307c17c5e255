"""Examples of losses, upsampling, space to batch, mirror padding, dilation and a sliding buffer."""

import numpy as np

from tvmlite.relay.ir.types import dim

n, h = dim("n"), dim("h")
IGNORED = np.array([[0, 2], [-100, 1], [1, -100]])

EXAMPLES = [
    ("nn.fast_softmax", {}, ["float32(3, n)"]),
    ("nn.fast_softmax", {"axis": 1}, ["float32(2, 5, 3)"]),
    ("nn.cross_entropy", {}, ["float32(3, 5) in 0.1..1", "float32(3, 5) in 0..1"]),
    ("nn.cross_entropy", {}, ["float32(n, 5) in 0.1..1", "float32(n, 5) in 0..1"]),
    ("nn.cross_entropy_with_logits", {}, ["float32(3, 5)", "float32(3, 5) in 0..1"]),
    ("nn.cross_entropy_with_logits", {}, ["float64(n, 5)", "float64(n, 5) in 0..1"]),
    *(
        ("nn.nll_loss", {"reduction": r}, ["float32(3, 4, 2)", IGNORED, "float32(4) in 0.5..1"])
        for r in ("mean", "sum", "none")
    ),
    ("nn.nll_loss", {"ignore_index": 1}, ["float32(n, 4)", "int32(n) in 0..4", "float32(4) in 0.5..1"]),
    ("nn.upsampling", {"scale_h": 2, "scale_w": 3}, ["float32(1, 2, h, 3)"]),
    ("nn.upsampling", {"scale_h": 2, "scale_w": 1.5, "layout": "NHWC"}, ["int8(1, 3, 5, 2)"]),
    ("nn.upsampling", {"scale_h": 2, "scale_w": 2, "method": "bilinear"}, ["float32(1, 2, 3, 4)"]),
    (
        "nn.upsampling",
        {"scale_h": 2, "scale_w": 2, "method": "bilinear", "align_corners": True},
        ["float32(1, 2, 3, 4)"],
    ),
    ("nn.upsampling", {"scale_h": 2.0, "scale_w": 2.0, "method": "bicubic"}, ["float32(1, 1, 4, 4)"]),
    ("nn.upsampling3d", {"scale_d": 2, "scale_h": 2, "scale_w": 1}, ["float32(1, 2, 2, 3, 4)"]),
    (
        "nn.upsampling3d",
        {"scale_d": 2, "scale_h": 2, "scale_w": 1.5, "method": "trilinear", "layout": "NDHWC"},
        ["float32(1, 2, 2, 4, 1)"],
    ),
    (
        "nn.space_to_batch_nd",
        {"block_shape": (2, 2), "paddings": ((0, 1), (1, 0)), "pad_value": 1.0},
        ["float32(2, 3, 5, n)"],
    ),
    ("nn.space_to_batch_nd", {"block_shape": (3,), "paddings": ((0, 0),)}, ["int8(1, 6)"]),
    ("nn.batch_to_space_nd", {"block_shape": (2, 3), "crops": ((0, 1), (1, 0))}, ["float32(12, 3, 2, n)"]),
    ("nn.batch_to_space_nd", {"block_shape": (2,), "crops": ((0, 0),)}, ["int32(4, 3)"]),
    ("nn.mirror_pad", {"pad_width": ((1, 2), (2, 0))}, ["float32(3, n)"]),
    ("nn.mirror_pad", {"pad_width": ((5, 7),)}, ["int32(3)"]),
    ("nn.mirror_pad", {"pad_width": ((1, 2), (2, 0)), "mode": "REFLECT"}, ["float32(3, n)"]),
    ("nn.pad", {"pad_width": ((4, 3), (-1, 2)), "pad_mode": "symmetric"}, ["float32(2, n)"]),
    ("nn.dilate", {"strides": (1, 2, 3)}, ["float32(2, n, 3)"]),
    ("nn.dilate", {"strides": (2, 1), "dilation_value": 7.0}, ["int32(3, 4)"]),
    (
        "sliding_window",
        {"axis": 1, "window_shape": (2, 3), "strides": (1, 2)},
        ["float32(n, 5, 7, 2)"],
    ),
    ("sliding_window", {"axis": 0, "window_shape": (4,), "strides": (3,)}, ["int32(9)"]),
    ("nn.fifo_buffer", {"axis": 1}, ["float32(2, 3)", "float32(2, 7)"]),
    ("nn.fifo_buffer", {"axis": -2}, ["float32(1, n)", "float32(4, n)"]),
]
