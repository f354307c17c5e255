"""Index arithmetic becomes int64; values keep their dtype."""

from __future__ import annotations

import pytest

from tvmlite import te
from tvmlite.core.node import postorder
from tvmlite.te import expr as e
from tvmlite.te.lowering.widen import Widening

i, j = te.var("i"), te.var("j")
wide = te.var("wide", "int64")
A = te.placeholder((8,), "int32", name="A")
B = te.placeholder((8,), "uint8", name="B")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (i * 4 + j, "i * 4 + j"),
        (te.max(te.min(i - 1, 7), 0) // 2 % 3, "max(min(i - 1, 7), 0) // 2 % 3"),
        (i + A[j], "i + int64(A[j])"),
        (A[i] * 2, "int64(A[i]) * 2"),
        (B[i] + te.const(1, "uint8"), "int64(B[i] + uint8(1))"),
        (te.if_then_else(i < j, i, j), "if_then_else(i < j, i, j)"),
        (te.select(A[i] < j, i, 0), "select(A[i] < int32(j), i, 0)"),
        (te.cast("int32", wide) + i, "wide + i"),
        (te.const(3), "3"),
    ],
)
def test_indices_become_int64(given, shown) -> None:
    made = Widening().index(given)

    assert str(made) == shown
    assert made.dtype == "int64"
    assert all(n.a.dtype == n.b.dtype for n in postorder(made) if isinstance(n, e.Binary))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (i * 3, "int32(i) * 3"),
        (i.astype("float32") + 1.0, "float32(int32(i)) + 1.0"),
        (i.astype("int64") * wide, "i * wide"),
        (A[i + 1] + j, "A[i + 1] + int32(j)"),
        (te.select(i < 4, A[i], A[j]), "select(i < 4, A[i], A[j])"),
        (te.select(A[i] == j, 1.0, 2.0), "select(A[i] == int32(j), 1.0, 2.0)"),
        (te.var("x", "float32") * 2.0, "x * 2.0"),
    ],
)
def test_values_keep_their_dtype(given, shown) -> None:
    made = Widening().value(given)

    assert str(made) == shown
    assert made.dtype == given.dtype


def test_each_variable_has_one_counterpart() -> None:
    widening = Widening(extents=[i])

    assert widening.variable(i) is widening.variable(i)
    assert isinstance(widening.variable(i), e.SizeVar)
    assert not isinstance(widening.variable(j), e.SizeVar)
    assert widening.variable(wide) is wide
    assert widening.extent(7) == 7


def test_a_variable_used_as_a_value_keeps_its_identity() -> None:
    widening = Widening()
    widening.keep(i)

    assert widening.value(i) is i
    assert str(widening.index(i + j)) == "int64(i) + j"
