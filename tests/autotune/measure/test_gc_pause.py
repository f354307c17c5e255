"""Building without garbage collection, in the worker process alone."""

from __future__ import annotations

import gc
import sys

from made_up_tuning import MadeUpMachine

from tvmlite import autotune
from tvmlite.autotune.measure.gc_pause import gc_paused
from tvmlite.te.space import Task


def test_garbage_collection_is_off_inside_and_restored_outside() -> None:
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_search_does_not_change_gc_settings_of_the_callers_process(task: Task) -> None:
    def state() -> tuple[bool, int, float]:
        return gc.isenabled(), gc.get_freeze_count(), sys.getswitchinterval()

    class Watching(MadeUpMachine):
        def measure(self, *args: object) -> object:  # type: ignore[override]
            seen.append(state())
            return super().measure(*args)  # type: ignore[arg-type]

    seen: list[tuple[bool, int, float]] = []
    before = state()
    autotune.tune(task, trials=8, runner=Watching(), tuner="random")

    assert set(seen) == {before}
