"""A schedule without a measurement: what the model thinks best, the default where it is in doubt."""

from __future__ import annotations

import numpy as np
from made_up_tuning import small_matmul

from tvmlite import autotune
from tvmlite.autotune.loop_features import NAMES
from tvmlite.autotune.predict import predicted
from tvmlite.te.space import OptionChoice, SplitChoice


def task_of() -> autotune.Task:
    autotune.template("tests.matmul", small_matmul)
    return autotune.create("tests.matmul", (16, 32, 16))


def by(name: str) -> object:
    return lambda rows: rows[:, NAMES.index(name)]


def test_what_is_predicted_quickest_is_taken() -> None:
    found = predicted(task_of(), model=by("0: lanes"))  # type: ignore[arg-type]

    assert found.config["vectorize"] == OptionChoice(True)
    assert found.config["x"] == SplitChoice((-1, 32))
    assert found.gain == 32
    assert found.loss == 31


def test_the_default_stays_where_nothing_is_quicker_beyond_doubt() -> None:
    task = task_of()

    found = predicted(task, model=lambda rows: 1e-2 * rows[:, NAMES.index("0: lanes")])

    assert found.config.settings == task.default.settings
    assert found.gain == 1
    assert 0 < found.loss < 0.1


def test_the_same_seed_gives_the_same() -> None:
    first, second = (predicted(task_of(), seed=3) for _ in range(2))

    assert first.config.settings == second.config.settings
    assert first.gain == second.gain


def test_where_nothing_can_be_built_the_default_stays() -> None:
    task = task_of()

    found = predicted(task, model=lambda rows: np.full(len(rows), -np.inf))

    assert found.config.settings == task.default.settings
