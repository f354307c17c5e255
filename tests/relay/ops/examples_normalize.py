"""Examples of normalizations over every axis, of small and large numbers."""

import numpy as np

LARGE = np.array([[1e4, 1e4 + 1, 1e4 - 1], [1e-30, 0, -1e-30], [88, -88, 0]], np.float32)
MASKED = np.array([[0, -np.inf, 1, -np.inf], [5, 5, -np.inf, 5]], np.float32)

ROWS = ("nn.softmax", "nn.log_softmax")

EXAMPLES = [
    *((name, {}, ["float32(3, 7)"]) for name in ROWS),
    *((name, {"axis": 1}, ["float32(2, 5, n)"]) for name in ROWS),
    *((name, {"axis": 0}, ["float32(n)"]) for name in ROWS),
    *((name, {}, ["float16(2, n)"]) for name in ROWS),
    *((name, {}, ["float64(2, 3)"]) for name in ROWS),
    *((name, {}, [LARGE]) for name in ROWS),
    ("nn.softmax", {}, [MASKED]),
    ("nn.layer_norm", {}, ["float32(3, n)", "float32(n)", "float32(n)"]),
    ("nn.layer_norm", {"axis": 1, "epsilon": 1e-3}, ["float32(2, 5, n)", "float32(5)", "float32(5)"]),
    ("nn.layer_norm", {"center": False}, ["float32(2, 3, 5)", "float32(5)", "float32(5)"]),
    ("nn.layer_norm", {"scale": False}, [LARGE, "float32(3)", "float32(3)"], {"tolerance": 1e-3}),
    ("nn.layer_norm", {}, ["float16(2, 9)", "float16(9)", "float16(9)"]),
    ("nn.rms_norm", {}, ["float32(2, 3, n)", "float32(n)"]),
    ("nn.rms_norm", {"axis": 0, "epsilon": 0.1}, ["float16(5, 3)", "float16(5)"]),
    ("nn.instance_norm", {}, ["float32(2, 3, h, w)", "float32(3)", "float32(3)"]),
    ("nn.instance_norm", {"axis": -1}, ["float32(2, 5, 3)", "float32(3)", "float32(3)"]),
    ("nn.instance_norm", {"scale": False, "center": False}, ["float32(1, 2, 9)", "float32(2)", "float32(2)"]),
    ("nn.group_norm", {"num_groups": 2}, ["float32(2, 6, n)", "float32(6)", "float32(6)"]),
    (
        "nn.group_norm",
        {"num_groups": 3, "epsilon": 1e-2},
        ["float32(1, 3, 2, 4)", "float32(3)", "float32(3)"],
    ),
    ("nn.l2_normalize", {"axis": (1,)}, ["float32(2, 5, n)"]),
    ("nn.l2_normalize", {}, ["float32(2, 3)"]),
    ("nn.l2_normalize", {"axis": (0, -1), "eps": 50.0}, ["float16(2, 3, 4)"]),
    ("nn.lrn", {}, ["float32(2, 7, 3)"]),
    ("nn.lrn", {"size": 4, "alpha": 0.5, "beta": 0.5, "bias": 1.0}, ["float32(1, 6, h, 2)"]),
    ("nn.lrn", {"size": 3, "axis": -1}, ["float16(2, 5)"]),
    *(
        ("nn.batch_norm", attrs, [data, *["float32(3)"] * 3, "float32(3) in 0.1..2"])
        for attrs, data in (
            ({}, "float32(2, 3, n)"),
            ({"axis": -1, "scale": False}, "float32(2, 3)"),
            ({"center": False, "epsilon": 0.1}, "float32(1, 3, 2, 2)"),
        )
    ),
    ("nn.batch_norm", {}, ["float16(2, 3)", *["float16(3)"] * 3, "float16(3) in 0.1..2"]),
    ("nn.dropout", {"rate": 0.1}, ["float32(2, n)"]),
    ("nn.dropout", {}, ["float16(3)"]),
]
