"""Operation counts of formulas, compared with counts by hand."""

from __future__ import annotations

import pytest

from tvmlite import te
from tvmlite.core.errors import InputError
from tvmlite.te.tensor.work import index_readers, operations


def test_a_matmul_counts_multiplications_and_additions() -> None:
    A = te.placeholder((5, 7), name="A")
    B = te.placeholder((7, 3), name="B")
    k = te.reduce_axis((0, 7), name="k")
    C = te.compute((5, 3), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

    assert operations([C.op], {}) == 2 * 5 * 7 * 3


def test_every_stage_counts_once_whatever_the_schedule() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0 + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] * B[i], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()

    assert operations(s.origins, {}) == 8 * 2 + 8


def test_indices_conditions_and_conversions_are_free() -> None:
    A = te.placeholder((20,), name="A")
    padded = te.compute((24,), lambda i: te.if_then_else(te.all(i >= 2, i < 22), A[i - 2], 0.0), name="P")
    total = te.compute((8,), lambda i: te.exp(padded[i * 2 + 1].astype("float64")), name="T")

    assert operations([padded.op], {}) == 0
    assert operations([total.op], {}) == 8


def test_shared_terms_count_once_and_fma_twice() -> None:
    A = te.placeholder((4,), name="A")

    def formula(i):
        shared = A[i] * 3.0
        return te.fma(shared, shared, A[i])

    assert operations([te.compute((4,), formula, name="B").op], {}) == 4 * 3


def test_an_operation_may_declare_its_count_per_element() -> None:
    A = te.placeholder((5, 6), name="A")
    k = te.reduce_axis((0, 6), name="k")

    def either(i):
        return te.sum(te.if_then_else(k % 2 == 0, A[i, k] * A[i, k] + 1.0, A[i, k]), axis=k)

    assert operations([te.compute((5,), either, name="B").op], {}) == 5 * 6 * 3
    assert operations([te.compute((5,), either, name="B", attrs={"operations": 12}).op], {}) == 5 * 12


def test_sizes_are_looked_up_by_name() -> None:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    B = te.compute((n, 4), lambda i, j: A[i, j] + 1.0, name="B")

    assert operations([B.op], {"n": 6}) == 24
    with pytest.raises(InputError, match="the size 'n' is not known"):
        operations([B.op], {})


def test_tuple_reductions_count_their_combination() -> None:
    A = te.placeholder((3, 5), name="A")
    k = te.reduce_axis((0, 5), name="k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda a, b: (te.const(0, a), te.const(1, b)), name="both"
    )
    outputs = te.compute((3,), lambda i: both((A[i, k], A[i, k]), axis=k), name="R")

    assert operations([outputs[0].op], {}) == 3 * 5 * 2


def test_tensors_read_as_indices_are_found() -> None:
    A = te.placeholder((10,), name="A")
    where = te.placeholder((4,), dtype="int32", name="where")
    B = te.compute((4,), lambda i: A[where[i]], name="B")

    assert index_readers([B.op]) == {where}


def test_reversed_indices_count_no_operation() -> None:
    a = te.placeholder((100,))
    b = te.compute((50,), lambda i: a[i * 2 + 1] * 3.0)
    c = te.compute((50,), lambda i: te.exp(b[i]) + b[49 - i])

    assert operations([c.op], {}) == 50 * 1 + 50 * 2
