"""Examples of tensors made from attributes, and of operators that rearrange or mask by position."""

import numpy as np

from tvmlite.relay.ir.types import dim

n, h = dim("n"), dim("h")

EXAMPLES = [
    ("full", {"shape": (2, n)}, ["float32()"]),
    ("full", {"shape": (3,), "dtype": "int32"}, [np.array(2.75, np.float32)]),
    ("full", {"shape": ()}, ["bool()"]),
    ("zeros", {"shape": (2, 3)}, []),
    ("zeros", {"shape": (n, 5), "dtype": "int64"}, []),
    ("ones", {"shape": (3, n * 2), "dtype": "float16"}, []),
    ("ones", {"shape": (), "dtype": "bool"}, []),
    ("arange", {"stop": 7, "dtype": "int64"}, []),
    ("arange", {"start": 10, "stop": -3, "step": -4, "dtype": "int32"}, []),
    ("arange", {"start": 0.5, "stop": 3.0, "step": 0.3}, []),
    ("arange", {"start": 1, "stop": n + 2, "step": 2, "dtype": "int64"}, []),
    ("arange", {"start": n, "stop": h, "step": -3, "dtype": "float32"}, [], {"dims": {"n": 9, "h": 1}}),
    ("arange", {"start": 5, "stop": 5}, []),
    ("shape_of", {}, ["float32(2, n, 3)"]),
    ("shape_of", {"dtype": "int64"}, ["bool(h, n)"], {"dims": {"h": 3, "n": 7}}),
    ("shape_of", {}, ["int8()"]),
    ("shape_value", {"values": (n * 2, 3, h + n)}, [], {"dims": {"n": 5, "h": 2}}),
    ("shape_value", {"values": (7,), "dtype": "int32"}, []),
    ("shape_value", {"values": ()}, []),
    ("one_hot", {"depth": 5}, ["int64(n, 3) in -2..7", "float32()", "float32()"]),
    ("one_hot", {"depth": 4, "axis": 0, "dtype": "int32"}, ["int32(6) in 0..4", "int32()", "int32()"]),
    ("one_hot", {"depth": h, "axis": 1}, ["uint8(2, 3) in 0..5", "bool()", "bool()"]),
    ("nn.contrib_interleave", {"strides": (2, 3), "crop": (1, 0, 0, 2)}, ["float32(2, 12, 3, n)"]),
    ("nn.contrib_interleave", {"strides": (2,), "crop": (0, 0)}, ["float32(n, 4, 5, 8)"]),
    ("nn.depth_to_space", {"block_size": 2}, ["float32(2, 12, 3, n)"]),
    ("nn.depth_to_space", {"block_size": 2, "mode": "CRD"}, ["float32(1, 8, n, 3)"]),
    ("nn.depth_to_space", {"block_size": 3, "layout": "NHWC"}, ["int32(1, 2, 3, 18)"]),
    ("nn.space_to_depth", {"block_size": 2}, ["float32(n, 3, 4, 6)"]),
    ("nn.space_to_depth", {"block_size": 3, "layout": "NHWC"}, ["uint8(2, 3, 9, 2)"]),
    ("reverse_sequence", {}, ["float32(3, 7)", np.array([0, 4, 9], np.int64)]),
    ("reverse_sequence", {"seq_axis": 0, "batch_axis": 2}, ["int32(5, n, 3)", "int32(3) in 0..6"]),
    ("reverse_sequence", {"seq_axis": -1, "batch_axis": 0}, ["float16(n, 2, h)", "int32(n) in 1..4"]),
    ("sequence_mask", {"mask_value": -1.0}, ["float32(5, 3)", "int64(3) in 0..7"]),
    ("sequence_mask", {"axis": 1}, ["int32(n, 5, 2)", "int32(n) in 0..7"]),
    ("trilu", {}, ["float32(3, 5)"]),
    ("trilu", {"k": -1, "upper": False}, ["int64(2, n, 4)"]),
    ("trilu", {"k": 2}, ["bool(n, n)"]),
    ("trilu", {"k": h, "upper": True}, ["float64(7, n)"], {"dims": {"h": 1}}),
]
