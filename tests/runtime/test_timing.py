"""Timings have the requested number of runs and a median inside its interval."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence

import pytest

from tvmlite.core.errors import InputError
from tvmlite.runtime import timing as clocks
from tvmlite.runtime.timing import Others, measure


def test_a_timed_sleep_takes_its_duration() -> None:
    timing = measure(lambda: time.sleep(0.002), budget=0.03)
    assert 0.002 <= timing.median < 0.02
    assert timing.interval[0] <= timing.median <= timing.interval[1]
    assert timing.number == 1
    assert len(timing.runs) >= 3
    assert not timing.busy < 0


def test_short_calls_are_repeated_many_times_per_run() -> None:
    timing = measure(lambda: None, budget=0.01)
    assert timing.number > 100
    assert timing.median < 1e-5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"number": 0}, "number: 0 given"),
        ({"repeat": -1}, "repeat: -1 given"),
        ({"budget": 0}, "budget: 0 given"),
    ],
)
def test_invalid_settings_are_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        measure(lambda: None, **wrong)


def test_waiting_takes_no_time_on_the_clock_of_the_thread() -> None:
    by_wall = measure(lambda: time.sleep(0.005), number=1, repeat=3)
    by_thread = measure(lambda: time.sleep(0.005), number=1, repeat=3, clock=time.thread_time)

    assert by_wall.median >= 0.005 > by_thread.median


def test_until_ends_the_timing_before_its_budget() -> None:
    asked: list[int] = []

    def until(runs: Sequence[float], spent: float) -> bool:
        asked.append(len(runs))
        assert spent >= 0
        return len(runs) == 2

    timing = measure(lambda: time.sleep(0.001), number=1, budget=10.0, until=until)

    assert len(timing.runs) == 2
    assert asked == [1, 2]


@pytest.mark.parametrize(("warm", "calls"), [(True, 4), (False, 3)])
def test_the_warm_up_can_be_omitted(warm: bool, calls: int) -> None:
    seen: list[None] = []

    measure(lambda: seen.append(None), number=1, repeat=3, warm=warm)

    assert len(seen) == calls


def test_the_run_that_determines_the_number_of_calls_counts() -> None:
    seen: list[None] = []

    def call() -> None:
        seen.append(None)
        time.sleep(0.001)

    timing = measure(call, repeat=3, warm=False)

    assert timing.number == 1
    assert len(timing.runs) == len(seen) == 3


def test_time_used_by_this_process_is_not_counted_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    others = Others()
    spent = time.process_time()

    monkeypatch.setattr(clocks.time, "process_time", lambda: spent + 1e6)
    assert others.share == 0
    monkeypatch.setattr(clocks.time, "process_time", lambda: spent - 1e6)
    assert others.share > 0  # the time of this process is subtracted


@pytest.mark.parametrize("used", [0.5, math.nan])
def test_the_share_of_others_is_relative_to_all_processors(
    used: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "_others_seconds", lambda: used * (os.cpu_count() or 1) * time.perf_counter())

    busy = measure(lambda: time.sleep(0.002), number=1, repeat=5).busy

    assert busy == pytest.approx(used, rel=0.01, nan_ok=True)
