"""Building without garbage collection: what was there before is set aside, and comes back."""

from __future__ import annotations

import gc
import weakref

from tvmlite.autotune.measure.uncollected import aside, uncollected


class _Loop:
    def __init__(self) -> None:
        self.me = self


def test_nothing_is_collected_inside_and_all_is_as_before_outside() -> None:
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_there_before_is_not_gone_through_and_comes_back() -> None:
    before = _Loop()
    gone = weakref.ref(before)
    with aside():
        assert gc.get_freeze_count() > 0
        del before
        gc.collect()
        assert gone() is not None
        inside = weakref.ref(_Loop())
        gc.collect()
        assert inside() is None
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert gone() is None


def test_what_others_have_set_aside_stays_there() -> None:
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        with aside():
            assert gc.get_freeze_count() <= count
        assert 0 < gc.get_freeze_count() <= count
    finally:
        gc.unfreeze()
