"""Examples of recurrent layers: directions, lengths, gate functions, odd and even sizes."""

import numpy as np

S, T = ("sigmoid", 0.0, 0.0), ("tanh", 0.0, 0.0)
LENGTHS = np.array([4, 0, 2], np.int32)
OTHERS = (
    ("relu", 0.0, 0.0),
    ("softsign", 0.0, 0.0),
    ("affine", 0.5, 0.1),
    ("leakyrelu", 0.1, 0.0),
    ("scaledtanh", 1.5, 0.5),
    ("hardsigmoid", 0.2, 0.5),
)

EXAMPLES = [
    (
        "nn.rnn_scan",
        {"activations": (T,)},
        ["float32(t, 3, 5)", "float32(1, 5, 1, 16)", "float32(3, 5)", LENGTHS],
    ),
    *(
        (
            "nn.rnn_scan",
            {"activations": (function,), "reverse": True, "clip": 2.0},
            ["float64(3, b, 2)", "float64(1, 2, 1, 16)", "float64(b, 2)", "int64(b) in 0..4"],
        )
        for function in OTHERS
    ),
    *(
        (
            "nn.gru_scan",
            {"activations": (S, T), "linear_before_reset": before, "reverse": before},
            ["float32(4, 3, 48)", "float32(1, 16, 3, 16) in -1..1", "float32(48)", "float32(3, 16)", LENGTHS],
        )
        for before in (False, True)
    ),
    (
        "nn.lstm_scan",
        {"activations": (S, T, T), "reverse": True},
        [
            "float32(4, 3, 64)", "float32(1, 16, 4, 16) in -1..1", "float32(48)",
            "float32(3, 16)", "float32(3, 16)", LENGTHS,
        ],
    ),
    *(
        (
            "nn.lstm_scan",
            {"activations": (S, T, T), "with_peephole": True, "input_forget": coupled, "clip": 1.0},
            [
                "float32(t, b, 12)", "float32(1, 3, 4, 16)", "float32(9)",
                "float32(b, 3)", "float32(b, 3)", "int32(b) in 0..5",
            ],
        )
        for coupled in (False, True)
    ),
    *(
        (
            "nn.quantized_lstm_scan",
            {"activations": (S, T, T), **attrs},
            [
                f"float32(5, {batch}, {4 * size})", f"int8({blocks}, {quads}, 4, 64) in -9..9",
                f"float32({3 * size})", f"float32({4 * size}) in 0..0.01", f"int32({4 * size}) in -9..9",
                f"int32({4 * size}) in -99..99", f"float32({batch}, {size})", f"float32({batch}, {size})",
                f"int32({batch}) in 0..5",
            ],
        )
        for size, blocks, quads, batch, attrs in [
            (16, 1, 4, 2, {}),
            (19, 2, 5, 5, {"with_peephole": True, "reverse": True}),
            (3, 1, 1, "b", {"input_forget": True, "clip": 1.0}),
        ]
    ),
    (
        "nn.lstm_scan",
        {"activations": (S, T, T)},
        [
            "float16(2, 1, 8)", "float16(1, 2, 4, 16)", "float16(6)",
            "float16(1, 2)", "float16(1, 2)", "int64(1) in 2..3",
        ],
    ),
]  # fmt: skip
