"""Cold arrays: what a model has more of than caches hold is timed as it comes from memory."""

from __future__ import annotations

import numpy as np

from tvmlite.autotune.measure.worker import CACHES, LEAST_COLD, _Task


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
