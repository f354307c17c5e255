"""Examples of convolutions, poolings and resizes in other layouts, and of 1-D and 3-D poolings."""

import numpy as np

from tvmlite.relay.ir.types import dim

n = dim("n")

NHWC = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
SHAPES = {1: "1, 7, 3", 2: "1, 7, 5, 3", 3: "1, 4, 5, 6, 3"}
FIRST = {1: "1, 3, 7", 2: "1, 3, 7, 5", 3: "1, 3, 4, 5, 6"}

EXAMPLES = [
    ("nn.conv2d", {**NHWC, "padding": (1, 0, 2, 1)}, ["float32(n, 6, 5, 3)", "float32(3, 2, 3, 4)"]),
    (
        "nn.conv2d",
        {**NHWC, "kernel_layout": "HWOI", "groups": 4},
        ["float32(1, 5, 5, 4)", "float32(3, 3, 4, 1)"],
    ),
    ("nn.conv2d", {**NHWC, "out_layout": "NCHW"}, ["float32(1, 5, 5, 4)", "float32(1, 1, 4, 2)"]),
    (
        "nn.conv2d",
        {"data_layout": "HWCN", "kernel_layout": "HWIO"},
        ["float32(5, 5, 4, 2)", "float32(3, 3, 4, 2)"],
    ),
    (
        "nn.conv2d",
        {
            "data_layout": "NCHW4c",
            "kernel_layout": "OIHW4i3o",
            "out_layout": "NCHW3c",
            "padding": (1, 0, 1, 0),
        },
        ["float32(1, 2, 5, 5, 4)", "float32(2, 2, 3, 3, 4, 3)"],
    ),
    (
        "nn.conv2d",
        {"data_layout": "NHWC2n", "groups": 2, "out_dtype": "int32"},
        ["int8(2, 5, 5, 4, 2)", "int8(6, 2, 3, 3)"],
    ),
    ("nn.conv1d", {"data_layout": "NWC", "kernel_layout": "WIO"}, ["float32(2, 9, 3)", "float32(3, 3, 4)"]),
    (
        "nn.conv3d",
        {"data_layout": "NDHWC", "kernel_layout": "DHWIO", "strides": (1, 2, 1)},
        ["float32(1, 4, 5, 4, 2)", "float32(2, 3, 2, 2, 3)"],
    ),
    (
        "nn.conv2d_transpose",
        {"data_layout": "NHWC", "kernel_layout": "HWIO", "strides": (2, 1)},
        ["float32(1, 4, 3, 2)", "float32(3, 2, 2, 5)"],
    ),
    (
        "nn.conv1d_transpose",
        {"data_layout": "NWC", "kernel_layout": "WOI"},
        ["float32(1, 5, 2)", "float32(3, 4, 2)"],
    ),
    *(
        (
            f"nn.{kind}_pool{rank}d",
            {"layout": LAST[rank], "pool_size": (2,) * rank, "strides": (1,) * rank},
            [f"float32({SHAPES[rank]})"],
        )
        for kind in ("max", "avg")
        for rank in (1, 2, 3)
    ),
    ("nn.max_pool2d", {"layout": "NHWC", "out_layout": "NCHW", "pool_size": (3, 2)}, ["int8(n, 5, 6, 4)"]),
    *(
        (f"nn.adaptive_{kind}_pool{rank}d", {"output_size": size}, [f"float32({FIRST[rank]})"])
        for kind in ("avg", "max")
        for rank, size in ((1, (3,)), (1, 2), (3, (2, 3, 4)), (3, None))
    ),
    *(
        (f"nn.global_{kind}_pool{rank}d", {"layout": layout}, [f"float32({shapes[rank]})"])
        for kind in ("avg", "max")
        for rank in (1, 2, 3)
        for layout, shapes in ((LAST[rank], SHAPES), ({1: "NCW", 2: "NCHW", 3: "NCDHW"}[rank], FIRST))
    ),
    ("nn.global_avg_pool2d", {}, ["int32(1, 3, 4, 5)"]),
    ("nn.adaptive_avg_pool2d", {"output_size": (2, 3)}, ["int32(1, 3, 4, 5)"]),
    ("nn.adaptive_avg_pool2d", {"output_size": (2, 3), "layout": "NHWC"}, ["float32(n, 5, 6, 4)"]),
    ("nn.adaptive_max_pool3d", {"output_size": (2, 2, 3), "layout": "NDHWC"}, ["int32(1, 3, 5, 6, 2)"]),
    ("image.resize2d", {"size": (7, 4), "layout": "NHWC"}, ["float32(2, 5, 6, 3)"]),
    ("image.resize1d", {"size": (7,), "layout": "NWC", "method": "nearest_neighbor"}, ["uint8(2, 5, 3)"]),
    (
        "image.resize3d",
        {"size": (3, 7, 4), "layout": "NDHWC", "coordinate_transformation_mode": "align_corners"},
        ["float32(1, 2, 5, 3, 2)"],
    ),
]

_ZEROS = [np.array(3, np.int32), np.array(0, np.int32), np.array(0.5, np.float32), np.array(0.25, np.float32)]
EXAMPLES += [
    (
        "qnn.conv2d",
        {**NHWC, "padding": (1, 1)},
        ["uint8(1, 5, n, 3)", "int8(3, 3, 3, 4)", *_ZEROS],
    ),
    (
        "qnn.conv2d_transpose",
        {**NHWC, "strides": (2, 2)},
        ["int8(1, 3, 4, 2)", "int8(2, 2, 2, 3)", *_ZEROS],
    ),
]
