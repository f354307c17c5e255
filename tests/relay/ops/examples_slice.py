"""Examples of slicing, concatenation and padding."""

from tvmlite.relay.ir.types import dim

n, h, w = dim("n"), dim("h"), dim("w")
FAR = 2**63 - 1


def cut(begin, end, strides=None, axes=None, **more):
    return {"begin": begin, "end": end, "strides": strides, "axes": axes, **more}


EXAMPLES = [
    ("strided_slice", cut((1, 0), (4, 3)), ["float32(5, 4)"]),
    ("strided_slice", cut((-3,), (FAR,), axes=(1,)), ["float32(2, 7)"]),
    ("strided_slice", cut((10, -1), (-10, -100), (-2, -1), (1, -1)), ["int64(2, 7, 4)"]),
    ("strided_slice", cut((5,), (2,)), ["float32(4, 3)"]),
    ("strided_slice", cut((0,), (6,), (4,)), ["bool(6)"]),
    ("strided_slice", cut((1, 0), (2, -1), slice_mode="size"), ["float32(5, 4)"]),
    ("strided_slice", cut((1,), (FAR,)), ["float32(n, 3)"]),
    ("strided_slice", cut((1,), (FAR,)), ["float32(n, 3)"], {"dims": {"n": 1}}),
    ("strided_slice", cut((0,), (-1,)), ["float32(n, 3)"]),
    ("strided_slice", cut((-2,), (n,)), ["float32(n, 3)"], {"dims": {"n": 7}}),
    ("strided_slice", cut((-1,), (-FAR,), (-1,)), ["float16(n)"], {"dims": {"n": 5}}),
    ("strided_slice", cut((-2,), (1,), (-2,)), ["int32(n, 2)"], {"dims": {"n": 9}}),
    ("strided_slice", cut((1,), (h,), axes=(0,)), ["float32(5, 3)"], {"dims": {"h": 3}}),
    ("strided_slice", cut((1,), (h,), axes=(0,)), ["float32(5, 3)"], {"dims": {"h": 9}}),
    ("strided_slice", cut((h,), (h + 2,), axes=(0,)), ["float32(n, 3)"], {"dims": {"h": 2, "n": 9}}),
    ("strided_slice", cut((h - 5,), (n,), (3,)), ["float32(n, 3)"], {"dims": {"h": 2, "n": 8}}),
    ("split", {"indices_or_sections": 3}, ["float32(6, n)"]),
    ("split", {"indices_or_sections": (2, 3), "axis": -1}, ["int64(2, 7)"]),
    ("split", {"indices_or_sections": 1, "axis": 1}, ["bool(2, n)"]),
    ("split", {"indices_or_sections": (1,)}, ["float16(n)"]),
    ("concatenate", {"axis": 1}, ["float32(2, 3)", "float32(2, 1)", "float32(2, 4)"]),
    ("concatenate", {"axis": -1}, ["int64(n, 2)", "int64(n, h)"], {"dims": {"h": 3}}),
    ("concatenate", {}, ["bool(3)"]),
    ("concatenate", {}, ["float16(n)", "float16(0)", "float16(n)"]),
    ("stack", {}, ["float32(2, n)", "float32(2, n)", "float32(2, n)"]),
    ("stack", {"axis": -1}, ["int8(3)", "int8(3)"]),
    ("stack", {"axis": 1}, ["float64(2, 3)"]),
    ("nn.pad", {"pad_width": ((0, 0), (1, 2))}, ["float32(3, 5)"]),
    ("nn.pad", {"pad_width": ((2, 0), (-1, 2)), "pad_value": 7}, ["int64(n, 5)"]),
    ("nn.pad", {"pad_width": ((-1, -1), (0, -2))}, ["float32(n, 5)"]),
    ("nn.pad", {"pad_width": ((1, 1),), "pad_value": float("-inf")}, ["float16(3)"]),
    ("nn.pad", {"pad_width": ((h, 1),), "pad_value": True}, ["bool(n)"]),
    ("nn.pad", {"pad_width": ((1, 2), (0, 3)), "pad_mode": "edge"}, ["float32(n, 3)"]),
    ("nn.pad", {"pad_width": ((7, 9), (-1, 1)), "pad_mode": "edge"}, ["int32(2, 5)"]),
    ("nn.pad", {"pad_width": ((1, 3), (2, 0)), "pad_mode": "reflect"}, ["float32(4, n)"]),
    ("nn.pad", {"pad_width": ((7, 5), (-1, 2)), "pad_mode": "reflect"}, ["float32(3, 4)"]),
    ("nn.pad", {"pad_width": ((2, 2),), "pad_mode": "reflect"}, ["float32(1)"]),
    ("nn.pad", {"pad_width": ((1, 3), (5, 7)), "pad_mode": "wrap"}, ["float32(4, n)"]),
    ("nn.pad", {"pad_width": ((1, 3), (-1, 2)), "pad_mode": "wrap"}, ["uint8(4, 3)"]),
]
