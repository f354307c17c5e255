"""Cold arrays: data that exceeds the caches in a model is timed as it is loaded from memory."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tvmlite.autotune.measure.cold import (
    DEFAULT_FOOTPRINT,
    LARGE_ALLOCATION,
    LARGE_PAGE,
    SMALLEST_COPIED,
    Footprint,
    copies_in_one_block,
    further_arguments,
)
from tvmlite.autotune.measure.worker import Worker, _Task
from tvmlite.machine.machine import BEYOND_CACHES
from tvmlite.runtime.timing import Timing


def test_cold_arrays_and_their_copies_exceed_the_caches() -> None:
    small, large = np.zeros(8, np.float32), np.ones(BEYOND_CACHES // 16, np.uint8)

    others = further_arguments([small, large], (0, 1), (), DEFAULT_FOOTPRINT)

    assert len(others) == 15
    assert all(one[0] is small for one in others)
    assert all(one[1] is not large for one in others)
    np.testing.assert_array_equal(others[14][1], large)


PAGES = """
import numpy as np, re, sys
for size in map(int, sys.argv[1:]):
    array = np.empty(size, np.uint8)
    where, flags = array.ctypes.data + size // 2, ""
    for line in open("/proc/self/smaps"):
        if bounds := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(bounds[1], 16) <= where < int(bounds[2], 16)
        elif inside and line.startswith("VmFlags:"):
            flags = line
    print("hg" in flags.split())
"""


@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="no large pages")
def test_numpy_asks_for_large_pages_from_the_documented_size_on() -> None:
    command = [sys.executable, "-c", PAGES, str(LARGE_ALLOCATION), str(LARGE_ALLOCATION - 1)]

    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert found.split() == ["True", "False"]


def test_arrays_that_are_warm_or_small_are_not_copied() -> None:
    large, small = np.zeros(BEYOND_CACHES // 2, np.uint8), np.zeros(SMALLEST_COPIED - 1, np.uint8)

    assert further_arguments([large], (), (), DEFAULT_FOOTPRINT) == []
    assert further_arguments([small], (0,), (), DEFAULT_FOOTPRINT) == []


def test_results_rotate_over_the_memory_of_the_models_values() -> None:
    """Weights rotate over the size of all weights, results over the memory of the values."""
    data, weight, result = (np.ones(SMALLEST_COPIED * n, np.uint8) for n in (1, 2, 3))
    footprint = Footprint(weights=8 * SMALLEST_COPIED, values=5 * SMALLEST_COPIED)

    others = further_arguments([data, weight, result], (1,), (2,), footprint)

    assert len(others) == 3
    assert all(one[0] is data for one in others)
    assert len({id(one[1]) for one in others} | {id(weight)}) == 4
    assert [one[2] is result for one in others] == [False, True, False]
    assert others[0][2] is others[2][2]


def test_copies_are_aligned_like_weights_of_a_model() -> None:
    weight = np.arange(SMALLEST_COPIED // 4 + 5, dtype=np.float32)  # not a multiple of a cache line

    others = further_arguments([weight], (0,), (), Footprint(20 * SMALLEST_COPIED, 0))

    assert len(others) == 19
    for (copied,) in others:
        assert copied.ctypes.data % 64 == 0
        np.testing.assert_array_equal(copied, weight)


def test_the_arrays_of_a_task_are_adjacent_and_start_at_a_page() -> None:
    data, scalar = np.arange(20, dtype=np.float32), np.array(3, np.int64)

    copies = copies_in_one_block([data, scalar, data])

    places = [one.ctypes.data for one in copies]
    assert places[0] % LARGE_PAGE == 0
    assert [place - places[0] for place in places] == [0, 128, 192]
    for copied, given in zip(copies, (data, scalar, data), strict=True):
        assert copied.dtype == given.dtype
        np.testing.assert_array_equal(copied, given)


def test_an_array_larger_than_the_footprint_needs_no_copies() -> None:
    weight, result = np.ones(4 * SMALLEST_COPIED, np.uint8), np.ones(4 * SMALLEST_COPIED, np.uint8)

    assert (
        further_arguments([weight, result], (0,), (1,), Footprint(2 * SMALLEST_COPIED, SMALLEST_COPIED)) == []
    )


@pytest.mark.parametrize(
    ("first", "then", "calls"), [(9e-3, 2e-5, 2), (9e-3, 1e-3, 1), (1.0, 1e-5, 0), (3e-5, 3e-5, 1)]
)
def test_a_candidate_slow_only_in_its_first_call_is_timed_again(
    monkeypatch: pytest.MonkeyPatch, first: float, then: float, calls: int
) -> None:
    """The best of the task takes 20 us. ``calls`` is how often a candidate is timed: once more if it might
    be the caches' fault, and then as long as it is worth."""
    asked = []

    def time(name: object, task: str, calls: int, **options: object) -> Timing:
        asked.append(options)
        return Timing(then, (then, then), (then,), 1, 0.0)

    worker = Worker()
    worker.tasks["task"] = _Task([], {}, best_seconds=2e-5)
    monkeypatch.setattr(worker, "_time", time)
    monkeypatch.setattr("tvmlite.autotune.measure.worker._function", lambda fields, ir_text: None)
    monkeypatch.setattr(
        "tvmlite.autotune.measure.worker._check_results", lambda function, task, clock: ("", first)
    )

    reply = worker.answer({"do": "measure", "task": "task", "number": None, "budget": 0.02}, b"")

    assert (len(asked), reply["costs"]) == (calls, [then if calls else first])


def test_a_call_longer_than_the_budget_is_timed_in_one_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call takes 25 ms and the budget is 20 ms: a few runs of one call each suffice for the best."""
    asked = []

    def time(name: object, task: str, calls: int, **options: object) -> Timing:
        asked.append(options["number"])
        return Timing(25e-3, (25e-3, 25e-3), (25e-3,) * 3, 1, 0.0)

    worker = Worker()
    worker.tasks["task"] = _Task([], {}, best_seconds=30e-3)
    monkeypatch.setattr(worker, "_time", time)
    monkeypatch.setattr("tvmlite.autotune.measure.worker._function", lambda fields, ir_text: None)
    monkeypatch.setattr(
        "tvmlite.autotune.measure.worker._check_results", lambda function, task, clock: ("", 26e-3)
    )

    worker.answer({"do": "measure", "task": "task", "number": None, "budget": 0.02}, b"")

    assert asked == [1]


def test_candidates_use_the_copies_in_rotation() -> None:
    """Each is given as many copies as it may need, the least recently used ones."""
    given: list[list[list[np.ndarray]]] = []

    class Function:
        def time(self, *arrays: np.ndarray, others: list[list[np.ndarray]], **options: object) -> Timing:
            given.append(others)
            return Timing(1.0, (1.0, 1.0), (1.0,), 1, 0.0)

    weight = np.ones(SMALLEST_COPIED, np.uint8)
    worker = Worker()
    worker.tasks["task"] = _Task([weight], {}, (0,), footprint=Footprint(6 * SMALLEST_COPIED, 0))
    for calls in (2, 2, 2, 9):
        worker._time(Function(), "task", calls)  # type: ignore[arg-type]

    copies = [id(one[0]) for one in worker.copies[1]]
    assert len(copies) == 5
    turns = [[copies.index(id(one[0])) for one in others] for others in given]
    assert turns == [[0, 1], [2, 3], [4, 0], [0, 1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("runs", "spent", "first", "enough"),
    [
        ((2e-5,) * 3, 1e-3, 2e-5, False),  # not yet timed for long
        ((2e-5,) * 9, 6e-3, 2e-5, True),  # all agree
        ((2e-5, 2.2e-5) * 5, 6e-3, 2e-5, False),  # among the best, and still uncertain
        ((4e-5, 7e-5) * 5, 6e-3, 2e-5, True),  # not among the best, however uncertain
        ((9e-3,), 9e-3, 9e-3, True),  # long calls, not among the best
        ((6e-3,), 6e-3, 6e-3, False),
    ],
)
def test_fast_candidates_are_timed_longer_than_slow_ones(
    monkeypatch: pytest.MonkeyPatch, runs: tuple[float, ...], spent: float, first: float, enough: bool
) -> None:
    """The best of the task takes 20 us, or where calls are long 6 ms; 20 ms may be spent."""
    asked = []

    def time(name: object, task: str, calls: int, **options: Any) -> Timing:
        asked.append(options["until"](runs, spent))
        return Timing(7e-5, (7e-5, 7e-5), (7e-5,), 1, 0.0)

    worker = Worker()
    worker.tasks["task"] = _Task([], {}, best_seconds=2e-5 if first < 1e-3 else 6e-3)
    monkeypatch.setattr(worker, "_time", time)
    monkeypatch.setattr("tvmlite.autotune.measure.worker._function", lambda fields, ir_text: None)
    monkeypatch.setattr(
        "tvmlite.autotune.measure.worker._check_results", lambda function, task, clock: ("", first)
    )

    worker.answer({"do": "measure", "task": "task", "number": None, "budget": 0.02}, b"")

    assert asked == [enough]


@pytest.mark.parametrize(("seconds", "turns"), [(1e-3, 140), (1e-2, 14), (1.0, 7)])
def test_compared_candidates_alternate_run_by_run(
    monkeypatch: pytest.MonkeyPatch, seconds: float, turns: int
) -> None:
    """Two candidates, seven rounds of 20 ms; ``turns`` of each after a first look, seven at least."""
    asked: list[str] = []

    def time(function: str, task: str, calls: int, **options: object) -> Timing:
        asked.append(function)
        return Timing(seconds, (seconds, seconds), (seconds,), 1, 0.0)

    worker = Worker()
    worker.tasks["task"] = _Task([], {})
    monkeypatch.setattr(worker, "_time", time)
    monkeypatch.setattr("tvmlite.autotune.measure.worker._function", lambda fields, ir_text: ir_text)
    monkeypatch.setattr(
        "tvmlite.autotune.measure.worker._check_results", lambda function, task, clock: ("", seconds)
    )
    wanted = {
        "do": "compare",
        "task": "task",
        "mark": "|",
        "signatures": ["", ""],
        "budget": 0.02,
        "rounds": 7,
    }

    reply = worker.answer(wanted, b"a|b")

    assert asked == ["a", "b"] * (1 + turns)
    assert reply == {"outcomes": [{"costs": [seconds] * turns}] * 2}
