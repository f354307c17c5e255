"""Examples of broadcasting binary operators."""

import numpy as np

NAN, INF = float("nan"), float("inf")
LEFT = np.array([NAN, 1, NAN, INF, -INF, INF, 0, -0.0, 5.5, -5.5, 5.5, -5.5, 6, -6, 0], np.float32)
RIGHT = np.array([1, NAN, NAN, 2, INF, INF, 0, 0, 2, 2, -2, -2, -3, 3, -3], np.float32)
INT_MIN = -(2**31)
WHOLE_LEFT = np.array([7, -7, 7, -7, 6, -6, 5, 0, INT_MIN, INT_MIN, 2**31 - 1], np.int32)
WHOLE_RIGHT = np.array([2, 2, -2, -2, 3, 3, 0, 0, -1, 1, 2], np.int32)

ARITHMETIC = ("add", "subtract", "multiply", "divide", "floor_divide", "mod", "floor_mod")
ORDER = ("maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
LOGIC = ("logical_and", "logical_or", "logical_xor")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("left_shift", "right_shift")

EXAMPLES = [
    *((name, {}, [LEFT, RIGHT]) for name in ARITHMETIC + ORDER + LOGIC),
    *((name, {}, [WHOLE_LEFT, WHOLE_RIGHT]) for name in ARITHMETIC + ORDER + BITS),
    *((name, {}, ["float32(2, 1, n)", "float32(3, 1)"]) for name in ARITHMETIC + ORDER),
    *((name, {}, ["float32()", "float32(n, 2 )"]) for name in ARITHMETIC + ORDER),
    *((name, {}, ["float64(1, 5)", "float64(n, 1)"]) for name in ARITHMETIC + ORDER),
    *((name, {}, ["int64(3, n)", "int64(n)"]) for name in ARITHMETIC + ORDER + BITS),
    *((name, {}, ["uint8(3, 5)", "uint8(1)"]) for name in ARITHMETIC + ORDER + BITS),
    *((name, {}, ["float16(7)", "float16(7)"]) for name in ("add", "multiply", "maximum", "less")),
    *((name, {}, ["bool(5, 1)", "bool(n)"]) for name in ORDER + LOGIC + BITS),
    *((name, {}, ["int32(3, 4)", "int32(4)"]) for name in LOGIC),
    *((name, {}, ["int32(n, 3)", "int32(3) in 0..40"]) for name in SHIFTS),
    *((name, {}, ["uint8(5, 1)", "uint8(4) in 0..12"]) for name in SHIFTS),
    *((name, {}, ["int64(5)", "int64(5) in 0..70"]) for name in SHIFTS),
    ("power", {}, ["float32(3, n) in 0.1..3", "float32(n)"]),
    ("power", {}, ["float64(5) in 0.1..3", "float64()"]),
    ("power", {}, ["float16(3) in 0.5..2", "float16(1)"]),
    ("power", {}, [LEFT, RIGHT]),
    ("power", {}, ["int32(n, 5)", "int32(5) in 0..9"]),
    ("power", {}, ["int64(5, 3)", "int64(3) in -2..12"]),
    ("nn.bias_add", {}, ["float32(2, 3, n, 5)", "float32(3)"]),
    ("nn.bias_add", {"axis": -1}, ["int32(n, 7)", "int32(7)"]),
    ("nn.bias_add", {"axis": 0}, ["float16(n, 2)", "float16(n)"]),
    ("where", {}, ["bool(n, 1)", "float32(3)", "float32(2, n, 1)"]),
    ("where", {}, ["bool(5)", "int64(5)", "int64()"]),
    ("where", {}, ["int32(4) in -1..2", "uint8(4)", "uint8(3, 1)"]),
    ("where", {}, ["bool()", "float16(3)", "float16(3)"]),
]
