"""The worker's check: unwritten elements are wrong, and no candidate is blamed for another's writes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from tvmlite.autotune.measure.worker import (
    _Answer,
    _array,
    _bools_as_bytes,
    _check_results,
    _failure,
    _Task,
    _values,
)
from tvmlite.core import dtype as dtypes
from tvmlite.core.abi.signature import Parameter, Signature
from tvmlite.core.errors import BeyondMemory, ExecutionError
from tvmlite.techniques.pack24.operator import unpacked24

SEED = 3


class Copy:
    """The candidate ``run`` of a task that copies eight elements."""

    def __init__(self, run: Callable[[np.ndarray, np.ndarray], object], dtype: str = "float32") -> None:
        self.run = run
        self.signature = Signature(
            "copy", (Parameter("x", "input", dtype, (8,)), Parameter("y", "output", dtype, (8,)))
        )

    def __call__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.run(x, y)


def right(x: np.ndarray, y: np.ndarray) -> None:
    y[...] = x


def task_of(expected: np.ndarray, dtype: str = "float32") -> _Task:
    """A task of ``Copy`` with the right answer ``expected``."""
    parameters = Copy(right, dtype).signature.arrays
    arrays = _values(parameters, (), SEED)
    return _Task(arrays, {1: _Answer.of(_bools_as_bytes(expected), dtype)}, parameters=parameters, seed=SEED)


def selection(candidate: Copy, task: _Task) -> str:
    return _check_results(candidate, task, time.perf_counter)[0]  # type: ignore[arg-type]


FLOATS = (*dtypes.FLOATS, *dtypes.NARROW_FLOATS)


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int64", "uint4"])
def test_an_unwritten_element_is_wrong_even_if_zero_is_expected(dtype: str) -> None:
    zeros = np.zeros(8, dtypes.numpy_of(dtype))

    def all_but_one(x: np.ndarray, y: np.ndarray) -> None:
        y[:5] = y[6:] = 0

    def all_of_them(x: np.ndarray, y: np.ndarray) -> None:
        y[...] = zeros

    assert selection(Copy(all_but_one, dtype), task_of(zeros, dtype)).startswith("y[")
    assert selection(Copy(all_of_them, dtype), task_of(zeros, dtype)) == ""


def test_an_unwritten_bool_is_wrong() -> None:
    truths = np.ones(8, np.bool_)
    task = task_of(truths, "bool")

    assert selection(Copy(lambda x, y: None, "bool"), task) == "y[0] is 165, the reference has 1"
    assert selection(Copy(lambda x, y: y.fill(True), "bool"), task) == ""


@pytest.mark.parametrize("dtype", [name for name in FLOATS if name[:6] not in ("float4", "float6")])
def test_nan_is_right_only_where_the_reference_has_it(dtype: str) -> None:
    expected = np.array([1, np.nan] * 4).astype(dtypes.numpy_of(dtype))

    def nowhere(x: np.ndarray, y: np.ndarray) -> None:
        y[...] = np.ones_like(y)

    assert selection(Copy(lambda x, y: np.copyto(y, expected), dtype), task_of(expected, dtype)) == ""
    assert selection(Copy(nowhere, dtype), task_of(expected, dtype)).startswith("y[1] is 1")


@pytest.mark.parametrize("dtype", dtypes.FLOATS)
def test_only_infinity_matches_infinity_of_the_reference(dtype: str) -> None:
    expected = np.array([1, np.inf, -np.inf, 2] * 2).astype(dtypes.numpy_of(dtype))

    def finite(x: np.ndarray, y: np.ndarray) -> None:
        y[...] = np.clip(expected.astype(np.float64), -2, 2)

    assert selection(Copy(lambda x, y: np.copyto(y, expected), dtype), task_of(expected, dtype)) == ""
    assert selection(Copy(finite, dtype), task_of(expected, dtype)).startswith("y[1] is 2")


def test_inputs_overwritten_by_one_candidate_are_restored_for_the_next() -> None:
    x = _array("float32", (8,), np.random.default_rng(SEED))
    task = task_of(x)

    def careless(x: np.ndarray, y: np.ndarray) -> None:
        y[...] = x
        x[3] = 7.0

    def bad(x: np.ndarray, y: np.ndarray) -> None:
        x[3] = y[3] = 7.0

    assert [selection(Copy(run), task) == "" for run in (right, careless, right, bad, right)] == [
        True,
        True,
        True,
        False,
        True,
    ]
    np.testing.assert_array_equal(task.arrays[0], x)


def test_failures_for_lack_of_memory_have_their_own_error() -> None:
    caused = ExecutionError("no memory for a workspace")
    caused.__cause__ = MemoryError()
    lacking = [MemoryError(), BeyondMemory("needs 5,000,000,000,000 bytes"), caused]

    assert [_failure(error)["error"] for error in lacking] == ["memory"] * 3
    assert [_failure(error)["message"] for error in lacking[::2]] == ["not enough memory", caused.message]
    assert _failure(ExecutionError("stopped with code 1"))["error"] == "compile"


def test_a_result_that_is_right_only_in_the_second_run_is_wrong() -> None:
    turns = iter(["late", "in time"])

    def races(x: np.ndarray, y: np.ndarray) -> None:
        if next(turns) == "in time":
            y[...] = x

    task = task_of(_array("float32", (8,), np.random.default_rng(SEED)))

    assert selection(Copy(races), task).startswith("y[0] is nan")


def test_random_words_are_finite_floats_in_any_format() -> None:
    words = _array("uint32", (2, 3, 1, 3, 16), np.random.default_rng(SEED), 0.5)

    assert words.dtype == np.uint32
    halves = words.view(np.uint16).astype(np.uint32) << 16
    for floats in (words.view(np.float32), halves.view(np.float32), unpacked24(words)):
        assert np.isfinite(floats).all()
        assert 1e-3 < np.abs(floats).mean() < 0.5
