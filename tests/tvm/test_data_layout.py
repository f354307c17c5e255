"""``tvm.tir.layout`` and ``bijective_layout``, compared with numpy's reshapes and transposes."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.core.errors import InputError
from tvmlite.tvm import te, tir


def test_a_layout_has_axes_and_factors() -> None:
    layout = tir.layout("NHWC8c")

    assert isinstance(layout, tir.Layout)
    assert [layout.index_of(one) for one in "NHWCcO"] == [0, 1, 2, 3, 4, -1]
    assert [layout.factor_of(one) for one in "CcN"] == [8, 8, -1]
    assert ("c" in layout, "O" in layout, layout[-1], len(layout), str(layout)) == (
        True,
        False,
        "c",
        5,
        "NHWC8c",
    )
    for wrong in ("NCHW16", "NCHWN", "NHW4c", "NC-HW", "NC0c"):
        with pytest.raises(InputError, match=f"layout '{wrong}': expected capitals, each once, and parts"):
            tir.layout(wrong)
    with pytest.raises(InputError, match="layout NHWC8c: axis 5, expected 0 to 4"):
        layout[5]


def test_shapes_and_indices_are_converted_in_both_directions() -> None:
    between = tir.bijective_layout("NCHW", "NHWC4c")
    array = np.arange(2 * 8 * 3 * 5).reshape(2, 8, 3, 5)
    other = array.reshape(2, 2, 4, 3, 5).transpose(0, 3, 4, 1, 2)

    assert between.forward_shape(array.shape) == list(other.shape)
    assert between.backward_shape(other.shape) == list(array.shape)
    assert between.forward_shape((te.var("n"), 8, 3, 5))[1:] == [3, 5, 2, 4]
    for index in ((0, 0, 0, 0), (1, 7, 2, 4), (1, 5, 0, 3)):
        moved = tuple(i.value for i in between.forward_index(index))
        assert other[moved] == array[index]
        assert tuple(i.value for i in between.backward_index(moved)) == index
    n = te.var("n")
    assert str(between.forward_index([n, 3, 1, 2])[0]) == "n: int32"
    assert tir.bijective_layout("NCHW", "NCDHW") is None
    assert tir.bijective_layout("NCHW", "__undef__") is None
    with pytest.raises(InputError, match="layout NCHW has 4 axes, the shape 3"):
        between.forward_shape((1, 2, 3))
