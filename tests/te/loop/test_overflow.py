"""Index arithmetic with a check for overflow: equal values without overflow, and a mark with it."""

import numpy as np
import pytest

from tvmlite.te import expr as e
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.overflow import OVERFLOW, or_overflow

N, M = e.SizeVar("n", "int64"), e.SizeVar("m", "int64")


def value_of(expr: e.Expr, n: int, m: int = 1) -> int:
    out = ir.Buffer("out", "int64", (e.const(1, "int64"),), "param")
    store = ir.Store(out, (e.const(0, "int64"),), or_overflow(expr))
    made = np.zeros(1, np.int64)
    interpret(ir.Function("f", (out,), (out,), (N, M), store), [made], {N: n, M: m})
    return int(made[0])


@pytest.mark.parametrize("n", [0, 1, 7, 4096, 2**30])
@pytest.mark.parametrize("m", [0, 3, 2**20])
def test_an_expression_without_overflow_keeps_its_value(n, m) -> None:
    exprs = [
        (N * M + 5, n * m + 5),
        ((N + 63) // 64 * 64, -(-n // 64) * 64),
        (N // M, n // m if m else 0),
        (N % M, n % m if m else 0),
        (N - M * 3, n - m * 3),
        (e.Max(N, M) - e.Min(N, M), abs(n - m)),
        (e.Select(N < M, N, M * 2), n if n < m else m * 2),
        (e.Call("if_then_else", (e.Not(N <= M), N, M * 2), "int64"), n if n > m else m * 2),
        (e.TruncDiv(N - M, e.const(7, "int64")), int((n - m) / 7)),
        (e.Cast("int64", e.Cast("int32", N)) + 1, n + 1),
    ]
    for expr, expected in exprs:
        assert value_of(expr, n, m) == expected, expr


@pytest.mark.parametrize(
    ("expr", "n", "m"),
    [
        (N * N, 2**32, 1),  # wraps to 0
        (N * N * N * N, 2**16, 1),
        (N * M, 2**40, 3 * 2**23),  # wraps to a negative number
        (e.Min(N * N, e.const(1, "int64")), 2**32, 1),  # in range, and wrong
        (N * 4 + 64, 2**62, 1),
        (N * M // M, 2**40, 2**40),
    ],
)
def test_an_overflow_is_reported(expr, n, m) -> None:
    assert value_of(expr, n, m) == OVERFLOW


def test_a_size_variable_alone_is_unchanged() -> None:
    assert or_overflow(N) is N
