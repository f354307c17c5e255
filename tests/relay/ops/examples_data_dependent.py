"""Examples of operators whose output extents are known only at run time."""

import numpy as np

from tvmlite.relay.ir.types import dim

n, h = dim("n"), dim("h")
SPARSE = np.array([[0, 2, 0], [1, 0, 3]], np.float32)
BOXES = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11, 0, 10.1]]])
SCORES = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5], [0.1, 0.2, 0.2, 0.05, 0.9]]], np.float32)


def suppressed(most: int, overlap: float, least: float) -> list[np.ndarray]:
    """Return the arguments of a non-maximum suppression of ``BOXES``."""
    limits = [np.array([most]), np.array([overlap], np.float32), np.array([least], np.float32)]
    return [BOXES.astype(np.float32), SCORES, *limits]


NMS = "vision.all_class_non_max_suppression"
EXAMPLES = [
    ("count_nonzero", {}, [SPARSE]),
    ("count_nonzero", {}, [np.array(True)]),
    ("count_nonzero", {}, ["int8(h, 0)"]),
    ("argwhere", {"count": 3}, [SPARSE]),
    ("argwhere", {"count": n}, [np.array([[[True]], [[False]]])], {"dims": {"n": 1}}),
    ("argwhere", {"count": 0}, ["int8(h, 0)"]),
    ("strided_window", {"begin": (1, 3), "strides": (1, -2), "shape": (n, 2)}, ["float32(h, 5)"],
     {"dims": {"n": 2, "h": 3}}),
    ("strided_window", {"begin": (n - 2,), "strides": (n - 3,), "shape": (2,)}, ["int64(5)"],
     {"dims": {"n": 4}}),
    (NMS, {}, suppressed(3, 0.5, 0.0)),
    (NMS, {}, suppressed(1, 0.0, 0.55)),
    (NMS, {"center_point_box": True}, suppressed(9, 0.3, 0.1)),
    (NMS, {}, suppressed(0, 0.5, 0.0)),
]  # fmt: skip
