"""A function whose output lies where one of its inputs did."""

from collections.abc import Callable

import numpy as np
import pytest

from tvmlite import te
from tvmlite.core.errors import TensorExpressionError
from tvmlite.te.loop import ir
from tvmlite.te.loop.in_place import in_place
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.verify import verify
from tvmlite.te.lowering.lower import lower


def lowered(formula: Callable[..., te.Tensor]) -> ir.Function:
    """``formula`` of two square matrices, in vectors with a tail."""
    a, b = te.placeholder((9, 9), "float32", "A"), te.placeholder((9, 9), "float32", "B")
    c = formula(a, b)
    schedule = te.create_schedule(c.op)
    stage = schedule[c]
    _, lanes = stage.split(stage.op.axis[-1], factor=4)
    stage.vectorize(lanes)
    return lower(schedule, [a, b, c], "f")


def test_input_and_output_become_one_buffer() -> None:
    before = lowered(lambda a, b: te.compute((9, 9), lambda i, j: a[i, j] * 2 + b[j, i], name="C"))
    after = in_place(before, 0)
    a, b = np.random.default_rng(0).standard_normal((2, 9, 9)).astype("float32")
    wanted = a * 2 + b.T

    verify(after)
    assert [p.name for p in after.params] == ["B", "C"]
    interpret(after, [b, a])
    np.testing.assert_allclose(a, wanted, rtol=1e-6)


@pytest.mark.parametrize("position", [0, 1])
def test_an_input_that_is_read_elsewhere_does_not_give_its_place(position: int) -> None:
    def formula(a: te.Tensor, b: te.Tensor) -> te.Tensor:
        return te.compute((9, 9), lambda i, j: a[i, 8 - j] + b[j, i], name="C")

    with pytest.raises(TensorExpressionError, match=f"f: C cannot overwrite {'AB'[position]}, whose"):
        in_place(lowered(formula), position)


def test_a_sum_in_the_output_keeps_its_operand() -> None:
    def formula(a: te.Tensor, b: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, 9), "k")
        return te.compute((9, 9), lambda i, j: te.sum(a[i, j] * b[k, j], k), name="C")

    with pytest.raises(TensorExpressionError, match="cannot overwrite A"):
        in_place(lowered(formula), 0)
