"""What operators say when arguments or attributes do not fit: who, what was given, what was expected."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tvmlite.relay.ops  # noqa: F401  (fills the table)
from tvmlite.core.errors import TypeInferError
from tvmlite.core.span import Span
from tvmlite.relay.ir import nodes as ir
from tvmlite.relay.ir import op
from tvmlite.relay.ir.infer import type_of
from tvmlite.relay.ir.types import TensorType, TupleType, dim, tensor_type

n = dim("n")
F2x3, F3 = tensor_type((2, 3)), tensor_type((3,))
I3, B3, SCALAR = tensor_type((3,), "int32"), tensor_type((3,), "bool"), tensor_type(())
HEADS = tensor_type((2, 4, 5, 6))
Nx3 = tensor_type((n, 3))


def _broken(name: str, types: list[Any], text: str, **attrs: Any) -> Any:
    return pytest.param(name, attrs, types, text, id=f"{name}: {text[:40]}")


TREES = [tensor_type(s, d) for s, d in (((2,), "int64"), ((5, 3), "int64"), ((5,), "float32"))]

BROKEN = [
    _broken("tree_ensemble", [F3, *TREES, F3], "(3,), expected (rows, features), (trees,), (nodes, 3)"),
    _broken("tree_ensemble", [F2x3, *TREES, F2x3], "the number of weights is 2, expected 5"),
    _broken(
        "tree_ensemble",
        [F2x3, TREES[2], *TREES[1:], tensor_type((5, 1))],
        "roots are float32, expected integers",
    ),
    _broken("tree_ensemble", [F2x3, *TREES, tensor_type((5, 1), "float64")], "float64, expected one dtype"),
    _broken(
        "tree_ensemble",
        [F2x3, *TREES, tensor_type((5, 1))],
        "aggregate is 'mean', expected one of",
        aggregate="mean",
    ),
    _broken("exp", [I3], "data is int32, expected a float"),
    _broken("negative", [B3], "data is bool, expected numbers"),
    _broken("bitwise_not", [F3], "data is float32, expected integers or bools"),
    _broken("exp", [TupleType((F3,))], "argument 0 is (Tensor[(3,), float32],), expected a tensor"),
    _broken("clip", [F3], "a_min is None, expected a number", a_min=None, a_max=1),
    _broken(
        "reinterpret", [F3], "data is float32, dtype is int8, expected numbers of one width", dtype="int8"
    ),
    _broken("nn.gelu", [F3], "approximate is 'sigmoid', expected one of none, tanh", approximate="sigmoid"),
    _broken("nn.silu", [I3], "data is int32, expected a float"),
    _broken("nn.attention", [I3, I3, I3, I3], "data is int32, expected a float"),
    _broken("nn.attention", [HEADS, HEADS, F2x3, SCALAR], "value is (2, 3), expected (batch, heads, length"),
    _broken(
        "nn.attention", [HEADS] * 3 + [F3], "mask is (3,), expected a shape that broadcasts to (2, 4, 5, 5)"
    ),
    _broken(
        "nn.attention", [HEADS] * 3 + [SCALAR], "layout is 'dbhs', expected b, h and s in", layout="dbhs"
    ),
    _broken(
        "nn.attention",
        [HEADS, *[tensor_type((2, 3, 5, 6))] * 2, SCALAR],
        "4 heads of the query do not divide among 3 of the key",
    ),
    _broken(
        "nn.contrib_dense_pack",
        [F2x3, tensor_type((1, 2, 16, 2))],
        "data is (2, 3), weight is (1, 2, 16, 2)",
        weight_layout="NC16n2c",
    ),
    _broken("nn.prelu", [F2x3, F2x3], "alpha has 2 axes, expected 1"),
    _broken("nn.prelu", [F2x3, tensor_type((4,))], "alpha's extent is 4, expected 3"),
    _broken("add", [F2x3, tensor_type((4,))], "shapes (2, 3) and (4,) do not broadcast"),
    _broken("add", [F3, I3], "dtypes are float32 and int32, expected one dtype"),
    _broken("subtract", [B3, B3], "dtypes are bool, expected numbers"),
    _broken("bitwise_and", [F3, F3], "dtypes are float32, expected integers or bools"),
    _broken("left_shift", [B3, B3], "dtypes are bool, expected integers"),
    _broken("nn.bias_add", [F2x3, F3], "axis is 2, expected one of the 2 axes of the data", axis=2),
    _broken("nn.bias_add", [F2x3, F2x3], "bias has 2 axes, expected 1"),
    _broken("nn.bias_add", [F2x3, tensor_type((2,))], "bias's extent is 2, expected 3"),
    _broken("where", [B3, F3, I3], "dtypes are float32 and int32, expected one dtype"),
    _broken("sum", [F2x3], "axis is 2, expected one of the 2 axes of the data", axis=2),
    _broken("sum", [F2x3], "axis is (0, -2), which names an axis twice", axis=(0, -2)),
    _broken("mean", [B3], "data is bool, expected numbers"),
    _broken("any", [F3], "data is float32, expected bool"),
    _broken(
        "reshape", [F2x3], "data is (2, 3), newshape is (4, 2), expected as many elements", newshape=(4, 2)
    ),
    _broken("reshape", [Nx3], "data is (n, 3), newshape is (6,), expected as many elements", newshape=(6,)),
    _broken("reshape", [F2x3], "newshape is (-1, -1), expected at most one -1", newshape=(-1, -1)),
    _broken("reshape", [F2x3], "(4, -1): 3 elements do not divide by 2", newshape=(4, -1)),
    _broken("reshape", [F2x3], "newshape is (-5, 2): -5 is no extent and no code", newshape=(-5, 2)),
    _broken("reshape", [F3], "newshape is (3, 0): data (3,) has no such axis", newshape=(3, 0)),
    _broken("reshape", [F3], "-1 is ambiguous beside an extent of 0", newshape=(0, -1), allowzero=True),
    _broken("expand_dims", [F3], "num_newaxis is -1, expected 0 to 64", axis=0, num_newaxis=-1),
    _broken("squeeze", [F2x3], "axis is (0,), data is (2, 3), expected extents of 1", axis=(0,)),
    _broken("transpose", [F2x3], "axes are (0, 0), expected each of the data's 2 axes once", axes=(0, 0)),
    _broken("reverse", [SCALAR], "axis is 0, expected one of the 0 axes of the data", axis=0),
    _broken("broadcast_to", [F2x3], "data is (2, 3), which does not broadcast to (1, 3)", shape=(1, 3)),
    _broken(
        "tile",
        [F3],
        "reps is -1, expected an integer or a tuple of integers and dimensions, at least 0",
        reps=-1,
    ),
    _broken(
        "repeat", [F3], "repeats is -2, expected an integer or a dimension, at least 0", repeats=-2, axis=0
    ),
    _broken(
        "strided_slice", [F3], "strides are (0,), expected numbers other than 0", begin=0, end=1, strides=0
    ),
    _broken("strided_slice", [F3], "begin is (0, 0), end is (1, 1)", begin=(0, 0), end=(1, 1)),
    _broken("strided_slice", [F3], "end is (1, -1)", begin=(0, 0), end=(1, -1), slice_mode="size"),
    _broken("strided_slice", [F3], "axes is 1, expected one of the 1 axes", begin=0, end=1, axes=(1,)),
    _broken(
        "strided_slice", [F3], "slice_mode is 'x', expected one of end, size", begin=0, end=1, slice_mode="x"
    ),
    _broken("split", [F3], "not known to split into 2 equal sections", indices_or_sections=2),
    _broken("split", [Nx3], "extent n on axis 0 is not known to split", indices_or_sections=2),
    _broken("concatenate", [F2x3, Nx3, F3], "expected them to differ on axis 0 only"),
    _broken("concatenate", [F3, I3], "dtypes are float32 and int32, expected one dtype"),
    _broken("concatenate", [], "nothing to join, expected at least one tensor"),
    _broken("stack", [F2x3, F3], "shapes are (2, 3) and (3,), expected one shape"),
    _broken("nn.pad", [F2x3], "expected a (before, after) an axis", pad_width=((1, 1),)),
    _broken("nn.pad", [F3], "which crops more than there is", pad_width=((-2, -2),)),
    _broken(
        "nn.pad", [F3], "pad_mode is 'fold', expected one of constant", pad_width=((1, 1),), pad_mode="fold"
    ),
    _broken("nn.pad", [tensor_type((0,))], "nothing to repeat", pad_width=((1, 1),), pad_mode="edge"),
    _broken("full", [F3], "fill_value has the shape (3,), expected a scalar", shape=(2,)),
    _broken(
        "zeros",
        [],
        "shape is (2, -1), expected a tuple of integers and dimensions, at least 0",
        shape=(2, -1),
    ),
    _broken("arange", [], "step is 0, expected a number other than 0", stop=3, step=0),
    _broken("arange", [], "expected whole numbers", stop=n, start=0.5),
    _broken(
        "shape_value", [], "values is (0.5,), expected a tuple of integers and dimensions", values=(0.5,)
    ),
    _broken("one_hot", [F3, SCALAR, SCALAR], "indices are float32, expected integers", depth=3),
    _broken("one_hot", [I3, F3, F3], "expected scalars of float32", depth=3),
    _broken(
        "one_hot",
        [I3, SCALAR, SCALAR],
        "depth is -1, expected an integer or a dimension, at least 0",
        depth=-1,
    ),
    _broken(
        "nn.contrib_interleave",
        [tensor_type((1, 6, 2, 2))],
        "data is (1, 6, 2, 2), expected a multiple of 4 channels",
        strides=(2, 2),
        crop=(0, 0, 0, 0),
    ),
    _broken(
        "nn.contrib_interleave",
        [tensor_type((1, 8, 2))],
        "data is (1, 8, 2), expected 2 spatial axes",
        strides=(2, 2),
        crop=(0, 0, 0, 0),
    ),
    _broken(
        "nn.contrib_interleave",
        [tensor_type((1, 8, 2))],
        "crop is (0, -1), expected 2 numbers, of at least 0",
        strides=(2,),
        crop=(0, -1),
    ),
    _broken(
        "nn.contrib_interleave",
        [tensor_type((1, 8, 2))],
        "strides is 2, expected at least one, of at least 1",
        strides=2,
        crop=(0, 0),
    ),
    _broken(
        "nn.contrib_interleave",
        [tensor_type((1, 8, 2))],
        "crop is 1, expected 2 numbers, of at least 0",
        strides=(2,),
        crop=1,
    ),
    _broken("nn.depth_to_space", [F3], "data is (3,), expected 4 axes", block_size=2),
    _broken(
        "nn.depth_to_space",
        [tensor_type((1, 6, 2, 2))],
        "the number of channels is 6, expected a multiple of 4",
        block_size=2,
    ),
    _broken(
        "nn.space_to_depth",
        [tensor_type((1, 3, 5, 4))],
        "the height is 5, expected a multiple of 2",
        block_size=2,
    ),
    _broken("reverse_sequence", [F2x3, I3], "the number of seq_lengths is 3, expected 2"),
    _broken("reverse_sequence", [F2x3, F3], "seq_lengths are float32, expected integers"),
    _broken("sequence_mask", [F3, I3], "data is (3,), axis is 0, expected 0 or 1 of two axes"),
    _broken("trilu", [F3], "data is (3,), expected at least 2 axes"),
    _broken("take", [F3, F3], "indices are float32, expected integers"),
    _broken("take", [F3, I3], "mode is 'raise', expected one of clip, wrap, fast", mode="raise"),
    _broken(
        "take", [F2x3, I3], "batch_dims is 1, axis is 0, expected at most the axis", axis=0, batch_dims=1
    ),
    _broken("gather", [F2x3, I3], "data is (2, 3), indices are (3,), expected as many axes", axis=0),
    _broken(
        "gather",
        [F2x3, tensor_type((3, 1), "int64")],
        "the indices' extent 0 is 3, expected at most 2",
        axis=1,
    ),
    _broken("gather_nd", [F3, tensor_type((2, 5), "int64")], "expected a first axis of at most 1"),
    _broken("unravel_index", [I3, tensor_type((n,), "int64")], "expected a vector of known length"),
    _broken(
        "scatter_elements",
        [F3, I3, tensor_type((2,))],
        "indices are (3,), updates are (2,), expected one shape",
    ),
    _broken(
        "scatter_elements", [F3, I3, F3], "reduction is 'median', expected one of update", reduction="median"
    ),
    _broken("scatter_nd", [F2x3, tensor_type((1, 4), "int64"), F3], "updates are (3,), expected (4, 3)"),
    _broken("scatter_nd", [B3, tensor_type((1, 3), "int64"), B3], "mode is 'add', data is bool", mode="add"),
    _broken("cumsum", [B3], "the result would be bool, expected a dtype of numbers"),
    _broken("argsort", [F3], "dtype is bool, expected a dtype of numbers", dtype="bool"),
    _broken("sort", [F3], "axis is 1, expected one of the 1 axes of the data", axis=1),
    _broken("topk", [F3], "k is 4, the data's extent is 3, expected k to be at most that", k=4),
    _broken("topk", [Nx3], "k is 2, the data's extent is n", k=2, axis=0),
    _broken("topk", [F3], "ret_type is 'all', expected one of both, values, indices", ret_type="all"),
]


@pytest.mark.parametrize(("name", "attrs", "types", "text"), BROKEN)
def test_a_type_error_names_the_operator_what_was_given_and_the_users_line(
    name: str, attrs: dict[str, Any], types: list[Any], text: str
) -> None:
    row = op.get(name)
    arguments = [ir.Var(f"x{k}", t) for k, t in enumerate(types)]
    given = [ir.Tuple(tuple(arguments))] if row.num_inputs is None else arguments
    call = op.make(name, *given, span=Span("model.onnx", note='node "here"'), **attrs)

    with pytest.raises(TypeInferError) as caught:
        type_of(call)

    assert caught.value.message.startswith(f"{name}: ")
    assert text in caught.value.message
    assert re.search(r'at model.onnx: node "here"', str(caught.value))


def test_a_tensor_type_is_named_by_its_shape_and_dtype() -> None:
    assert str(TensorType((2, n), "int8")) == "Tensor[(2, n), int8]"
