"""Examples of reshape and of the operators that move axes."""

import numpy as np

from tvmlite.relay.ir.types import dim

n, h, w = dim("n"), dim("h"), dim("w")

EXAMPLES = [
    ("reshape", {"newshape": (6, 4)}, ["float32(2, 3, 4)"]),
    ("reshape", {"newshape": (4, 6)}, ["float32(2, 3, 4)"]),
    ("reshape", {"newshape": (0, -1)}, ["float32(2, 3, 4)"]),
    ("reshape", {"newshape": (-1,)}, ["int64(2, n, 4)"]),
    ("reshape", {"newshape": (0, 3, 4, -1)}, ["float32(n, 12, 5)"]),
    ("reshape", {"newshape": (n, 12, 5)}, ["float32(n, 3, 4, 5)"]),
    ("reshape", {"newshape": (0, 0, -1)}, ["float32(n, 3, h, w)"], {"dims": {"h": 3, "w": 5}}),
    ("reshape", {"newshape": (n, 3, w, h)}, ["float32(n, 3, h, w)"], {"dims": {"h": 3, "w": 5}}),
    ("reshape", {"newshape": (1, n, 1, 2, 3, 1)}, ["float16(n, 1, 6)"]),
    ("reshape", {"newshape": (-1, 2)}, ["float32(n, 4)"]),
    ("reshape", {"newshape": (n * 2, -1)}, ["float32(n, 10)"]),
    ("reshape", {"newshape": ()}, ["bool(1, 1)"]),
    ("reshape", {"newshape": (1, 1)}, ["uint8()"]),
    ("reshape", {"newshape": (3, 0), "allowzero": True}, ["float32(0, 7)"]),
    ("reshape", {"newshape": (10, 7, 3)}, ["float32(3, 7, 10)"]),
    *(
        ("reshape", {"newshape": wanted}, ["float32(2, 3, 4)"])
        for wanted in ((2, -2), (-2, 1, 1), (-3, 4), (0, -3), (-3, -2), (-4, 1, 2, -2), (2, -4, -1, 3, -2))
    ),
    ("reshape", {"newshape": (-4, -1, 2, -3)}, ["int32(6, n, 4)"]),
    ("expand_dims", {"axis": 1}, ["float32(2, n)"]),
    ("expand_dims", {"axis": -1, "num_newaxis": 2}, ["int8(3)"]),
    ("expand_dims", {"axis": 0}, ["float64()"]),
    ("squeeze", {}, ["float32(1, n, 1, 3)"]),
    ("squeeze", {"axis": (-2,)}, ["float16(1, 3, 1, 5)"]),
    ("squeeze", {"axis": 0}, ["bool(1, n)"]),
    ("transpose", {}, ["float32(2, n, 5)"]),
    ("transpose", {"axes": (0, -1, 1, 2)}, ["int32(2, 3, n, 5)"]),
    ("transpose", {"axes": (1, 0)}, ["bool(3, 7)"]),
    ("transpose", {}, ["float32()"]),
    ("reverse", {"axis": 1}, ["float32(2, 5)"]),
    ("reverse", {"axis": -2}, ["int64(n, 3)"]),
    ("broadcast_to", {"shape": (2, 3, 4)}, ["float32(3, 1)"]),
    ("broadcast_to", {"shape": (n, h)}, ["int64(1)"], {"dims": {"n": 3, "h": 5}}),
    ("broadcast_to", {"shape": (n, 3)}, ["float16(n, 1)"]),
    ("broadcast_to", {"shape": (5,)}, [np.array(True)]),
    ("tile", {"reps": (2, 3)}, ["float32(3, 5)"]),
    ("tile", {"reps": (2, 1, 3)}, ["int32(n, 1)"]),
    ("tile", {"reps": (2,)}, ["uint8(2, 3)"]),
    ("tile", {"reps": (n, 2)}, ["float32(1, h)"], {"dims": {"n": 3}}),
    ("repeat", {"repeats": 3, "axis": 1}, ["float32(2, 5)"]),
    ("repeat", {"repeats": 2, "axis": -2}, ["bool(n, 3)"]),
    ("repeat", {"repeats": h, "axis": 0}, ["int8(1)"]),
    *(
        ("layout_transform", {"src_layout": a, "dst_layout": b}, [data])
        for a, b, data in (
            ("NCHW", "NCHW4c", "float32(2, 10, h, w)"),
            ("NCHW4c", "NCHW", "float32(2, 2, h, w, 4)"),
            ("NCHW8c", "NCHW4c", "float32(1, 2, 3, 3, 8)"),
            ("NCHW", "NHWC", "int8(1, 3, h, 5)"),
            ("OIHW", "OIHW4i2o", "float32(5, 6, 1, 2)"),
            ("C", "C16c", "float32(20)"),
        )
    ),
]
