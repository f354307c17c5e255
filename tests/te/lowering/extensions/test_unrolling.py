"""Who unrolls loops so far that compiling takes long is told, at the line that does it."""

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


def test_a_loop_of_many_turns_is_named_with_its_line() -> None:
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


def test_a_product_of_short_loops_is_told_too() -> None:
    schedule, args = scheduled(64, 128)
    for axis in args[1].op.axis:
        schedule[args[1]].unroll(axis)

    with pytest.warns(
        RuntimeWarning, match="unrolling j of 128 iterations, i of 64 iterations writes out 8192 stores"
    ):
        warn_of_long_code(lower(schedule, args, "copy"), 16, schedule)


def test_loops_without_a_schedule_are_told_at_the_callers_line() -> None:
    schedule, args = scheduled(1, MANY_STORES)
    schedule[args[1]].unroll(args[1].op.axis[1])
    function = lower(schedule, args, "copy")

    with pytest.warns(RuntimeWarning, match="4096 stores") as told:
        warn_of_long_code(function, 16)

    assert told[0].filename == __file__


@pytest.mark.parametrize("kind", ["serial", "vectorize", "short"])
def test_other_loops_are_not_worth_a_word(kind: str) -> None:
    schedule, args = scheduled(2, 16384)
    stage, axis = schedule[args[1]], args[1].op.axis[1]
    if kind == "vectorize":
        stage.vectorize(axis)
    if kind == "short":
        stage.unroll(stage.split(axis, factor=MANY_STORES // 2)[1])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_long_code(lower(schedule, args, "copy"), 16, schedule)
