"""Examples of crop-and-resize, morphological dilation, affine grids and correlation."""

import numpy as np

from tvmlite.relay.ir.types import dim

n = dim("n")
BOXES = np.array([[0, 0, 1, 1], [0.2, 0.3, 0.7, 0.6], [0.5, 0.9, -0.2, 1.3]], np.float32)
IMAGES = np.array([0, 1, 1], np.int32)

EXAMPLES = [
    *(
        ("image.crop_and_resize", {"crop_size": size, **more}, [data, BOXES, IMAGES])
        for size, more, data in (
            ((3, 4), {}, "float32(2, 5, 6, 3)"),
            ((2, 3), {"layout": "NCHW", "extrapolation_value": 7.0}, "float32(2, 1, 5, 6)"),
            ((1, 5), {"layout": "NCHW"}, "float32(2, 2, 5, 6)"),
            ((4, 4), {"method": "nearest_neighbor", "out_dtype": "float32"}, "uint8(2, 5, 6, 1)"),
        )
    ),
    ("image.dilation2d", {"padding": (1, 0)}, ["float32(n, 3, 5, 6)", "float32(3, 2, 3)"]),
    (
        "image.dilation2d",
        {"strides": (2, 1), "dilations": (1, 2), "padding": (1, 2, 0, 1)},
        ["float32(1, 2, 7, 6)", "float32(2, 3, 2)"],
    ),
    (
        "image.dilation2d",
        {"data_layout": "NHWC", "kernel_layout": "HWI"},
        ["int32(1, 5, 6, 2)", "int32(3, 2, 2)"],
    ),
    ("image.affine_grid", {"target_shape": (3, 4)}, ["float32(n, 2, 3)"]),
    ("image.affine_grid", {"target_shape": (1, 5)}, ["float64(2, 2, 3)"]),
    ("nn.correlation", {"padding": 1}, ["float32(1, 2, 5, 6)", "float32(1, 2, 5, 6)"]),
    (
        "nn.correlation",
        {"kernel_size": 3, "max_displacement": 2, "stride1": 2, "stride2": 2, "padding": 3},
        ["float32(n, 3, 6, 7)", "float32(n, 3, 6, 7)"],
    ),
    (
        "nn.correlation",
        {"max_displacement": 2, "padding": (2, 2, 2, 2), "is_multiply": False},
        ["float64(1, 3, 4, 5)", "float64(1, 3, 4, 5)"],
    ),
]

EXAMPLES += [
    (
        "nn.deformable_conv2d",
        {"padding": (1, 0), "strides": (2, 1), "groups": 2, "deformable_groups": 2},
        ["float32(2, 4, 5, 4)", "float32(2, 24, 3, 3) in -2..2", "float32(4, 2, 3, 2)"],
    ),
    (
        "nn.deformable_conv2d",
        {"data_layout": "NHWC", "kernel_layout": "HWIO"},
        ["float32(1, 4, 4, 2)", "float32(1, 3, 3, 8) in -2..2", "float32(2, 2, 2, 3)"],
    ),
]
