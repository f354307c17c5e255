"""Convolutions, poolings, products and their kin say what does not fit, with the shapes at hand."""

from __future__ import annotations

from typing import Any

import pytest

import tvmlite.relay.ops  # noqa: F401  (fills the table)
from tvmlite.core.errors import TvmliteError, TypeInferError, UnsupportedError
from tvmlite.relay.ir import nodes as ir
from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import tensor_type

PACKED, PACK = "nn.contrib_conv2d_NCHWc", (2, 3, 3, 3, 16)
PLAIN = {"data_layout": "NCHW", "kernel_layout": "OIHW16o"}

CASES = [
    ("nn.conv2d", {}, [(1, 3, 8, 8), (4, 2, 3, 3)], r"data is \(1, 3, 8, 8\), weight is \(4, 2, 3, 3\)"),
    ("nn.conv2d", {}, [(1, 3, 2, 8), (4, 3, 3, 3)], r"does not fit into data \(1, 3, 2, 8\)"),
    ("nn.conv2d", {}, [(1, "c", 8, 8), (4, 3, 3, 3)], r"data is \(1, c, 8, 8\)"),
    ("nn.conv2d", {}, [(3, 8, 8), (4, 3, 3, 3)], r"data is \(3, 8, 8\), expected 4 axes"),
    ("nn.conv2d", {"groups": 2}, [(1, 4, 8, 8), (3, 2, 3, 3)], "groups is 2, output channels are 3"),
    ("nn.conv2d", {"kernel_size": (5, 3)}, [(1, 3, 8, 8), (4, 3, 3, 3)], r"kernel_size is \(5, 3\)"),
    ("nn.conv2d", {"channels": 5}, [(1, 3, 8, 8), (4, 3, 3, 3)], "channels is 5"),
    ("nn.conv2d", {"padding": (1, 2, 3)}, [(1, 3, 8, 8), (4, 3, 3, 3)], "expected 4 values"),
    ("nn.conv2d", {"strides": 0}, [(1, 3, 8, 8), (4, 3, 3, 3)], "expected at least 1"),
    ("nn.conv2d", {"data_layout": "NHCC"}, [(1, 3, 8, 8), (4, 3, 3, 3)], "supported is 'NCHW'"),
    (
        "nn.conv2d",
        {"data_layout": "NHWC"},
        [(1, 3, 8, 8), (4, 3, 3, 3)],
        r"the channels do not fit \(of axes in the order NCHW, OIHW\)",
    ),
    ("nn.conv2d", {"kernel_layout": "HWIX"}, [(1, 3, 8, 8), (4, 3, 3, 3)], "kernel_layout 'HWIX'"),
    (PACKED, {**PLAIN, "channels": 16}, [(1, 3, 8, 8), PACK], r"channels is 16, weight is \(2, 3, 3, 3, 16"),
    (PACKED, {}, [(1, 3, 8, 8), PACK], r"data is \(1, 3, 8, 8\), expected 5 axes"),
    (PACKED, {}, [(1, 1, 8, 8, 8), PACK], "the last axis is not a block of 16"),
    (PACKED, {"data_layout": "NHWC16c"}, [(1, 1, 8, 8, 16), PACK], "supported are 'NCHW' and 'NCHW16c'"),
    (PACKED, {"kernel_layout": "OIHW16i"}, [(1, 1, 8, 8, 16), PACK], "supported are such as 'OIHW16o'"),
    (PACKED, {"kernel_layout": "OIHW8o"}, [(1, 1, 8, 8, 16), PACK], "kernel_layout is OIHW8o"),
    (PACKED, {"out_layout": "NCHW8c"}, [(1, 1, 8, 8, 16), PACK], "the weight has blocks of 16 channels"),
    (PACKED, {}, [(1, 2, 8, 8, 16), PACK], "the channels do not fit"),
    (PACKED, {"groups": 3}, [(1, 1, 8, 8, 16), PACK], "32 channels are not whole blocks of 16 in each group"),
    (
        "nn.contrib_depthwise_conv2d_NCHWc",
        {"out_layout": "NCHW"},
        [(1, 1, 8, 8, 16), (1, 1, 3, 3, 1, 16)],
        "expected one block",
    ),
    (
        "nn.contrib_depthwise_conv2d_NCHWc",
        {},
        [(1, 2, 8, 8, 16), (1, 1, 3, 3, 1, 16)],
        "the channels do not fit",
    ),
    ("nn.max_pool2d", {"pool_size": 2, "layout": "NCHW4c"}, [(1, 2, 8, 8, 16)], "is not a block of 4"),
    ("layout_transform", {"src_layout": "NCHW", "dst_layout": "NCHW16"}, [(1, 2, 3, 4)], "no layout"),
    (
        "layout_transform",
        {"src_layout": "NCHW", "dst_layout": "NCW"},
        [(1, 2, 3, 4)],
        "the layouts have different axes",
    ),
    ("layout_transform", {"src_layout": "NCHW", "dst_layout": "NHWC"}, [(1, 2, 3)], "expected 4 axes"),
    (
        "layout_transform",
        {"src_layout": "C8c", "dst_layout": "C"},
        [(1, 4)],
        "expected blocks of the extents in C8c",
    ),
    ("nn.conv2d_transpose", {}, [(1, 3, 8, 8), (4, 3, 3, 3)], "the channels do not fit"),
    ("nn.conv2d_transpose", {"output_padding": (1, 1, 1)}, [(1, 4, 8, 8), (4, 3, 3, 3)], "output_padding"),
    ("nn.max_pool2d", {"pool_size": 9}, [(1, 3, 8, 8)], "does not fit"),
    ("nn.avg_pool1d", {"pool_size": 2}, [(1, 3, 8, 8)], "expected 3 axes"),
    ("nn.dense", {}, [(2, 3), (4, 5)], r"data is \(2, 3\), weight is \(4, 5\)"),
    ("nn.dense", {"units": 3}, [(2, 5), (4, 5)], "units is 3"),
    ("nn.contrib_dense_pack", {"weight_layout": "NK"}, [(2, 5), (4, 5, 16)], "weight_layout 'NK'"),
    ("nn.contrib_dense_pack", {"units": 70}, [(2, 5), (4, 5, 16)], "units is 70"),
    ("nn.matmul", {}, [(2, 3), (4, 5)], r"tensor_a is \(2, 3\), tensor_b is \(4, 5\)"),
    ("nn.batch_matmul", {}, [(2, 3, 4), (3, 5, 4)], r"tensor_a is \(2, 3, 4\)"),
    ("nn.softmax", {"axis": 2}, [(2, 3)], "axis is 2"),
    ("nn.layer_norm", {}, [(2, 3), (2,), (3,)], "the extent of gamma is 2, expected 3"),
    ("nn.group_norm", {"num_groups": 2}, [(2, 3, 4), (3,), (3,)], "3 channels do not divide into 2"),
    ("nn.batch_norm", {}, [(2, 3), (3,), (3,), (3,), (4,)], "moving_var is 4"),
    ("nn.lrn", {"size": 0}, [(2, 3)], "size is 0"),
    ("image.resize2d", {"size": (2, 2), "method": "lanczos"}, [(1, 3, 4, 4)], "method is 'lanczos'"),
    ("image.resize2d", {"size": (2, 2, 2)}, [(1, 3, 4, 4)], "expected 2 values"),
    ("qnn.quantize", {"out_dtype": "float32"}, [(2,), (), ()], "out_dtype is float32, expected integers"),
    ("qnn.dequantize", {}, [(2,), (), ()], "expected integers"),
]


@pytest.mark.parametrize(("name", "attrs", "shapes", "text"), CASES)
def test_the_error_names_operator_and_shapes(
    name: str, attrs: dict[str, Any], shapes: list[Any], text: str
) -> None:
    types = [tensor_type(shape) for shape in shapes]
    call = op.make(name, *(ir.Var(f"x{k}", t) for k, t in enumerate(types)), **attrs)

    with pytest.raises(TvmliteError, match=text) as caught:
        type_of(call)

    assert isinstance(caught.value, (TypeInferError, UnsupportedError))
    assert caught.value.message.startswith(f"{name}: ")
    assert "test_anchor_errors.py" in str(caught.value)
