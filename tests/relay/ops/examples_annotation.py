"""Examples of annotations, which compute nothing."""

EXAMPLES = [
    ("annotation.quantize", {"layer": "conv", "tensor": "x"}, ["float32(2, n)"]),
    (
        "annotation.quantize",
        {"dtype": "int8", "channel_axis": 0, "low": -1.0, "high": 1.0},
        ["float32(2, 3)"],
    ),
]
