"""Examples of random numbers and of products with fixed-point numbers."""

import numpy as np

from tvmlite.relay.ops.random import threefry_key

KEY = threefry_key(2022)
FULL = KEY.copy()
FULL[7] = 2**64 - 5
SPENT = FULL.copy()
SPENT[8:] = 0
LAST = KEY.copy()
LAST[8:] = 1, 0

EXAMPLES = [
    *(("random.threefry_generate", {"out_shape": (2, 6)}, [key]) for key in (KEY, FULL, SPENT, LAST)),
    *(("random.threefry_generate", {"out_shape": shape}, [KEY]) for shape in ((5,), (3,), (2, 3, 5), (0,))),
    *(("random.threefry_split", {}, [key]) for key in (KEY, SPENT, LAST)),
    *(
        (
            f"random.{name}",
            {"out_shape": shape, "out_dtype": dtype},
            [KEY, np.array(0.5, dtype), np.array(2, dtype)],
        )
        for name in ("uniform", "normal")
        for shape, dtype in (((3, 4), "float32"), ((3, 3), "float64"))
    ),
    ("random.multinomial", {"num_samples": 9}, [KEY, np.array([3, 5, -2, 0, 10], np.float32)]),
    ("random.multinomial", {"num_samples": 3}, [KEY, np.array([[0, 0, 0.5], [0.25, 0, 0], [1, 1, 1]])]),
    ("fixed_point_multiply", {"multiplier": 1395864371, "shift": 1}, ["int32(3, n) in -2000..2000"]),
    ("fixed_point_multiply", {"multiplier": 1073741824, "shift": -3}, ["int32(50) in -99999..99999"]),
    *(
        (
            "fixed_point_multiply_per_axis",
            {"axes": (1,), "is_lshift_required": left, "is_rshift_required": right},
            [
                "int32(2, 3, n) in -2000..2000",
                np.array([1073741824, 1395864371, 2000000000], np.int32),
                np.array([0, 3, 1], np.int32),
                np.array([2, 0, 5], np.int32),
            ],
        )
        for left in (True, False)
        for right in (True, False)
    ),
]
