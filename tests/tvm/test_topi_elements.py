"""``tvm.topi``'s functions that read and write elements by indices, compared with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TensorExpressionError
from tvmlite.tvm import te, topi
from tvmlite.tvm.topi import testing

X = np.random.default_rng(1).random((3, 4, 5)).astype("f4") - 0.5
ROWS = X[0]


def run(make: Callable[..., Any], *arrays: Any) -> Any:
    """The result for ``arrays`` of what ``make`` declares on placeholders."""
    given = [np.asarray(one) for one in arrays]
    tensors = [te.placeholder(x.shape, x.dtype.name, f"x{k}") for k, x in enumerate(given)]
    made = make(*tensors)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    with tvm.target.Target("llvm"):
        s = topi.generic.schedule_injective(outputs)
    return tvm.build(s, [*tensors, *outputs], "llvm")(*given)


@pytest.mark.parametrize("kind", ["update", "add"])
def test_updates_are_scattered_along_an_axis(kind: str) -> None:
    places = np.array([[1, 3, 2, 1, 0], [0, 0, 3, 2, 1]])
    updates = np.arange(10, dtype="f4").reshape(2, 5)
    wanted = ROWS.copy()
    for row, column in np.ndindex(*places.shape):
        at = places[row, column], column
        wanted[at] = updates[row, column] + (wanted[at] if kind == "add" else 0)

    make = topi.scatter if kind == "update" else topi.scatter_add
    np.testing.assert_allclose(run(lambda *x: make(*x, 0), ROWS, places, updates), wanted, rtol=1e-6)
    elements = run(lambda *x: topi.scatter_elements(*x, 0, kind), ROWS, places, updates)
    np.testing.assert_allclose(elements, wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", ["add", "mul", "min", "max"])
def test_scatter_nd_combines_updates_of_one_element(kind: str) -> None:
    data, places, updates = ROWS[:2, :2], np.array([[1, 1, 0], [0, 0, 1]]), np.array([2, 3, -4], "f4")
    combine = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[kind]
    wanted = data.copy()
    for n in range(3):
        at = tuple(places[:, n])
        wanted[at] = combine(wanted[at], updates[n])

    found = run(lambda *x: topi.scatter_nd(*x, kind), data, places, updates)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "begin", "end", "strides"),
    [
        ((3, 2, 2), [0, 3, 0], [4, 1, 5], [1, -1, 3]),
        ((3, 1, 5), [0, 0, 0], [4, -5, 5], [1, -1, 1]),
        ((1, 3, 4), [1, 1, -5], [2, 9, 4], [1]),
        ((2, 3, 5), [1, 1], [4, 4], None),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_strided_set_takes_constant_or_tensor_bounds(
    shape: Any, begin: Any, end: Any, strides: Any, known: bool
) -> None:
    values = np.random.default_rng(2).random(shape).astype("f4")
    ends = [np.array(one, "i4") for one in (begin, end, strides) if one is not None]
    wanted = testing.strided_set_python(X, values, begin, end, strides)

    if known:
        found = run(lambda a, v: topi.strided_set(a, v, begin, end, strides), X, values)
    else:
        found = run(topi.strided_set, X, values, *ends)
    np.testing.assert_array_equal(found, wanted)


def test_adv_index_matches_numpy() -> None:
    first, second = np.array([[2, 0, 1]]), np.array([[1], [3]])

    found = run(lambda x, *at: topi.adv_index(x, list(at)), X, first, second)
    np.testing.assert_array_equal(found, X[first, second])


def test_searchsorted_matches_numpy() -> None:
    rows, values = np.sort(X[:, :, 0]), X[:, :2, 1]

    for right in (False, True):
        pairs = zip(rows, values, strict=True)
        wanted = [np.searchsorted(row, v, "right" if right else "left") for row, v in pairs]
        found = run(lambda s, v, r=right: topi.searchsorted(s, v, r, "int32"), rows, values)
        np.testing.assert_array_equal(found, wanted)


def test_sparse_to_dense_fills_a_default() -> None:
    places, values = np.array([[0, 1], [2, 2]]), np.array([1.5, 2.5], "f4")
    wanted = np.full((3, 4), -1, "f4")
    wanted[0, 1], wanted[2, 2] = values

    make = topi.sparse_to_dense
    np.testing.assert_array_equal(run(lambda i, v: make(i, (3, 4), v, -1), places, values), wanted)
    given = run(lambda i, v, d: make(i, (3, 4), v, d), places, values, np.array(-1, "f4"))
    np.testing.assert_array_equal(given, wanted)
    absent = run(lambda i, v: make(i, [3, 4], v), places, values)
    np.testing.assert_array_equal(absent, np.where(wanted < 0, 0, wanted))


def test_matrix_set_diag_aligns_diagonals() -> None:
    diagonals = np.random.default_rng(3).random((3, 2, 4)).astype("f4")

    for align in ("LEFT_RIGHT", "RIGHT_LEFT"):
        found = run(lambda x, d, a=align: topi.matrix_set_diag(x, d, (-1, 0), a), X, diagonals)
        np.testing.assert_array_equal(found, testing.matrix_set_diag(X, diagonals, (-1, 0), align))
    with pytest.raises(TensorExpressionError, match=r"topi\.matrix_set_diag: align: 'MIDDLE' given"):
        run(lambda x, d: topi.matrix_set_diag(x, d, 0, "MIDDLE"), X, diagonals)


def test_einsum_and_tensordot_match_numpy() -> None:
    a, b = X, np.random.default_rng(4).random((5, 4, 2)).astype("f4")
    axes = (1, 2), (1, 0)

    cases = [
        (run(lambda x, y: topi.einsum("bij,jik->bk", x, y), a, b), np.einsum("bij,jik->bk", a, b)),
        (run(lambda x, y: topi.tensordot(x, y, 1), a, b), np.tensordot(a, b, 1)),
        (run(lambda x, y: topi.tensordot(x, y, axes), a, b), np.tensordot(a, b, axes)),
    ]
    for found, wanted in cases:
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_dft_matches_numpy_and_is_inverted() -> None:
    real, imaginary = X[0], X[1]
    wanted = np.fft.fft(real + 1j * imaginary)

    forward = run(lambda x, y: topi.dft(x, y, False), real, imaginary)
    np.testing.assert_allclose(forward[0], wanted.real, atol=1e-5)
    np.testing.assert_allclose(forward[1], wanted.imag, atol=1e-5)
    back = run(lambda x, y: topi.dft(x, y, True), *forward)
    np.testing.assert_allclose(back[0], real, atol=1e-5)
    np.testing.assert_allclose(back[1], imaginary, atol=1e-5)


def test_other_index_functions_match_numpy() -> None:
    order = np.array([3, 0, 2, 1], "i4")

    np.testing.assert_array_equal(run(topi.invert_permutation, order), np.argsort(order))
    np.testing.assert_array_equal(run(topi.ndarray_size, X), 60)
    np.testing.assert_array_equal(
        run(lambda x, y: topi.expand_like(x, y, [1]), ROWS, np.zeros((4, 2, 5), "f4")),
        np.repeat(ROWS[:, None], 2, 1),
    )
    np.testing.assert_allclose(
        run(lambda x: topi.collapse_sum(x, (4, 1)), X), X.sum((0, 2))[:, None], rtol=1e-5
    )
    grid = run(lambda x, y: topi.meshgrid((x, y), "ij"), order, order[:3])
    for found, wanted in zip(grid, np.meshgrid(order, order[:3], indexing="ij"), strict=True):
        np.testing.assert_array_equal(found, wanted)
    windows = run(lambda x: topi.sliding_window(x, 1, [2, 3], [1, 2]), X)
    view = np.lib.stride_tricks.sliding_window_view(X, (2, 3), (1, 2))[:, :, ::2]
    np.testing.assert_array_equal(windows, view)


def test_gather_nd_accepts_float_indices() -> None:
    places = np.array([[1.0, 0.9], [0.0, 2.0]], "f4")

    found = run(topi.gather_nd, ROWS, places)
    np.testing.assert_array_equal(found, ROWS[places.astype(int)[0], places.astype(int)[1]])


@pytest.mark.parametrize("ascending", [True, False])
def test_argsort_sorts_only_the_valid_elements_of_each_row(ascending: bool) -> None:
    counts = np.array([5, 2, 0, 3], "i4")

    found = run(lambda x, n: topi.argsort(x, n, axis=1, is_ascend=ascending), ROWS, counts)
    wanted = np.tile(np.arange(5), (4, 1))
    for row, count in enumerate(counts):
        wanted[row, :count] = np.argsort(ROWS[row, :count] if ascending else -ROWS[row, :count])
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == np.int32


def test_topk_with_k_zero_gives_all_elements() -> None:
    values, places = run(lambda x: topi.topk(x, 0, axis=1), ROWS)

    np.testing.assert_array_equal(places, np.argsort(-ROWS, axis=1))
    np.testing.assert_array_equal(values, -np.sort(-ROWS, axis=1))


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 2)])
def test_argwhere_matches_numpy(shape: tuple[int, ...]) -> None:
    data = np.random.default_rng(3).integers(0, 2, shape).astype("i4")
    wanted = np.argwhere(data)
    rows = np.zeros(wanted.shape, "i4")

    np.testing.assert_array_equal(run(topi.argwhere, rows, data), wanted)


def test_unique_gives_values_indices_and_counts() -> None:
    data = np.array([3, 1, 3, 2, 1, 3], "i4")

    found = run(lambda x: topi.unique(x, is_sorted=False, return_counts=True), data)
    count = int(found[3][0])
    assert [one[:count].tolist() for one in (found[0], found[1], found[4])] == [
        [3, 1, 2],
        [0, 1, 3],
        [3, 2, 1],
    ]
    assert found[2].tolist() == [0, 1, 0, 2, 1, 0]


def test_sparse_reshape_converts_indices() -> None:
    places = np.array([[0, 0, 1], [1, 2, 3]], "i4")
    shapes = np.array([2, 3, 6], "i4"), np.array([9, -1], "i4")

    found, shape = run(lambda *x: topi.sparse_reshape(*x, [2, 2], [2]), places, *shapes)
    np.testing.assert_array_equal(found, [[0, 1], [8, 1]])
    assert shape.tolist() == [9, 4]


def test_stft_matches_numpy() -> None:
    x, window = np.random.default_rng(4).random((2, 20)).astype("f4"), np.hanning(8).astype("f4")
    frames = np.stack([x[:, at : at + 8] * window for at in range(0, 13, 4)], axis=1)
    wanted = np.fft.rfft(frames).transpose(0, 2, 1)

    found = run(lambda d, w: topi.stft(d, 8, 4, 8, w, False, True, (2, 5, 4, 2)), x, window)
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, atol=1e-4)


def test_fixed_point_multiply_per_axis_uses_a_factor_for_each_column() -> None:
    data = np.array([[1000, -1000], [7, 8]], "i4")
    factors, left, right = np.array([1 << 30, 1 << 29], "i4"), np.array([1, 0], "i4"), np.array([0, 1], "i4")

    found = run(
        lambda *x: topi.fixed_point_multiply_per_axis(*x, True, True, [1]), data, factors, left, right
    )
    np.testing.assert_array_equal(found, [[1000, -125], [7, 1]])


def test_functions_are_in_tvms_submodules() -> None:
    assert topi.transform.matrix_set_diag is topi.matrix_set_diag
    assert topi.x86.concatenate is topi.concatenate
    assert "scatter_nd" in dir(topi)
    assert "conv2d_NCHWc" in dir(topi.nn)
