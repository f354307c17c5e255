"""Examples of convolutions: strides, padding, dilation, groups, packed weights, symbolic extents."""

SAME = {"padding": (1, 1, 1, 1)}
PLAIN = {"data_layout": "NCHW", "kernel_layout": "OIHW4o"}
WINOGRAD = {"data_layout": "NCHW4c", "kernel_layout": "OHWI4o"}
PAIRS = {"data_layout": "NCHW16c", "kernel_layout": "OIHW16o2i"}
TILED = {"data_layout": "NCHW32c", "kernel_layout": "OIHW16i16o2i"}
BLOCKS = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4o"}

EXAMPLES = [
    ("nn.conv1d", {}, ["float32(2, 3, 9)", "float32(4, 3, 3)"]),
    ("nn.conv1d", {"strides": (2,), "padding": (2, 1)}, ["float32(1, 3, n)", "float32(4, 3, 3)"]),
    (
        "nn.contrib_conv1d_NCWc",
        {"data_layout": "NCW", "kernel_layout": "OIW4o"},
        ["float32(1, 3, n)", "float32(2, 3, 3, 4)"],
    ),
    ("nn.conv2d", {}, ["float32(1, 3, 6, 7)", "float32(5, 3, 3, 2)"]),
    ("nn.conv2d", {"strides": 2, "padding": 1}, ["float32(2, 3, h, w)", "float32(4, 3, 3, 3)"]),
    (
        "nn.conv2d",
        {"padding": (0, 2, 1, 0), "dilation": (2, 1)},
        ["float32(1, 2, 7, w)", "float32(3, 2, 2, 3)"],
    ),
    ("nn.conv2d", {"padding": (-1, 1)}, ["float32(1, 2, 7, 4)", "float32(3, 2, 2, 3)"]),
    ("nn.conv2d", {"groups": 2, **SAME}, ["float32(1, 4, 5, 4)", "float32(6, 2, 3, 3)"]),
    ("nn.conv2d", {"groups": 4, "strides": (2, 1), **SAME}, ["float32(1, 4, 5, w)", "float32(4, 1, 3, 3)"]),
    ("nn.conv2d", {"groups": 3}, ["float32(1, 3, 5, 4)", "float32(6, 1, 3, 3)"]),
    ("nn.contrib_conv2d_NCHWc", {**PLAIN, **SAME}, ["float32(1, 3, h, w)", "float32(2, 3, 3, 3, 4)"]),
    (
        "nn.contrib_conv2d_NCHWc",
        {**PLAIN, "channels": 7, "kernel_size": (3, 3), "strides": (2, 2)},
        ["float32(n, 3, 7, 6)", "float32(2, 3, 3, 3, 4)"],
    ),
    ("nn.contrib_conv2d_NCHWc", PLAIN, ["float32(1, 3, h, w)", "float32(2, 3, 1, 1, 4)"]),
    (
        "nn.contrib_conv2d_NCHWc",
        {**PAIRS, **SAME, "data_layout": "NCHW", "strides": 2},
        ["bfloat16(1, 3, h, 6)", "bfloat16(2, 2, 3, 3, 16, 2)"],
    ),
    ("nn.contrib_strips", {"width": 7, "stride": 2, "padding": (3, 2)}, ["bfloat16(1, 3, h, 9)"]),
    ("nn.contrib_strips", {"width": 3}, ["float32(2, 4, 5, w)"]),
    (
        "nn.contrib_conv2d_NCHWc",
        {**TILED, **SAME, "strides": 2},
        ["bfloat16(1, 1, 5, 5, 32)", "bfloat16(2, 1, 3, 3, 16, 16, 2)"],
    ),
    (
        "nn.contrib_conv2d_NCHWc",
        {**TILED, "strides": 2, "channels": 32, "out_layout": "NCHW16c"},
        ["bfloat16(2, 2, 6, 7, 32)", "bfloat16(2, 2, 1, 1, 16, 16, 2)"],
    ),
    (
        "nn.contrib_conv2d_NCHWc",
        {**TILED, **SAME, "dilation": (2, 1)},
        ["bfloat16(1, 1, h, 7, 32)", "bfloat16(2, 1, 3, 3, 16, 16, 2)"],
    ),
    (
        "nn.contrib_conv2d_NCHWc",
        {
            **SAME,
            "data_layout": "NCHW8c",
            "out_layout": "NCHW",
            "kernel_layout": "OIHW16o4i",
            "channels": 20,
            "out_dtype": "int32",
        },
        ["uint8(1, 2, h, w, 8)", "int8(2, 3, 3, 3, 16, 4)"],
    ),
    ("nn.contrib_conv2d_NCHWc", PAIRS, ["bfloat16(1, 2, h, w, 16)", "bfloat16(2, 13, 1, 1, 16, 2)"]),
    (
        "nn.contrib_conv2d_NCHWc",
        {**PAIRS, **SAME, "groups": 2, "out_dtype": "float32"},
        ["bfloat16(1, 2, 4, 5, 16)", "bfloat16(4, 8, 3, 3, 16, 2)"],
    ),
    (
        "nn.contrib_conv1d_NCWc",
        {"data_layout": "NCW", "out_layout": "NCW4c", "kernel_layout": "OIW4o2i", "padding": (1, 0)},
        ["bfloat16(1, 5, n)", "bfloat16(2, 3, 3, 4, 2)"],
    ),
    (
        "nn.contrib_conv2d_NCHWc",
        {**PLAIN, "channels": 5},
        ["float32(2, 3, 3, 5)", "float32(2, 3, 1, 1, 4)"],
    ),
    (
        "nn.contrib_conv2d_NCHWc",
        {**PLAIN, "strides": 2},
        ["float32(1, 3, 5, 4)", "float32(1, 3, 1, 1, 4)"],
    ),
    ("nn.contrib_conv2d_NCHWc", {}, ["float32(1, 2, 5, 4, 16)", "float32(3, 20, 3, 2, 16)"]),
    (
        "nn.contrib_conv2d_NCHWc",
        {**BLOCKS, **SAME, "strides": 2, "dilation": (1, 2)},
        ["float32(2, 2, h, w, 4)", "float32(2, 7, 3, 3, 4)"],
    ),
    (
        "nn.contrib_conv2d_NCHWc",
        {**BLOCKS, "strides": 2, "dilation": (3, 2), "padding": (4, 1, 2, 2)},
        ["float32(1, 2, h, w, 4)", "float32(2, 7, 3, 2, 4)"],
    ),
    (
        "nn.contrib_conv2d_NCHWc",
        {**PLAIN, "dilation": (6, 6), "padding": (6, 6)},
        ["float32(1, 3, 4, 9)", "float32(2, 3, 3, 3, 4)"],
    ),
    ("nn.contrib_conv2d_NCHWc", PLAIN, ["float32(2, 3, h, 1)", "float32(2, 3, 2, 1, 4)"]),
    ("nn.contrib_conv2d_NCHWc", BLOCKS, ["float32(1, 2, 23, 1, 4)", "float32(3, 7, 3, 1, 4)"]),
    ("nn.contrib_conv2d_NCHWc", BLOCKS, ["float32(1, 2, h, w, 4)", "float32(3, 6, 1, 1, 4)"]),
    (
        "nn.contrib_conv2d_NCHWc",
        {**BLOCKS, "data_layout": "NCHW8c", "out_layout": "NCHW", "channels": 10},
        ["float32(1, 2, 3, 3, 8)", "float32(3, 16, 1, 1, 4)"],
    ),
    (
        "nn.contrib_conv2d_NCHWc",
        {**BLOCKS, "groups": 2, **SAME},
        ["float32(1, 3, 4, w, 4)", "float32(4, 5, 3, 3, 4)"],
    ),
    (
        "nn.contrib_conv2d_NCHWc",
        {**PLAIN, "out_layout": "NCHW4c", "groups": 3, "strides": (1, 2)},
        ["float32(2, 6, 4, 5)", "float32(3, 2, 2, 2, 4)"],
    ),
    (
        "nn.contrib_depthwise_conv2d_NCHWc",
        {"data_layout": "NCHW4c", "kernel_layout": "OIHW1i4o", **SAME},
        ["float32(1, 2, h, w, 4)", "float32(2, 1, 3, 3, 1, 4)"],
    ),
    (
        "nn.contrib_depthwise_conv2d_NCHWc",
        {"strides": (2, 1), "dilation": (1, 2), "padding": (2, 1)},
        ["float32(2, 1, 6, 17, 16)", "float32(1, 1, 5, 3, 1, 16)"],
    ),
    (
        "nn.contrib_depthwise_conv2d_taps",
        {"kernel_size": (3, 4), "padding": (1, 1, 1, 2)},
        ["uint8(1, 2, h, w, 16) in 0..256", "int8(2, 1, 3, 1, 16, 4) in -128..128"],
    ),
    (
        "nn.contrib_depthwise_conv2d_taps",
        {
            "data_layout": "NCHW8c",
            "kernel_layout": "OIHW8o4w",
            "kernel_size": (2, 8),
            "dilation": (2, 1),
            "strides": (1, 2),
            "out_dtype": "float32",
        },
        ["uint8(2, 1, 5, 11, 8) in 0..256", "int8(1, 1, 2, 2, 8, 4) in -128..128"],
    ),
    (
        "nn.contrib_conv1d_NCWc",
        {"data_layout": "NCW4c", "kernel_layout": "OIW4o", "strides": 2},
        ["float32(1, 1, n, 4)", "float32(1, 3, 2, 4)"],
    ),
    (
        "nn.contrib_depthwise_conv1d_NCWc",
        {"data_layout": "NCW2c", "kernel_layout": "OIW1i2o", "padding": (0, 1)},
        ["float32(2, 1, 3, 2)", "float32(1, 1, 2, 1, 2)"],
    ),
    (
        "nn.contrib_depthwise_conv3d_NCDHWc",
        {"data_layout": "NCDHW2c", "kernel_layout": "OIDHW1i2o", "strides": 2},
        ["float32(1, 1, 3, 4, 3, 2)", "float32(1, 1, 1, 2, 3, 1, 2)"],
    ),
    (
        "nn.contrib_depthwise_conv1d_NCWc",
        {"data_layout": "NCW4c", "kernel_layout": "OIW1i4o"},
        ["float32(1, 2, n, 4)", "float32(2, 1, 3, 1, 4)"],
    ),
    (
        "nn.contrib_depthwise_conv3d_NCDHWc",
        {"data_layout": "NCDHW4c", "kernel_layout": "OIDHW1i4o"},
        ["float32(1, 2, 3, 4, 5, 4)", "float32(2, 1, 2, 3, 2, 1, 4)"],
    ),
    ("nn.conv2d", SAME, ["float16(1, 3, 4, 5)", "float16(2, 3, 3, 3)"]),
    (
        "nn.conv2d",
        {"out_dtype": "int32", **SAME},
        ["uint8(1, 3, 4, 5) in 0..255", "int8(2, 3, 3, 3) in -128..127"],
    ),
    ("nn.conv2d", {}, ["float64(1, 2, 4, 5)", "float64(2, 2, 3, 3)"]),
    ("nn.conv3d", {"padding": (1, 0, 1, 0, 1, 1)}, ["float32(1, 2, 4, 5, w)", "float32(3, 2, 2, 3, 2)"]),
    ("nn.conv3d", {"groups": 2, "strides": (1, 2, 1)}, ["float32(1, 2, 4, 5, 3)", "float32(2, 1, 2, 3, 2)"]),
    (
        "nn.contrib_conv3d_NCDHWc",
        {"data_layout": "NCDHW", "kernel_layout": "OIDHW2o"},
        ["float32(1, 2, 3, 2, 3)", "float32(2, 2, 1, 1, 1, 2)"],
    ),
    (
        "nn.contrib_conv3d_NCDHWc",
        {"data_layout": "NCDHW2c", "kernel_layout": "OIDHW2o", "padding": (1, 0, 1)},
        ["float32(1, 2, 3, 2, 3, 2)", "float32(2, 3, 2, 1, 2, 2)"],
    ),
    ("nn.conv1d_transpose", {"strides": (2,)}, ["float32(1, 3, 5)", "float32(3, 2, 4)"]),
    ("nn.conv1d_transpose", {"padding": (1, 2)}, ["float32(2, 3, n)", "float32(3, 2, 3)"]),
    ("nn.conv2d_transpose", {}, ["float32(1, 2, h, w)", "float32(2, 3, 3, 2)"]),
    (
        "nn.conv2d_transpose",
        {"strides": (2, 2), "padding": (1, 1, 1, 1), "output_padding": (1, 1)},
        ["float32(1, 2, h, 3)", "float32(2, 3, 3, 3)"],
    ),
    (
        "nn.conv2d_transpose",
        {"strides": (3, 2), "output_padding": (2, 0), "dilation": (2, 1), "groups": 2},
        ["float32(2, 4, 3, 4)", "float32(4, 3, 2, 1)"],
    ),
    (
        "nn.conv2d_transpose",
        {"strides": (2, 2), "padding": (1, 1)},
        ["float32(1, 2, h, 4)", "float32(2, 3, 4, 4)"],
    ),
    (
        "nn.conv2d_transpose",
        {"strides": (2, 3), "padding": (3, 2, 0, 5)},
        ["float32(1, 2, 6, w)", "float32(2, 3, 3, 4)"],
    ),
    ("nn.conv2d_transpose", {"strides": (2, 2)}, ["float32(1, 3, 4, 4)", "float32(3, 2, 2, 2)"]),
    ("nn.conv2d_transpose", {"strides": (2, 1)}, ["float16(1, 3, 2, 3)", "float16(3, 2, 2, 3)"]),
    ("nn.conv3d_transpose", {"strides": (1, 2, 1)}, ["float32(1, 2, 2, 3, 2)", "float32(2, 1, 2, 3, 2)"]),
    (
        "nn.conv3d_transpose",
        {"padding": (0, 1, 1), "groups": 2},
        ["float32(1, 2, 2, 3, w)", "float32(2, 2, 2, 3, 3)"],
    ),
    (
        "nn.contrib_conv2d_winograd_weight_transform",
        {"tile_size": 2},
        ["float32(3, 5, 3, 3)"],
    ),
    (
        "nn.contrib_conv2d_winograd_weight_transform",
        {"tile_size": 4},
        ["float64(5, n, 3, 3)"],
    ),
    (
        "nn.contrib_conv2d_winograd_without_weight_transform",
        {**WINOGRAD, "tile_size": 2, **SAME},
        ["float32(2, 2, 5, 6, 4)", "float32(3, 4, 4, 7, 4)"],
    ),
    (
        "nn.contrib_conv2d_winograd_without_weight_transform",
        {**WINOGRAD, "tile_size": 2, "channels": 5, "padding": (0, 2, 1, 0)},
        ["float32(b, 1, h, w, 4)", "float32(2, 4, 4, 3, 4)"],
    ),
    (
        "nn.contrib_conv2d_winograd_without_weight_transform",
        {"tile_size": 4, "padding": (-1, 1)},
        ["float64(1, 1, 7, 9, 16)", "float64(2, 6, 6, 16, 16)"],
    ),
    (
        "nn.contrib_conv2d_winograd_without_weight_transform",
        {**WINOGRAD, "tile_size": 4, **SAME},
        ["float32(1, 3, h, 8, 4)", "float32(2, 6, 6, 12, 4)"],
    ),
]
