"""Examples of poolings: padding counted or not, windows beyond the end, global, adaptive."""

import numpy as np

NAN, INF = float("nan"), float("inf")
EDGES = np.array([[[[1, NAN, 3, -INF], [INF, 2, -INF, -INF], [5, 6, -INF, -INF]]]], np.float32)

BLOCKS = {"layout": "NCHW4c"}
POOLS = ("nn.max_pool2d", "nn.avg_pool2d")

EXAMPLES = [
    *((f"nn.{kind}_pool1d", {"pool_size": (3,)}, ["float32(2, 3, n)"]) for kind in ("max", "avg")),
    *(
        (f"nn.{kind}_pool1d", {"pool_size": 2, "strides": 2, "padding": (1, 0)}, ["float32(2, 3, 7)"])
        for kind in ("max", "avg")
    ),
    *((name, {"pool_size": (2, 2), "strides": (2, 2)}, ["float32(1, 3, h, w)"]) for name in POOLS),
    *((name, {"pool_size": (3, 3), "strides": 2, "padding": 1}, ["float32(2, 3, h, 7)"]) for name in POOLS),
    *(
        (
            name,
            {"pool_size": 3, "strides": 2, "padding": (0, 1, 1, 0), "ceil_mode": True},
            ["float32(1, 2, 8, 6)"],
        )
        for name in POOLS
    ),
    *((name, {"pool_size": 2, "strides": 2, "ceil_mode": True}, ["float32(1, 2, h, w)"]) for name in POOLS),
    *((name, {"pool_size": 2, "strides": 3, "ceil_mode": True}, ["float32(1, 2, 5, 7)"]) for name in POOLS),
    *(
        (
            name,
            {"pool_size": 2, "strides": 2, "padding": 1, "ceil_mode": True, "starts_inside": inside},
            ["float32(1, 2, h, 7)"],
        )
        for inside in (False, True)
        for name in POOLS
    ),
    *(
        (name, {"pool_size": (2, 3), "dilation": (2, 1), "padding": (1, 1)}, ["float32(1, 2, h, 5)"])
        for name in POOLS
    ),
    *((name, {"pool_size": 2}, [EDGES]) for name in POOLS),
    *((name, {"pool_size": 2, "padding": 1}, ["int8(1, 2, 4, 5)"]) for name in POOLS),
    *((name, {"pool_size": 2, "padding": 1}, ["uint8(1, 2, 4, 5) in 0..255"]) for name in POOLS),
    *((name, {"pool_size": 3}, ["float16(1, 2, 4, 5)"]) for name in POOLS),
    *((name, {"pool_size": 3}, ["int64(1, 2, 4, 5)"]) for name in POOLS),
    *(
        (
            "nn.avg_pool2d",
            {"pool_size": 3, "strides": 2, "padding": 1, "count_include_pad": True, "ceil_mode": ceil},
            [f"float32(1, 2, {shape})"],
        )
        for ceil in (False, True)
        for shape in ("6, 7", "h, 8")
    ),
    *(
        (f"nn.{kind}_pool3d", {"pool_size": (2, 1, 2), "padding": (0, 0, 1)}, ["float32(1, 2, 3, 2, w)"])
        for kind in ("max", "avg")
    ),
    *(
        (f"nn.{kind}_pool3d", {"pool_size": 2, "strides": 2}, ["float32(2, 1, 4, 5, 6)"])
        for kind in ("max", "avg")
    ),
    *((f"nn.global_{kind}_pool2d", {}, ["float32(2, 3, h, w)"]) for kind in ("max", "avg")),
    *(
        (f"nn.global_{kind}_pool2d", {"layout": "NCHW8c"}, ["float32(2, 3, h, w, 8)"])
        for kind in ("max", "avg")
    ),
    *((name, {**BLOCKS, "pool_size": (3, 3)}, ["float32(2, 2, h, w, 4)"]) for name in POOLS),
    *(
        (
            name,
            {**BLOCKS, "pool_size": (2, 3), "padding": 1, "strides": 2, "ceil_mode": True},
            ["float32(1, 2, 5, w, 4)"],
        )
        for name in POOLS
    ),
    ("nn.max_pool1d", {"layout": "NCW4c", "pool_size": 2, "padding": (1, 0)}, ["int32(1, 2, n, 4)"]),
    *((f"nn.global_{kind}_pool2d", {}, ["float16(1, 3, 5, 7)"]) for kind in ("max", "avg")),
    *(
        (f"nn.adaptive_{kind}_pool2d", {"output_size": (2, 3)}, ["float32(1, 2, 5, 7)"])
        for kind in ("max", "avg")
    ),
    *((f"nn.adaptive_{kind}_pool2d", {"output_size": 3}, ["float32(1, 2, h, w)"]) for kind in ("max", "avg")),
    *((f"nn.adaptive_{kind}_pool2d", {}, ["float32(1, 2, h, 3)"]) for kind in ("max", "avg")),
]
