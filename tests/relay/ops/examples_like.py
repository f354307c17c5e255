"""Examples of operators that take their shape or dtype from another tensor."""

import numpy as np

from tvmlite.relay.ir.types import dim

n, h = dim("n"), dim("h")

EXAMPLES = [
    *((name, {}, [data]) for name in ("zeros_like", "ones_like") for data in ("float32(2, n)", "int8(3)")),
    ("full_like", {}, ["float32(2, n)", "float32()"]),
    ("full_like", {}, ["int32(3, 1)", "float32()"]),
    ("cast_like", {}, ["int32(2, n)", "float32(7)"]),
    ("cast_like", {}, ["float32(3)", "float32()"]),
    ("reshape_like", {}, ["float32(2, 3, 4)", "int8(6, 4)"]),
    ("reshape_like", {"lhs_begin": 1, "rhs_begin": 1}, ["float32(n, 6)", "float32(9, 2, 3)"]),
    (
        "reshape_like",
        {"lhs_begin": 1, "lhs_end": 3, "rhs_begin": 0, "rhs_end": -1},
        ["int32(30, 4, 2, 7)", "float32(8, 9)"],
    ),
    ("slice_like", {}, ["float32(5, 4)", "int8(3, 4)"]),
    ("slice_like", {"axes": (-1,)}, ["float32(n, 4, 5)", "float32(1, 1, 2)"]),
    ("slice_like", {"axes": (1, 0)}, ["float32(6, 4, 5)", "float32(n, 2, 9)"]),
    ("broadcast_to_like", {}, ["float32(3, 1)", "int32(2, 3, n)"]),
    ("broadcast_to_like", {}, ["bool()", "int32(4)"]),
    ("collapse_sum_like", {}, ["float32(2, 3, n)", "float32(3, 1)"]),
    ("collapse_sum_like", {}, ["int32(2, 3)", "int32(2, 3)"]),
    ("collapse_sum_like", {}, ["float16(5, n)", "float32(n)"]),
    ("collapse_sum_to", {"shape": (1, n)}, ["float32(7, 3, n)"]),
    ("collapse_sum_to", {"shape": (1, 3)}, ["bfloat16(7, 2, 3)"]),
    ("collapse_sum_to", {"shape": ()}, ["float64(2, 3)"]),
    ("nn.batch_flatten", {}, ["float32(n, 3, 4)"]),
    ("nn.batch_flatten", {}, ["int8(3)"]),
    ("contrib_reverse_reshape", {"newshape": (-1, 0)}, ["float32(10, 5, 4)"]),
    ("contrib_reverse_reshape", {"newshape": (20, -1, 0)}, ["float32(10, 2, 3, n)"]),
    ("ndarray_size", {}, ["float32(2, n, 3)"]),
    ("ndarray_size", {"dtype": "int64"}, [np.array(1.0)]),
    *(
        (name, {}, [data])
        for name in (
            *(f"annotation.{one}" for one in ("stop_fusion", "checkpoint", "cast_hint")),
            *(f"annotation.compiler_{one}" for one in ("begin", "end")),
            "device_copy",
            "on_device",
        )
        for data in ("float32(2, n)", "int8()")
    ),
]
