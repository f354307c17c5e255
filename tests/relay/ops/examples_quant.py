"""Examples of quantization: ties, saturation, one scale or one per channel."""

import numpy as np

TIES = np.array([0.25, 0.75, 1.25, -0.25, -0.75, 1e9, -1e9, np.inf, -np.inf, np.nan], np.float32)
HALF = np.array(0.5, np.float32)

EXAMPLES = [
    *(("qnn.quantize", {"out_dtype": t}, [TIES, HALF, np.array(3, t)]) for t in ("int8", "uint8", "int32")),
    ("qnn.quantize", {"axis": 1}, ["float32(2, 3, n)", "float32(3) in 0.01..0.1", "int8(3)"]),
    ("qnn.quantize", {"out_dtype": "uint8"}, ["float32(n)", "float32(1) in 0.01..0.1", "uint8(1)"]),
    ("qnn.quantize", {}, ["float16(5)", "float16() in 0.1..0.2", "int8()"]),
    ("qnn.dequantize", {}, ["int8(2, n) in -128..127", "float32()", "int8()"]),
    ("qnn.dequantize", {"axis": 0}, ["uint8(n, 3) in 0..255", "float32(n)", "uint8(n) in 0..255"]),
    ("qnn.dequantize", {"axis": -1}, ["int32(2, 3)", "float32(3)", "int32()"]),
    ("qnn.dequantize", {"out_dtype": "float16"}, ["int8(2, 3)", "float16(1)", "int8(1)"]),
    ("nn.contrib_lookup", {}, ["uint8(n) in 0..255", "uint8(256) in 0..255"]),
    ("nn.contrib_lookup", {}, ["int8(200) in -128..127", "int8(256) in -128..127"]),
]

# TVM's quantized operators. Scales are chosen so that most results do not saturate.
SCALES = ["float32() in 0.02..0.03", "int32()"]
VECTOR = ["float32(3) in 0.02..0.03", "int32(3)"]
BYTES = "int8(2, 3) in -128..127"
REAL = ["float32() in 0.001..0.3", "int32()", "float32() in 0.01..0.02", "int32()"]
PAIR = [*SCALES, *SCALES, "float32() in 0.03..0.05", "int32()"]
ZEROS = ["int32()", "int32()", "float32() in 0.1..0.2", "float32() in 0.1..0.2"]
BY_CHANNEL = ["int32()", "int32(4)", "float32() in 0.1..0.2", "float32(4) in 0.1..0.2"]
POOLED = {"pool_size": (2, 2), "padding": (1, 1)}

EXAMPLES += [
    *(
        (
            "qnn.requantize",
            {"rounding": r, "compute_dtype": c, "out_dtype": "uint8"},
            [data, *SCALES, *SCALES],
        )
        for r in ("UPWARD", "TONEAREST")
        for c in ("int64", "float32", "float64")
        for data in ("int32(2, n) in -300..300", np.arange(-7, 9, dtype=np.int32))
    ),
    *(
        ("qnn.requantize", {"rounding": r, "out_dtype": "int32"}, [np.arange(-9, 9, dtype=np.int32), *halves])
        for r in ("UPWARD", "TONEAREST")
        for halves in (
            [
                np.array(0.5, np.float32),
                np.array(0, np.int32),
                np.array(1, np.float32),
                np.array(3, np.int32),
            ],
            [
                np.array(6, np.float32),
                np.array(1, np.int32),
                np.array(0.25, np.float32),
                np.array(0, np.int32),
            ],
            [
                np.array(1e-30, np.float32),
                np.array(0, np.int32),
                np.array(1, np.float32),
                np.array(0, np.int32),
            ],
        )
    ),
    ("qnn.requantize", {"axis": 1}, ["int32(2, 3, n) in -300..300", *VECTOR, *SCALES]),
    *((f"qnn.{name}", {}, [BYTES, BYTES, *PAIR]) for name in ("add", "subtract", "mul")),
    *((f"qnn.{name}", {}, ["uint8(2, 1, n)", "uint8(3, 1)", *PAIR]) for name in ("add", "subtract", "mul")),
    *((f"qnn.{name}", {}, ["int16(2, n)", "int16(2, n)", *PAIR]) for name in ("add", "mul")),
    *((f"qnn.{name}", {}, ["int32(2, 3)", "int32(3)", *PAIR]) for name in ("subtract", "mul")),
    ("qnn.add", {"lhs_axis": 1}, [BYTES, "int8(3)", *VECTOR, *SCALES, *SCALES]),
    *((f"qnn.{name}", {}, [BYTES, *REAL]) for name in ("abs", "erf", "hardswish", "sigmoid", "tanh")),
    *((f"qnn.{name}", {}, ["uint8(2, n)", *REAL]) for name in ("abs", "erf", "hardswish", "sigmoid", "tanh")),
    *(
        (f"qnn.{name}", {}, [f"{t}(2, 3) in 10..120", *REAL])
        for name in ("exp", "log", "rsqrt", "sqrt")
        for t in ("int8", "uint8")
    ),
    ("qnn.leaky_relu", {"alpha": 0.3}, ["int8(4, n) in -128..127", *REAL]),
    ("qnn.leaky_relu", {"alpha": 0.01}, ["uint8(40)", *SCALES, *SCALES]),
    ("qnn.softmax", {}, ["int8(4, n) in -40..40", *REAL]),
    (
        "qnn.softmax",
        {"axis": 1},
        ["int8(2, 5, 3) in -40..40", *SCALES, np.array(1 / 256, np.float32), np.array(-128, np.int32)],
    ),
    ("qnn.avg_pool2d", POOLED, ["int8(1, 5, 4, 3) in -128..127", *REAL]),
    (
        "qnn.avg_pool2d",
        {**POOLED, "layout": "NCHW", "count_include_pad": False},
        ["uint8(1, 2, 5, n)", *REAL],
    ),
    ("qnn.conv2d", {"padding": (1, 1)}, ["uint8(1, 3, 6, n)", "int8(4, 3, 3, 3)", *ZEROS]),
    ("qnn.conv2d", {"groups": 2, "strides": (2, 2)}, ["int8(1, 4, 6, 5)", "uint8(4, 2, 3, 3)", *BY_CHANNEL]),
    ("qnn.conv2d_transpose", {"strides": (2, 2)}, ["uint8(1, 3, 4, n)", "int8(3, 4, 3, 3)", *ZEROS]),
    ("qnn.conv2d_transpose", {"padding": (1, 1)}, ["int8(1, 3, 4, 4)", "int8(3, 4, 3, 3)", *BY_CHANNEL]),
    ("qnn.dense", {"units": 4}, ["uint8(3, n)", "int8(4, n)", *ZEROS]),
    ("qnn.dense", {}, ["int8(2, 3, 5)", "uint8(4, 5)", *BY_CHANNEL]),
    ("qnn.batch_matmul", {}, ["uint8(2, 3, n)", "int8(2, 4, n)", *ZEROS]),
    ("qnn.batch_matmul", {}, ["int8(2, 3, 5)", "int8(2, 4, 5)", *ZEROS]),
]

TWO = [
    ["uint8(2, 3) in 0..255", "uint8(2, n) in 0..255"],
    ["float32() in 0.02..0.03", "float32(1) in 0.02..0.03"],
]
FLOATS = ["float32(2, 3) in -4..4", *VECTOR]

EXAMPLES += [
    *(
        (
            "qnn.concatenate",
            {"axis": axis},
            [*TWO, ["int32()", "int32(1)"], "float32() in 0.02..0.03", "int32()"],
        )
        for axis in (1, -1)
    ),
    *(
        ("qnn.simulated_quantize", {"out_dtype": kind}, FLOATS)
        for kind in ("int8", "uint8", "int32", "disable")
    ),
    *(("qnn.simulated_dequantize", {"in_dtype": kind}, FLOATS) for kind in ("int8", "uint8", "disable")),
    *(
        ("qnn.contrib_dense_pack", {"weight_layout": layout, "units": 13}, [BYTES, weight, *ZEROS])
        for layout, weight in (("NC8n", "int8(2, 3, 8)"), ("NC16n", "uint8(1, 3, 16)"))
    ),
]
