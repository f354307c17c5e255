"""Reads that are certainly out of bounds are refused, with the line of the user."""

import pytest

from tvmlite import te
from tvmlite.core.errors import TensorExpressionError

N = te.var("n")
A = te.placeholder((8,), name="A")
B = te.placeholder((N, 8), name="B")
K = te.reduce_axis((2, 9), "k")


@pytest.mark.parametrize(
    ("shape", "body", "where"),
    [
        ((8,), lambda i: A[100], "at 100 to 100 on axis 0, whose extent is 8"),
        ((8,), lambda i: A[i + 1], "at 1 to 8"),
        ((4,), lambda i: A[9 - i * 3], "at 0 to 9"),
        ((3,), lambda i: te.sum(A[K], K), "at 2 to 8 on axis 0"),
        ((N,), lambda i: B[i + 5, 0], "at 5 to n \\+ 4 on axis 0, whose extent is n"),
        ((N,), lambda i: B[i, 8], "at 8 to 8 on axis 1"),
        ((8,), lambda i: te.if_then_else(A[i + 1] > 0, 1.0, 2.0), "at 1 to 8"),
    ],
)
def test_an_out_of_bounds_read_is_refused_with_the_users_line(shape, body, where) -> None:
    with pytest.raises(TensorExpressionError, match=rf"(?s)compute 'C' reads .* {where}.*bounds_check\.py"):
        te.compute(shape, body, name="C")


def test_only_a_scan_may_read_rows_before_the_first() -> None:
    C = te.compute((8,), lambda i: A[i - 1] * 2.0, name="C")
    with pytest.raises(TensorExpressionError, match=r"(?s)compute 'C' reads .*at -1 to 6.*bounds_check\.py"):
        te.create_schedule(C.op)
    first = te.compute((1,), lambda i: 1.0, name="first")
    te.create_schedule(te.scan(first, C, A).op)


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ((8,), lambda i: A[7 - i]),
        ((8,), lambda i: te.if_then_else(i > 0, A[i - 1], 0.0)),
        ((8,), lambda i: te.select(i < 7, A[i + 1], 0.0)),
        ((3,), lambda i: te.sum(A[K - 2 + i - i], K)),
        ((8,), lambda i: A[(i * 3) % 8]),
        ((N,), lambda i: B[N - 1 - i, 7]),
        ((0,), lambda i: A[i + 100]),
        ((N,), lambda i: A[i]),  # in bounds for some n
    ],
)
def test_a_read_that_may_be_in_bounds_is_accepted(shape, body) -> None:
    te.compute(shape, body, name="C")
