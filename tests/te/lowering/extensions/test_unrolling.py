"""Unrolling that makes compilation slow gives a warning with the line of the primitive."""

from __future__ import annotations

import inspect
import warnings

import pytest

from tvmlite import te
from tvmlite.te.lowering.extensions.unrolling import MANY_STORES, warn_of_long_code
from tvmlite.te.lowering.lower import lower
from tvmlite.te.schedule.schedule import Schedule


def scheduled(rows: int, columns: int) -> tuple[Schedule, list[te.Tensor]]:
    a = te.placeholder((rows, columns), name="A")
    c = te.compute((rows, columns), lambda i, j: a[i, j] + 1, name="C")
    return te.create_schedule(c.op), [a, c]


def test_a_long_unrolled_loop_is_named_with_its_line() -> None:
    schedule, args = scheduled(3, 16384)
    column = args[1].op.axis[1]
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    schedule[args[1]].unroll(column)

    with pytest.warns(RuntimeWarning) as told:
        warn_of_long_code(lower(schedule, args, "copy"), 16, schedule)

    assert str(told[0].message) == (
        "copy: unrolling j of 16384 iterations writes out 16384 stores, which may take minutes to compile; a "
        "loop of more than 16384 statements stays one. Split the axis, unroll the inner part"
    )
    assert (told[0].filename, told[0].lineno) == (__file__, line)


def test_a_product_of_short_unrolled_loops_is_warned_about() -> None:
    schedule, args = scheduled(64, 128)
    for axis in args[1].op.axis:
        schedule[args[1]].unroll(axis)

    with pytest.warns(
        RuntimeWarning, match="unrolling j of 128 iterations, i of 64 iterations writes out 8192 stores"
    ):
        warn_of_long_code(lower(schedule, args, "copy"), 16, schedule)


def test_without_a_schedule_the_warning_has_the_line_of_the_caller() -> None:
    schedule, args = scheduled(1, MANY_STORES)
    schedule[args[1]].unroll(args[1].op.axis[1])
    function = lower(schedule, args, "copy")

    with pytest.warns(RuntimeWarning, match="4096 stores") as told:
        warn_of_long_code(function, 16)

    assert told[0].filename == __file__


@pytest.mark.parametrize("kind", ["serial", "vectorize", "short"])
def test_other_loops_cause_no_warning(kind: str) -> None:
    schedule, args = scheduled(2, 16384)
    stage, axis = schedule[args[1]], args[1].op.axis[1]
    if kind == "vectorize":
        stage.vectorize(axis)
    if kind == "short":
        stage.unroll(stage.split(axis, factor=MANY_STORES // 2)[1])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_long_code(lower(schedule, args, "copy"), 16, schedule)
