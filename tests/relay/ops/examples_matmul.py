"""Examples of matrix products: transposed, packed, batched, with all dtypes."""

SIDES = [(a, b) for a in (False, True) for b in (False, True)]

EXAMPLES = [
    ("nn.dense", {}, ["float32(3, 5)", "float32(4, 5)"]),
    ("nn.dense", {"units": 4}, ["float32(n, 5)", "float32(4, 5)"]),
    ("nn.dense", {}, ["float32(2, n, 5)", "float32(4, 5)"]),
    ("nn.dense", {}, ["float32(5)", "float32(4, 5)"]),
    ("nn.dense", {"out_dtype": "int32"}, ["int8(3, 5) in -128..127", "int8(4, 5) in -128..127"]),
    ("nn.dense", {}, ["float16(3, 5)", "float16(4, 5)"]),
    ("nn.contrib_dense_pack", {"weight_layout": "NC4n2c"}, ["float32(3, 6)", "float32(2, 3, 4, 2)"]),
    ("nn.contrib_dense_pack", {"weight_layout": "NC4n"}, ["float32(3, 5)", "float32(2, 5, 4)"]),
    ("nn.contrib_dense_pack", {"weight_layout": "NC4n", "units": 6}, ["float32(n, 5)", "float32(2, 5, 4)"]),
    ("nn.contrib_dense_pack", {"units": 17}, ["float32(2, n, 3)", "float32(2, 3, 16)"]),
    ("nn.contrib_dense_pack24", {"units": 70}, ["float32(2, 5)", "uint32(1, 5, 2, 3, 16) in 0..4000000"]),
    (
        "nn.contrib_dense_pack24",
        {"units": 100, "weight_layout": "NC64n"},
        ["float32(2, n, 3)", "uint32(2, 3, 1, 3, 16) in 1000000000..1100000000"],
    ),
    *(
        (
            "nn.contrib_dense_winograd",
            {"weight_layout": f"NC{n}n", **attrs},
            [data, f"float32(2, {k}, {n})", f"float32({k})", f"float32(2, 2, {n})"],
        )
        for attrs, data, k, n in [
            ({}, "float32(5, 6)", 6, 4),
            ({"units": 7}, "float32(n, 16)", 16, 4),
            ({"units": 17}, "float32(2, n, 8)", 8, 16),
            ({}, "float32(32)", 32, 2),
        ]
    ),
    *(
        ("nn.matmul", {"transpose_a": a, "transpose_b": b}, [f"float32({x})", f"float32({y})"])
        for a, b in SIDES
        for x, y in [("5, 3" if a else "3, 5", "4, 5" if b else "5, 4")]
    ),
    ("nn.matmul", {}, ["float64(n, k)", "float64(k, m)"]),
    ("nn.matmul", {}, ["int32(3, 2)", "int32(2, 5)"]),
    *(
        ("nn.batch_matmul", {"transpose_a": a, "transpose_b": b}, [f"float32(2, {x})", f"float32(2, {y})"])
        for a, b in SIDES
        for x, y in [("5, 3" if a else "3, 5", "4, 5" if b else "5, 4")]
    ),
    ("nn.batch_matmul", {"transpose_b": False}, ["float32(n, m, 3)", "float32(n, 3, m)"]),
    *(
        (
            "nn.batch_matmul",
            {"transpose_b": False, "out_dtype": "int32"},
            [f"{left}(2, 3, k) in 0..127", f"{right}(2, k, 5) in 0..127"],
        )
        for left, right in (("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8"))
    ),
    ("nn.batch_matmul", {}, ["float32(1, 2, k)", "float32(n, 3, k)"]),
    ("nn.batch_matmul", {}, ["float16(2, 2, 3)", "float16(1, 3, 3)"]),
]
