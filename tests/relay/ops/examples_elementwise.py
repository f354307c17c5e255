"""Examples of unary element-wise operators."""

import numpy as np

from tvmlite.core.dtype import numpy_of

NAN, INF = float("nan"), float("inf")
EDGES = np.array([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1e-40, 3e38], np.float32)
HALVES = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609.0, -7.3, NAN, INF], np.float32)
BIG = np.array([NAN, INF, -INF, 3e9, -3e9, 1e20, -1e20, 127.9, -128.9, 255.5, -0.9, 300.0], np.float32)
WHOLE = np.array([-(2**31), 2**31 - 1, 0, 1, -1, 77], np.int32)

_ANY = ("exp", "sigmoid", "tanh", "erf", "sin", "cos", "atan", "sinh", "cosh", "asinh")
_RANGES = {
    "log": "0.01..9",
    "log2": "0.01..9",
    "sqrt": "0..9",
    "rsqrt": "0.01..9",
    "tan": "-1..1",
    "asin": "-1..1",
    "acos": "-1..1",
    "acosh": "1..9",
    "atanh": "-0.9..0.9",
    **dict.fromkeys(_ANY, "-4..4"),
}

EXAMPLES = [
    *((name, {}, [f"float32(3, 5) in {r}"]) for name, r in _RANGES.items()),
    *((name, {}, [f"float64(n, 7) in {r}"]) for name, r in _RANGES.items()),
    *((name, {}, [f"float16(5) in {r}"]) for name, r in _RANGES.items()),
    *((name, {}, [EDGES]) for name in ("exp", "log", "sqrt", "sigmoid", "tanh", "erf", "rsqrt")),
    *((name, {}, [HALVES]) for name in ("floor", "ceil", "round", "trunc")),
    *((name, {}, ["int32(n, 3)"]) for name in ("floor", "ceil", "round", "trunc")),
    *((name, {}, ["float16(7)"]) for name in ("floor", "ceil", "round", "trunc")),
    *((name, {}, [EDGES]) for name in ("isnan", "isinf", "isfinite")),
    *((name, {}, ["float64(2, n)"]) for name in ("isnan", "isinf", "isfinite")),
    *((name, {}, ["int8(3)"]) for name in ("isnan", "isinf", "isfinite")),
    *((name, {}, [EDGES]) for name in ("negative", "abs", "sign", "copy", "logical_not", "nn.relu")),
    *((name, {}, [WHOLE]) for name in ("negative", "abs", "sign", "copy", "logical_not", "nn.relu")),
    *((name, {}, ["uint8(n, 1, 3)"]) for name in ("negative", "abs", "sign", "copy", "nn.relu")),
    ("negative", {}, ["float16()"]),
    ("copy", {}, ["bool(3, n)"]),
    ("logical_not", {}, ["bool(n, 3)"]),
    ("bitwise_not", {}, ["bool(4)"]),
    ("bitwise_not", {}, ["int32(2, n)"]),
    ("bitwise_not", {}, ["uint8(3) in 0..255"]),
    *(("cast", {"dtype": t}, [BIG]) for t in ("int8", "uint8", "int32", "uint32", "int64", "uint64")),
    *(("cast", {"dtype": t}, [EDGES]) for t in ("bool", "float64", "float16", "float32")),
    *(("cast", {"dtype": t}, [WHOLE]) for t in ("bool", "int8", "uint16", "int64", "float32", "float16")),
    ("cast", {"dtype": "float32"}, ["bool(n)"]),
    ("cast", {"dtype": "int64"}, ["bool(3)"]),
    ("cast", {"dtype": "bfloat16"}, ["float32(n, 5)"]),
    ("cast", {"dtype": "float32"}, [EDGES.astype(numpy_of("bfloat16"))]),
    ("reinterpret", {"dtype": "int32"}, [EDGES[1:]]),
    ("reinterpret", {"dtype": "float32"}, ["int32(n, 2) in 0..1000000000"]),
    ("reinterpret", {"dtype": "uint8"}, ["int8(3)"]),
    ("clip", {"a_min": -1.0, "a_max": 6.0}, [EDGES]),
    ("clip", {"a_min": 0.5, "a_max": 2.5}, ["int32(n, 3)"]),
    ("clip", {"a_min": -1000.0, "a_max": 5.0}, ["int8(2, 3)"]),
    ("clip", {"a_min": 3, "a_max": 1}, ["float64(5)"]),
    ("clip", {"a_min": -INF, "a_max": 1.5}, ["float16(n)"]),
    ("clip", {"a_min": -INF, "a_max": INF}, ["int64(4)"]),
    ("nn.leaky_relu", {"alpha": 0.1}, [EDGES]),
    ("nn.leaky_relu", {}, ["float64(n, 3)"]),
    ("nn.leaky_relu", {"alpha": 0.3}, ["float16(3)"]),
    ("nn.prelu", {}, ["float32(2, 3, n)", "float32(3)"]),
    ("nn.prelu", {"axis": -1}, ["float64(2, n)", "float64(n)"]),
    ("nn.prelu", {"axis": 0}, ["float32(1, 4)", "float32(1)"]),
]

EXAMPLES += [("log10", {}, [data]) for data in ("float32(3, n) in 0.01..99", "float16(7) in 0.1..9")]
