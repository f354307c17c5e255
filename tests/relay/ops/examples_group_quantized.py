"""Examples of dense layers with group-quantized weights: both bit widths, tails, one zero point for all, open
rows, and data in 8 bits."""

from typing import Any

NAME = "nn.contrib_dense_group_quantized"

LAYERS = [
    (4, 16, "float32(3, 32)", 2, "float32", "uint8(5, 2) in 0..16"),
    (4, 16, "float32(n, 19)", 2, "float16", "uint8(1, 1) in 8..9"),
    (8, 4, "float32(2, n, 8)", 2, "float32", "float32(5, 2) in 0..256"),
    (8, 3, "float32(7)", 3, "float32", "uint8(5, 3) in 0..256"),
    (4, 6, "float16(2, 7)", 2, "float16", "uint8(5, 2) in 0..16"),
]

PACKED: list[tuple[str, int, int, int, str, int, int, int, list[str]]] = [
    ("", 4, 16, 9, "(2, {})", 24, 4, 8, []),
    ("", 8, 4, 8, "(n, {})", 9, 3, 4, []),
    ("_offset", 4, 8, 16, "({})", 8, 1, 8, ["int8(2, 1, 8) in -8..8"]),
    ("_offset", 8, 8, 5, "(3, n, {})", 9, 4, 4, ["float32(2, 2, 4)"]),
    ("_offset", 8, 4, 5, "(2, {})", 8, 2, 4, ["int16(2, 2, 4) in -128..128"]),
]


def example(data_bits: int, layer: tuple[Any, ...]) -> tuple[str, dict[str, int], list[str]]:
    """Return a layer with unpacked weights."""
    bits, group, data, groups, kind, zeros = layer
    weight = f"uint8(5, {groups}, {group * bits // 8}) in 0..256"
    attrs = {"bits": bits, "group": group, "data_bits": data_bits}
    return NAME, attrs, [data, weight, f"{kind}(5, {groups}) in 0.1..1", zeros]


def packed(parts: int, layer: tuple[Any, ...]) -> tuple[str, dict[str, int], list[str]]:
    """Return a layer with packed weights; its data are floats, or codes in ``parts`` parts."""
    suffix, bits, group, units, shape, depth, words, columns, offset = layer
    groups = -(-depth // group)
    data = [f"float32{shape.format(depth)}"]
    if parts:
        data = [f"int8{shape.format(parts * groups * group)} in -127..128", f"float32{shape.format(groups)}"]
        data.append(f"int32{shape.format(groups)} in -500..500")
    weight = [f"uint32(2, {words}, {columns}) in 0..4294967296", f"float32(2, {groups}, {columns})"]
    name = "nn.contrib_dense_group_pack" + "_codes" * (parts > 0) + suffix
    return name, {"bits": bits, "group": group, "units": units}, [*data, *weight, *offset]


EXAMPLES = [
    *(example(data_bits, layer) for data_bits in (0, 8, 16) for layer in LAYERS),
    *(packed(parts, layer) for parts in (0, 1, 2) for layer in PACKED),
    ("nn.contrib_group_codes", {"group": 8}, ["float32(2, n, 21)"]),
    ("nn.contrib_group_codes", {"group": 48}, ["float32(96)"]),
    ("nn.contrib_group_codes", {"group": 8, "data_bits": 16}, ["float32(2, n, 21)"]),
]
