import numpy as np
import pytest

from tvmlite.core.errors import InputError
from tvmlite.relay.ir.types import (
    FuncType,
    TensorType,
    TupleType,
    bind_dims,
    dim,
    dims_of,
    same_type,
    show_type,
    tensor_type,
)

h, w = dim("h"), dim("w")


def test_types_are_printed_as_relay_text() -> None:
    image = tensor_type((1, 3, "h", w * 2))

    assert show_type(image) == "Tensor[(1, 3, h, w * 2), float32]"
    assert str(TupleType((image, tensor_type((), "bool")))) == f"({image}, Tensor[(), bool])"
    assert str(TupleType((tensor_type((2,)),))) == "(Tensor[(2,), float32],)"
    assert (
        str(FuncType((tensor_type(()),), tensor_type(())))
        == "fn (Tensor[(), float32]) -> Tensor[(), float32]"
    )


def test_types_are_equal_when_their_dimensions_are_proved_equal() -> None:
    assert same_type(tensor_type((h + h,)), tensor_type((h * 2,)))
    assert not same_type(tensor_type((h,)), tensor_type((w,)))
    assert not same_type(tensor_type((h,)), tensor_type((h,), "int32"))
    assert not same_type(tensor_type((1,)), TupleType((tensor_type((1,)),)))
    assert same_type(TupleType((tensor_type((h,)),)), TupleType((tensor_type((h,)),)))


def test_dimensions_are_listed_once_in_order() -> None:
    assert dims_of(FuncType((tensor_type((w, h * w)),), TupleType((tensor_type(("n",)),)))) == [
        w,
        h,
        dim("n"),
    ]
    assert dims_of(((1, h), [w + 1], "text")) == [h, w]


def test_dimensions_are_bound_from_the_shapes_of_arguments() -> None:
    types = [tensor_type((h, 3)), TupleType((tensor_type((w * 2 + h,)),))]

    assert bind_dims(types, [np.zeros((4, 3)), (np.zeros(10),)]) == {h: 4, w: 3}
    half = [tensor_type(((h + 1) // 2, h // 2))]
    assert bind_dims(half, [np.zeros((4, 3))], outer={h: 7}) == {h: 7}
    assert bind_dims([tensor_type((h * w,))], [np.zeros(12)], outer={w: 4, h: 3})[w] == 4


def test_errors_name_the_shape_that_does_not_fit() -> None:
    with pytest.raises(InputError, match=r"image: shape is \(2,\), expected \(h, 3\)"):
        bind_dims([tensor_type((h, 3))], [np.zeros(2)], ["image"])
    with pytest.raises(InputError, match="argument 1: dimension 'h' is 3, elsewhere it is 2"):
        bind_dims([tensor_type((h,))] * 2, [np.zeros(2), np.zeros(3)])
    with pytest.raises(InputError, match="argument 0: an extent is 7, expected h \\* 2 = 6"):
        bind_dims([tensor_type((h, h * 2))], [np.zeros((3, 7))])
    with pytest.raises(InputError, match="dimension 'h' has no value: no argument's shape determines it"):
        bind_dims([tensor_type((h // 2,))], [np.zeros(3)])
    with pytest.raises(InputError, match="dimension 'h' has no value"):
        bind_dims([tensor_type(((h + 1) // 2,))], [np.zeros(1)])
    with pytest.raises(InputError, match="an extent is 7, expected h \\* 2 = 6"):
        bind_dims([tensor_type((h * 2,))], [np.zeros(7)])
    with pytest.raises(InputError, match="expected a tuple of 1 values"):
        bind_dims([TupleType((tensor_type((h,)),))], [np.zeros(3)])


def test_is_static_and_ndim_of_tensor_types() -> None:
    assert TensorType((1, 2)).is_static
    assert not tensor_type((1, "h")).is_static
    assert tensor_type((1, "h")).ndim == 2
