"""Examples of TVM's detection operators: valid boxes, non-maximum suppression, region pooling."""

import numpy as np

_random = np.random.default_rng(3)


def boxes(dtype=np.float32):
    """Return two batches of nine boxes: class, score, corners."""
    kinds = _random.integers(-1, 3, (2, 9, 1))
    scores = _random.random((2, 9, 1))
    corners = _random.random((2, 9, 2)) * 4
    sizes = _random.random((2, 9, 2)) * 3
    return np.concatenate([kinds, scores, corners, corners + sizes], axis=2).astype(dtype)


VALID = np.array([7, 9], np.int32)
PLACES = np.stack([np.arange(9), np.arange(9)[::-1]]).astype(np.int32)
LIMITS = [np.array(-1, np.int32), np.array(0.3, np.float32)]
REGIONS = np.array(
    [[0, 1, 1, 6, 5], [1, 0.5, 2, 3.5, 2.5], [1, -4, -3, 20, 30], [0, 9, 9, 12, 11]], np.float32
)

EXAMPLES = [
    ("vision.get_valid_counts", {}, [boxes(), np.array(0.4, np.float32)]),
    ("vision.get_valid_counts", {"id_index": -1}, [boxes(), np.array(0.4, np.float32)]),
    ("vision.get_valid_counts", {"score_index": 0, "id_index": -1}, ["float64(n, 4, 5)", "float64()"]),
    *(
        ("vision.non_max_suppression", attrs, [boxes(), VALID, PLACES, *LIMITS])
        for attrs in (
            {},
            {"force_suppress": True},
            {"id_index": -1, "top_k": 4},
            {"return_indices": False},
            {"return_indices": False, "invalid_to_bottom": True, "top_k": 6},
        )
    ),
    (
        "vision.non_max_suppression",
        {"force_suppress": True},
        [boxes(), VALID, PLACES, np.array(2, np.int32), np.array(0.1, np.float32)],
    ),
    (
        "vision.non_max_suppression",
        {"return_indices": False},
        [boxes(), VALID, PLACES, np.array(-1, np.int32), np.array(0.0, np.float32)],
    ),
    *(
        (
            "vision.roi_pool",
            {"pooled_size": size, "spatial_scale": scale},
            ["float32(2, 3, h, 7)", REGIONS],
            {"dims": {"h": 6}},
        )
        for size, scale in (((2, 3), 0.75), (3, 1.0))
    ),
]
EXAMPLES += [
    ("vision.multibox_prior", {"sizes": (0.5, 0.25), "ratios": (1.0, 2.0, 0.5)}, ["float32(1, 3, 4, 5)"]),
    ("vision.multibox_prior", {"clip": True, "steps": (0.5, -1.0)}, ["float32(2, 3, h, 5)"]),
    *(
        (
            "vision.multibox_transform_loc",
            {"clip": clip, "threshold": 0.4},
            ["float32(2, 4, 5) in 0..1", "float32(2, 20)", "float32(1, 5, 4) in 0..1"],
        )
        for clip in (True, False)
    ),
    ("vision.yolo_reorg", {"stride": 2}, ["float32(n, 4, 4, 6)"]),
    ("vision.yolo_reorg", {"stride": 1}, ["float32(1, 3, 4, 6)"]),
]
EXAMPLES += [
    (name, {"pooled_size": 2, "spatial_scale": 0.75, "layout": "NHWC"}, ["float32(2, 6, 7, 3)", REGIONS])
    for name in ("vision.roi_pool", "vision.roi_align")
]

INFO = np.array([[60, 70, 1], [64, 64, 2]], np.float32)
EXAMPLES += [
    (
        "vision.proposal",
        {
            "scales": (0.5, 1.5), "ratios": (0.5, 1.0), "feature_stride": 16, "threshold": 0.5,
            "rpn_pre_nms_top_n": before, "rpn_post_nms_top_n": 9, "rpn_min_size": 12, "iou_loss": loss,
        },
        ["float32(2, 8, 4, 5) in 0..1", f"float32(2, 16, 4, 5) in {moves}", INFO],
    )
    for before, loss, moves in ((-1, False, "-0.4..0.4"), (20, True, "-9..9"), (6, False, "-0.2..0.2"))
]  # fmt: skip
