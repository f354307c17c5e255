"""The value of a computation by its definition, against plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite import te
from tvmlite.fuzz.expected.bounded import Bounded
from tvmlite.fuzz.expected.evaluate import OutOfBounds, evaluate
from tvmlite.fuzz.expected.scalars import add, call, cast

VALUES = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]], "int32")


def _scan(back: int = 1) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    x = te.placeholder((4, 3), "int32", name="x")
    state = te.placeholder((4, 3), "int32", name="state")
    k = te.reduce_axis((0, 3), name="k")
    first = te.compute((1, 3), lambda t, i: x[t, i], name="first")
    total = te.compute((4,), lambda t: te.sum(state[t - back, k], axis=k), name="total")
    following = te.compute((4, 3), lambda t, i: total[t] - x[t, i], name="following")
    return x, following, te.scan(first, following, state, inputs=[x])


def test_scan_rows_are_computed_from_previous_rows() -> None:
    x, _, scanned = _scan()
    wanted = VALUES.copy()
    for row in range(1, 4):
        wanted[row] = wanted[row - 1].sum() - VALUES[row]
    (found,) = evaluate([scanned], {x: VALUES}, {})
    np.testing.assert_array_equal(found.value, wanted)
    assert not found.error.any()


def test_reading_a_later_scan_row_is_out_of_bounds() -> None:
    x, _, scanned = _scan(back=0)
    with pytest.raises(OutOfBounds, match="scan reads outside a tensor"):
        evaluate([scanned], {x: VALUES}, {})


def _known(tensor: te.Tensor, x: te.Tensor, predicate: Any) -> tuple[np.ndarray, np.ndarray]:
    (found,) = evaluate([tensor], {x: VALUES}, {}, {tensor.op: predicate})
    return found.value, np.isfinite(found.error)


def test_elements_that_are_not_stored_are_unknown() -> None:
    x = te.placeholder((4, 3), "int32", name="x")
    y = te.compute((4, 3), lambda i, j: x[i, j] * 2, name="y")
    value, known = _known(y, x, y.op.axis[0] < 2)
    np.testing.assert_array_equal(known, np.arange(4)[:, None].repeat(3, 1) < 2)
    np.testing.assert_array_equal(value[:2], VALUES[:2] * 2)


def test_a_reduction_skips_iterations_where_the_predicate_is_false() -> None:
    x = te.placeholder((4, 3), "int32", name="x")
    k = te.reduce_axis((0, 3), name="k")
    y = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), name="y")
    value, known = _known(y, x, te.all(k % 2 == 0, y.op.axis[0] > 0))
    assert known.all()
    np.testing.assert_array_equal(value, [0, 10, 16, 22])


def test_bounded_functions_of_unknown_values_are_unknown() -> None:
    nothing = Bounded(np.zeros(1, np.longdouble), np.array([np.inf]), "float32")

    for name in ("atan", "tanh", "sigmoid", "erf"):
        assert np.isinf(call(name, "float32", [nothing]).error).all()


@pytest.mark.parametrize("dtype", ["uint64", "int64", "uint8"])
def test_floats_beyond_the_limits_of_an_integer_type_saturate(dtype: str) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = {2.0**64: high, -(2.0**70): low, np.inf: high, -np.inf: low, np.nan: 0, -0.5: 0, 1.5: 1}
    for count in (1, 9):  # numpy converts many elements with other instructions than few
        for value, wanted in values.items():
            found = cast(Bounded(np.full(count, value, np.longdouble), np.zeros(count), "float32"), dtype)
            assert found.value.tolist() == [wanted] * count
            assert not found.error.any()


def test_an_overflowing_sum_of_equal_numbers_is_unknown() -> None:
    huge = Bounded(np.array([3e38, 1.0], np.longdouble), np.zeros(2), "float32")
    assert add(huge, huge).error.tolist() == [np.inf, 0.0]
