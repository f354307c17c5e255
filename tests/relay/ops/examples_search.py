"""Examples of searchsorted and unique."""

import numpy as np

from tvmlite.relay.ir.types import dim

n = dim("n")
STEPS = np.array([-2, 0, 0, 1, 5], np.float32)
ROWS = np.array([[1, 3, 3, 7], [0, 0, 2, 9]], np.int32)

EXAMPLES = [
    *(
        ("searchsorted", {"right": right}, [STEPS, values])
        for right in (False, True)
        for values in (np.array([[-3, 0, 1], [5, 6, 0.5]], np.float32), "float32(n)", "float32()")
    ),
    ("searchsorted", {"dtype": "int64"}, [ROWS, np.array([[3, 0, 8], [0, 2, 1]], np.int32)]),
    ("searchsorted", {"right": True}, [ROWS, "int32(2, n) in 0..9"]),
    *(
        ("unique", {"sorted": ordered, "return_counts": counts}, [data])
        for ordered in (True, False)
        for counts in (True, False)
        for data in (np.array([4, 5, 1, 2, 3, 3, 4, 5]), "int32(n) in 0..5", "float32(6) in 0..1")
    ),
    ("unique", {}, [np.array([7], np.int32)]),
    ("unique", {"sorted": False}, [np.zeros(0, np.int64)]),
]
