"""Examples of assumptions that models make about sizes and indices."""

import numpy as np

from tvmlite.relay.ir.types import dim

n, h = dim("n"), dim("h")

EXAMPLES = [
    ("assume_shape", {"newshape": (n, 3)}, ["float32(h, 3)"]),
    ("assume_shape", {"newshape": (2, n * 2, 5)}, ["int64(2, h, 5)"], {"dims": {"n": 2, "h": 4}}),
    ("assume_shape", {"newshape": (7,)}, ["bool(n)"], {"dims": {"n": 7}}),
    ("assume_shape", {"newshape": ()}, ["float16()"]),
    (
        "assume",
        {"conditions": (n > 1, h > n), "message": ""},
        ["float32(n, h)"],
        {"dims": {"n": 2, "h": 4}},
    ),
    ("assume", {"conditions": (n > 1,), "message": "no"}, ["int64(n, 3)"], {"dims": {"n": 0}}),
    ("assume", {"conditions": (), "message": "no"}, ["bool()"]),
    ("assume", {"conditions": (True,), "message": "no"}, ["float16(2)"]),
    ("assume_indices", {"extents": (4,)}, [np.array([[0, 3, -4], [-1, 2, 1]])]),
    ("assume_indices", {"extents": (3,)}, [np.array(-2, np.int32)]),
    ("assume_indices", {"extents": (4,)}, [np.array([0, 3, 1], np.uint32)]),
    ("assume_indices", {"extents": (n,)}, [np.array(1)], {"dims": {"n": 2}}),
    ("assume_indices", {"extents": (0,)}, [np.zeros((0, 2), np.int64)]),
    ("assume_indices", {"extents": (5, 2), "axis": -1}, [np.array([[[4, -1], [-5, 1]]])]),
    ("assume_indices", {"extents": (5, 2), "axis": 0}, [np.array([[-3, 3, 0], [0, -2, -1]], np.int32)]),
]
