"""Relay's functions match the documentation of TVM 0.11: order of arguments, defaults, meaning."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tvmlite
from tvmlite import relay
from tvmlite.core.alike import alike
from tvmlite.core.errors import TvmliteError, TypeInferError, UnsupportedError
from tvmlite.relay.ir import op
from tvmlite.relay.ir.attributes import ANY
from tvmlite.relay.ir.interpret import interpret

x = relay.var("x", shape=(4, 6))
image = relay.var("image", shape=(1, 4, 8, 8))
ids = relay.var("ids", shape=(4, 2), dtype="int64")


def value_of(expr: relay.Expr, *arrays: Any) -> Any:
    """Return the value of ``expr`` for the arrays of its free variables."""
    return interpret(relay.Module.from_expr(expr).main, list(arrays))


# ``starts_inside`` and ``fits_int32`` are not arguments of TVM's functions.
SIGNATURES = {
    "take": "(data, indices, axis=None, batch_dims=0, mode='clip')",
    "gather": "(data, axis, indices)",
    "gather_nd": "(data, indices, batch_dims=0, index_rank=None)",
    "full": "(fill_value, shape=(), dtype=None)",
    "clip": "(a, a_min, a_max)",
    "squeeze": "(data, axis=None)",
    "split": "(data, indices_or_sections, axis=0)",
    "strided_slice": "(data, begin, end, strides=None, axes=None, slice_mode='end')",
    "topk": "(data, k=1, axis=-1, ret_type='both', is_ascend=False, dtype='int32')",
    "argsort": "(data, axis=-1, is_ascend=True, dtype='int32')",
    "cumsum": "(data, axis=None, dtype=None, exclusive=False, reverse=False)",
    "one_hot": "(indices, on_value, off_value, depth, axis=-1, dtype=None)",
    "sequence_mask": "(data, valid_length, mask_value=0.0, axis=0)",
    "reverse_sequence": "(data, seq_lengths, seq_axis=1, batch_axis=0)",
    "nn.leaky_relu": "(data, alpha=0.01)",
    "nn.pad": "(data, pad_width, pad_value=0.0, pad_mode='constant')",
    "nn.dense": "(data, weight, units=None, out_dtype='')",
    "nn.batch_matmul": "(tensor_a, tensor_b, out_dtype='', transpose_a=False, transpose_b=True)",
    "nn.lrn": "(data, size=5, axis=1, bias=2.0, alpha=1e-05, beta=0.75)",
    "nn.max_pool2d": "(data, pool_size=(1, 1), strides=(1, 1), dilation=(1, 1), padding=(0, 0, 0, 0), "
    "layout='NCHW', out_layout='', ceil_mode=False, starts_inside=False)",
    "nn.conv2d_transpose": "(data, weight, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), groups=1, "
    "channels=None, kernel_size=None, data_layout='NCHW', kernel_layout='IOHW', out_layout='', "
    "output_padding=(0, 0), out_dtype='')",
    "nn.group_norm": "(data, gamma, beta, num_groups=1, axis=1, epsilon=1e-05, center=True, scale=True)",
    "nn.contrib_dense_pack": "(data, weight, weight_layout='NC16n', units=None, out_dtype='')",
    "image.grid_sample": "(data, grid, method='bilinear', layout='NCHW', padding_mode='zeros', "
    "align_corners=True)",
    "qnn.quantize": "(data, output_scale, output_zero_point, axis=-1, out_dtype='int8', fits_int32=False)",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_take_their_arguments_in_tvms_order(name: str) -> None:
    assert str(inspect.signature(relay.builders.builder(name))) == SIGNATURES[name]


def test_every_function_has_a_docstring_and_every_attribute_a_kind() -> None:
    import tvmlite.relay.ops  # noqa: F401

    table = {
        name: row
        for name, row in ((n, op.get(n)) for n in op.names())
        if not name.startswith(("test.", "tests."))
    }

    assert [name for name in table if not relay.builders.builder(name).__doc__] == []
    assert [(name, key) for name, row in table.items() for key, _, kind in row.kinds if kind is ANY] == []


def test_positional_arguments_have_the_same_meaning_as_in_tvm() -> None:
    assert alike(relay.gather(x, 0, ids), relay.make("gather", x, ids, axis=0))
    assert alike(relay.take(x, ids, 1, 0, "wrap"), relay.make("take", x, ids, axis=1, mode="wrap"))
    assert relay.nn.group_norm(image, *[relay.var("p", shape=(4,))] * 2, 2)["num_groups"] == 2
    assert relay.clip(a=x, a_min=0, a_max=1)["a_max"] == 1


def test_a_single_argument_of_arange_is_the_stop() -> None:
    assert value_of(relay.arange(5)).tolist() == [0, 1, 2, 3, 4]
    assert value_of(relay.arange(1, 5)).tolist() == [1, 2, 3, 4]
    assert value_of(relay.arange(1, 5, 1.5)).tolist() == [1, 2.5, 4]
    assert value_of(relay.arange(relay.const(3), dtype="int8")).dtype == np.int8
    assert tvmlite.compile(relay.Module.from_expr(relay.arange(4, dtype="int32")))().tolist() == [0, 1, 2, 3]


def test_dropout_returns_the_data_only() -> None:
    assert relay.type_of(relay.nn.relu(relay.nn.dropout(x))).shape == (4, 6)


def test_roi_align_max_and_weighted_max_differ_as_in_tvm_and_onnx() -> None:
    plane = np.array([[[[0, 8], [4, 2]]]], np.float32)
    data, rois = relay.var("d", shape=(1, 1, 2, 2)), relay.var("r", shape=(1, 5))
    region = np.array([[0, 0, 0, 1, 1]], np.float32)  # one sample, in the middle of the four pixels

    for mode, expected in (("avg", 3.5), ("max", 3.5), ("weighted_max", 2.0)):
        call = relay.vision.roi_align(data, rois, (1, 1), 1.0, 1, mode=mode)
        lib = tvmlite.compile(relay.Module.from_expr(call))
        assert value_of(call, plane, region).item() == expected
        assert lib(plane, region).item() == expected


def test_attributes_are_converted_from_constants_and_arrays() -> None:
    widths = ((0, 0), (1, 2))
    padded = relay.nn.pad(x, widths, pad_value=relay.const(1.0))

    assert alike(padded, relay.nn.pad(x, np.array(widths), 1.0))
    assert relay.type_of(padded).shape == (4, 9)
    assert relay.trilu(x, relay.const(1))["k"] == 1
    assert relay.reshape(x, relay.const([3, 8]))["newshape"] == (3, 8)
    assert relay.reshape(x, -1)["newshape"] == (-1,)
    assert relay.cast(x, np.int8)["dtype"] == "int8"
    assert relay.argsort(x, is_ascend=0)["is_ascend"] is False
    assert relay.cumsum(x, exclusive=None)["exclusive"] is False
    assert relay.full(relay.const(1.0), (2,), "")["dtype"] is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: relay.trilu(x, relay.var("k", shape=(), dtype="int32")), "trilu: k is a Var, expected"),
        (lambda: relay.nn.pad(x, ((0, 0), 1)), "nn.pad: pad_width is ((0, 0), 1), expected a tuple of pairs"),
        (lambda: relay.nn.pad(x, ((0, 0), (1, 1)), "a"), "nn.pad: pad_value is 'a', expected a number"),
        (lambda: relay.nn.softmax(x, axis=1.0), "nn.softmax: axis is 1.0, expected an integer"),
        (lambda: relay.cast(x, "int7"), "cast: dtype is 'int7', expected the name of a dtype"),
        (lambda: relay.sum(x, keepdims=2), "sum: keepdims is 2, expected True or False"),
        (lambda: relay.reshape(x, (2**70,)), "reshape: newshape is (1180591620717411303424,), expected"),
        (lambda: relay.zeros((relay.dim("n") < 2,)), "zeros: shape is (n < 2,), expected"),
        (lambda: relay.transpose(x, axes=object()), "transpose: axes is a object, expected a tuple"),
        (lambda: relay.split(x, 2**40), "split: indices_or_sections is 1099511627776, expected"),
        (lambda: relay.TupleGetItem(x, "0"), "TupleGetItem: index is a str, expected int"),
        (lambda: relay.Call("add", (x, 1.0)), "Call: args[1] is a float, expected Expr"),
        (lambda: relay.Function(x, x), "Function: params is a Var, expected tuple"),
        (lambda: relay.Module({"main": x}), "Module: functions['main'] is a Var, expected Function"),
        (lambda: relay.TensorType((1.5,)), "TensorType: shape[0] is 1.5, expected an integer or a dimension"),
        (lambda: relay.var("x", relay.TensorType((2,)), (2,)), "var: type_annotation and shape are both"),
        (lambda: relay.const("text"), "const: value is 'text', expected a number, or an array of numbers"),
        (lambda: relay.const(300, "int8"), "const: value is 300, which no int8 can be"),
        (lambda: relay.transform.FoldConstant()(x), "fold_constant: module is a Var, expected a relay"),
        (lambda: relay.transform.FuseOps("2"), "FuseOps: fuse_opt_level is a str, expected an integer"),
        (lambda: tvmlite.compile(relay.Module.from_expr(x), records=3), "compile: records is 3, expected"),
        (lambda: 3, "type_of: expr is a int, expected a relay expression"),
    ],
)  # fmt: skip
def test_invalid_calls_are_refused_at_the_users_line(make: Any, message: str) -> None:
    with pytest.raises(TvmliteError) as caught:
        relay.type_of(make())

    assert caught.value.message.startswith(message)
    assert "test_tvm_names.py" in str(caught.value.span)


def test_a_hand_made_call_is_checked_by_type_inference() -> None:
    with pytest.raises(TypeInferError, match=r"nn\.softmax: attribute 'axis' is missing"):
        relay.type_of(relay.Call("nn.softmax", (x,)))
    with pytest.raises(TypeInferError, match=r"nn\.softmax: axis is None, expected an integer"):
        relay.type_of(relay.Call("nn.softmax", (x,), {"axis": None}))
    with pytest.raises(UnsupportedError, match="operator 'nothing' is not in the table"):
        relay.type_of(relay.Call("nothing", (x,)))
    assert relay.type_of(relay.Call("nn.softmax", [x], {"axis": 1})).shape == (4, 6)


def test_variables_are_declared_in_all_of_tvms_ways() -> None:
    types = [
        relay.var("a", relay.TensorType([1, 2])),
        relay.var("a", shape=[1, 2]),
        relay.var("a", type_annotation=relay.TensorType((1, 2), "float32")),
        relay.Var("a", relay.TensorType((np.int64(1), 2))),
    ]

    assert {str(one.type) for one in types} == {"Tensor[(1, 2), float32]"}
    assert str(relay.var("y", "int8").type) == "Tensor[(), int8]"
    assert str(relay.var("y", shape=(), dtype=np.int8).type) == "Tensor[(), int8]"


def test_a_relay_function_is_called_like_a_python_function() -> None:
    double = relay.Function([x], relay.add(x, x))
    y = relay.var("y", shape=(4, 6))

    np.testing.assert_array_equal(value_of(double(y), np.ones((4, 6), np.float32)), np.full((4, 6), 2))
