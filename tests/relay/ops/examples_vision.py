"""Examples of sampling, folding and pooling by index: grids, regions, deformable windows, determinants."""

import numpy as np

FAR = np.array([[[[-1, 1, 0.3], [-9, 9, 1e30]], [[-1, 1, -0.2], [2.5, -3.7, np.inf]]]], np.float32)
REGIONS = np.array([[0, 1, 1, 6, 5], [1, 0.5, 2, 3.5, 2.5], [1, -4, -3, 20, 30], [0, 3, 3, 2, 1]], np.float32)
SINGULAR = np.array([[[0, 1, 2], [0, 3, 4], [0, 5, 6]], [[0, 1, 0], [1, 0, 0], [0, 0, 2]]], np.float32)
NAN, INF = float("nan"), float("inf")
EDGES = np.array([[[[1, NAN, 3, -INF], [INF, 2, -INF, -INF], [5, 6, -INF, -INF]]]], np.float32)

_GRIDS = [
    {"method": method, "padding_mode": padding, "align_corners": aligned}
    for method in ("nearest", "bilinear", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for aligned in (True, False)
]

EXAMPLES = [
    *(
        (
            "image.grid_sample",
            attrs,
            ["float32(2, 3, 5, 4)", "float32(2, 2, h, 7) in -1.6..1.6"],
            {"exhaustive": attrs["method"] == "bicubic" and attrs["padding_mode"] == "reflection"},
        )
        for attrs in _GRIDS
    ),
    *(
        (
            "image.grid_sample",
            {**attrs, "layout": "NCDHW"},
            ["float64(1, 2, 3, d, 2)", "float32(1, 3, 2, 2, 3) in -2..2"],
        )
        for attrs in _GRIDS[:12:5]
    ),
    *(
        ("image.grid_sample", {"padding_mode": padding}, ["float32(1, 1, h, w)", FAR])
        for padding in ("zeros", "border")
    ),
    ("image.grid_sample", {"method": "nearest"}, ["int32(1, 1, 1, 4)", "float16(1, 2, 3, 3) in -1..1"]),
    ("image.grid_sample", {}, ["float16(1, 2, 4, 4)", "float16(1, 2, 3, 3) in -1..1"]),
    *(
        (
            "vision.roi_align",
            {
                "pooled_size": (2, 3),
                "spatial_scale": 0.75,
                "mode": mode,
                "aligned": aligned,
                "sample_ratio": ratio,
            },
            ["float32(2, 3, h, 7)", REGIONS],
            {"dims": {"h": 6}},
        )
        for mode in ("avg", "max", "weighted_max")
        for aligned in (False, True)
        for ratio in (0, 2)
    ),
    (
        "vision.roi_align",
        {"pooled_size": 2, "spatial_scale": 1.0},
        ["float64(1, 1, 4, 4)", np.array([[0, 0.3, 0.1, 3.2, 3.9]])],
    ),
    ("linalg.det", {}, ["float32(n, n)"]),
    ("linalg.det", {}, ["float64(2, 3, 5, 5)"]),
    ("linalg.det", {}, [SINGULAR]),
    ("linalg.det", {}, ["float32(2, 0, 0)"]),
    ("nn.col2im", {"image_shape": (5, 5), "kernel_size": (1, 5)}, ["float32(1, 5, 5)"]),
    (
        "nn.col2im",
        {
            "image_shape": (5, 6),
            "kernel_size": (2, 3),
            "strides": (2, 1),
            "padding": (1, 0, 0, 2),
            "dilation": (1, 2),
        },
        ["float32(2, 12, 12)"],
    ),
    (
        "nn.col2im",
        {"image_shape": (4, 3, 4), "kernel_size": (1, 2, 2), "strides": 1, "padding": 0, "dilation": 1},
        ["float16(n, 8, 24)"],
    ),
    *(
        (
            "nn.max_pool_indices",
            {
                "pool_size": (2, 3),
                "strides": (2, 1),
                "dilation": (1, 2),
                "padding": (1, 1, 0, 2),
                "column_major": major,
            },
            ["float32(2, 3, h, 8)"],
        )
        for major in (False, True)
    ),
    ("nn.max_pool_indices", {"pool_size": (2, 2)}, [EDGES]),
    (
        "nn.max_pool_indices",
        {"pool_size": (3,), "ceil_mode": True, "strides": (2,)},
        ["uint8(1, 2, 8) in 0..3"],
    ),
    (
        "nn.max_pool_indices",
        {"pool_size": (2, 1, 2), "strides": (1, 1, 1), "padding": (0,) * 6},
        ["int32(1, 2, 2, 3, 4) in 0..3"],
    ),
    *(
        (
            name,
            {"mode": mode, "axis": 1},
            ["float32(3, 4, n)", "float32(3, 2, n)", np.array([0, 3, 2])],
        )
        for mode in ("linear", "circular")
        for name in ("tensor_scatter", "cache_update")
    ),
    *(
        (name, {"mode": "circular"}, ["int8(2, 3, s, 2)", "int8(2, 3, 3, 2)", "int32(2) in 0..9"])
        for name in ("tensor_scatter", "cache_update")
    ),
    (
        "nn.deformable_im2col",
        {"kernel_size": (2, 3), "padding": (1, 0, 1, 2), "strides": (2, 1), "dilation": (1, 2)},
        ["float32(2, 4, 5, 6)", "float32(2, 12, 3, 4) in -2..2", "float32(2, 6, 3, 4)"],
    ),
    (
        "nn.deformable_im2col",
        {"kernel_size": (2, 2), "deformable_groups": 2},
        ["float64(1, 4, 3, 4)", "float64(1, 16, 2, 3) in -9..9", "float64(1, 8, 2, 3)"],
    ),
    (
        "nn.deformable_im2col",
        {"kernel_size": (2, 2), "padding": (1, 1, 0, 0), "zero_before": True},
        ["float32(1, 2, 3, 4)", "float32(1, 8, 3, 4) in -2..2", "float32(1, 4, 3, 4)"],
    ),
]
