"""Loops that are neither unrolled nor vectorized, for machines with little code memory."""

from __future__ import annotations

import numpy as np

from tvmlite import te
from tvmlite.te.loop import ir
from tvmlite.te.loop.interpret import interpret
from tvmlite.te.loop.passes import legalize
from tvmlite.te.loop.passes.unroll import rolled, unroll
from tvmlite.te.lowering.lower import lower


def _scaled() -> ir.Function:
    a = te.placeholder((4, 8), "float32", "a")
    b = te.compute((4, 8), lambda i, j: a[i, j] * 2, name="b")
    schedule = te.create_schedule(b.op)
    row, column = b.op.axis
    schedule[b].unroll(row)
    schedule[b].vectorize(column)
    return lower(schedule, [a, b], "scaled")


def test_vectorized_and_unrolled_loops_become_serial() -> None:
    before = _scaled()
    assert "unroll(0, 4)" in str(before)
    assert "vectorize(0, 8)" in str(before)

    after = rolled(before)

    assert str(after) == str(before).replace("unroll(0, 4)", "range(0, 4)").replace(
        "vectorize(0, 8)", "range(0, 8)"
    )


def test_only_loops_of_the_given_kinds_become_serial() -> None:
    before = _scaled()

    assert rolled(before, (ir.PARALLEL,)) is before


def test_a_function_of_serial_loops_is_the_same_object() -> None:
    before = rolled(_scaled())

    assert rolled(before) is before


def test_the_results_stay_the_same() -> None:
    x = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")
    expected, got = np.zeros_like(x), np.zeros_like(x)

    interpret(_scaled(), [x, expected])
    interpret(legalize(_scaled(), "c -system=none"), [x, got])

    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(got, x * 2)


def test_without_vectors_no_loop_is_unrolled_or_vectorized() -> None:
    text = str(legalize(_scaled(), "c -mcpu=cortex-m4"))

    assert text.count("range(") == 2
    assert "x8" not in text


def test_unrolling_can_be_left_to_the_compiler() -> None:
    before = _scaled()

    after = unroll(before, write_out=False)

    assert "unroll(0, 4)" in str(after)
    assert unroll(after, write_out=False) is after
