"""Final comparisons with the default: which winner is used, and which failures are recorded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_tuning import MadeUpMachine, small_matmul

from tvmlite import autotune, te
from tvmlite.autotune.measure import Candidate, Outcome
from tvmlite.autotune.measure.build import Builder
from tvmlite.autotune.records import records as rec
from tvmlite.core.errors import ScheduleError
from tvmlite.te.space import ConfigEntity, OptionChoice, Task

Template = Callable[[int, int, int], tuple[te.Schedule, list[te.Tensor]]]


def test_a_comparison_that_lost_its_default_is_not_used(task: Task, matmul: Template, tmp_path: Path) -> None:
    """If the default won, its line came first, and the next line is of a loser."""
    path, damaged = tmp_path / "tune.jsonl", tmp_path / "damaged.jsonl"
    tuned = autotune.tune(task, path, trials=30, tuner="random", runner=MadeUpMachine())[0]
    default = [r.origin == rec.FINAL and r.config.settings == task.default.settings for r in rec.load(path)]
    lines = path.read_text().splitlines(keepends=True)
    damaged.write_text("".join(x[:40] + "\n" if lost else x for x, lost in zip(lines, default, strict=True)))

    with autotune.apply_history_best(path):
        expected, _ = matmul(16, 16, 16)
    with (
        pytest.warns(UserWarning, match="1 lines are not records"),
        autotune.apply_history_best(damaged) as history,
        pytest.warns(
            UserWarning, match=rf"tests\.matmul with \[16, 16, 16\]: {rec.DEFAULT_MISSING}"
        ) as warned,
    ):
        (found, _), _ = [matmul(16, 16, 16) for _ in range(2)]

    plain, _ = matmul(16, 16, 16)
    assert tuple(map(str, expected.trace)) == tuned.best.trace != tuple(map(str, plain.trace))
    assert list(map(str, found.trace)) == list(map(str, plain.trace))
    assert history.missing == [task.key]
    assert [one.filename for one in warned] == [__file__]


def breaks_by_default(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """A matrix product whose default cannot be scheduled."""
    cfg = autotune.get_config()
    made = small_matmul(n, n, n)
    cfg.define_knob("works", [True, False])
    cfg.suggest("works", OptionChoice(False))
    if isinstance(cfg, ConfigEntity) and not cfg["works"].val:
        raise ScheduleError("as it is made")
    return made


@pytest.fixture
def breaking() -> Task:
    autotune.template("tests.breaking", breaks_by_default)
    return autotune.create("tests.breaking", (16,))


def plain(records: Iterable[rec.Record]) -> list[str]:
    """``records`` as JSON without their times."""
    return [replace(one, time=0.0).to_json() for one in records]


def tune(task: Task, path: Path, **options: object) -> autotune.Tuned:
    """A short random search; ``options`` are additional options of ``autotune.tune``."""
    given = {"trials": 40, "tuner": "random", "runner": MadeUpMachine()} | options
    return autotune.tune(task, path, **given)[0]  # type: ignore[arg-type]


def test_a_default_that_cannot_be_built_is_recorded_and_the_winner_kept(
    breaking: Task, tmp_path: Path
) -> None:
    path = tmp_path / "tune.jsonl"
    tuned = tune(breaking, path)
    written = [r for r in rec.load(path) if r.origin == rec.FINAL]
    compared = rec.comparisons(rec.current(written, breaking.target))[breaking.key]

    again = tune(breaking, path, trials=4, seed=2)
    with warnings.catch_warnings(), autotune.apply_history_best(path) as history:
        warnings.simplefilter("error")
        found = history.best_config("tests.breaking", [16])

    assert written == compared
    assert [r.ok for r in compared] == [True] * (len(compared) - 1) + [False]
    assert compared[-1].config.settings == breaking.default.settings
    assert (compared[-1].error, compared[-1].message) == ("schedule", "as it is made")
    assert compared[0].cost == min(r.cost for r in compared)
    assert rec.winner(compared, breaking.default) is compared[0]
    assert rec.best(written, breaking.target)[breaking.key] is compared[0]
    assert plain([tuned.best]) == plain(compared[:1])
    assert again.best.config.settings == found.settings == tuned.best.config.settings


def test_a_resumed_run_does_not_compare_unbuildable_defaults_again(breaking: Task, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    expected = tune(breaking, whole)
    lines = whole.read_text().splitlines(keepends=True)
    finals = sum(r.origin == rec.FINAL for r in rec.load(whole))
    cut.write_text("".join(lines[:-finals]))

    found = tune(breaking, cut, resume=True)
    tune(breaking, whole, resume=True)

    assert plain(rec.load(cut)) == plain(rec.load(whole))
    assert whole.read_text() == "".join(lines)
    assert found.best.config.settings == expected.best.config.settings


def test_a_finalist_that_cannot_be_built_is_recorded_after_the_timed_ones(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tune.jsonl"
    best = tune(task, tmp_path / "first.jsonl").progress.leaders[0].config.settings
    make = Builder.built

    def built(self: Builder, config: ConfigEntity) -> Candidate | Outcome:
        lost = any(is_over) and config.settings == best
        return Outcome(error="refused", message="too large") if lost else make(self, config)

    is_over: list[bool] = []
    monkeypatch.setattr(Builder, "built", built)
    tune(task, path, callbacks=[lambda progress, new: is_over.append(progress.trials == progress.total)])

    compared = [r for r in rec.load(path) if r.origin == rec.FINAL]
    assert [r.error for r in compared] == [""] * (len(compared) - 1) + ["refused"]
    assert compared[-1].config.settings == best
    assert task.default.settings in [r.config.settings for r in compared]


def test_a_comparison_that_failed_entirely_does_not_replace_an_earlier_one(
    task: Task, tmp_path: Path
) -> None:
    class Ends(MadeUpMachine):
        def compare(self, task: str, candidates: list[Candidate]) -> list[Outcome]:
            return [Outcome(error="crash", message="signal 11")] * len(candidates)

    path = tmp_path / "tune.jsonl"
    before = tune(task, path).best
    tune(task, path, seed=2, runner=Ends())

    loaded = rec.load(path)
    compared = rec.comparisons(rec.current(loaded, task.target))[task.key]
    assert loaded.records[-1].error == "crash"
    assert plain([before]) == plain(compared[:1])
    assert rec.best(loaded, task.target)[task.key] is compared[0]
