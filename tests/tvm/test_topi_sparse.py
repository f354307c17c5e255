"""Products with CSR matrices, random numbers, and non-maximum suppression of all classes."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlite.tvm as tvm
from tvmlite.core.errors import TensorExpressionError, TvmliteError, UnsupportedError
from tvmlite.tvm import te, topi
from tvmlite.tvm.contrib import sparse

MATRIX = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, -1, 0]], "f4")


def test_a_matrix_is_stored_in_csr_format() -> None:
    kept = sparse.array(MATRIX)

    assert kept.indptr.numpy().tolist() == [0, 2, 2, 4]
    assert kept.indices.numpy().tolist() == [1, 3, 0, 2]
    np.testing.assert_array_equal(kept.numpy(), MATRIX)
    again = sparse.array((kept.data, kept.indices, kept.indptr), shape=MATRIX.shape)
    np.testing.assert_array_equal(again.asnumpy(), MATRIX)
    assert (again.dtype, again.stype, again.shape) == ("float32", "csr", (3, 4))
    with pytest.raises(TvmliteError, match="stype: 'coo' given, expected csr"):
        sparse.placeholder((3, 4), stype="coo")


@pytest.mark.parametrize("biased", [True, False])
def test_csrmm_accepts_symbolic_rows(biased: bool) -> None:
    rows, columns, count = te.var("rows"), te.var("columns"), te.var("count")
    a = sparse.placeholder((rows, columns), count, "float32", "a")
    b, c = te.placeholder((4, 2)), te.placeholder((rows,))
    d = topi.sparse.csrmm(a, b, c if biased else None)
    f = tvm.build(te.create_schedule(d.op), [rows, a.data, a.indices, a.indptr, b, c, d])

    kept, right, bias = sparse.array(MATRIX), np.arange(8, dtype="f4").reshape(4, 2), np.arange(3, dtype="f4")
    out = tvm.nd.array(np.zeros((3, 2), "f4"))
    f(3, kept.data, kept.indices, kept.indptr, tvm.nd.array(right), tvm.nd.array(bias), out)
    np.testing.assert_allclose(out.numpy(), MATRIX @ right + (bias[:, None] if biased else 0))


@pytest.mark.parametrize("first", [True, False])
def test_sparse_dense_accepts_either_operand_as_sparse(first: bool) -> None:
    other, bias = np.arange(8, dtype="f4").reshape(2, 4), np.array([1, -1, 2], "f4")[: 2 if first else 3]
    kept = sparse.placeholder(MATRIX.shape, 4, "float32")
    dense, more = te.placeholder((2, 4)), te.placeholder(bias.shape)
    pair = (kept, dense) if first else (dense, kept)
    made = topi.sparse.dense(*pair, more)
    f = tvm.build(te.create_schedule(made.op), [dense, kept.data, kept.indices, kept.indptr, more, made])

    values = sparse.array(MATRIX)
    found = f(other, values.data, values.indices, values.indptr, bias)
    np.testing.assert_allclose(found, (MATRIX @ other.T if first else other @ MATRIX.T) + bias)
    with pytest.raises(TensorExpressionError, match=r"topi\.sparse\.dense: weight: .* given, expected a tvm"):
        topi.sparse.dense(dense, dense)


def test_random_numbers_of_threefry_have_their_distributions() -> None:
    gen = te.placeholder((10,), "uint64")
    low, high = te.placeholder((), "float32"), te.placeholder((), "float32")
    left, right = topi.random.threefry_split(gen)
    after, words = topi.random.threefry_generate(gen, (7,))
    later, numbers = topi.random.uniform(gen, low, high, (48,), "float32")
    _, bell = topi.random.normal(gen, low, high, (40,), "float32")
    _, places = topi.random.multinomial(gen, te.compute((2, 3), lambda i, j: low * (j - i)), 50)
    outputs = [left, right, after, words, later, numbers, bell, places]
    f = tvm.build(topi.generic.schedule_extern(outputs), [gen, low, high, *outputs])

    key = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1 << 62, 0], "u8")
    found = f(key, np.float32(2), np.float32(4))
    assert len({one.tobytes() for one in (key, found[0], found[1], found[2], found[4])}) == 5
    assert len(set(found[3].tolist())) == 7
    assert 2 <= found[5].min() < 2.5 < 3.5 < found[5].max() <= 4
    assert abs(found[6].mean() - 2) < 2.5
    assert topi.random.threefry_test_wrapping("llvm", tvm.cpu())
    assert [set(row) for row in found[7].tolist()] == [{1, 2}, {2}]  # weights 0, 1, 2 and -1, 0, 1


def test_all_class_nms_keeps_the_best_boxes_of_each_class() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], "f4")
    scores = np.array([[[0.9, 0.75, 0.6], [0.2, 0.3, 0.8]]], "f4")
    inputs = te.placeholder(boxes.shape), te.placeholder(scores.shape)
    limits = tvm.tir.const(2, "int64"), 0.5, 0.25
    rows, count = topi.vision.all_class_non_max_suppression(*inputs, *limits)
    f = tvm.build(topi.generic.schedule_nms([rows, count]), [*inputs, rows, count])

    found, number = f(boxes, scores)
    assert found[: int(number[0])].tolist() == [[0, 0, 0], [0, 0, 2], [0, 1, 2], [0, 1, 1]]
    with pytest.raises(UnsupportedError, match="output_format is 'tensorflow', expected 'onnx'"):
        topi.vision.all_class_non_max_suppression(*inputs, *limits, "tensorflow")


def test_some_of_several_results_may_be_left_out() -> None:
    x = te.placeholder((5,), "int32")
    values, *_ = topi.unique(x)
    s = topi.generic.schedule_unique([values])

    assert tvm.build(s, [x, values])(np.array([3, 1, 3, 2, 1], "i4")).tolist() == [1, 2, 3, 0, 0]


def test_inconsistent_shapes_of_sparse_dense_are_an_error() -> None:
    dense, data = te.placeholder((2, 4)), te.placeholder((4,))
    places, begins = te.placeholder((4,), "int32"), te.placeholder((3, 1), "int32")

    with pytest.raises(TvmliteError, match=r"nn\.sparse_dense"):
        topi.nn.sparse_dense(dense, data, places, begins)


def test_get_shape_converts_between_layouts() -> None:
    utils = topi.utils

    assert utils.get_shape((3, 2, 32, 48, 16), "NCHW16c", "NC16cWH") == (3, 2, 16, 48, 32)
    assert (utils.get_max_power2_factor(48), utils.get_max_power2_factor(48, 8)) == (16, 8)
    assert (utils.ceil_div(7, 2), utils.is_empty_shape((2, 0))) == (4, True)
    assert utils.get_float_tuple((1, tvm.tir.const(0.5, "float32"))) == (1.0, 0.5)
    with pytest.raises(TvmliteError, match="dst_layout: 'NHW' given, expected the axes of NCHW"):
        utils.get_shape((1, 2, 3, 4), "NCHW", "NHW")
    with pytest.raises(TvmliteError, match="get_max_power2_factor: n: 0 given"):
        utils.get_max_power2_factor(0)


def test_mod_elemwise_sum_and_ceil_log2_match_numpy() -> None:
    x = te.placeholder((3,))
    data = np.array([7.5, -7.5, 1], "f4")

    for made, wanted in (
        (topi.mod(x, 2.0), np.fmod(data, 2)),
        (topi.elemwise_sum([x]), data),
        (topi.ceil_log2(topi.abs(x)), [3, 3, 0]),
    ):
        np.testing.assert_allclose(tvm.build(te.create_schedule(made.op), [x, made])(data), wanted)
