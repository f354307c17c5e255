"""Comparisons with the default: what is taken of them, and what they tell where something failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_tuning import MadeUpMachine

from tvmlite import autotune, te
from tvmlite.autotune import records as rec
from tvmlite.te.space import Task

Template = Callable[[int, int, int], tuple[te.Schedule, list[te.Tensor]]]


def test_of_a_comparison_whose_default_is_lost_nothing_is_taken(
    task: Task, matmul: Template, tmp_path: Path
) -> None:
    """Where the default had won, its line came first, and the next is of what lost."""
    path, damaged = tmp_path / "tune.jsonl", tmp_path / "damaged.jsonl"
    tuned = autotune.tune(task, path, trials=30, tuner="random", runner=MadeUpMachine())[0]
    default = [r.origin == rec.FINAL and r.config.settings == task.default.settings for r in rec.load(path)]
    lines = path.read_text().splitlines(keepends=True)
    damaged.write_text("".join(x[:40] + "\n" if lost else x for x, lost in zip(lines, default, strict=True)))

    with autotune.apply_history_best(path):
        expected, _ = matmul(16, 16, 16)
    with (
        pytest.warns(UserWarning, match="1 lines are no records"),
        autotune.apply_history_best(damaged) as history,
        pytest.warns(UserWarning, match=rf"tests\.matmul with \[16, 16, 16\]: {rec.LOST_DEFAULT}") as warned,
    ):
        (found, _), _ = [matmul(16, 16, 16) for _ in range(2)]

    plain, _ = matmul(16, 16, 16)
    assert tuple(map(str, expected.trace)) == tuned.best.trace != tuple(map(str, plain.trace))
    assert list(map(str, found.trace)) == list(map(str, plain.trace))
    assert history.missing == [task.key]
    assert [one.filename for one in warned] == [__file__]
