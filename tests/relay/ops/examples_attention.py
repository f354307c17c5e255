"""Examples of attention with all arrangements of heads, masks and layouts, and of smooth activations."""

import numpy as np

WIDE = np.array([-200, -30, -3, -1, -0.0, 0.5, 1, 4, 25, 200], np.float32)
HIDDEN = np.where(np.arange(5) < 3, 0, -np.inf).astype(np.float32)

Q, K, V = "float32(2, 4, s, 6)", "float32(2, 4, t, 6)", "float32(2, 4, t, 5)"
SCALAR = np.zeros((), np.float32)

EXAMPLES = [
    ("nn.attention", {}, [Q, K, V, SCALAR]),
    ("nn.attention", {"scale": 0.25, "layout": "bshd"}, [Q, K, V, "float32(2, 1, s, t)"]),
    ("nn.attention", {"layout": "sbhd"}, [Q, K, V, "float32(s, t)"], {"dims": {"s": 19, "t": 37}}),
    ("nn.attention", {"scale": -1.0}, ["float32(1, 4, 3, 8)", *["float32(1, 2, 5, 8)"] * 2, HIDDEN]),
    ("nn.attention", {}, ["float32(b, 6, 1, 4)", *["float32(b, 1, 5, 4)"] * 2, "float32(b, 1, 1, 5)"]),
    ("nn.attention", {}, ["float16(1, 2, 3, 4)", *["float16(1, 2, 5, 4)"] * 2, np.zeros((), np.float16)]),
    (
        "nn.attention",
        {"zero_hidden": True},
        [
            "float32(1, 1, 2, 4)",
            *["float32(1, 1, 5, 4)"] * 2,
            np.array([[0], [-np.inf]], np.float32) + HIDDEN,
        ],
    ),
    *(
        (
            "nn.attention",
            {"layout": "bshd"},
            [f"float32(1, 2, 9, {n})", *[f"float32(1, 2, t, {n})"] * 2, SCALAR],
        )
        for n in (24, 26)
    ),
    ("nn.gelu", {}, [WIDE]),
    ("nn.gelu", {"approximate": "tanh"}, [WIDE]),
    ("nn.gelu", {}, ["float16(3, n)"]),
    *((name, {}, [WIDE]) for name in ("nn.silu", "nn.hard_swish", "nn.mish")),
    *((name, {}, ["float16(3, n)"]) for name in ("nn.silu", "nn.hard_swish", "nn.mish")),
]
