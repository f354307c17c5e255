"""Examples of variances and of log-sum-exp."""

import numpy as np

BIG = np.array([[800, 801, 799], [-900, -900, -901]], np.float32)

EXAMPLES = [
    ("variance", {"axis": 1}, ["float32(3, 7)", "float32(3, 1)"]),
    (
        "variance",
        {"axis": (0, 2), "keepdims": True, "unbiased": True},
        ["float32(3, n, 2)", "float32(1, n, 1)"],
    ),
    ("variance", {"axis": (0,), "exclude": True}, ["float16(3, 7)", "float16(3, 1)"]),
    ("std", {}, ["float32(3, 7)"]),
    ("std", {"axis": -1, "unbiased": True}, ["float64(3, n)"]),
    ("mean_variance", {"axis": (1,)}, ["float32(3, n)"]),
    ("mean_variance", {"keepdims": True}, ["float32(3, 4)"]),
    ("mean_std", {"axis": 0, "unbiased": True}, ["float32(5, n)"]),
    ("mean_std", {"axis": (0, 1), "keepdims": True}, ["float64(5, 2, 3)"]),
    ("logsumexp", {"axis": 1}, [BIG]),
    ("logsumexp", {"axis": (0, 2), "keepdims": True}, ["float32(n, 3, 4)"]),
    ("logsumexp", {}, ["float16(7)"]),
]
