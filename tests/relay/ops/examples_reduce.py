"""Examples of reductions."""

import numpy as np

NAN, INF = float("nan"), float("inf")
EDGES = np.array([[1, NAN, 3, 3], [INF, -INF, INF, 0], [-INF, -INF, -INF, -INF], [2, 7, 7, 1]], np.float32)

NUMBERS = ("sum", "prod", "max", "min", "mean")
INDEX = ("argmax", "argmin")

EXAMPLES = [
    *((name, {"axis": 1}, ["float32(3, 7, 5)"]) for name in NUMBERS + INDEX),
    *((name, {}, ["float32(2, n)"]) for name in NUMBERS + INDEX),
    *((name, {"axis": (-1, 0), "keepdims": True}, ["float64(2, 3, n)"]) for name in NUMBERS + INDEX),
    *((name, {"axis": (1,), "exclude": True}, ["float32(n, 3, 2)"]) for name in NUMBERS + INDEX),
    *((name, {"axis": (1, 2)}, ["int32(2, n, 3) in -4..4"]) for name in NUMBERS + INDEX),
    *((name, {"axis": -1}, ["uint8(3, 5)"]) for name in NUMBERS + INDEX),
    *((name, {"axis": -1, "keepdims": True}, [EDGES]) for name in NUMBERS + INDEX),
    *((name, {"axis": (), "exclude": True}, ["float32(3, n)"]) for name in NUMBERS + INDEX),
    *((name, {"axis": (0, 1), "exclude": True}, ["float32(3, n)"]) for name in NUMBERS),
    *((name, {}, ["float32()"]) for name in NUMBERS),
    *((name, {"axis": 0}, ["float32(0, 3)"]) for name in NUMBERS),
    *((name, {"axis": 1}, ["float16(2, 300) in 0..4"]) for name in ("sum", "mean", "max", "argmin")),
    *((name, {"axis": 1, "select_last_index": True}, ["int32(4, 9) in 0..3"]) for name in INDEX),
    *((name, {"axis": 1, "select_last_index": True}, [EDGES]) for name in INDEX),
    *((name, {"axis": 0}, ["int64(9, n) in 0..3"]) for name in INDEX),
    *((name, {"axis": 1}, [np.tile(EDGES, (1, 20))]) for name in INDEX),
    *((name, {"axis": 0}, [np.tile(EDGES.T, (3, 9))]) for name in INDEX),
    *((name, {"axis": 1, "select_last_index": True}, ["int32(3, 150) in 0..9"]) for name in INDEX),
    *((name, {"axis": (1, 2)}, ["float64(3, 9, 21) in 0..9"]) for name in INDEX),
    *((name, {"axis": 1}, ["bool(3, 6)"]) for name in (*INDEX, "max", "min", "all", "any")),
    ("all", {}, ["bool(n, 2)"]),
    ("any", {"axis": 0, "keepdims": True}, ["bool(5, n)"]),
    ("all", {"axis": (0, 2)}, [np.ones((2, 3, 2), bool)]),
    ("any", {"axis": (0, 2)}, [np.zeros((2, 3, 2), bool)]),
]
