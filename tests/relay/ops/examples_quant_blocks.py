"""Examples of block-wise dequantization: int8 and uint8, a shorter last block, open extents."""

SCALES, POINTS = "float32(2, 3) in 0.01..0.1", "int8(2, 3) in -9..9"

EXAMPLES = [
    ("qnn.contrib_dequantize_blocks", {"axis": 1, "block": 4}, ["int8(2, 11) in -128..127", SCALES, POINTS]),
    (
        "qnn.contrib_dequantize_blocks",
        {"axis": 0, "block": 8, "bits": 4},
        ["uint8(16, n) in 0..15", "float16(2, n) in 0.01..0.1", "uint8(2, n) in 0..15"],
    ),
]
