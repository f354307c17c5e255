"""Models of opsets 1 to 6: broadcast attributes, shapes as attributes, types by name."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from tvmlite.core.errors import ModelError, UnsupportedError
from tvmlite.relay.ir.interpret import interpret
from tvmlite.relay.onnx import from_onnx

A = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)


def _run(opset, op_type, *arrays, **attrs):
    names = [f"x{i}" for i in range(len(arrays))]
    node = helper.make_node(op_type, names, ["y"], **attrs)
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays, strict=True)
    ]
    made = helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)
    model = helper.make_model(
        helper.make_graph([node], "g", given, [made]), opset_imports=[helper.make_opsetid("", opset)]
    )
    small = {n: a for n, a in zip(names, arrays, strict=True) if a.shape == (1,)}
    return interpret(
        from_onnx(model, constants=small),
        [a for n, a in zip(names, arrays, strict=True) if n not in small],
    )


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize(
    ("shape", "attrs", "placed"),
    [
        ((2, 3, 4, 5), {}, (2, 3, 4, 5)),
        ((), {"broadcast": 1}, ()),
        ((1, 1), {"broadcast": 1}, ()),
        ((5,), {"broadcast": 1}, (5,)),
        ((4, 5), {"broadcast": 1}, (4, 5)),
        ((3, 4), {"broadcast": 1, "axis": 1}, (3, 4, 1)),
        ((2,), {"broadcast": 1, "axis": 0}, (2, 1, 1, 1)),
    ],
)
def test_axis_attribute_places_the_second_operand(opset, shape, attrs, placed):
    b = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)

    np.testing.assert_array_equal(_run(opset, "Sub", A, b, **attrs), A - b.reshape(placed))


@pytest.mark.parametrize("shape", [(5,), (1, 1)])
def test_different_shapes_need_the_broadcast_attribute(shape):
    with pytest.raises(ModelError, match="without broadcast=1"):
        _run(6, "Mul", A, np.ones(shape, np.float32))


def test_a_shape_that_does_not_match_at_the_axis_is_refused():
    with pytest.raises(ModelError, match=r"is no part of \(2, 3, 4, 5\) at axis 1"):
        _run(6, "Add", A, np.ones((4, 5), np.float32), broadcast=1, axis=1)


def test_cast_takes_a_type_name():
    assert _run(1, "Cast", A, to="INT32").dtype == np.int32
    with pytest.raises(ModelError, match="'NUMBER', expected an element type"):
        _run(1, "Cast", A, to="NUMBER")


def test_reshape_and_pad_take_attributes():
    np.testing.assert_array_equal(_run(1, "Reshape", A, shape=[0, -1, 10]), A.reshape(2, 6, 10))
    made = _run(1, "Pad", A, paddings=[0, 0, 1, 0, 0, 0, 0, 2], value=7.0)
    np.testing.assert_array_equal(made, np.pad(A, ((0, 0), (0, 0), (1, 0), (0, 2)), constant_values=7))


def test_tile_repeats_along_one_axis():
    made = _run(1, "Tile", A, np.array([3], np.float32), np.array([1], np.float32))

    np.testing.assert_array_equal(made, np.tile(A, (1, 3, 1, 1)))


def test_upsample_takes_two_factors():
    made = _run(1, "Upsample", A, height_scale=2.0, width_scale=3.0)

    np.testing.assert_array_equal(made, A.repeat(2, axis=2).repeat(3, axis=3))


def test_prelu_slopes_apply_to_channels():
    slopes = np.array([1, 2, 3], np.float32)

    np.testing.assert_array_equal(_run(6, "PRelu", -A, slopes), -A * slopes[:, None, None])


@pytest.mark.parametrize("op_type", ["Dropout", "BatchNormalization"])
def test_training_mode_is_refused(op_type):
    others = [np.ones(3, np.float32)] * 4 if op_type == "BatchNormalization" else []

    with pytest.raises(UnsupportedError, match="is_test=0"):
        _run(6, op_type, A, *others)


def test_dropout_in_test_mode_is_the_identity():
    np.testing.assert_array_equal(_run(6, "Dropout", A, is_test=1), A)


def test_opset_1_has_its_own_default_attributes():
    x = np.array([2, -1], np.float32)

    made = _run(1, "Selu", x)

    np.testing.assert_allclose(made, [1.0507 * 2, 1.0507 * 1.6732 * (np.exp(-1) - 1)], rtol=1e-6)
