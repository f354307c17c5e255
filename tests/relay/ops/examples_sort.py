"""Examples of sorts, scans and scatters."""

import numpy as np

from tvmlite.relay.ir.types import dim

n = dim("n")
NAN, INF = float("nan"), float("inf")
EDGES = np.array([[2, NAN, INF, -INF, 2, 0.0, -0.0, NAN, 1], [1, 1, 1, 1, 1, 1, 1, 1, 1]], np.float32)
OUTSIDE = np.array([[0, 4, -5], [9, -1, -6]], np.int64)

_DATA = (EDGES, "float32(3, 8)", "int32(n, 5) in 0..4", "uint8(2, 1)", "bool(7)", "float16(3, 6)")

EXAMPLES = [
    ("topk", {"k": -1, "axis": 0}, ["float32(n, 3)"]),
    *(
        (name, {"is_ascend": up}, [data])
        for name in ("sort", "argsort")
        for up in (True, False)
        for data in _DATA
    ),
    ("sort", {"axis": 0}, ["float64(n, 3)"], {"dims": {"n": 13}}),
    ("sort", {}, ["float32(2, 0)"]),
    ("argsort", {"axis": 1, "dtype": "int64"}, ["int64(2, 17, 3) in 0..6"]),
    ("argsort", {"axis": -1, "dtype": "float32"}, ["float32(n)"], {"dims": {"n": 1}}),
    *(("topk", {"k": 3, "is_ascend": up}, [EDGES]) for up in (True, False)),
    ("topk", {"k": 2, "axis": 0, "dtype": "int64"}, ["int32(5, n) in 0..3"]),
    ("topk", {"k": n, "ret_type": "values"}, ["float32(3, n)"], {"dims": {"n": 7}}),
    ("topk", {"k": 4, "ret_type": "indices", "axis": 1}, ["float64(n, 9, 2)"]),
    ("topk", {"k": 0}, ["float16(3)"]),
    *((name, {"axis": 1}, ["float32(3, 7)"]) for name in ("cumsum", "cumprod")),
    *((name, {}, ["int32(2, n)"]) for name in ("cumsum", "cumprod")),
    *((name, {"axis": -2, "exclusive": True}, ["float64(2, n, 3)"]) for name in ("cumsum", "cumprod")),
    *((name, {"axis": 0, "reverse": True}, ["int64(5)"]) for name in ("cumsum", "cumprod")),
    *(
        (name, {"axis": 1, "reverse": True, "exclusive": True}, ["uint8(n, 3)"])
        for name in ("cumsum", "cumprod")
    ),
    ("cumsum", {"axis": 0}, ["float16(300) in 0..4"]),
    ("cumsum", {"axis": 0, "dtype": "int32"}, ["bool(n)"]),
    *(
        ("scatter_elements", {"axis": 1, "reduction": r}, ["float32(2, 5)", OUTSIDE, "float32(2, 3)"])
        for r in ("update", "add", "mul", "min", "max")
    ),
    ("scatter_elements", {"axis": 0}, ["int64(n, 3)", "int32(2, 3) in -4..4", "int64(2, 3)"]),
    ("scatter_elements", {"axis": -1, "reduction": "add"}, ["int32(5)", "uint8(n) in 0..5", "int32(n)"]),
    ("scatter_elements", {"axis": 1}, ["bool(2, n, 2)", "int64(1, 2, 2) in 0..4", "bool(1, 2, 2)"]),
    *(
        ("scatter_nd", {"mode": m}, ["float32(5, 3)", np.array([[0, 4, 0, -1, 7]]), "float32(5, 3)"])
        for m in ("update", "add", "mul", "min", "max")
    ),
    ("scatter_nd", {}, ["int32(n, 3, 2)", "int64(2, 2, 5) in -3..3", "int32(2, 5, 2)"]),
    ("scatter_nd", {"mode": "max"}, ["uint8(4)", "uint8(1, n) in 0..4", "uint8(n)"]),
    ("scatter_nd", {"mode": "add"}, ["float64(2, 3)", "int32(2) in 0..2", "float64()"]),
]
