"""Examples of resizing: all methods and coordinate transformations, up and down."""

from tvmlite.relay.ir.types import dim

METHODS = ("nearest_neighbor", "linear", "cubic")
MODES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn")
ROUNDINGS = ("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
H, W = dim("h"), dim("w")


def _mode(name: str) -> dict[str, str]:
    return {"coordinate_transformation_mode": name}


EXAMPLES = [
    *(
        ("image.resize2d", {"size": (5, 9), "method": m, **_mode(t)}, ["float32(1, 2, 4, 3)"])
        for m in METHODS
        for t in (*MODES, "align_corners", "asymmetric")
    ),
    *(
        ("image.resize2d", {"size": (3, 1), "method": m, **_mode(t)}, ["float32(1, 2, 4, 7)"])
        for m in METHODS
        for t in ("pytorch_half_pixel", "align_corners", "tf_crop_and_resize")
    ),
    *(
        (
            "image.resize2d",
            {"size": (6, 5), "method": "nearest_neighbor", "rounding_method": r, **_mode(t)},
            ["float32(1, 2, 4, 3)"],
        )
        for r in ROUNDINGS
        for t in ("half_pixel", "align_corners")
    ),
    *(
        (
            "image.resize2d",
            {"size": (2 * H, 2 * W), "method": m, **_mode("asymmetric")},
            ["float32(1, 2, h, w)"],
        )
        for m in METHODS
    ),
    (
        "image.resize2d",
        {"size": (H, 7), "method": "linear", **_mode("align_corners")},
        ["float32(1, 2, 3, w)"],
    ),
    (
        "image.resize2d",
        {"size": (7, 6), "scales": (1.8, 2.1), "method": "cubic", "cubic_alpha": -0.75, "cubic_exclude": 1},
        ["float32(1, 2, 4, 3)"],
    ),
    (
        "image.resize2d",
        {
            "size": (4, 3),
            "roi": (-0.2, 0.1, 0.8, 1.3),
            "extrapolation_value": 7.5,
            "method": "linear",
            **_mode("tf_crop_and_resize"),
        },
        ["float32(1, 2, 5, 6)"],
    ),
    ("image.resize2d", {"size": (4, 6), "method": "nearest_neighbor"}, ["uint8(1, 2, 2, 3) in 0..255"]),
    ("image.resize2d", {"size": (4, 6), "method": "linear"}, ["float16(1, 2, 2, 3)"]),
    *(("image.resize1d", {"size": (7,), "method": m}, ["float32(2, 3, n)"]) for m in METHODS),
    *(("image.resize3d", {"size": (3, 4, 3), "method": m}, ["float32(1, 1, 2, 2, 4)"]) for m in METHODS),
    *(  # an integer factor repeats each element, whatever the extents
        (
            "image.resize2d",
            {"size": (H * 2, W * 3), **repeated, **_mode("asymmetric")},
            [f"float32(1, 2, h, w{lane})"],
        )
        for lane, repeated in (
            ("", {"method": "nearest_neighbor", "scales": (2.0, 3.0)}),
            ("", {"method": "nearest_neighbor", "rounding_method": "floor"}),
            (", 16", {"method": "nearest_neighbor", "scales": (2.0, 3.0), "layout": "NCHW16c"}),
        )
    ),
]
