"""Examples of dense layers of weights in groups: both widths, tails, one zero point for all, open rows."""

NAME = "nn.contrib_dense_group_quantized"

EXAMPLES = [
    (
        NAME,
        {"bits": bits, "group": group},
        [data, f"uint8(5, {groups}, {group * bits // 8}) in 0..256", f"{kind}(5, {groups}) in 0.1..1", zeros],
    )
    for bits, group, data, groups, kind, zeros in [
        (4, 16, "float32(3, 32)", 2, "float32", "uint8(5, 2) in 0..16"),
        (4, 16, "float32(n, 19)", 2, "float16", "uint8(1, 1) in 8..9"),
        (8, 4, "float32(2, n, 8)", 2, "float32", "float32(5, 2) in 0..256"),
        (8, 3, "float32(7)", 3, "float32", "uint8(5, 3) in 0..256"),
        (4, 6, "float16(2, 7)", 2, "float16", "uint8(5, 2) in 0..16"),
    ]
] + [
    (
        NAME,
        {"bits": bits, "group": group, "data_bits": 8},
        [data, f"uint8(5, {groups}, {group * bits // 8}) in 0..256", f"float32(5, {groups}) in 0.1..1", zeros],
    )
    for bits, group, data, groups, zeros in [
        (4, 16, "float32(3, 32)", 2, "uint8(5, 2) in 0..16"),
        (4, 16, "float32(n, 19)", 2, "uint8(1, 1) in 8..9"),
        (8, 4, "float32(2, n, 8)", 2, "float32(5, 2) in 0..256"),
        (8, 3, "float32(7)", 3, "uint8(5, 3) in 0..256"),
        (4, 6, "float16(2, 7)", 2, "uint8(5, 2) in 0..16"),
    ]
] + [
    (
        "nn.contrib_dense_group_pack" + suffix,
        {"bits": bits, "group": group, "units": units},
        [
            data,
            f"uint32(2, {words}, {columns}) in 0..4294967296",
            f"float32(2, {groups}, {columns})",
            *offset,
        ],
    )
    for suffix, bits, group, units, data, words, groups, columns, offset in [
        ("", 4, 16, 9, "float32(2, 24)", 4, 2, 8, []),
        ("", 8, 4, 8, "float32(n, 9)", 3, 3, 4, []),
        ("_offset", 4, 8, 16, "float32(7, 8)", 1, 1, 8, ["int8(2, 1, 8) in -8..8"]),
        ("_offset", 8, 8, 5, "float32(3, n, 9)", 4, 2, 4, ["float32(2, 2, 4)"]),
    ]
]
