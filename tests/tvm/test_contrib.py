"""``tvm.contrib``: sorting and random functions that programs call by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TensorExpressionError
from tvmlite.tvm import te
from tvmlite.tvm.contrib import random

RNG = np.random.default_rng(3)


def called(name: str, arrays: list[np.ndarray], dtype: str, *numbers: Any) -> np.ndarray:
    """The output of the function ``tvm.contrib.sort.<name>``, called by compiled code."""
    given = [te.placeholder(one.shape, one.dtype.name, name=f"x{k}") for k, one in enumerate(arrays)]
    out = te.extern(
        arrays[0].shape,
        given,
        lambda ins, outs: tvm.tir.call_packed(f"tvm.contrib.sort.{name}", *ins, outs[0], *numbers),
        dtype=dtype,
    )
    found = tvm.nd.empty(arrays[0].shape, dtype)
    tvm.build(te.create_schedule(out.op), [*given, out], "llvm")(*arrays, found)
    return found.numpy()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_numbers_are_sorted_along_an_axis(axis: int) -> None:
    data = RNG.integers(0, 9, (4, 5, 6)).astype("float32")

    rising = called("sort", [data], "float32", axis, True)
    falling = called("sort", [data], "float32", axis, False)

    np.testing.assert_array_equal(rising, np.sort(data, axis))
    np.testing.assert_array_equal(falling, -np.sort(-data, axis))


def test_argsort_is_stable_in_both_directions() -> None:
    data = np.array([[2, 1, 2, 1, 3]], "float32")

    assert called("argsort", [data], "int32", 1, True).tolist() == [[1, 3, 0, 2, 4]]
    assert called("argsort", [data], "int32", 1, False).tolist() == [[4, 0, 2, 1, 3]]


def test_argsort_nms_sorts_only_the_valid_numbers() -> None:
    data = RNG.random((3, 7, 2), np.float32)
    count = np.array([[0, 3], [7, 1], [5, 9]], "int32")

    found = called("argsort_nms", [data, count], "int32", 1, False)

    for i, j in np.ndindex(3, 2):
        known = min(int(count[i, j]), 7)
        expected = [*np.argsort(-data[i, :known, j], kind="stable"), *range(known, 7)]
        assert found[i, :, j].tolist() == expected


def test_random_tensors_have_their_distribution_and_a_seed() -> None:
    shape = (300, 400)
    tensors = [random.uniform(-1, 3, shape), random.normal(3, 4, shape), random.randint(-5, 5, shape)]
    function = tvm.build(te.create_schedule([one.op for one in tensors]), tensors, "llvm")

    def drawn() -> list[np.ndarray]:
        arrays = [tvm.nd.empty(shape, one.dtype) for one in tensors]
        function(*arrays)
        return [one.numpy() for one in arrays]

    random.seed(7)
    uniform, normal, whole = first = drawn()
    second = drawn()
    random.seed(7)
    again = drawn()

    assert uniform.min() >= -1
    assert uniform.max() <= 3
    np.testing.assert_allclose([uniform.mean(), uniform.std()], [1, 4 / 12**0.5], atol=0.02)
    np.testing.assert_allclose([normal.mean(), normal.std()], [3, 4], atol=0.1)
    assert sorted(set(whole.ravel().tolist())) == list(range(-5, 5))
    for a, b, c in zip(first, second, again, strict=True):
        assert (a != b).any()
        np.testing.assert_array_equal(a, c)


def test_random_fill_is_found_by_name() -> None:
    fill: Any = tvm.get_global_func("tvm.contrib.random.random_fill")
    array = tvm.nd.array(np.zeros((9, 9), "float32"))

    fill(array)

    assert (array.numpy() >= 1).all()
    assert np.unique(array.numpy()).size > 70


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: random.randint(3, 3, (4,)), "randint: high: 3 given, expected more than low, 3"),
        (lambda: random.randint(0, 3, (4,), "float32"), "expected int32, uint32 or int64"),
        (lambda: random.seed(-1), "random.seed: number: -1 given"),
    ],
)
def test_invalid_arguments_of_random_functions_are_refused(wrong: Any, message: str) -> None:
    with pytest.raises(TensorExpressionError, match=message):
        wrong()
