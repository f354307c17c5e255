"""Tuners propose nothing twice, cover a small space, are reproducible by seed, and learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_up_tuning import small_matmul

from tvmlite import autotune, te
from tvmlite.autotune.measure import Outcome
from tvmlite.autotune.measure.build import Lowered
from tvmlite.autotune.model.features import KnobFeatures
from tvmlite.autotune.model.loop_features import NAMES
from tvmlite.autotune.model.model import CostModel
from tvmlite.autotune.search.search import most_promising
from tvmlite.autotune.search.tuners import Tuner
from tvmlite.autotune.search.xgb_tuner import NODES_AT_FIRST, ROUNDS, TUNERS
from tvmlite.core.errors import InputError, UnsupportedError
from tvmlite.te.space import ConfigEntity, ConfigSpace, Task


def speed(task: Task, number: int) -> float:
    """A made-up speed with one best configuration."""
    y, x, vectorize = task.config_space.positions(np.array([number]))[0]
    return 100.0 - (y - 3) ** 2 - 2 * (x - 2) ** 2 + 10 * vectorize


def explore(tuner: Tuner, count: int) -> list[int]:
    order: list[int] = []
    while len(order) < count and (batch := tuner.propose(min(4, count - len(order)))):
        order += batch
        tuner.learn(batch, [speed(tuner.task, n) for n in batch])
    return order


@pytest.mark.parametrize("name", TUNERS)
def test_every_configuration_of_a_small_space_is_proposed_once(task: Task, name: str) -> None:
    order = explore(TUNERS[name](task), 10_000)

    assert sorted(order) == list(range(len(task.config_space)))


@pytest.mark.parametrize("name", TUNERS)
def test_the_same_seed_gives_the_same_proposals(task: Task, name: str) -> None:
    assert explore(TUNERS[name](task, seed=3), 30) == explore(TUNERS[name](task, seed=3), 30)


def test_another_seed_gives_other_proposals(task: Task) -> None:
    assert explore(TUNERS["random"](task, seed=3), 30) != explore(TUNERS["random"](task, seed=4), 30)


@pytest.mark.slow
def test_the_cost_model_finds_the_best_sooner_than_random_search(task: Task) -> None:
    best = max(range(len(task.config_space)), key=lambda n: speed(task, n))

    places = [explore(TUNERS["xgboost"](task, seed=s), 50).index(best) for s in range(5)]

    assert len(task.config_space) == 50
    assert np.mean(places) < 22  # 24.5 by chance; the first 16 are random


@pytest.mark.parametrize("loss", ["rank", "reg"])
def test_a_model_ranks_unseen_configurations(loss: str) -> None:
    space = ConfigSpace()
    for name in "abc":
        space.define_split(name, 64, num_outputs=2)
    features = KnobFeatures(space)
    truth = features(np.arange(len(space)))[:, 0] - 2 * features(np.arange(len(space)))[:, 2]
    seen = np.random.default_rng(0).permutation(len(space))[:80]
    model = CostModel(loss)

    model.fit(features(seen), truth[seen] - truth.min())
    predicted = model.predict(features(np.arange(len(space))))

    ranks = np.argsort(np.argsort(predicted)), np.argsort(np.argsort(truth, kind="stable"))
    assert np.corrcoef(*ranks)[0, 1] > 0.8


def test_the_search_finds_good_configurations_in_a_large_space() -> None:
    space = ConfigSpace()
    for name in "abcdefgh":
        space.define_knob(name, list(range(8)))
    generator = np.random.default_rng(0)

    def score(numbers: np.ndarray) -> np.ndarray:
        return space.positions(numbers).sum(axis=1).astype(float)

    found = most_promising(space, score, 5, {len(space) - 1}, np.array([0]), generator)

    assert len(space) == 8**8
    assert len(set(found)) == 5
    assert len(space) - 1 not in found
    assert score(np.array(found)).min() >= 45  # of 56; random ones have 28, one in a million 45


def test_configurations_with_equal_code_are_proposed_once() -> None:
    def padded(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
        autotune.get_config().define_knob("nothing", list(range(10)))
        return small_matmul(n, n, n)

    autotune.template("tests.padded", padded)
    tuner = autotune.XGBTuner(autotune.create("tests.padded", (16,)))

    order = [n for _ in range(3) for n in tuner.propose(8)]

    made = [str(tuner.builder.lowered(tuner.space.get(n)).function) for n in order]  # type: ignore[union-attr]
    assert len(tuner.space) == 500
    assert len(set(made)) == 24


def test_a_batch_has_several_kinds_of_tiles(task: Task) -> None:
    tuner = autotune.XGBTuner(task, explore=0.0, prior=lambda rows: 0.01 * rows[:, NAMES.index("0: lanes")])

    order = tuner.propose(8)

    widths = set(task.config_space.positions(np.array(order))[:, 1].tolist())
    assert len(widths) >= 3  # the model alone would take only the widest


@pytest.mark.parametrize(("more", "rounds"), [(0, 1), (1, ROUNDS)])
def test_before_the_first_batch_candidates_are_sought_until_none_is_new(
    task: Task, monkeypatch: pytest.MonkeyPatch, more: int, rounds: int
) -> None:
    tuner = autotune.XGBTuner(task)
    looked = []

    def propose_next() -> None:
        looked.append(None)
        tuner._refused.update(dict.fromkeys(-n for n in range(1, 1 + more * len(looked))))

    monkeypatch.setattr(tuner, "propose_next", propose_next)
    tuner.propose(1)

    assert len(looked) == rounds


def test_fewer_candidates_of_large_functions_are_lowered(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each candidate has a fifth of the nodes that may be lowered for the first batch."""
    long = TUNERS["xgboost"](task, 3)
    make = long.builder.lowered

    def lowered(config: ConfigEntity) -> Lowered | Outcome:
        made = make(config)
        return replace(made, nodes=NODES_AT_FIRST // 5) if isinstance(made, Lowered) else made

    monkeypatch.setattr(long.builder, "lowered", lowered)
    proposed = long.propose(4)

    assert len(proposed) == 4
    assert len(looked_at(long)) <= 2 * long.batch < len(looked_at(short(task)))


def short(task: Task) -> Tuner:
    """A tuner that has proposed its first batch."""
    tuner = TUNERS["xgboost"](task, 3)
    tuner.propose(4)
    return tuner


def looked_at(tuner: Tuner) -> list[object]:
    """The candidates that were lowered."""
    return list(tuner.builder._cache)


def test_words_of_a_knob_are_one_hot_and_numbers_keep_their_value() -> None:
    space = ConfigSpace()
    space.define_knob("layout", ["rows", "columns"])
    space.define_knob("step", [0, 16, 64])

    rows = KnobFeatures(space)(np.arange(6))

    assert rows.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 16], [0, 1, 16], [1, 0, 64], [0, 1, 64]]


def test_the_search_proposes_failing_trials_when_nothing_can_be_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a large space not every configuration is lowered, and still some are proposed."""
    autotune.template("tests.refused", small_matmul)
    tuner = TUNERS["xgboost"](autotune.create("tests.refused", (2**13 * 9, 2**13 * 9, 2)))
    looked_at: list[object] = []

    def refuse(config: ConfigEntity) -> Outcome:
        looked_at.append(config)
        return Outcome(error="refused", message="as told")

    monkeypatch.setattr(tuner.builder, "lowered", refuse)

    first, second = tuner.propose(4), tuner.propose(4)

    assert (len(first), len(second), len({*first, *second})) == (4, 4, 8)
    assert len(looked_at) < 400


def test_wrong_options_are_errors(task: Task) -> None:
    with pytest.raises(InputError, match="population: 1 given, expected an int of at least 2"):
        autotune.GATuner(task, population=1)
    with pytest.raises(UnsupportedError, match="loss 'mae': there are rank, reg"):
        autotune.XGBTuner(task, loss_type="mae")
