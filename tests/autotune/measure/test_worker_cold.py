"""Cold arrays: what a model has more of than caches hold is timed as it comes from memory."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.autotune.measure.worker import CACHES, LEAST_COLD, Worker, _Task
from tvmlite.runtime.timing import Timing


def test_cold_arrays_and_their_copies_fill_more_than_the_caches() -> None:
    small, large = np.zeros(8, np.float32), np.ones(CACHES // 16, np.uint8)
    task = _Task([small, large], {}, cold=(0, 1))

    copies = task.copies()

    assert len(copies) == 15
    assert all(one[0] is small for one in copies)
    assert all(one[1] is not large for one in copies)
    np.testing.assert_array_equal(copies[0][1], large)


def test_what_is_not_cold_or_comes_in_at_once_is_not_copied() -> None:
    large, small = np.zeros(CACHES // 2, np.uint8), np.zeros(LEAST_COLD - 1, np.uint8)

    assert _Task([large], {}).copies() == []
    assert _Task([small], {}, cold=(0,)).copies() == []


def test_where_a_kernel_is_used_is_told_results_are_cold_as_well() -> None:
    data, weight, result = (np.ones(LEAST_COLD * n, np.uint8) for n in (1, 2, 3))

    copies = _Task([data, weight, result], {2: result}, cold=(1,), footprint=18 * LEAST_COLD).copies()

    assert len(copies) == 3  # 5 parts a call: with these 20 are touched until an array's turn comes again
    assert all(one[0] is data for one in copies)
    assert len({id(one[1]) for one in copies} | {id(weight)}) == 4
    assert len({id(one[2]) for one in copies} | {id(result)}) == 4


def test_what_fits_beside_all_else_that_is_used_needs_no_copies() -> None:
    weight, result = np.ones(4 * LEAST_COLD, np.uint8), np.ones(4 * LEAST_COLD, np.uint8)

    assert _Task([weight, result], {1: result}, cold=(0,), footprint=2 * LEAST_COLD).copies() == []


@pytest.mark.parametrize(
    ("first", "then", "calls"), [(9e-3, 2e-5, 3), (9e-3, 1e-3, 1), (1.0, 1e-5, 0), (3e-5, 3e-5, 1)]
)
def test_what_only_its_first_call_makes_slow_is_not_given_up(
    monkeypatch: pytest.MonkeyPatch, first: float, then: float, calls: int
) -> None:
    """The best of the task takes 20 us. ``calls`` is how often a candidate is timed: once more if it might
    be the caches' fault, then at a glance, and for long if it is among the best."""
    asked = []

    def time(name: object, task: str, **options: object) -> Timing:
        asked.append(options)
        return Timing(then, (then, then), (then,), 1, 0.0)

    worker = Worker()
    worker.tasks["task"] = _Task([], {}, least=2e-5)
    monkeypatch.setattr(worker, "_time", time)
    monkeypatch.setattr("tvmlite.autotune.measure.worker._function", lambda fields, ir_text: None)
    monkeypatch.setattr("tvmlite.autotune.measure.worker._wrong", lambda function, task, clock: ("", first))

    reply = worker.answer({"do": "measure", "task": "task", "number": None, "budget": 0.02}, b"")

    assert (len(asked), reply["costs"]) == (calls, [then if calls else first])
