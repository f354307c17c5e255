"""The measured limits of the machine are plausible and of the right kind."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tvmlite.te.visualizer import limits


def test_limits_are_measured_for_the_dtype_in_use() -> None:
    found = limits.measure(["float32", "float32"], 1 << 14, 1)

    assert found.unit == "float32 multiply-adds"
    assert 1e9 < found.operations < 1e13
    assert 1e9 < found.bandwidth < 1e13
    assert (found.size, found.threads) == (1 << 14, 1)


def test_the_roofline_is_the_slower_of_arithmetic_and_memory() -> None:
    found = limits.Limits(100.0, 10.0, "float32 multiply-adds", 1000, 1)

    assert found.seconds(1000, 10) == 10
    assert found.seconds(10, 1000) == 100


def test_time_spent_waiting_is_not_measured() -> None:
    with ThreadPoolExecutor(2) as pool:
        seconds = limits._timed(pool, 2, lambda turns, _: time.sleep(0.05), 1)

    assert seconds < 0.04


def test_integers_and_doubles_have_their_own_limits() -> None:
    assert limits.measure(["int32"], 4096, 1).unit == "int32 multiply-adds"
    assert limits.measure(["float64", "float32"], 4096, 2).unit == "float64 multiply-adds"
