"""Four methods to choose a range, against brute-force computation of what they minimize."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlite.relay.quantize.ranges import METHODS, Histogram, mse


def histogram(*arrays: np.ndarray) -> Histogram:
    made = Histogram()
    for one in arrays:
        made.widen(one)
    for one in arrays:
        made.count(one)
    return made


def with_outliers() -> np.ndarray:
    values = np.random.default_rng(0).standard_normal(200_000).astype(np.float32)
    values[:10] = 100.0
    return values


def square_error(values: np.ndarray, low: float, high: float) -> float:
    """Return the mean square error of ``values`` rounded to 255 steps of a range."""
    step = (high - low) / 255
    rounded = np.clip(np.rint((values - low) / step), 0, 255) * step + low
    return float(np.mean((rounded - values) ** 2))


def test_histograms_of_parts_add_up_to_that_of_the_whole() -> None:
    values = with_outliers()
    parts, whole = histogram(*np.array_split(values, 7)), histogram(values)

    np.testing.assert_array_equal(parts.counts, whole.counts)
    assert (parts.least, parts.most, parts.total) == (whole.least, whole.most, values.size)


def test_min_max_covers_all_values() -> None:
    values = with_outliers()

    assert METHODS["min_max"](histogram(values), False, 99.9) == (values.min(), 100.0)


def test_a_percentile_cuts_the_given_fraction_off() -> None:
    values = with_outliers()
    low, high = METHODS["percentile"](histogram(values), False, 99.0)

    assert low == pytest.approx(np.percentile(values, 1.0), abs=0.05)
    assert high == pytest.approx(np.percentile(values, 99.0), abs=0.05)


def test_a_percentile_keeps_an_end_with_many_elements() -> None:
    values = np.maximum(np.random.default_rng(0).standard_normal(10_000), 0).astype(np.float32)

    assert METHODS["percentile"](histogram(values), False, 99.9)[0] == 0.0


@pytest.mark.parametrize("symmetric", [False, True])
def test_mse_is_near_the_minimum_over_all_ranges(symmetric: bool) -> None:
    values = np.random.default_rng(0).laplace(size=50_000).astype(np.float32)
    low, high = mse(histogram(values), symmetric, 99.9)
    tried = [(-a, b) for a in np.linspace(2, 12, 30) for b in ([a] if symmetric else np.linspace(2, 12, 30))]

    best = min(square_error(values, *one) for one in tried)

    assert not symmetric or low == -high
    assert square_error(values, low, high) <= best * 1.05


def test_entropy_cuts_outliers_off() -> None:
    low, high = METHODS["entropy"](histogram(with_outliers()), False, 99.9)

    assert -6 < low < -3
    assert 3 < high < 50


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("values", [np.zeros(10), np.full(10, 3.0), np.array([-2.0, 0.0])])
def test_constant_and_few_values_have_a_valid_range(method: str, values: np.ndarray) -> None:
    low, high = METHODS[method](histogram(values.astype(np.float32)), False, 99.9)

    assert np.isfinite([low, high]).all()
    assert low <= high


def test_clipped_elements_are_counted() -> None:
    values = np.arange(1000, dtype=np.float32)

    assert histogram(values).clipped(100.0, 899.0) == pytest.approx(0.2, abs=0.002)
    assert histogram(values).clipped(0.0, 999.0) == 0.0
