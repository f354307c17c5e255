"""Examples of quantisation: ties, saturation, one scale or one for each channel."""

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
    ("nn.contrib_lookup", {}, ["uint8(2, n) in 0..255", "uint8(256) in 0..255"]),
    ("nn.contrib_lookup", {}, ["int8(n, 3) in -128..127", "float32(256)"]),
]
