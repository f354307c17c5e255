"""The final selection: the best of each search against its default in the model, within a time limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_up_tuning import MadeUpMachine
from test_tune import MadeUpModel, convolutions

import tvmlite
from tvmlite import autotune
from tvmlite.autotune.records import records as rec
from tvmlite.autotune.tune import Tuned
from tvmlite.driver import rescheduled
from tvmlite.model.artifact import CompiledModule
from tvmlite.relay.entry import tasks
from tvmlite.relay.frontend import from_onnx
from tvmlite.runtime import num_threads, timing
from tvmlite.tuning.final_selection import FinalSelection

X = np.random.default_rng(0).standard_normal((1, 16, 12, 10)).astype(np.float32)


@pytest.fixture(scope="module")
def base() -> CompiledModule:
    return tvmlite.compile(from_onnx(convolutions()))


@pytest.fixture(scope="module")
def searches(base: CompiledModule) -> list[Tuned]:
    """The searches of both convolutions, without comparisons with the default."""
    found = [tasks.task_of(one.task.group, base.target) for one in base.kernels[:2]]
    return autotune.tune(
        found, trials=48, early_stopping=16, tuner="random", runner=MadeUpMachine(), compare=False
    )


def judge(base: CompiledModule, tuned: int, seconds: float = 0.2, strict: bool = False) -> FinalSelection:
    return FinalSelection(base, [X], MadeUpModel(tuned), seconds, tolerance=1e-4, strict=strict)


@pytest.mark.slow
def test_winners_come_first_in_the_records(base: CompiledModule, searches: list[Tuned]) -> None:
    selection = judge(base, tuned=500).decide(searches)

    blocks = list(rec.comparisons(selection.records).values())
    assert len(blocks) == 2
    for block, search in zip(blocks, searches, strict=True):
        assert block[0].cost == pytest.approx(5e-7)
        assert search.task.default.settings in [one.config.settings for one in block[1:]]
    assert {(one.origin, one.threads, one.verified) for one in selection.records} == {
        (rec.FINAL, num_threads(), True)
    }
    assert [one.gain for one in selection.kernels] == pytest.approx([2, 2])
    assert [one.interleaved for one in selection.kernels] == pytest.approx([2, 2])
    assert selection.lib.signature.kernels != base.signature.kernels


@pytest.mark.slow
def test_the_default_stays_first_if_the_model_is_slower(base: CompiledModule, searches: list[Tuned]) -> None:
    selection = judge(base, tuned=1200).decide(searches)

    assert selection.lib is base
    assert selection.runs is None
    assert set(selection.dropped) == {one.task.args[0] for one in searches}
    assert set(selection.dropped.values()) == {"0.833x [0.833, 0.833] in the model: it is slower there"}
    assert [one.gain for one in selection.kernels] == [1, 1]
    for block, search in zip(rec.comparisons(selection.records).values(), searches, strict=True):
        assert block[0].config.settings == search.task.default.settings


def test_the_earlier_winner_is_a_finalist_despite_other_leaders(
    base: CompiledModule, searches: list[Tuned]
) -> None:
    """The machine likes any schedule but the default alike, so the first finalist is not the one in force."""
    for search in searches:
        last = search.progress.leaders[-1].config
        search.progress.in_force = [last]
        try:
            finalists = search.progress.finalists(1)
            both = search.progress.finalists(2, slowest=0.0)
        finally:
            search.progress.in_force = ()
        assert [one.settings for one in finalists] == [last.settings]
        assert [one.settings for one in both] == [last.settings]


def test_records_of_the_final_comparison_have_traces(base: CompiledModule, searches: list[Tuned]) -> None:
    selection = judge(base, tuned=500).decide(searches)

    for block in rec.comparisons(selection.records).values():
        assert block[0].trace


@pytest.mark.parametrize(("used", "tuned", "told"), [(0.5, 500, True), (0.5, 1200, True), (0.1, 500, False)])
def test_a_machine_busy_during_model_timing_is_noted(
    base: CompiledModule,
    searches: list[Tuned],
    used: float,
    tuned: int,
    told: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timing.Others, "share", used)
    selection, nothing = (judge(base, tuned).decide(some) for some in (searches, []))

    expected = "other processes used 50% of this machine while candidates were timed in the model: times are "
    assert [one.removesuffix("less certain") for one in selection.notes] == ([expected] if told else [])
    assert nothing.notes == ()


def test_kernels_without_time_to_compile_are_listed_as_late(
    base: CompiledModule, searches: list[Tuned]
) -> None:
    selection = judge(base, tuned=500, seconds=1e-9, strict=True).decide(searches)

    assert len(selection.late) == 1
    assert sum(one.gain > 1 for one in selection.kernels) == 1
    told = {one.task[1][0] for one in selection.records}
    assert told == {one.task.args[0] for one in searches} - set(
        selection.late
    )  # the late one was not measured


def test_a_rescheduled_model_shares_its_weights(base: CompiledModule, tmp_path: Path) -> None:
    task = tasks.task_of(base.kernels[0].task.group, base.target)
    other = next(
        config
        for config in map(task.config_space.get, range(len(task.config_space)))
        if config.settings != task.default.settings
    )
    text = task.args[0]

    lib = rescheduled(base, lambda group: other if tasks.task_text(group) == text else None, {})

    assert lib.constants is base.constants
    assert sum(a != b for a, b in zip(lib.signature.kernels, base.signature.kernels, strict=True)) == 1
    np.testing.assert_allclose(lib(X), base(X), rtol=1e-4, atol=1e-4)
