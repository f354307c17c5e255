"""Examples of reads at indices."""

import numpy as np

from tvmlite.relay.ir.types import dim

n = dim("n")
OUTSIDE = np.array([[0, 4, 5], [-1, -5, 99]], np.int64)

EXAMPLES = [
    *(("take", {"axis": 1, "mode": m}, ["float32(2, 5, 3)", OUTSIDE]) for m in ("clip", "wrap")),
    *(("take", {"mode": m}, ["int32(3, n)", "int32(7) in -40..40"]) for m in ("clip", "wrap")),
    ("take", {"axis": 0, "mode": "fast"}, ["float32(n, 3)", "int64(2, 2) in -4..4"]),
    ("take", {"axis": -1}, ["bool(3, 300)", "uint8(n) in 0..255"]),
    ("take", {"axis": 0, "mode": "wrap"}, ["float16(7)", "int8()"]),
    ("take", {"axis": 1, "batch_dims": 1}, ["float32(2, 5, 3)", "int32(2, 4) in 0..5"]),
    ("take", {"axis": 2, "batch_dims": 1}, ["int64(n, 2, 5)", "int32(n, 1, 3) in 0..5"]),
    ("gather", {"axis": 1}, ["float32(3, 5)", "int64(3, 7) in -5..5"]),
    ("gather", {"axis": 0}, ["int32(n, 4)", "int32(2, 3) in -9..9"]),
    ("gather", {"axis": -1}, ["bool(2, n, 200)", "uint8(2, n, 3) in 0..255"]),
    ("gather_nd", {}, ["float32(4, 5, 3)", "int64(2, 7) in -4..4"]),
    ("gather_nd", {}, ["int32(n, 5)", "int32(1, 2, 3) in -9..9"]),
    ("gather_nd", {"batch_dims": 1}, ["float32(n, 5, 3)", "int64(1, n, 2) in 0..5"]),
    ("gather_nd", {"batch_dims": 1}, ["float16(2, 3, 4)", "uint8(2, 2) in 0..3"]),
    ("gather_nd", {}, ["float64(2, 3)", "int32(2) in 0..2"]),
    ("unravel_index", {}, ["int64(7) in 0..24", np.array([2, 3, 4], np.int64)]),
    ("unravel_index", {}, ["int32(n) in 0..35", np.array([5, 7], np.int32)]),
    ("unravel_index", {}, ["int32() in 0..3", np.array([3], np.int64)]),
]
