"""Examples of decision trees."""

import numpy as np

NAN, INF = float("nan"), float("inf")
NODES = np.array(
    [
        *[
            (0, 1, 2),
            (1, 1, 1),
            (3, 3, 4),
            (0, 3, 3),
            (0, 4, 4),
        ],  # the features of the second leaf are never read
        *[(2, 6, 7), (0, 6, 6), (1, 8, 9), (0, 8, 8), (0, 9, 9)],
        (0, 10, 10),
    ]
)
MANY = np.tile([0, 5, 10, 5, 0, 2, 7], 3)
THRESHOLDS = [0.25, 0, -1, NAN, INF, 0.5, 1, 0, -INF, 2, 0]
WEIGHTS = np.random.default_rng(0).standard_normal((11, 3))
EDGES = np.array([[NAN, 0, 0, NAN], [0.25, NAN, 0.5, -1], [INF, -INF, -0.0, INF], [-INF, 0.0, NAN, 0]])


def _tables(dtype: str, integers: str, roots: object, targets: int) -> list[np.ndarray]:
    numbers = [np.asarray(roots, integers), NODES.astype(integers)]
    return [*numbers, np.array(THRESHOLDS, dtype), WEIGHTS[:, :targets].astype(dtype)]


EXAMPLES = [
    ("tree_ensemble", {}, ["float32(n, 4)", *_tables("float32", "int64", [0], 1)]),
    ("tree_ensemble", {}, ["float32(37, 4)", *_tables("float32", "uint32", MANY, 3)]),
    ("tree_ensemble", {}, [EDGES, *_tables("float64", "int32", MANY, 2)]),
    *(
        ("tree_ensemble", {"aggregate": how}, ["float32(n, 5)", *_tables("float32", "int32", MANY, 1)])
        for how in ("min", "max", "sum")
    ),
    ("tree_ensemble", {}, ["float64(n, 4)", *_tables("float64", "int64", MANY[:8], 1)], {"dims": {"n": 16}}),
    ("tree_ensemble", {}, ["float32(0, 4)", *_tables("float32", "int64", MANY, 1)]),
]
