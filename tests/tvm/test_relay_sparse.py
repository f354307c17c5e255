"""Sparse tensors with a row of indices for each element, and segments, also with open extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvmlite.core.errors import TvmliteError, TypeInferError
from tvmlite.tvm import relay


def value(build: Any, *given: np.ndarray, is_open: bool = False) -> Any:
    """The result of ``build`` for ``given``, passed in variables of known or open shapes."""
    names = [
        relay.var(f"x{n}", shape=[relay.Any()] * one.ndim if is_open else one.shape, dtype=str(one.dtype))
        for n, one in enumerate(given)
    ]
    made = build(*names)
    made = made.astuple() if hasattr(made, "astuple") else made
    found = relay.create_executor("vm").evaluate(relay.Function(names, made))(*given)
    return found.numpy() if hasattr(found, "numpy") else [one.numpy() for one in found]


def test_a_sparse_tensor_is_zero_elsewhere_by_default() -> None:
    places = relay.const(np.array([[0, 1], [2, 0]], "int32"))
    made = value(lambda x: relay.sparse_to_dense(places, (3, 2), x), np.array([4, 5], "float32"))
    np.testing.assert_array_equal(made, [[0, 4], [0, 0], [5, 0]])


@pytest.mark.parametrize("is_open", [False, True])
def test_sparse_fill_empty_rows_adds_the_default_to_empty_rows(is_open: bool) -> None:
    places, values = np.array([[0, 1], [0, 3], [3, 2]], "int32"), np.array([1, 2, 3], "int32")
    given = places, values, np.array([5, 4], "int32"), np.array([9], "int32")

    places, values, empty = value(relay.sparse_fill_empty_rows, *given, is_open=is_open)
    assert places.tolist() == [[0, 1], [0, 3], [1, 0], [2, 0], [3, 2], [4, 0]]
    assert values.tolist() == [1, 2, 9, 9, 3, 9]
    assert empty.tolist() == [False, True, True, False, True]


def test_sparse_fill_empty_rows_accepts_only_empty_rows() -> None:
    given = np.zeros((0, 3), "int64"), np.zeros(0, "int64"), np.array([7], "int64")
    shape = relay.const(np.array([2, 3, 4], "int64"))

    made = value(lambda p, v, d: relay.sparse_fill_empty_rows(p, v, shape, d), *given)
    assert [one.tolist() for one in made] == [[[0, 0, 0], [1, 0, 0]], [7, 7], [True, True]]


def test_sparse_indices_that_are_not_a_matrix_are_refused() -> None:
    n = relay.var("n", shape=(3,), dtype="int64")
    with pytest.raises(TypeInferError, match=r"sparse_indices are Tensor\[\(3,\), int64\], expected a row"):
        relay.sparse_fill_empty_rows(n, n, n, n)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    ("shape", "rows"), [((9, -1), [[0, 1], [8, 1]]), ((2, -1, 6), [[0, 0, 1], [1, 2, 3]])]
)
def test_sparse_reshape_converts_indices(shape: Any, rows: Any, is_open: bool) -> None:
    given = np.array([[0, 0, 1], [1, 2, 3]], "int64"), np.array([2, 3, 6]), np.array(shape)

    places, found = value(relay.sparse_reshape, *given, is_open=is_open)
    assert places.tolist() == rows
    assert np.prod(found) == 36


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(("count", "numbered"), [(None, 5), (6, 5), (6, 3)])
def test_segment_sum_adds_rows_by_segment(count: int | None, numbered: int, is_open: bool) -> None:
    data = np.arange(15, dtype="float32").reshape(5, 3)
    ids = np.array([0, 0, 2, 4, 2], "int32")[:numbered]
    made = value(lambda x, s: relay.segment_sum(x, s, count), data, ids, is_open=is_open)

    expected = np.zeros((count or 5, 3), "float32")
    np.add.at(expected, ids, data[:numbered])
    np.testing.assert_array_equal(made, expected)


def test_more_segment_ids_than_rows_are_refused() -> None:
    given = np.zeros((2, 3), "float32"), np.zeros(4, "int32")
    for is_open in (False, True):
        with pytest.raises(TvmliteError, match="4"):
            value(lambda x, s: relay.segment_sum(x, s, 1), *given, is_open=is_open)
