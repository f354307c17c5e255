"""A schedule without a measurement: what is predicted to gain beyond doubt, the default else."""

from __future__ import annotations

import numpy as np
from made_up_gains import gains_by, worth
from made_up_tuning import small_matmul

from tvmlite import autotune, te
from tvmlite.autotune.search.predict import CANDIDATES, candidates, predicted
from tvmlite.te.space import OptionChoice


def task_of() -> autotune.Task:
    autotune.template("tests.matmul", small_matmul)
    return autotune.create("tests.matmul", (64, 128, 64))


WIDER = gains_by("beside the default: 0: lanes", 0.5)
"""What has longer vectors than the default, whose are none, is twice as quick."""


def test_what_is_predicted_to_gain_takes_the_defaults_place() -> None:
    found = predicted(task_of(), WIDER, worth(doubt=0.2))

    assert found.config["vectorize"] == OptionChoice(True)
    assert found.gain == 2


def test_the_default_stays_where_such_predictions_were_wrong() -> None:
    task = task_of()

    found = predicted(task, WIDER, worth(doubt=0.9))

    assert found.config.settings == task.default.settings
    assert found.gain == 1


def test_what_is_small_is_not_looked_at() -> None:
    autotune.template("tests.matmul", small_matmul)
    task = autotune.create("tests.matmul", (8, 16, 8))

    assert predicted(task, WIDER, worth()).config.settings == task.default.settings


def test_the_same_seed_gives_the_same() -> None:
    first, second = (predicted(task_of(), WIDER, worth(), seed=3) for _ in range(2))

    assert first.config.settings == second.config.settings
    assert first.gain == second.gain


def test_what_is_handed_over_is_taken_before_what_is_drawn_and_as_gains_as_much() -> None:
    task = task_of()
    drawn = {str(one.settings) for one in candidates(task, CANDIDATES, np.random.default_rng(0))}
    space = [task.config_space.get(n) for n in range(len(task.config_space))]
    others = [one for one in space if str(one.settings) not in drawn]
    wide = next(one for one in others if one["vectorize"].val and one["x"].size[1] > 1)
    narrow = next(one for one in others if not one["vectorize"].val)

    taken = predicted(task, WIDER, worth(), [task.default, wide])
    not_taken = predicted(task, WIDER, worth(), [narrow])

    assert taken.config.settings == wide.settings
    assert not_taken.config.settings == predicted(task, WIDER, worth()).config.settings
    assert predicted(task, WIDER, worth(doubt=0.9), [wide]).config.settings == task.default.settings


def test_where_nothing_else_can_be_built_the_default_stays() -> None:
    @autotune.template("tests.only_one")
    def only_one(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
        a = te.placeholder((n,), name="A")
        b = te.compute((n,), lambda i: a[i] + 1, name="B")
        s = te.create_schedule(b.op)
        cfg = autotune.get_config()
        cfg.define_knob("broken", [False, True])
        if cfg["broken"].val:
            s[a].vectorize(b.op.axis[0])  # of another stage
        return s, [a, b]

    task = autotune.create("tests.only_one", (40000,))

    assert predicted(task, WIDER, worth()).config.settings == task.default.settings


def test_what_leaves_threads_without_work_is_no_candidate() -> None:
    @autotune.template("tests.threads")
    def threads(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
        a = te.placeholder((n, 64), name="A")
        b = te.compute((n, 64), lambda i, j: a[i, j] + 1, name="B")
        s = te.create_schedule(b.op)
        cfg = autotune.get_config()
        cfg.define_knob("parallel", [True, False])
        if cfg["parallel"].val:
            s[b].parallel(b.op.axis[0])
        else:
            s[b].vectorize(b.op.axis[1])
        return s, [a, b]

    task = autotune.create("tests.threads", (1024,))

    assert predicted(task, WIDER, worth()).config.settings == task.default.settings


def test_candidates_are_different_and_none_is_the_default() -> None:
    task = task_of()

    found = candidates(task, CANDIDATES, np.random.default_rng(0))

    assert 4 < len(found) <= CANDIDATES
    assert len({str(one.settings) for one in found}) == len(found)
    assert all(one.settings != task.default.settings for one in found)
